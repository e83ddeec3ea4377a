"""Bundles of several periods: read together, what all of them promise, and their files and page."""
