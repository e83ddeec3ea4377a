"""Priors on the cells of a lattice: the registry, the lattice itself and the families."""
