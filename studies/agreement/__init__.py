"""How good the maps are at equal epsilon, their stated agreement, and whether probabilities come true."""
