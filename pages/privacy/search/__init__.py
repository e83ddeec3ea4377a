"""The search: its start and progress, what it found, the frontier, and the smallest epsilon."""
