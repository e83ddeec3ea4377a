"""Bundles of several periods read together: a map of each, change, and what all of them promise."""

from hexcursion_series.read import ReadSeries, series

__all__ = ["ReadSeries", "series"]
