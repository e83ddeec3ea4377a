"""Writing a bundle: rehearsed, staged beside its place, put there whole or not at all."""
