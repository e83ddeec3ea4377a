"""Exports: the same cells once more in the formats that other programs like, one file per format."""
