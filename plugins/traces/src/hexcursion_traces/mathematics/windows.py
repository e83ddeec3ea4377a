"""Noise for long traces: shaped in windows around the secrets, a floor elsewhere, certified as a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, solveh_banded

from dpgp_core.errors import InvalidValue, NumericalFailure
from dpgp_core.noise import Entropy
from hexcursion_traces.mathematics.descent import Report
from hexcursion_traces.mathematics.loss import Certificate, certify
from hexcursion_traces.mathematics.optimum import FLOOR_SHARE, best_noise
from hexcursion_traces.mathematics.posterior import interval
from hexcursion_traces.mathematics.prior import ROBUST_FACTORS, Floats, TracePrior
from hexcursion_traces.mathematics.secret import Secret

Mode: TypeAlias = Literal["robust", "exact"]
LARGEST_WINDOW = 400
"""Records that are shaped together; a descent over more takes minutes."""

MOST_RECORDS = 20_000
_CLOSE = 0.02  # gap to the least loss at which a window is shaped well enough: of the odds' exponent 1 %
_DENSE = 700  # records up to which a certificate is computed with full matrices
_REACH = 4.0  # lengthscales on either side of a secret that its window covers
_FELT = 9.0  # lengthscales beyond which a correlation, below 3e-18, is cut off


@dataclass(frozen=True, eq=False)
class TraceNoise:
    """Noise of a whole trace, one axis: blocks of records with correlated noise, and a floor elsewhere.

    Parameters
    ----------
    size : int
        Number of records.
    floor : float
        Variance of the records outside of every block, square metres.
    blocks : tuple of (int, (m, m) float64)
        First record of each block and its covariance, in order and apart.
    """

    size: int
    floor: float
    blocks: tuple[tuple[int, Floats], ...]

    @property
    def variance(self) -> Floats:
        """(n,): variance of the noise of each record, square metres."""
        found = np.full(self.size, self.floor)
        for first, block in self.blocks:
            found[first : first + len(block)] = np.diag(block)
        return found

    def dense(self) -> Floats:
        """(n, n): the covariance as a full matrix."""
        return self.within(0, self.size)

    def within(self, first: int, last: int) -> Floats:
        """(last - first, last - first): the covariance of a stretch of records as a full matrix."""
        whole = np.eye(last - first) * self.floor
        for start, block in self.blocks:
            low, high = max(start, first), min(start + len(block), last)
            if low < high:
                part = block[low - start : high - start, low - start : high - start]
                whole[low - first : high - first, low - first : high - first] = part
        return whole

    def draw(self, entropy: Entropy) -> Floats:
        """(2, n): noise for both axes, independent of one another, metres."""
        noise = entropy.normal((2, self.size)) * math.sqrt(self.floor)
        for first, block in self.blocks:
            values, vectors = np.linalg.eigh(block)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            noise[:, first : first + len(block)] = entropy.normal((2, len(block))) @ root.T
        return np.asarray(noise)

    def scaled(self, times: float) -> TraceNoise:
        """The same shape with `times` the variance."""
        blocks = tuple((first, block * times) for first, block in self.blocks)
        return TraceNoise(self.size, self.floor * times, blocks)


def design_noise(
    times: ArrayLike,
    secrets: Sequence[Secret],
    prior: TracePrior,
    mean_square: float,
    *,
    mode: Mode = "robust",
    report: Report | None = None,
) -> TraceNoise:
    """Shape noise for a trace with a mean squared error per record in the windows around its secrets.

    Parameters
    ----------
    times : (n,)
        Seconds, ascending.
    secrets : sequence of Secret
    prior : TracePrior
    mean_square : float
        Square metres per axis; records outside of every window get `FLOOR_SHARE` of it.
    mode : {"robust", "exact"}
        "robust" keeps the worst loss over `ROBUST_FACTORS` times the lengthscale smallest, "exact" that of
        the stated lengthscale alone.
    report : callable, optional

    Raises
    ------
    InvalidValue
        For no secret, too many records, or secrets whose windows join to more than `LARGEST_WINDOW` records.
    """
    t = np.asarray(times, dtype=np.float64)
    if t.size > MOST_RECORDS:
        raise InvalidValue(
            f"a trace of {t.size:,} records is too long, {MOST_RECORDS:,} is the most: thin it to one record "
            "every few seconds."
        )
    if not secrets:
        raise InvalidValue("nothing is hidden: choose at least one secret.")
    factors = ROBUST_FACTORS if mode == "robust" else (1.0,)
    floor = FLOOR_SHARE * mean_square
    spans = _spans(t, secrets, _REACH * prior.lengthscale * max(factors))
    blocks = []
    for number, (first, last) in enumerate(spans):
        inside = [
            Secret(tuple(record - first for record in secret.records), secret.moves)
            for secret in secrets
            if first <= secret.records[0] < last
        ]
        covariances = [candidate.covariance(t[first:last]) for candidate in prior.candidates(factors)]

        def told(fraction: float, text: str, number: int = number) -> None:
            if report is not None:
                report((number + fraction) / len(spans), text)

        design = best_noise(
            covariances, inside, mean_square * (last - first), floor=floor, report=told, enough=_CLOSE
        )
        blocks.append((first, design.noise))
    return TraceNoise(t.size, floor, tuple(blocks))


def _spans(t: Floats, secrets: Sequence[Secret], reach: float) -> list[tuple[int, int]]:
    """First and last + 1 record of each window, in order; windows that touch are one."""
    spans: list[tuple[int, int]] = []
    if t.size <= LARGEST_WINDOW:
        return [(0, int(t.size))]
    for secret in sorted(secrets, key=lambda one: one.records[0]):
        first, last = secret.records[0], secret.records[-1] + 1
        room = max(0, (LARGEST_WINDOW // 2 - (last - first)) // 2)  # half of it is left for a neighbour
        first = max(first - room, int(np.searchsorted(t, t[first] - reach)), 0)
        last = min(last + room, int(np.searchsorted(t, t[last - 1] + reach, side="right")), t.size)
        if spans and first < spans[-1][1]:
            first, last = spans[-1][0], max(last, spans.pop()[1])
        spans.append((first, last))
    if max(last - first for first, last in spans) > LARGEST_WINDOW:
        raise InvalidValue(
            f"a secret with its surroundings has more than {LARGEST_WINDOW} records: thin the trace to one "
            "record every few seconds, or hide less."
        )
    return spans


@dataclass(frozen=True)
class Standing:
    """What a release says of one secret.

    Parameters
    ----------
    certificate : Certificate
        For both axes and the worst candidate.
    interval : float
        The smallest width of the adversary's 68 % interval over the candidates, metres per axis.
    """

    certificate: Certificate
    interval: float


def standing(
    times: ArrayLike,
    noise: TraceNoise,
    secret: Secret,
    prior: TracePrior,
    radius: float,
    *,
    factors: tuple[float, ...] = ROBUST_FACTORS,
) -> Standing:
    """Certify a secret against the whole trace, whatever its length.

    Parameters
    ----------
    times : (n,)
        Seconds.
    noise : TraceNoise
        As it will be drawn.
    secret : Secret
    prior : TracePrior
    radius : float
        Largest distance of two hypotheses, metres.
    factors : tuple of float
        The candidates: lengthscales relative to the prior's.

    Returns
    -------
    Standing
        The loss is an upper bound, the interval a lower bound.

    Notes
    -----
    Up to 700 records from the full matrices. Beyond that from Q = P_SS^-1 - S_SS^-1, the precision that the
    release adds to the secret. The posterior P is the parallel sum of prior and noise, which grows with the
    prior; the prior's covariance is cut off beyond 9 lengthscales (correlations of 3e-18), and what that may
    change is taken off the receiver's error, so that the prior used lies below the stated one: the loss is
    still an upper bound, of all records together. Records of equal times, as of two releases stacked one
    below the other, are one place with one error of the receiver: together they are a single record whose
    noise has the sum of their precisions, which is exact; what rounding may change is taken off that noise.
    """
    t = np.asarray(times, dtype=np.float64)
    candidates = prior.candidates(factors)
    if t.size > _DENSE and np.any(np.diff(t) <= 0.0):
        t, noise, secret = _merged(t, noise, secret)
    if t.size <= _DENSE:
        covariances = tuple(candidate.covariance(t) for candidate in candidates)
        whole = noise.dense()
        width = min(interval(covariance, whole, secret) for covariance in covariances)
        return Standing(certify(covariances, whole, secret, radius), width)
    squares, widths = [], []
    for candidate in candidates:
        before, after = _posterior(t, noise, secret, candidate)
        h = secret.directions
        gained = np.linalg.inv(after) - np.linalg.inv(before)
        squares.append(secret.square(h.T @ (0.5 * (gained + gained.T)) @ h))
        least = after.mean() if secret.moves == "together" else np.linalg.eigvalsh(after)[0]
        widths.append(2.0 * math.sqrt(max(float(least), 0.0)))
    return Standing(
        Certificate(math.sqrt(max(*squares, 0.0)) * radius * (1.0 + 2.0**-20), radius), min(widths)
    )


def _merged(t: Floats, noise: TraceNoise, secret: Secret) -> tuple[Floats, TraceNoise, Secret]:
    """The same trace with one record for each time, ascending: its noise is at most the true one."""
    times, where = np.unique(t, return_inverse=True)
    plain = np.ones(t.size, dtype=np.bool_)  # records of the floor alone
    spans = []
    for first, block in noise.blocks:
        plain[first : first + len(block)] = False
        at = where[first : first + len(block)]
        spans.append((int(at.min()), int(at.max()) + 1))
    counts = np.bincount(where[plain], minlength=times.size)
    many = int(counts.max()) if plain.any() else 1
    floor = noise.floor / many
    covered = np.zeros(times.size, dtype=np.bool_)
    joined: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        covered[low:high] = True
        if joined and low < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    fewer = np.flatnonzero(~covered & (counts < many))
    blocks = [(int(at), np.array([[noise.floor / counts[at]]])) for at in fewer]
    for low, high in joined:
        precision, lost = np.diag(counts[low:high] / noise.floor), 0.0
        for first, block in noise.blocks:
            at = where[first : first + len(block)] - low
            if at.min() >= 0 and at.max() < high - low:
                added, share = _inverse(block)
                np.add.at(precision, np.ix_(at, at), added)
                lost = max(lost, share)
        found, share = _inverse(precision)
        blocks.append((low, found * (1.0 - lost - share)))
    records = tuple(sorted({int(where[record]) for record in secret.records}))
    return (
        times,
        TraceNoise(times.size, floor, tuple(sorted(blocks, key=lambda one: one[0]))),
        Secret(records, secret.moves),
    )


def _inverse(matrix: Floats) -> tuple[Floats, float]:
    """The inverse of a covariance or precision, and the share by which rounding may have changed it."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    share = 64.0 * len(values) * np.finfo(np.float64).eps * values[-1] / max(float(values[0]), 1e-300)
    if not share < 1e-3:
        raise NumericalFailure("the noise of stacked releases is too uneven to certify: raise its floor.")
    return np.asarray((vectors / values) @ vectors.T), float(share)


