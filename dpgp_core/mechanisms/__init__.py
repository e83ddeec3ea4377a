"""Mechanisms: each a room of its own; here private records become something releasable."""
