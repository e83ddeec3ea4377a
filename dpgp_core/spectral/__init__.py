"""Spectral statistics: noisy sums of public features, what they cost, and how they are read."""
