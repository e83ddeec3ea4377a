"""Excursion sets in simulated worlds, on a line and in the plane: the paper's tables."""
