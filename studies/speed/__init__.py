"""CPU time of the parts."""
