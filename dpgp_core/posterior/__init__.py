"""Posteriors given collapsed records: dense, sparse, exact, and for many ridges at once."""
