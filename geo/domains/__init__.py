"""The hexagons of a map and the public facts about them."""
