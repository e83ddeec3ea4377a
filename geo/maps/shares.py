"""Paintings of probabilities and confidences: one share for each hexagon, in classes of 20 %."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from geo.colours import steps
from geo.maps.painting import Entry, Painting, share_classes


def paint_shares(shares: ArrayLike, *, what: str, title: str, word: str, averaged: bool = True) -> Painting:
    """Paint (N,) probabilities or confidences in [0, 1] in classes of 20 %; `what` says what they are of,
    `word` what they are, in tooltips, and `averaged` whether a mean of several cells says something, as it
    does of probabilities. Raise `ValueError` for other shares."""
    share = np.asarray(shares, dtype=np.float64)
    if share.ndim != 1 or not np.all((share >= 0) & (share <= 1)):
        raise ValueError("shares must be one number in [0, 1] for each cell.")
    classes = share_classes(share)
    labels = ("up to 20 %", "20 to 40 %", "40 to 60 %", "60 to 80 %", "over 80 %")
    entries = tuple(Entry(label, role) for label, role in zip(labels, steps("votes", 6)[1:], strict=True))
    notes = tuple(f"Released: {what}, {word} {_per_cent(value)}" for value in share.tolist())
    if not averaged:
        return Painting(classes, entries, notes, title)
    again = partial(paint_shares, what=what, title=title, word=word)
    return Painting(classes, entries, notes, title, share, again)


def _per_cent(share: float) -> str:
    """A share to the nearest per cent, never quite none or all unless it is."""
    if share in (0.0, 1.0):
        return f"{share * 100:.0f} %"
    return "under 1 %" if share < 0.005 else "over 99 %" if share > 0.995 else f"{share * 100:.0f} %"
