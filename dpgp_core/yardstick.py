"""The yardstick of a map: the hexagons that are judged, and how many records it places on the right side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import ROUNDING, agreed, stated_scores
from dpgp_core.linalg import Bools, Floats, Ints

JUDGED_SHARE = 0.95
"""Share of the expected records that the judged hexagons hold."""
HALF = 0.5
"""The chance from which a map shows a hexagon on the asked side."""


def judged_domain(expected: Floats) -> Bools:
    """(N,) the judged hexagons: the fewest that together hold 95 % of the expected records.

    `expected` (N,), numbers of records >= 0, comes from a release or is public; never from private counts.
    Hexagons that expect as many as the last that is needed are judged too, so no order of hexagons matters.
    Without any expected record all hexagons are judged. Raises InvalidValue for numbers that are negative or
    not finite.
    """
    numbers = np.asarray(expected, dtype=np.float64)
    if not np.all(np.isfinite(numbers)) or np.any(numbers < 0.0):
        raise InvalidValue("expected numbers of records must be finite and at least 0.")
    total = float(numbers.sum())
    if total <= 0.0:
        return np.ones(numbers.shape, dtype=bool)
    ranked = np.sort(numbers)[::-1]
    held = np.cumsum(ranked)
    last = min(int(np.searchsorted(held, JUDGED_SHARE * total - ROUNDING * total)), ranked.size - 1)
    return np.asarray(numbers >= ranked[last])


@dataclass(frozen=True)
class Promise:
    """What a release says of its own map, over its judged hexagons; NaN where a number is not defined."""

    orange: float  # mean chance of the hexagons shown as likely on the asked side
    finds: float  # expected share of the hexagons on the asked side that are shown as likely
    right: float  # expected share of records in hexagons shown on the side of their field


def promise_of(chance: Floats, likely: Bools, judged: Bools, expected: Floats | None = None) -> Promise:
    """The numbers that follow from the (N,) chances of a release, its `likely` and `judged` hexagons.

    `right` weighs hexagons by their `expected` (N,) records, all alike without them.
    """
    scores = stated_scores(chance[judged], likely[judged])
    weight = np.ones(chance.size) if expected is None else np.asarray(expected, dtype=np.float64)
    weight, sure = weight[judged], np.maximum(chance, 1.0 - chance)[judged]
    total = float(weight.sum())
    right = float(weight @ sure) / total if total > 0 else math.nan
    return Promise(scores.right, scores.found, right)


@dataclass(frozen=True, eq=False)
class Sides:
    """How many records lie on either side of a threshold in each hexagon. Private where the records are."""

    inside: Floats  # (N,) records on the asked side
    outside: Floats  # (N,) the others

    @classmethod
    def of(cls, cell: Ints, inside: Bools, size: int) -> Sides:
        """Count (n,) records, each in its hexagon `cell` and `inside` the asked side or not, over N cells."""
        yes = np.bincount(cell, weights=inside, minlength=size).astype(np.float64)
        return cls(yes, np.bincount(cell, minlength=size) - yes)

    def total(self, judged: Bools) -> int:
        """Number of records in the (N,) judged hexagons."""
        return round(float((self.inside + self.outside)[judged].sum()))

    def right(self, shown: Bools, judged: Bools) -> float:
        """Share of the records in (N,) `judged` hexagons that lie on the side a map shows there.

        `shown`: (N,) hexagons on the asked side. NaN without a record there.
        """
        number = self.total(judged)
        on_side = np.where(shown, self.inside, self.outside)[judged].sum()
        return float(on_side) / number if number else math.nan

    def one_colour(self, judged: Bools) -> float:
        """The same of the better map of one colour, chosen knowing the answer; `judged` (N,)."""
        everywhere = np.ones(judged.shape, dtype=bool)
        return max(self.right(everywhere, judged), self.right(~everywhere, judged))


def shown_side(chance: Floats, judged: Bools) -> Bools:
    """(N,) judged hexagons that a map shows on the asked side: from a chance of one half on."""
    return agreed(chance, HALF) & judged
