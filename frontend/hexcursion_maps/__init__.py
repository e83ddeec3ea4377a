"""Holds the built assets of the linked maps; `pages.parts.linked_maps` mounts them."""
