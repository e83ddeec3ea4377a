"""Context of a domain on maps: coasts, named places, a curator's layers."""
