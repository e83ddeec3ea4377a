"""What lies around and on a domain besides its hexagons: coasts, named places, a curator's layers."""
