"""The project: loaded data, placed in the public domain, binned and scaled."""
