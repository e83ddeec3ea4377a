"""Label privacy: places are public, values are private, and the posterior mean is released with noise."""
