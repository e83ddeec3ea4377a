"""Accounted looks at the records before a search: asking for one, and paying for it once."""
