"""Millions of rows, many hexagons, many workers and many analysts, and forecasts of the time they take."""
