"""Exploring single designs on reference data: typed in, varied, solved for an agreement, their coverage."""
