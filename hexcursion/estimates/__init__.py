"""Estimates: expected time and memory of long steps before they begin, from facts of the
curator."""
