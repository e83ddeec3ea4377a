"""How good the maps are at equal epsilon, what is stated of it, and whether probabilities come true."""
