"""Conditional inferential privacy of location traces: hide chosen moments from whoever interpolates."""
