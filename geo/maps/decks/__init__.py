"""Maps of what is no hexagon: one module per kind."""
