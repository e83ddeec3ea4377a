"""Posteriors of a prior given collapsed records: dense, sparse, and for many ridges and designs at once."""
