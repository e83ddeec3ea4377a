"""Holds the built assets of the linked maps; `pages.shared.maps` mounts them."""
