"""How sure each cell is to lie in the set together with all surer ones: the excursion function, both ways."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion.sets import Direction, excursion, excursion_function, sign_of

Floats = NDArray[np.float64]


def certainty(
    draws: Floats,
    level: Floats | float,
    direction: Direction,
    field: tuple[Floats, Floats],
) -> Floats:
    """(N,) excursion function: the largest confidence at which a cell belongs to the inner set.

    Parameters
    ----------
    draws
        (J, N) joint draws of the field given the release: the paths, where they are such draws.
    level
        Response units, one number or (N,).
    field
        (N,) mean and standard deviation, response units: cells are ordered by their exceedance probability,
        ties by the mean

    Notes
    -----
    Bolin and Lindgren (2015, doi 10.1111/rssb.12055). The order is that of `(mean - level)/sd`, which orders
    as the probability does and does not end at 1.
    """
    mean, sd = field
    sign = sign_of(direction)
    score = sign * (mean - level) / np.maximum(sd, 1e-12)
    order = np.lexsort((-sign * mean, -score)).astype(np.int64)
    return excursion_function([excursion(draws, level, direction)], order)
