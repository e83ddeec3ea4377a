"""The membership attack: statistics of released path values, likelihood ratios from shadow releases, ROC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core.audit.lower_bound import ErrorCounts
from dpgp_core.audit.mixtures import LatentMixture, Mixture
from dpgp_core.linalg import Floats

_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Statistics:
    """What the attacker sees of each release at the target: mean and, with L > 1, log variance of the
    sample.
    """

    mean: Floats  # (S,) response units
    log_variance: Floats | None = None  # (S,) or None for a single path
    exact: bool = False  # true for posterior moments without sampling noise

    @staticmethod
    def of(values: Floats) -> Statistics:
        """From released values at the target, (S, L)."""
        mean = values.mean(axis=1)
        if values.shape[1] == 1:
            return Statistics(mean)
        return Statistics(mean, np.log(np.maximum(values.var(axis=1, ddof=1), _TINY)))

    @staticmethod
    def of_moments(mean: Floats, variance: Floats) -> Statistics:
        """The limit of infinitely many paths: posterior mean and variance themselves, of one shape."""
        return Statistics(mean, np.log(np.maximum(variance, _TINY)), exact=True)


@dataclass(frozen=True, eq=False)
class Scores:
    """Log likelihood ratios of S releases, in nats, in favour of "in"."""

    mean_only: Floats  # (S,) from the mean statistic alone
    combined: Floats  # (S,) from both statistics; the same where there is but one


@dataclass(frozen=True)
class Attack:
    """A likelihood-ratio attack learned from shadow releases (LiRA: Carlini et al. 2022; paper, app. C).

    The combined score is the product of the two statistics' likelihood ratios.
    """

    mean_in: LatentMixture
    mean_out: LatentMixture
    variance_in: Mixture | None
    variance_out: Mixture | None

    @staticmethod
    def learn(shadow_in: Statistics, shadow_out: Statistics) -> Attack:
        """Fit the density models to shadow releases with and without the target."""
        noisy = not shadow_in.exact
        means = (LatentMixture.fit(shadow_in.mean, noisy), LatentMixture.fit(shadow_out.mean, noisy))
        if shadow_in.log_variance is None or shadow_out.log_variance is None:
            return Attack(*means, None, None)
        return Attack(*means, Mixture.fit(shadow_in.log_variance), Mixture.fit(shadow_out.log_variance))

    def score(self, seen: Statistics) -> Scores:
        """Scores of fresh releases, (S,)."""
        mean = self.mean_in.log_density(seen.mean) - self.mean_out.log_density(seen.mean)
        if self.variance_in is None or self.variance_out is None or seen.log_variance is None:
            return Scores(mean, mean)
        spread = seen.log_variance
        return Scores(
            mean, mean + self.variance_in.log_density(spread) - self.variance_out.log_density(spread)
        )


def area_under_curve(members: Floats, others: Floats) -> float:
    """Probability that a score of the members (m,) exceeds one of the others (k,), ties counted half."""
    from scipy.stats import rankdata  # half a second to import, for audits alone

    rank = rankdata(np.concatenate([members, others]))
    total = rank[: members.size].sum() - members.size * (members.size + 1) / 2.0
    return float(total / (members.size * others.size))


def true_positive_rates(members: Floats, others: Floats, rates: Floats) -> Floats:
    """(R,) shares of members above the thresholds of false-positive rate at most `rates` (R,)."""
    ordered = np.sort(others)[::-1]
    allowed = np.minimum((np.asarray(rates) * others.size).astype(np.int64), others.size - 1)
    return np.asarray(np.mean(members[:, None] > ordered[allowed], axis=0))


def roc(members: Floats, others: Floats, points: int = 101) -> tuple[Floats, Floats]:
    """False-positive and true-positive rates (P,) of the attack that thresholds the scores (m,) and (k,)."""
    rates = np.linspace(0.0, 1.0, points) ** 2
    return rates, true_positive_rates(members, others, rates)


def count_errors(members: Floats, others: Floats, threshold: float) -> ErrorCounts:
    """Count the errors of the test "score above threshold" on fresh releases with (m,) and without (k,) the
    target.
    """
    return ErrorCounts(
        int((members > threshold).sum()), members.size, int((others > threshold).sum()), others.size
    )


def best_threshold(members: Floats, others: Floats, delta: float, least: int = 20) -> float:
    """The threshold whose estimated rates prove most at `delta`; to be chosen on shadow releases only.

    Looks from both sides at thresholds that leave at least `least` scores of (m,) and of (k,) beyond them.
    """
    pooled = np.sort(np.concatenate([members, others]))
    steps = np.unique(np.linspace(0, pooled.size - 1, min(pooled.size, 2000)).astype(np.int64))
    thresholds = pooled[steps]
    hits = members.size - np.searchsorted(np.sort(members), thresholds, side="right")
    alarms = others.size - np.searchsorted(np.sort(others), thresholds, side="right")
    wide = 2.0  # standard deviations by which a rate is distrusted while choosing

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
