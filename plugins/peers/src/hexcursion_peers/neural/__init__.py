"""A neural process that reads noisy sums of a public lattice: encoder, network, simulated tasks, training."""
