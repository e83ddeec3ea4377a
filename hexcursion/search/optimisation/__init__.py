"""The optimisation: scores of simulated releases, and the best design under an epsilon constraint."""
