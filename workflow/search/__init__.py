"""The search: designs tried on reference data only, their scores, and what is chosen."""
