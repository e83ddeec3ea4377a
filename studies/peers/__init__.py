"""Peers: published mechanisms on a line, from their own papers' examples."""
