"""The decision: what a search proposes in words, and which design is released."""
