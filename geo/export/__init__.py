"""Cells and regions as GeoJSON, and an independent check of it."""
