"""Reads location traces: GeoLife, GPX, TCX, FIT, tables and GeoJSON lines, each with a report of every record."""

from data_loaders.traces.model import Trace
from data_loaders.traces.reading import TRACE_LIMITS, load_traces

__all__ = ["TRACE_LIMITS", "Trace", "load_traces"]
