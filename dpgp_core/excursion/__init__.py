"""Excursion sets of released fields, their smoothing and scores, and the private choice between such sets."""
