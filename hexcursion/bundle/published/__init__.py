"""What a reader meets: the bundles of this machine, the viewer, answers for areas, downloads, the site."""
