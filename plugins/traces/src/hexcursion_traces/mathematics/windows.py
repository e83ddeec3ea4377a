"""Noise for long traces: shaped in windows around the secrets, a floor elsewhere, one
certificate."""

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
_CLOSE = 0.02  # relative gap to the least loss that ends a descent: 1 % of the odds' exponent
_DENSE = 700  # records up to which a certificate is computed with full matrices
_REACH = 4.0  # lengthscales of a window on either side of its secret
_FELT = 9.0  # lengthscales at which correlations, below 3e-18, are cut off


@dataclass(frozen=True, eq=False)
class TraceNoise:
    """Noise of a trace of `size` records, one axis: blocks of records with correlated noise, and a floor
    elsewhere.

    `floor`: variance of the records outside of every block; `blocks`: first record of each block and its
    covariance (m, m), in order and without overlap; square metres."""

    size: int
    floor: float
    blocks: tuple[tuple[int, Floats], ...]

    @property
    def variance(self) -> Floats:
        """(n,): variance of the noise of each record, square metres."""
        variance = np.full(self.size, self.floor)
        for first, block in self.blocks:
            variance[first : first + len(block)] = np.diag(block)
        return variance

    def dense(self) -> Floats:
        """(n, n): the covariance as a full matrix."""
        return self.within(0, self.size)

    def within(self, first: int, last: int) -> Floats:
        """(last - first, last - first): the covariance of a stretch of records as a full matrix."""
        covariance = np.eye(last - first) * self.floor
        for start, block in self.blocks:
            low, high = max(start, first), min(start + len(block), last)
            if low < high:
                part = block[low - start : high - start, low - start : high - start]
                covariance[low - first : high - first, low - first : high - first] = part
        return covariance

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
    """Shape noise with a mean squared error per record in the windows around the secrets.

    `times` (n,) are seconds, ascending; `mean_square` is in square metres per axis, and records outside
    of every window get `FLOOR_SHARE` of it. `mode`: "robust" minimises the worst loss over
    `ROBUST_FACTORS` times the lengthscale, "exact" the loss for the stated lengthscale. Raise
    `InvalidValue` for no secret, too many records, or secrets whose windows merge to more than
    `LARGEST_WINDOW` records."""
    t = np.asarray(times, dtype=np.float64)
    if t.size > MOST_RECORDS:
        raise InvalidValue(
            f"a trace of {t.size:,} records is longer than {MOST_RECORDS:,}: thin it to one record every "
            "few seconds."
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

        progress = _progress_of_part(report, number, len(spans))
        budget = mean_square * (last - first)
        design = best_noise(covariances, inside, budget, floor=floor, report=progress, enough=_CLOSE)
        blocks.append((first, design.noise))
    return TraceNoise(t.size, floor, tuple(blocks))


def _progress_of_part(report: Report | None, number: int, parts: int) -> Report | None:
    """A report of one of several equal parts, from 0."""
    if report is None:
        return None
    return lambda fraction, text: report((number + fraction) / parts, text)


def _spans(t: Floats, secrets: Sequence[Secret], reach: float) -> list[tuple[int, int]]:
    """First and last + 1 record of each window, in order; overlapping windows are merged."""
    spans: list[tuple[int, int]] = []
    if t.size <= LARGEST_WINDOW:
        return [(0, int(t.size))]
    for secret in sorted(secrets, key=lambda secret: secret.records[0]):
        first, last = secret.records[0], secret.records[-1] + 1
        room = max(0, (LARGEST_WINDOW // 2 - (last - first)) // 2)  # half is for a neighbour
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
    """The guarantee of a release for one secret: the certificate for both axes and the worst candidate,
    and the smallest width of the adversary's 68 % interval over the candidates, metres per axis."""

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
    """Certify a secret against a whole trace of any length: its loss is an upper bound, the interval a
    lower one.

    `times` (n,) are seconds, `noise` is that of the draw, `radius` the largest distance of two hypotheses,
    metres; `factors` are the candidates: lengthscales relative to the prior's.

    Up to 700 records the full matrices are used. Beyond that Q = P_SS^-1 - S_SS^-1, the precision that
    the release adds to the secret. The posterior P is the parallel sum of prior and noise, which grows
    with the prior. The prior's covariance is cut off beyond 9 lengthscales (correlations of 3e-18), and
    the greatest possible change is subtracted from the receiver's error. The cut prior is thus below the
    stated one, and the loss of all records together is still an upper bound. Records of equal times, as
    in two stacked releases, are one place with one error of the receiver. They become a single record
    whose noise has the sum of their precisions, which is exact; the greatest possible rounding is
    subtracted from this noise."""
    t = np.asarray(times, dtype=np.float64)
    candidates = prior.candidates(factors)
    if t.size > _DENSE and np.any(np.diff(t) <= 0.0):
        t, noise, secret = _merged(t, noise, secret)
    if t.size <= _DENSE:
        covariances = tuple(candidate.covariance(t) for candidate in candidates)
        dense = noise.dense()
        width = min(interval(covariance, dense, secret) for covariance in covariances)
        return Standing(certify(covariances, dense, secret, radius), width)
    squares, widths = [], []
    for candidate in candidates:
        prior_part, posterior_part = _posterior(t, noise, secret, candidate)
        h = secret.directions
        precision = np.linalg.inv(posterior_part) - np.linalg.inv(prior_part)
        squares.append(secret.square(h.T @ (0.5 * (precision + precision.T)) @ h))
        together = secret.moves == "together"
        variance = posterior_part.mean() if together else np.linalg.eigvalsh(posterior_part)[0]
        widths.append(2.0 * math.sqrt(max(float(variance), 0.0)))
    mu = math.sqrt(max(*squares, 0.0)) * radius * (1.0 + 2.0**-20)
    return Standing(Certificate(mu, radius), min(widths))


def _merged(t: Floats, noise: TraceNoise, secret: Secret) -> tuple[Floats, TraceNoise, Secret]:
    """The same trace with one record for each time, ascending, and at most the true noise."""
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
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        covered[low:high] = True
        if merged and low < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    fewer = np.flatnonzero(~covered & (counts < many))
    blocks = [(int(at), np.array([[noise.floor / counts[at]]])) for at in fewer]
    for low, high in merged:
        precision, lost = np.diag(counts[low:high] / noise.floor), 0.0
        for first, block in noise.blocks:
            at = where[first : first + len(block)] - low
            if at.min() >= 0 and at.max() < high - low:
                part, share = _inverse(block)
                np.add.at(precision, np.ix_(at, at), part)
                lost = max(lost, share)
        combined, share = _inverse(precision)
        blocks.append((low, combined * (1.0 - lost - share)))
    records = tuple(sorted({int(where[record]) for record in secret.records}))
    return (
        times,
        TraceNoise(times.size, floor, tuple(sorted(blocks, key=lambda block: block[0]))),
        Secret(records, secret.moves),
    )


def _inverse(matrix: Floats) -> tuple[Floats, float]:
    """The inverse of a covariance or precision, and the greatest relative error by rounding."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    share = 64.0 * len(values) * np.finfo(np.float64).eps * values[-1] / max(float(values[0]), 1e-300)
    if not share < 1e-3:
        raise NumericalFailure("the noise of stacked releases is too uneven to certify: raise its floor.")
    return np.asarray((vectors / values) @ vectors.T), float(share)


def _posterior(
    t: Floats, noise: TraceNoise, secret: Secret, prior: TracePrior
) -> tuple[Floats, NDArray[np.float64]]:
    """Covariance of the secret before the release, and a lower bound of the one after it."""
    index = np.array(secret.records)
    prior_part = prior.covariance(t[index])
    reach = np.inf if prior.period is not None else _FELT * prior.lengthscale
    # The cut part has a norm below the sum of a row. The receiver's error is lowered by this norm,
    # so that the cut prior is below the stated one.
    cut = 0.0 if np.isinf(reach) else len(t) * prior.amplitude**2 * math.exp(-0.5 * _FELT**2)
    nugget = prior.error**2 - cut
    if nugget < 0.0 and cut > 0.0:
        raise NumericalFailure("a trace of this length is certified with a receiver's error: state one.")
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
            "the noise is too small to certify under this prior: raise its budget."
        ) from None
    posterior_part = towards[index] - towards.T @ solved
    posterior_part = 0.5 * (posterior_part + posterior_part.T)
    rounding = 640.0 * np.finfo(np.float64).eps * len(t) * (prior.amplitude**2 + nugget)
    posterior_part -= rounding * np.eye(index.size)
    if np.linalg.eigvalsh(posterior_part)[0] <= 0.0:
        raise NumericalFailure("the noise is too small to certify under this prior: raise its budget.")
    return prior_part, posterior_part


def _banded(t: Floats, noise: TraceNoise, smooth: TracePrior, nugget: float, reach: float) -> Floats:
    """The sum of prior and noise, cut off beyond the reach, as the lower band for scipy."""
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
