"""What lies around and on a domain besides its hexagons: coasts, named places, layers of one's own."""
