"""Columns of a table: what they mean, and how their numbers, times, names and places are
written."""
