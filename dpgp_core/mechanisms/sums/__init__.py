"""Noisy sums that several mechanisms release: over cells, and over places that are public."""
