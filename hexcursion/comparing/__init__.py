"""Mechanisms beside each other at equal epsilon, delta and unit, on reference data; nothing is released."""