def _posterior(
    t: Floats, noise: TraceNoise, secret: Secret, prior: TracePrior
) -> tuple[Floats, NDArray[np.float64]]:
    """Covariance of the secret before the release, and a lower bound of it afterwards."""
    index = np.array(secret.records)
    before = prior.covariance(t[index])
    reach = np.inf if prior.period is not None else _FELT * prior.lengthscale
    # What is cut off has norm below the sum of a row; taken off the receiver's error, the prior lies below.
    cut = 0.0 if np.isinf(reach) else len(t) * prior.amplitude**2 * math.exp(-0.5 * _FELT**2)
    nugget = prior.error**2 - cut
    if nugget < 0.0 and cut > 0.0:
        raise NumericalFailure("a trace of so many records is certified with a receiver's error: state one.")
    smooth = replace(prior, error=0.0)
    band = _banded(t, noise, smooth, nugget, reach)
    towards = np.zeros((t.size, index.size))
    for column, record in enumerate(index):
        near = np.abs(t - t[record]) <= reach
        towards[near, column] = smooth.column(t, int(record))[near]
    towards[index, np.arange(index.size)] += nugget
    try:
        solved = solveh_banded(band, towards, lower=True, check_finite=False)
    except LinAlgError:
        raise NumericalFailure(
            "the noise is too small to certify beside this prior: raise its budget."
        ) from None
    after = towards[index] - towards.T @ solved
    after = 0.5 * (after + after.T)
    rounding = 640.0 * np.finfo(np.float64).eps * len(t) * (prior.amplitude**2 + nugget)
    after -= rounding * np.eye(index.size)
    if np.linalg.eigvalsh(after)[0] <= 0.0:
        raise NumericalFailure("the noise is too small to certify beside this prior: raise its budget.")
    return before, after


def _banded(t: Floats, noise: TraceNoise, smooth: TracePrior, nugget: float, reach: float) -> Floats:
    """Prior and noise together, cut off beyond the reach, as the lower band that scipy solves with."""
    last = (
        np.searchsorted(t, t + reach, side="right") - 1 if np.isfinite(reach) else np.full(t.size, t.size - 1)
    )
    width = int(np.max(last - np.arange(t.size)))
    width = max([width, *(len(block) - 1 for _, block in noise.blocks)])
    band = np.zeros((width + 1, t.size))
    for step in range(width + 1):
        apart = t[step:] - t[: t.size - step]
        band[step, : t.size - step] = np.where(apart <= reach, smooth.between(apart), 0.0)
    band[0] += nugget + noise.floor
    for first, block in noise.blocks:
        band[0, first : first + len(block)] -= noise.floor
        for step in range(len(block)):
            band[step, first : first + len(block) - step] += np.diag(block, -step)
    return band
