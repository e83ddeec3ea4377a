"""What trains the networks: fields and releases drawn at random, without anybody's data, and the training."""
