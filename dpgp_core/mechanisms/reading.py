"""What a reader learns of the field from one release: mean, deviation and draws at every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.releasing import to_grid, up_to_grid

DRAWS = 100  # draws of the field that go along with paths which are none themselves
DRAW_STEP = 2.0**-10
"""Draws are rounded to multiples of this public step, response units: far finer than any deviation."""

WITHIN = 0.9
"""Probability of the interval in which a mixture of readings and the normal law that stands for it agree."""

HALVINGS = 16

LEAST_WEIGHT = 0.02  # beliefs with less posterior weight than this are left out


@dataclass(frozen=True, eq=False)
class Reading:
    """The posterior of the field given what was released: post-processing, free."""

    # mean, sd: (N,) response units: exceedance probabilities follow at every threshold
    mean: Floats
    sd: Floats
    draws: Floats  # (J, N) joint draws, response units

    def __post_init__(self) -> None:
        if not (self.mean.shape == self.sd.shape == self.draws.shape[1:]):
            raise InvalidValue("mean, deviation and draws of a reading need one number per cell.")
        if not all(np.all(np.isfinite(part)) for part in (self.mean, self.sd, self.draws)):
            raise InvalidValue("a reading must be finite.")
        if np.any(self.sd < 0):
            raise InvalidValue("a reading's deviation must not be negative.")

    def on_grid(self) -> Reading:
        """The same on public grids; deviations are rounded up."""
        return Reading(to_grid(self.mean), up_to_grid(self.sd), np.round(self.draws / DRAW_STEP) * DRAW_STEP)

    def shifted(self, prior_mean: Floats | None) -> Reading:
        """With a public prior mean (N,), response units, added back to the field."""
        if prior_mean is None:
            return self
        return Reading(self.mean + prior_mean, self.sd, self.draws + prior_mean)


def mixed(readings: Sequence[Reading], weight: Floats) -> Reading:
    """The mixture of B readings as one, by posterior weights (B,) that sum to 1; its draws are all of theirs.

    Its mean is the mixture's, and its deviation is that for which the normal law's interval of probability
    WITHIN holds so much of the mixture. One with the mixture's variance would mostly tell how wide the widest
    beliefs are, however unlikely.
    """
    means = np.array([reading.mean for reading in readings])
    spreads = np.maximum([reading.sd for reading in readings], 1e-12)
    mean, reach = weight @ means, float(ndtri(0.5 + 0.5 * WITHIN))
    apart = means - mean
    least, most = spreads.min(axis=0), (spreads + np.abs(apart) / reach).max(axis=0)
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        low, high = ((sign * reach * middle - apart) / spreads for sign in (-1.0, 1.0))
        enough = weight @ (ndtr(high) - ndtr(low)) >= WITHIN
        least, most = np.where(enough, least, middle), np.where(enough, middle, most)
    return Reading(mean, most, np.concatenate([reading.draws for reading in readings]))


def shares(weight: Floats, count: int) -> list[int]:
    """Whole numbers that sum to `count`, in proportion to weights (B,)."""
    ends = np.rint(np.cumsum(weight) * count).astype(int)
    return [int(number) for number in np.diff(np.concatenate([[0], ends]))]
