"""Simulated releases of reference data: the world they are judged in."""
