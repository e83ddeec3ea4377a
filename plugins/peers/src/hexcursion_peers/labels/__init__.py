"""Mechanisms over public places: cloaking and functional noise."""
