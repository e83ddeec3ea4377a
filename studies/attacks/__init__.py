"""Attacks: the paper's membership attack and the attack on designs, beside the proved bounds."""
