"""Inducing points: noisy moments of a few public features, from which a sparse Gaussian process is read."""
