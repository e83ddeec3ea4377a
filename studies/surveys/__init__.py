"""Surveys without reference data: what public columns add to a release, and surveys of yes and no."""
