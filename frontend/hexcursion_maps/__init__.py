"""Holds the built assets of the linked maps; `pages.shared.linked_maps` mounts them."""
