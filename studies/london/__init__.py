"""London: every mechanism and the published recipe on one task, and the map of it."""
