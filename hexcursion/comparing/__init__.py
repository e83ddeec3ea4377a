"""Mechanisms compared at equal epsilon, delta and unit, on reference data; nothing is released."""
