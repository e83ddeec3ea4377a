"""Reads location traces: GeoLife, GPX, TCX, FIT, tables, GeoJSON lines, each with a report of all records."""

from data_loaders.traces.model import Trace
from data_loaders.traces.reading import TRACE_LIMITS, load_traces

__all__ = ["TRACE_LIMITS", "Trace", "load_traces"]
