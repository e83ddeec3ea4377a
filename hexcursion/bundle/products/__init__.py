"""What follows from released paths at a threshold: sets, regions, certainty, shares of areas."""
