"""Trials of single designs on reference data: typed in, varied, simulated, and how sure their sets are."""
