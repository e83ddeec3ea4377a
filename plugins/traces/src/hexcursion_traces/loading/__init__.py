"""Reads location traces: GeoLife, GPX, TCX, FIT, tables, GeoJSON lines, each with a report of all records."""

from hexcursion_traces.loading.model import Trace
from hexcursion_traces.loading.reading import TRACE_LIMITS, load_traces

__all__ = ["TRACE_LIMITS", "Trace", "load_traces"]
