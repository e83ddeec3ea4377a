"""Attacks: the paper's membership attack and the attack on designs, with the proved bounds."""
