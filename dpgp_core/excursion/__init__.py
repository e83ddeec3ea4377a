"""Excursion sets of released fields, their smoothing, scores and coverage."""
