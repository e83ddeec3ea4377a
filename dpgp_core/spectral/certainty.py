"""Surely above, surely below, cannot tell: joint statements about sets of cells, from excursion sets."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg.numerics import Floats

Bools = NDArray[np.bool_]

ROUNDING = 1e-9


def ranking(probability: Floats, mean: Floats) -> NDArray[np.int64]:
    """(N,) cells from the surest to the least sure: by exceedance probability, ties broken by the mean."""
    return np.asarray(np.lexsort((-mean, -probability)), dtype=np.int64)


def excursion_function(excursions: Iterable[Bools], order: NDArray[np.int64]) -> Floats:
    """(N,) largest confidence at which each cell belongs to the inner set.

    Parameters
    ----------
    excursions : iterable of ndarray of bool, each of shape (b, N)
        Posterior excursion sets, in batches; L in all.
    order : ndarray of int, shape (N,)
        Cells from the surest on (`ranking`).

    Returns
    -------
    ndarray, shape (N,)
        Share of the L sets that hold the cell and all surer ones, in steps of 1/L, not increasing along
        `order`. Cells with a value of at least 1 - a all exceed the level at once with probability 1 - a.

    Raises
    ------
    InvalidValue
        If there is no set.

    Notes
    -----
    The excursion function of Bolin and Lindgren (2015, doi 10.1111/rssb.12055) for the one-parameter family
    of sets of largest marginal probability, with simulated sets.
    """
    first_miss: list[NDArray[np.int64]] = []
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


def three_way(above: Floats, below: Floats, confidence: float) -> NDArray[np.int8]:
    """(N,) +1 surely above, -1 surely below, 0 cannot tell, from the excursion functions of both sides.

    Each side's statement holds for all its cells at once with the given probability.

    Raises
    ------
    InvalidValue
        If the confidence is not in (0, 1].
    """
    if not 0.0 < confidence <= 1.0:
        raise InvalidValue(f"the confidence must be in (0, 1], got {confidence!r}.")
    over, under = above >= confidence - ROUNDING, below >= confidence - ROUNDING
    return (over.astype(np.int8) - under.astype(np.int8)).astype(np.int8)
