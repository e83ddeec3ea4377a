"""Calibration of probabilities on worlds drawn from the public prior: simulated, so it costs nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy  # whose parts are loaded when they are asked for: scipy.optimize takes long
from numpy.typing import NDArray
from scipy.special import gammaincinv

from dpgp_core._checks import whole
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg.numerics import Floats
from dpgp_core.noise.entropy import Entropy
from dpgp_core.spectral.clipped import clipped_moments
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.reading import FieldPosterior
from dpgp_core.spectral.sums import SpectralSums

Bools = NDArray[np.bool_]

GROUPS = 20
"""Groups of equal size, by stated probability, in which the share of exceeding cells is counted."""

TRUST = 0.25
"""Each group counts as if so many more cells, as a share of its size, had agreed with what was stated."""


@dataclass(frozen=True, eq=False)
class Recalibration:
    """An increasing map from stated probabilities to the shares observed in simulated worlds.

    Parameters
    ----------
    stated, observed
        (k,) knots, both increasing from 0 to 1; linear in between.
    """

    stated: Floats
    observed: Floats

    def __post_init__(self) -> None:
        for knots in (self.stated, self.observed):
            if np.any(np.diff(knots) < 0) or knots[0] != 0.0 or knots[-1] != 1.0:
                raise InvalidValue("the knots of a recalibration must increase from 0 to 1.")

    @classmethod
    def of(cls, probability: Floats, truth: Bools) -> Recalibration:
        """From stated probabilities and what was true, of the same shape: isotonic regression over groups."""
        order = np.argsort(probability, axis=None, kind="stable")
        p, hit = probability.ravel()[order], truth.ravel()[order].astype(np.float64)
        groups = np.array_split(np.arange(p.size), min(GROUPS, p.size))
        stated = np.array([p[group].mean() for group in groups])
        size = np.array([float(group.size) for group in groups])
        share = (np.array([hit[group].mean() for group in groups]) + TRUST * stated) / (1.0 + TRUST)
        share = np.clip(scipy.optimize.isotonic_regression(share, weights=size).x, 0.0, 1.0)
        return cls(np.concatenate([[0.0], stated, [1.0]]), np.concatenate([[0.0], share, [1.0]]))

    def apply(self, probability: Floats) -> Floats:
        """Probabilities (..., N) as observed; order is kept: a matching cutoff cuts the same sets."""
        return np.asarray(np.interp(probability, self.stated, self.observed))


def recalibrate(
    made: Prepared,
    known: PublicCounts,
    threshold: float,
    worlds: int,
    entropy: Entropy,
    sign: float = 1.0,
) -> Recalibration:
    """Simulate worlds from the public prior, release and read each, and compare stated with true.

    Parameters
    ----------
    made : Prepared
        The plan; on a model of few nodes this takes milliseconds a world.
    known : PublicCounts
        What is public of the counts.
    threshold : float
        Response units before clipping; sign 1 for above, -1 for below.
    worlds : int
        How many, >= 1.
    """
    stated, true = [], []
    for _ in range(whole("worlds", worlds)):
        truth, released, counts = simulated_world(made, known, entropy)
        posterior = FieldPosterior(
            made.reader(made.counts(counts, released.counts), paths=False), released.sums
        )
        stated.append(posterior.exceedance(threshold, sign))
        true.append(sign * (made.nodes.spread(truth) - threshold) > 0)
    return Recalibration.of(np.array(stated), np.array(true))


def simulated_world(
    made: Prepared, known: PublicCounts, entropy: Entropy
) -> tuple[Floats, SpectralSums, PublicCounts]:
    """A field (M,) before clipping, the release of its records, and what would be public of their counts.

    Counts follow the public prior (a gamma law with its mean and variance, times a lognormal unevenness where
    nothing is known). Sums of a node's clipped responses are normal with their exact mean and variance.
    """
    field = made.plan.field
    rows, rest = made.basis.rows, made.basis.rest
    white = entropy.normal(rows.shape[1] + rest.size)
    unit = rows @ white[: rows.shape[1]] + np.sqrt(rest) * white[rows.shape[1] :]
    truth = field.mean + field.deviation * unit
    counts, public = _simulated_counts(made, known, entropy)
    first, second = clipped_moments(truth, field.scatter)
    spread = np.sqrt(counts * np.maximum(second - np.square(first), 0.0))
    totals = counts * first + spread * entropy.normal(rest.size)
    a = made.features.values
    sums = a.T @ totals + made.noise.sums * entropy.normal(made.features.size)
    plain = None
    if made.noise.counts is not None:
        plain = a.T @ counts + made.noise.counts * entropy.normal(made.features.size)
    return truth, SpectralSums(sums, plain, made.noise), public


def _simulated_counts(made: Prepared, known: PublicCounts, entropy: Entropy) -> tuple[Floats, PublicCounts]:
    nodes = made.nodes
    if known.kind == "known" and known.cells is not None:
        return nodes.gather(known.cells), known
    n = made.plan.density * nodes.cells if known.n is None else known.n
    prior = made.count_prior(replace(known, n=n), np.zeros(made.features.size))
    mean = prior.mean
    if prior.relative is not None:
        log = np.log1p(np.square(prior.relative).sum(axis=1))
        shape = prior.relative @ entropy.normal(prior.relative.shape[1])
        shape = shape * np.sqrt(log / np.maximum(np.square(prior.relative).sum(axis=1), 1e-12))
        mean = mean * np.exp(shape - 0.5 * log)
        mean *= prior.mean.sum() / mean.sum()
    scale = np.maximum(prior.white / prior.mean, 1e-6)
    drawn = scale * gammaincinv(mean / scale, entropy.uniform(mean.size))
    if known.single:
        drawn = (entropy.uniform(mean.size) < mean / nodes.cells_per_node).astype(np.float64)
    if drawn.sum() <= 0:
        drawn = mean
    return drawn, PublicCounts(
        known.kind, None if known.n is None else float(drawn.sum()), known.cells, known.single
    )
