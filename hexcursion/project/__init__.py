"""The project: data loaded, placed in the public domain, binned and scaled."""
