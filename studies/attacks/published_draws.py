"""The published attack's own random draws, in its order: what lets figures be compared draw for draw."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dpgp_core.noise import Entropy
from studies.excursions.fields import Floats

N, TARGET = 10, 0.5
FITTED, RESTARTS, PARAMETERS = 2, 14, 6  # normal numbers that its density fits use between the two stages

Role = Literal["shadow", "fresh"]
Draws = tuple[Floats, Floats, Floats]
"""Covariates (S, 10), labels (S, 10) and standard normal numbers (S, L) of S datasets."""


def published_draws(entropy: Entropy, sets: int, paths: int) -> dict[tuple[Role, bool], Draws]:
    """By role and membership, as the published script draws them without label noise.

    Per dataset: covariates left of the jump, then right of it, one (unused) number of label noise for each
    record, then the paths' normal numbers. `SimulationEntropy(seed)` gives the script's numbers for its seed.
    """
    shadow: dict[tuple[Role, bool], Draws] = {
        ("shadow", member): _datasets(entropy, sets, paths, member) for member in (True, False)
    }
    entropy.normal(FITTED * RESTARTS * PARAMETERS)
    fresh: dict[tuple[Role, bool], Draws] = {
        ("fresh", member): _datasets(entropy, sets, paths, member) for member in (True, False)
    }
    return shadow | fresh


def _datasets(entropy: Entropy, sets: int, paths: int, member: bool) -> Draws:
    x, normal = np.empty((sets, N)), np.empty((sets, paths))
    own, left = int(member), N // 2
    for row in range(sets):
        x[row, own : own + left] = 0.5 * entropy.uniform(left)
        x[row, own + left :] = 0.5 + 0.5 * entropy.uniform(N - own - left)
        entropy.uniform(N)
        normal[row] = entropy.normal(paths)
    x[:, :own] = TARGET
    return x, np.where(x < TARGET, -1.0, 1.0), normal
