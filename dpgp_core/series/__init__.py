"""Releases of several periods: one field that changes over time, read from the sums of all of them."""
