"""Releases of the same records: keyed hashes that count them, decisions of persons, what a receipt says."""
