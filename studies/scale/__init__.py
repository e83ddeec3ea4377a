"""Millions of rows, many hexagons, many workers and many analysts, and what is told of the time they take."""
