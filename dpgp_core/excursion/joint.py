"""Joint excursion sets of a field from its mean, its deviation and a limited number of joint draws."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpgp_core.excursion.sets import Direction, excursion
from dpgp_core.linalg import Bools, Floats
from dpgp_core.noise import Entropy

BATCH = 200


def joint_excursions(
    mean: Floats,
    sd: Floats,
    draws: Floats,
    level: Floats | float,
    direction: Direction,
    count: int,
    entropy: Entropy,
) -> Iterator[Bools]:
    """Draw `count` excursion sets, (<= BATCH, N) at a time, of a normal field with this mean and deviation
    (N,).

    Only how cells vary together is taken from its joint draws (J, N). A set is that of `mean + sd (weights .
    standardised draws)` with independent normal weights of variance 1/J: a field whose correlation is that of
    the draws. So there are as many sets as wanted of few draws, and no two statements about one cell
    disagree. The entropy may be seeded: everything here is published already.
    """
    centred = draws - draws.mean(axis=0)
    spread = np.sqrt(np.square(centred).mean(axis=0))
    alike = spread < 1e-12  # draws that agree say nothing of how this cell varies
    unit = np.where(alike, 0.0, centred / np.where(alike, 1.0, spread))
    size = 1.0 / np.sqrt(draws.shape[0])
    for start in range(0, count, BATCH):
        weights = size * entropy.normal((min(BATCH, count - start), draws.shape[0]))
        yield excursion(mean + sd * (weights @ unit), level, direction)
