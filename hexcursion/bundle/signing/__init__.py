"""Signatures of bundles: an office signs what it publishes, a reader's operator says whose keys he knows."""
