"""The errors of an attack on fresh releases, and the epsilon that they prove."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpgp_core._checks import open_unit, whole
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats


@dataclass(frozen=True)
class ErrorCounts:
    """Errors of a test: "in" for `hits` of `members` and `alarms` of `others`, on fresh releases."""

    hits: int
    members: int
    alarms: int
    others: int

    def __post_init__(self) -> None:
        if not (0 <= self.hits <= self.members and 0 <= self.alarms <= self.others):
            raise InvalidValue("counts must not exceed the number of trials.")
        if self.members < 1 or self.others < 1:
            raise InvalidValue("at least one release under each hypothesis is needed.")

    @property
    def true_positive_rate(self) -> float:
        return self.hits / self.members

    @property
    def false_positive_rate(self) -> float:
        return self.alarms / self.others


def rate_below(successes: int, trials: int, failure: float) -> float:
    """Lower confidence limit (Clopper-Pearson), wrong with probability at most `failure`."""
    from scipy.stats import beta  # half a second to import, for audits alone

    successes, trials = int(successes), whole("trials", trials)
    return 0.0 if successes == 0 else float(beta.ppf(failure, successes, trials - successes + 1))


def rate_above(successes: int, trials: int, failure: float) -> float:
    """Upper confidence limit (Clopper-Pearson), wrong with probability at most `failure`."""
    return 1.0 - rate_below(trials - successes, trials, failure)


def epsilon_lower_bound(counts: ErrorCounts, delta: float, confidence: float = 0.95) -> float:
    """Lower bound, at least 0, on every epsilon at which the mechanism can be private.

    (epsilon, delta)-privacy forces TPR <= e^epsilon FPR + delta and, from the other side, 1 - FPR
    <= e^epsilon (1 - TPR) + delta, for every test (Wasserman and Zhou 2010; Kairouz, Oh, Viswanath
    2015). The four rates are replaced by their confidence limits, each failing with probability at
    most (1 - confidence)/4, so the returned number is wrong with probability at most 1 -
    confidence, provided the test was fixed before these releases were drawn.
    """
    delta, failure = open_unit("delta", delta), (1.0 - open_unit("confidence", confidence)) / 4.0
    sides = (
        (rate_below(counts.hits, counts.members, failure), rate_above(counts.alarms, counts.others, failure)),
        (
            rate_below(counts.others - counts.alarms, counts.others, failure),
            rate_above(counts.members - counts.hits, counts.members, failure),
        ),
    )
    return max(0.0, *(math.log((high - delta) / low) if high > delta else 0.0 for high, low in sides))


def count_errors(members: Floats, others: Floats, threshold: float) -> ErrorCounts:
    """Count the errors of "score above threshold" with (m,) and without (k,) the target."""
    return ErrorCounts(
        int((members > threshold).sum()), members.size, int((others > threshold).sum()), others.size
    )


def best_threshold(members: Floats, others: Floats, delta: float, least: int = 20) -> float:
    """The threshold whose estimated rates prove most at `delta`, for shadow releases only.

    Looks from both sides at thresholds that leave at least `least` scores of (m,) and of (k,)
    beyond them.
    """
    # Scores of both samples serve as thresholds; at most 2,000 of them are tried.
    pooled = np.sort(np.concatenate([members, others]))
    steps = np.unique(np.linspace(0, pooled.size - 1, min(pooled.size, 2000)).astype(np.int64))
    thresholds = pooled[steps]
    hits = members.size - np.searchsorted(np.sort(members), thresholds, side="right")
    alarms = others.size - np.searchsorted(np.sort(others), thresholds, side="right")
    wide = 2.0  # standard deviations by which a rate is distrusted while choosing

    # Rates are moved against the attacker before the ratio is taken, so that a threshold in a far
    # tail, with few scores, is not chosen for its luck.
    def proved(high: Floats, high_of: int, low: Floats, low_of: int) -> Floats:
        top = np.maximum((high - wide * np.sqrt(high)) / high_of - delta, 0.0)
        bottom = (low + wide * np.sqrt(low) + least / 4.0) / low_of
        return np.where(top > 0.0, np.log(np.maximum(top, 1e-300) / bottom), 0.0)

    gain = np.maximum(
        proved(hits.astype(float), members.size, alarms.astype(float), others.size),
        proved(
            (others.size - alarms).astype(float),
            others.size,
            (members.size - hits).astype(float),
            members.size,
        ),
    )
    return float(thresholds[int(np.argmax(gain))])
