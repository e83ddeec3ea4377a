"""What trains the networks: fields and releases drawn at random, without real data, and the training."""
