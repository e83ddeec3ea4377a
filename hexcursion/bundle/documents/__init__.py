"""What people read in a bundle: the label with its picture, README, attribution, registry entry."""
