"""How good the maps are at equal epsilon, what is told of it, and whether probabilities come true."""
