"""The hexagons on which everything is modelled, and what is publicly known of each."""
