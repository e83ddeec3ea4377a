"""Excursion products of released paths: sets, vote fractions, Vorob'ev set, inner and outer sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Bools, Floats, Ints

Direction = Literal["above", "below"]

ROUNDING = 1e-9
"""Slack with which a fraction of paths is compared to a wanted fraction (0.1 + 0.2 is not 0.3)."""


def excursion(paths: Floats, level: Floats | float, direction: Direction = "above") -> Bools:
    """Where each path, (..., N), exceeds `level`; `below` is its exact complement (at or under the level).

    The level is one number, or one a cell: (N,). Raises InvalidValue for another direction or numbers not
    finite.

    >>> excursion(np.array([0.1, 0.2, 0.3]), 0.2)
    array([False, False,  True])
    >>> excursion(np.array([0.1, 0.2, 0.3]), 0.2, "below")
    array([ True,  True, False])
    """
    if direction not in ("above", "below"):
        raise InvalidValue(f"direction must be 'above' or 'below', got {direction!r}.")
    values = np.asarray(paths, dtype=np.float64)
    if not (np.all(np.isfinite(level)) and np.all(np.isfinite(values))):
        raise InvalidValue("paths and level must be finite.")
    above = values > level
    return above if direction == "above" else ~above


def sign_of(direction: Direction) -> float:
    """1 for above, -1 for below: what is asked of values is asked "above" of values times it."""
    return 1.0 if direction == "above" else -1.0


def vote_fraction(paths: Floats, level: Floats | float, direction: Direction = "above") -> Floats:
    """(N,) share of the L paths (L, N) in whose excursion set each cell lies: multiples of 1/L.

    >>> vote_fraction(np.array([[0.1, 0.4], [0.3, 0.5]]), 0.2)
    array([0.5, 1. ])
    """
    return np.asarray(np.mean(excursion(np.atleast_2d(paths), level, direction), axis=0))


def agreed(share: Floats, cutoff: float) -> Bools:
    """Where vote fractions or exceedance probabilities, of any shape, are at least `cutoff`; ties are inside.

    The one rule by which every map of this program is cut. Raises InvalidValue for a cutoff outside (0, 1].
    """
    if not 0 < cutoff <= 1:
        raise InvalidValue(f"the cutoff must be in (0, 1], got {cutoff!r}.")
    return np.asarray(share >= cutoff - ROUNDING)


def agreed_each(share: Floats, cutoffs: Floats) -> Bools:
    """`agreed` for several maps (R, N), each with its own cutoff (R,)."""
    return np.stack([agreed(row, float(cutoff)) for row, cutoff in zip(share, cutoffs, strict=True)])


def released_set(
    paths: Floats, level: Floats | float, cutoff: float = 0.5, direction: Direction = "above"
) -> Bools:
    """(N,) cells whose vote fraction is at least `cutoff`, in (0, 1]; the rest as for `vote_fraction`."""
    return agreed(vote_fraction(paths, level, direction), cutoff)


def vorobev_set(paths: Floats, level: Floats | float, direction: Direction = "above") -> Bools:
    """(N,) Vorob'ev expectation: the vote-fraction set whose area comes closest from above to the mean area.

    The smallest set `{vote fraction >= t}` with at least as many cells as the paths' sets have on average
    (Molchanov 2005, section 2.2.2). Areas are numbers of cells: H3 cells of a city differ by under 1 %.
    """
    votes = vote_fraction(paths, level, direction)
    wanted = float(votes.sum())
    if wanted <= ROUNDING:
        return np.zeros(votes.shape, dtype=bool)
    ranked = np.sort(votes)[::-1]
    needed = max(1, int(np.ceil(wanted - ROUNDING * votes.size)))
    return agreed(votes, float(ranked[needed - 1]))


def inner_set(
    paths: Floats, level: Floats | float, confidence: float, direction: Direction = "above"
) -> Bools:
    """(N,) cells that lie in the excursion set all at once, in at least a share `confidence` of the paths.

    The largest set `{vote fraction >= t}` that a share >= confidence of the L paths contain as a whole: the
    one-parameter family of Bolin and Lindgren (2015, doi 10.1111/rssb.12055), with simulated paths. L paths
    support confidences in steps of 1/L, and a confidence above 1 - 1/L means "in every path". The set is
    chosen and judged on the same paths; `coverage.py` simulates how often it is right. Raises InvalidValue
    for a confidence outside (0, 1].
    """
    inside = excursion(np.atleast_2d(paths), level, direction)
    if not 0 < confidence <= 1:
        raise InvalidValue(f"the confidence must be in (0, 1], got {confidence!r}.")
    votes = inside.mean(axis=0)
    order = np.argsort(-votes, kind="stable")
    outside = ~inside[:, order]
    first_miss = np.where(outside.any(axis=1), outside.argmax(axis=1), order.size)
    # A path contains the first j cells of the order if its first miss is at or after j.
    sizes = np.arange(1, order.size + 1)
    containing = np.mean(first_miss[:, None] >= sizes[None, np.flatnonzero(_ends(votes[order]))], axis=0)
    allowed = sizes[np.flatnonzero(_ends(votes[order]))][agreed(containing, confidence)]
    result = np.zeros(order.size, dtype=bool)
    result[order[: int(allowed.max(initial=0))]] = True
    return result


def outer_set(
    paths: Floats, level: Floats | float, confidence: float, direction: Direction = "above"
) -> Bools:
    """(N,) cells outside of which no cell is in the excursion set, in a share `confidence` of the paths."""
    return ~inner_set(paths, level, confidence, "below" if direction == "above" else "above")


def three_way(paths: Floats, level: Floats | float, confidence: float) -> NDArray[np.int8]:
    """(N,) +1 surely above, -1 surely below, 0 cannot tell: inner sets of both directions.

    Either statement holds for all its cells at once in a share `confidence` of the paths.
    """
    above = inner_set(paths, level, confidence, "above")
    below = inner_set(paths, level, confidence, "below")
    return told(above, below)


def told(above: Bools, below: Bools) -> NDArray[np.int8]:
    """(N,) +1 surely above, -1 surely below, 0 cannot tell, from the inner sets of both sides, (N,) each.

    With a confidence of at most one half both can claim a cell: then nothing can be told of it.
    """
    return np.asarray(above.astype(np.int8) - below.astype(np.int8), dtype=np.int8)


def excursion_function(excursions: Iterable[Bools], order: Ints) -> Floats:
    """(N,) largest confidence at which each cell belongs to the inner set, from L excursion sets in batches
    (b, N).

    It is the share of the sets that hold the cell and all surer ones (`order`, surest first), in steps of
    1/L. Cells with a value of at least 1 - a all exceed the level at once with probability 1 - a. Bolin and
    Lindgren (2015, doi 10.1111/rssb.12055), for the family of sets of largest marginal probability, with
    simulated sets. Raises InvalidValue without a set.
    """
    first_miss: list[Ints] = []
    for batch in excursions:
        outside = ~batch[:, order]
        first_miss.append(np.where(outside.any(axis=1), outside.argmax(axis=1), order.size))
    misses = np.concatenate(first_miss) if first_miss else np.zeros(0, dtype=np.int64)
    if misses.size == 0:
        raise InvalidValue("at least one excursion set is needed.")
    holding = misses.size - np.cumsum(np.bincount(misses, minlength=order.size + 1))[:-1]
    result = np.empty(order.size)
    result[order] = holding / misses.size
    return result


def _ends(ranked: Floats) -> Bools:
    """Marks the last cell of each run of equal vote fractions: only there does a vote-fraction set end."""
    return np.append(np.diff(ranked) < 0, True)
