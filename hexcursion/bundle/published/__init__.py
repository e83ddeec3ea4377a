"""What a reader meets: the shelf of bundles, the viewer, answers for areas, downloads, the site."""
