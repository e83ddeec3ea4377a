"""What several columns of the same records reach together."""
