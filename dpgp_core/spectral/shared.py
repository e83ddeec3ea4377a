"""Simulated releases for many readings: products of features and counts are computed once for
all."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, pdtr, pdtrik

from dpgp_core._checks import whole
from dpgp_core.linalg import Floats, cholesky, solve_lower
from dpgp_core.noise import Entropy
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.prior import ClippedPrior, FieldBasis
from dpgp_core.spectral.reading import map_variance

REPEATED = 0.9  # share of occupied cells that simulated cell records of another period repeat


@dataclass(frozen=True, eq=False)
class _Drawn:
    """One simulated release of the counts, and the products for all readings of it.

    With A (p, M) the features, m the counts and B (M, Q) the basis: `half` is A diag(m) B (p, Q),
    `records` A diag(m) A^T, `rest` A diag(m^2 rest) A^T, `signal` half half^T, `link` half B^T (p,
    K) at K nodes, and `weight` A m (p,). `noise` (p, R) is the noise of R releases of the sums.
    """

    counts: NodeCounts
    half: Floats
    records: Floats
    rest: Floats
    link: Floats
    signal: Floats
    weight: Floats
    noise: Floats


class SharedReadings:
    """Simulated releases by one set of features, read later with any clip bound and prior of the
    field.

    `made` is any plan with these features, whose `field` is not used; a rough one is summed in
    single precision. `counts` (N,) are the records per cell of the reference data. The number of
    `releases` is rounded up to a multiple of `draws`, the number of draws of the counts. With
    `same` the public counts are those of the reference records: they are drawn anew for each
    release of the counts, because counts of another period never agree this well. Posterior
    deviations are computed at every `thin`-th node and interpolated: 1 is exact.

    A reading then costs one Cholesky factor of size p and one triangular solve with M/thin
    right-hand sides, and no product with the features. The posterior is that of `FieldReader`, with
    its products regrouped.
    """

    def __init__(
        self,
        plan: Prepared,
        counts: Floats,
        public_counts: PublicCounts,
        releases: int,
        entropy: Entropy,
        draws: int = 2,
        *,
        same: bool = True,
        thin: int = 1,
    ) -> None:
        self._made = plan
        self._some, self._between = plan.nodes.thinned(thin)
        self._along: dict[int, tuple[Floats, Floats]] = {}
        a = plan.features.values
        private = plan.noise.counts is not None
        draws = whole("draws", draws) if private else 1
        per_draw = -(-whole("releases", releases) // draws)  # division rounded up
        at_nodes = plan.nodes.gather(np.asarray(counts, dtype=np.float64))
        plain, n = a.T @ at_nodes, float(at_nodes.sum())
        simulated = []
        for _ in range(draws):
            released = None
            if plan.noise.counts is not None:
                released = plain + plan.noise.counts * entropy.normal(a.shape[1])
            read = plan.counts(drawn_anew(public_counts, n, same, entropy), released)
            simulated.append((read, plan.noise.sums * entropy.normal((a.shape[1], per_draw))))
        self._drawn = [self._products(*draw) for draw in simulated]

    def _products(self, read: NodeCounts, noise: Floats) -> _Drawn:
        prepared, basis, m = self._made, self._made.basis, read.mean
        kind: np.dtype[Any] = np.dtype(np.float32 if prepared.plan.rough else np.float64)
        a = prepared.features.values
        rows, smooth = a.astype(kind, copy=False), basis.rows.astype(kind, copy=False)
        left = np.sqrt(basis.rest).astype(kind)[:, None]
        loaded = rows * m.astype(kind)[:, None]
        root, scaled_rest = rows * np.sqrt(m).astype(kind)[:, None], loaded * left
        half = (loaded.T @ smooth).astype(np.float64)
        return _Drawn(
            read,
            half,
            (root.T @ root).astype(np.float64),
            (scaled_rest.T @ scaled_rest).astype(np.float64),
            half @ basis.rows[self._some].T,
            half @ half.T,
            a.T @ m,
            noise,
        )

    def under(self, basis: FieldBasis) -> SharedReadings:
        """Use another basis of the field with the same simulated releases."""
        if basis is self._made.basis:
            return self
        other = copy(self)
        other._made, other._along = replace(self._made, basis=basis), {}
        other._drawn = [other._products(draw.counts, draw.noise) for draw in self._drawn]
        return other

    def probabilities(
        self, totals: Floats, prior: ClippedPrior, threshold: Floats | float, sign: float = 1.0
    ) -> Floats:
        """(R, N) exceedance probabilities of all simulated releases under one reading, as in
        `read`."""
        fields = self._fields(totals, prior)
        return np.concatenate(
            [self._beyond(sign, mean, left, prior, threshold)[0] for mean, left, _ in fields]
        )

    def stated(
        self,
        totals: Floats,
        prior: ClippedPrior,
        threshold: Floats | float,
        sign: float = 1.0,
        unseen: float = 0.0,
    ) -> tuple[Floats, Floats, Floats]:
        """Probabilities (R, N) of the field and of the map without privacy; log densities (R,)."""
        nodes, square = self._made.nodes, prior.deviation**2
        probabilities, maps, evidence = [], [], []
        for number, (mean, left, density) in enumerate(self._fields(totals, prior)):
            probability, apart = self._beyond(sign, mean, left, prior, threshold)
            of_map = map_variance(
                square * left, square * self._private(number, prior), prior.deviation, unseen
            )
            probabilities.append(probability)
            maps.append(ndtr(apart / nodes.spread(np.sqrt(self._between @ of_map))))
            evidence.append(density)
        return np.concatenate(probabilities), np.concatenate(maps), np.concatenate(evidence)

    def _fields(self, totals: Floats, prior: ClippedPrior) -> Iterator[tuple[Floats, Floats, Floats]]:
        """For each draw of counts: means (R, M), remaining share of variance (K,), log densities
        (R,)."""
        # V = r^2 A diag(m) A^T + lambda^2 A diag(m^2 rest) A^T + (lambda^2 + mean^2) E + lambda^2 G
        # G^T + s^2: the covariance of `FieldReader` as a sum of stored products, so a new prior
        # costs no product.
        prior_variance = self._made.basis.variance[self._some]
        nodes, s, square = self._made.nodes, self._made.noise.sums, prior.deviation**2
        sums = self._made.features.values.T @ nodes.gather(totals)
        for draw in self._drawn:
            covariance = prior.record_noise**2 * draw.records + square * draw.rest
            covariance += (square + prior.mean**2) * draw.counts.error
            covariance += square * draw.signal
            covariance[np.diag_indices_from(covariance)] += s**2
            root = cholesky(covariance, "the covariance of the released sums", "use more noise")
            half = prior.deviation * solve_lower(root, draw.link)
            observed = (sums - prior.mean * draw.weight)[:, None] + draw.noise
            white = solve_lower(root, observed)
            pull = solve_lower(root, white, transposed=True)
            mean = prior.mean + square * (self._made.basis.rows @ (draw.half.T @ pull)).T
            density = -0.5 * np.square(white).sum(axis=0) - float(np.sum(np.log(root.diagonal())))
            yield mean, np.maximum(prior_variance - np.einsum("ij,ij->j", half, half), 1e-12), density

    def _beyond(
        self, sign: float, mean: Floats, left: Floats, prior: ClippedPrior, threshold: Floats | float
    ) -> tuple[Floats, Floats]:
        """(R, N) exceedance probabilities, and the distances of the means beyond the level."""
        nodes = self._made.nodes
        deviation = nodes.spread(prior.deviation * np.sqrt(self._between @ left))
        apart = sign * (nodes.spread(mean) - prior.level(threshold, deviation / prior.deviation))
        return ndtr(apart / deviation), apart

    def _private(self, number: int, prior: ClippedPrior) -> Floats:
        """(K,) remaining share of the prior variance given the records themselves, for drawn
        counts.

        The cache holds the eigenvalues (Q,) of `B^T diag(m / (1 + m rest)) B`, the precision of the
        records along each eigenvector, and the squares (K, Q) of the eigenvectors at the K nodes.
        """
        # One decomposition serves all priors: a prior only scales the eigenvalues by the ratio of
        # signal to record noise. The exact weight is m / (1 + ratio m rest); taking the ratio there
        # as 1 makes the variance approximate.
        basis = self._made.basis
        if number not in self._along:
            m = self._drawn[number].counts.mean
            weighed = basis.rows * np.sqrt(m / (1.0 + m * basis.rest))[:, None]
            strength, turned = np.linalg.eigh(weighed.T @ weighed)
            self._along[number] = np.maximum(strength, 0.0), np.square(basis.rows[self._some] @ turned)
        strength, along = self._along[number]
        ratio = prior.deviation**2 / prior.record_noise**2
        return np.asarray(along @ (1.0 / (1.0 + ratio * strength)) + basis.rest[self._some])


def drawn_anew(public_counts: PublicCounts, n: float, same: bool, entropy: Entropy) -> PublicCounts:
    """Draw public counts like those of another period, for n records; unchanged unless `same`."""
    public_counts = replace(public_counts, n=None if public_counts.n is None else n)
    if not same or public_counts.kind != "reference" or public_counts.cells is None:
        return public_counts
    chance = entropy.uniform(public_counts.cells.size)
    if public_counts.single:
        cells = np.where(chance < REPEATED, public_counts.cells, 0.0)
    else:
        cells = np.where(
            public_counts.cells > 0, _poisson_quantile(chance, np.maximum(public_counts.cells, 1e-9)), 0.0
        )
    return replace(public_counts, cells=cells if cells.sum() > 0 else public_counts.cells)


def _poisson_quantile(chance: Floats, mean: Floats) -> Floats:
    """Smallest counts whose distribution function reaches `chance`."""
    above = np.ceil(pdtrik(chance, mean))
    below = np.maximum(above - 1.0, 0.0)
    return np.asarray(np.where(pdtr(below, mean) >= chance, below, above))
