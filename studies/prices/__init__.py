"""What privacy costs: epsilon of a design under each bound, and noise for location traces."""
