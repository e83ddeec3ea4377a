"""The yardstick of a map: the judged hexagons, and the share of records that it shows on the right
side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import ROUNDING, agreed, stated_scores
from dpgp_core.linalg import Bools, Floats, Ints

JUDGED_SHARE = 0.95
"""Share of the expected records in the judged hexagons."""
HALF = 0.5
"""Least chance at which a map shows a hexagon on the side of the question."""
LIKELY = 0.8
"""Least chance of a hexagon that is shown as likely on that side."""
TEMPER = 0.65
"""Factor on the logits of chances that rest on a public map too: as they are they promise too
much."""


def judged_domain(expected: Floats) -> Bools:
    """(N,) the judged hexagons: the smallest set that contains 95 % of the expected records.

    `expected` (N,), numbers of records >= 0, comes from a release or is public; never from private
    counts. Hexagons with as many expected records as the last one of the set are included, so the
    order of hexagons does not matter. Without any expected record all hexagons are judged. Raises
    InvalidValue for numbers that are negative or not finite.
    """
    numbers = np.asarray(expected, dtype=np.float64)
    if not np.all(np.isfinite(numbers)) or np.any(numbers < 0.0):
        raise InvalidValue("expected numbers of records must be finite and at least 0.")
    total = float(numbers.sum())
    if total <= 0.0:
        return np.ones(numbers.shape, dtype=bool)
    ranked = np.sort(numbers)[::-1]
    cumulative = np.cumsum(ranked)
    last = min(int(np.searchsorted(cumulative, JUDGED_SHARE * total - ROUNDING * total)), ranked.size - 1)
    return np.asarray(numbers >= ranked[last])


@dataclass(frozen=True)
class Promise:
    """Expected scores of a release's own map over its judged hexagons; NaN for an undefined
    number."""

    orange: float  # mean chance of the hexagons shown as likely on the side of the question
    finds: float  # expected share of the hexagons on that side that are shown as likely
    right: float  # expected share of records in hexagons shown on the side of their field


def tempered(chance: Floats) -> Floats:
    """Return chances (N,) nearer to one half: their logits times `TEMPER`."""
    return np.asarray(expit(TEMPER * logit(np.clip(chance, 0.0, 1.0))))


def promise_of(chance: Floats, likely: Bools, judged: Bools, expected: Floats | None = None) -> Promise:
    """Compute the scores from the (N,) chances of a release, its `likely` and `judged` hexagons.

    `right` weighs hexagons by their `expected` (N,) records, or equally without them.
    """
    scores = stated_scores(chance[judged], likely[judged])
    weight = np.ones(chance.size) if expected is None else np.asarray(expected, dtype=np.float64)
    weight, sure = weight[judged], np.maximum(chance, 1.0 - chance)[judged]
    total = float(weight.sum())
    right = float(weight @ sure) / total if total > 0 else math.nan
    return Promise(scores.right, scores.found, right)


@dataclass(frozen=True, eq=False)
class Sides:
    """Number of records on either side of a threshold in each hexagon; as private as the
    records."""

    inside: Floats  # (N,) records on the side of the question
    outside: Floats  # (N,) the other records

    @classmethod
    def of(cls, cell: Ints, inside: Bools, size: int) -> Sides:
        """Count (n,) records by hexagon `cell` and by side, `inside` or not, over N cells."""
        yes = np.bincount(cell, weights=inside, minlength=size).astype(np.float64)
        return cls(yes, np.bincount(cell, minlength=size) - yes)

    def total(self, judged: Bools) -> int:
        """Number of records in the (N,) judged hexagons."""
        return round(float((self.inside + self.outside)[judged].sum()))

    def right(self, shown: Bools, judged: Bools) -> float:
        """Share of the records in (N,) `judged` hexagons that are on the side shown by a map.

        `shown`: (N,) hexagons on the side of the question. NaN without a record.
        """
        number = self.total(judged)
        on_side = np.where(shown, self.inside, self.outside)[judged].sum()
        return float(on_side) / number if number else math.nan

    def one_colour(self, judged: Bools) -> float:
        """The share `right` of the better map of one colour, chosen with hindsight; `judged`
        (N,)."""
        everywhere = np.ones(judged.shape, dtype=bool)
        return max(self.right(everywhere, judged), self.right(~everywhere, judged))


def shown_side(chance: Floats, judged: Bools) -> Bools:
    """(N,) judged hexagons that a map shows on the side of the question: those with chance >=
    1/2."""
    return agreed(chance, HALF) & judged
