"""Noisy sums and counts of every cell: exact integers, and noise rounded to the same integers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.gaussian import allowed_mu
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, Ints
from dpgp_core.noise import Entropy, SimulationEntropy, distance_of, noisy_integers, simulated_integers
from dpgp_core.posterior.records import UNIT, CollapsedRecords
from dpgp_core.releasing import GRID

STATISTIC_SENSITIVITY = 2.0
"""L2 sensitivity of all cells' (sum, count) for responses in [-1, 1], one record replaced.

With M = 1 a record (x, y) contributes the vector (y, w), |y| <= M, to the two coordinates of its
cell, with count weight w. Replacing it by (x', y') moves the statistics by the difference of two
such contributions:

* same cell: (y - y', 0), squared length at most (2M)^2 = 4 M^2;
* two cells: (y, w) leaves and (y', w) enters disjoint coordinates, squared length at most 2 (M^2 +
w^2).

The maximum is 4 M^2 for every w <= M, so w = M is the most precise count that costs nothing, and
the sensitivity is 2M. Both extremes are attained (docs/mathematics.md, section 11).
"""


@dataclass(frozen=True, eq=False)
class NoisyStatistics:
    """Released statistics: no longer private, and free for any computation."""

    sums: Floats  # (N,) clipped response sums plus N(0, s^2); cells without records carry noise as well
    counts: Floats  # (N,) record counts plus N(0, s^2); may be negative
    noise: float  # s > 0
    n: int  # number of records if it is public, otherwise the sum of `counts`, at least 1

    def __post_init__(self) -> None:
        if self.sums.ndim != 1 or self.sums.shape != self.counts.shape or self.sums.size == 0:
            raise InvalidValue("sums and counts must be one-dimensional and of equal length.")
        if not (np.all(np.isfinite(self.sums)) and np.all(np.isfinite(self.counts))):
            raise InvalidValue("noisy statistics must be finite.")
        if not (np.isfinite(self.noise) and self.noise > 0 and self.n >= 1):
            raise InvalidValue("noisy statistics need a noise s > 0 and at least one record.")


def statistic_noise_for(epsilon: float, delta: float) -> float:
    """Standard deviation s that makes the statistics (epsilon, delta)-private, exactly.

    Raises InvalidValue if epsilon or delta is out of range, or no noise reaches them.
    """
    return STATISTIC_SENSITIVITY / allowed_mu(epsilon, delta) * (1.0 + 1e-15)


def statistic_mu(statistic_noise: float) -> float:
    """Gaussian-DP parameter `mu = 2M/s` of one release of the statistics, M = 1."""
    return STATISTIC_SENSITIVITY / statistic_noise if statistic_noise > 0 else float("inf")


def apart_mu(statistic_noise: float, q: int) -> float:
    """mu of the statistics for q records exchanged at once, at most one in each cell: `2
    sqrt(q)/s`, upwards.

    Before and after they are in at most 2 q cells. A record that leaves or enters a cell moves its
    sum and count by at most sqrt(2), and one that stays moves a sum by at most 2: 4 q in square.
    Source: docs/proofs/owners.md, proposition 3.
    """
    return statistic_mu(statistic_noise) * math.sqrt(q) * (1.0 + 2.0**-48)


def statistics_cost(statistic_noise: float, size: int) -> Cost:
    """Proved cost of one release of the statistics of `size` cells by `release_statistics`.

    A Gaussian mechanism of `statistic_mu`, whose noise is within `distance_of(2 size)` of the ideal
    law.
    """
    return Cost.gaussian(statistic_mu(statistic_noise) * (1.0 + 2.0**-50), distance_of(2 * size))


def release_statistics(
    records: CollapsedRecords,
    size: int,
    statistic_noise: float,
    entropy: Entropy,
    *,
    n_is_public: bool = True,
) -> NoisyStatistics:
    """Add N(0, s^2) to every cell's sum and count, over `size` cells; s > 0, response units and
    records.

    Sums, counts and noise are whole multiples of `GRID`: exact, from the bits of `SystemEntropy`;
    in floating point from `SimulationEntropy`; from no other source. The records are PRIVATE:
    called only through `dpgp_core.releasing.draw_release`. Unless `n_is_public` the number of
    records is that of the noisy counts. Source: docs/accounting.md, section 6. Raises InvalidValue
    for another noise, or a record outside the domain.
    """
    if not (np.isfinite(statistic_noise) and statistic_noise > 0):
        raise InvalidValue(f"the statistic noise must be a positive finite number, got {statistic_noise!r}.")
    if records.index[-1] >= size:
        raise InvalidValue("a record lies outside the domain.")
    noisy = noisy_totals(records, np.arange(size), statistic_noise, entropy)
    n = records.n if n_is_public else max(1, round(float(noisy[1].sum())))
    return NoisyStatistics(noisy[0], noisy[1], float(statistic_noise), n)


def noisy_totals(records: CollapsedRecords, groups: Ints, noise: float, entropy: Entropy) -> Floats:
    """(2, k) sums of responses and numbers of records of k groups of cells, plus N(0, noise^2), on
    the grid.

    The records are PRIVATE; `groups` (N,) numbers the public group, 0 to k - 1, of every cell.
    `noise` > 0 is in response units. True noise comes from `SystemEntropy`, floating point from
    `SimulationEntropy`. Raises InvalidValue for another source, or if numbers do not fit the grid.
    """
    # Integer sums do not depend on the order of the records, so neighbouring datasets differ by
    # exactly the shift that the sensitivity bounds.
    totals = np.zeros((2, int(groups.max()) + 1), dtype=np.int64)
    np.add.at(totals[0], groups[records.index], records.units * round(UNIT / GRID))
    np.add.at(totals[1], groups[records.index], records.count * round(1.0 / GRID))
    add = simulated_integers if isinstance(entropy, SimulationEntropy) else noisy_integers
    return np.asarray(add(totals, noise, GRID, entropy) * GRID)
