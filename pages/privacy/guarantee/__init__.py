"""What a guarantee leaves to an attacker: the odds, as words, table and curve."""
