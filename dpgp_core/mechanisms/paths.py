"""Released posterior paths: their designs, the cost of a design, and the reading of paths."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpgp_core._checks import whole
from dpgp_core.accounting.composition import Neighbours
from dpgp_core.accounting.guarantee import Guarantee, PriorFacts
from dpgp_core.accounting.rdp import ORDERS, RdpCurve, amplitude, covariance_term, leverage, rdp_from_shift
from dpgp_core.accounting.tails import GaussianPairs, least_total
from dpgp_core.bounds.registry import BOUNDS, Bound, proved_bounds, variance_bound
from dpgp_core.errors import BoundRefused, DesignError
from dpgp_core.features.eigen import Eigenpairs, FolderStore
from dpgp_core.linalg import Floats, cholesky, solve_lower
from dpgp_core.mechanisms.base import LEAST_WEIGHT, Reading, mixed, shares
from dpgp_core.mechanisms.design import Budget, Design
from dpgp_core.noise import Entropy
from dpgp_core.posterior.exact_paths import RIDGE_BITS, SCALE_BITS, up
from dpgp_core.priors.lattice import Prior
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.counts import CountPrior, NodeCounts, prior_from_reference, prior_of_unknown
from dpgp_core.spectral.model import SpectralModel
from dpgp_core.spectral.prior import ClippedPrior, FieldBasis, PublicPrior, unclipped
from dpgp_core.spectral.reading import FieldPosterior, FieldReader


@dataclass(frozen=True)
class PosteriorSamplingDesign(Design):
    """Released paths `f ~ N(m_D, scale^2 k_D + noise_scale^2 k)`, responses clipped to [-1, 1]."""

    mechanism: ClassVar[str] = "posterior-sampling"

    prior: str  # name in `PRIORS`
    lengthscale: float  # range of the prior, metres, > 0
    ridge: float  # effective ridge r > 0, the noise-to-signal ratio: `K + r^2 I`
    scale: float  # posterior scale sigma >= 0, response units
    noise_scale: float = 0.0  # extra prior noise eta >= 0, response units (paper, Proposition 2)
    bound: str = "sharp"  # name in `BOUNDS` of the proved bound that prices the design

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("lengthscale", "ridge")
        self.refuse_if_negative("scale", "noise_scale")

    @property
    def noise_share(self) -> float:
        """Share of the prior noise in the released variance."""
        return self.noise_scale**2 / (self.scale**2 + self.noise_scale**2)

    def rounded_up(self) -> PosteriorSamplingDesign:
        """Round up to the grid on which the design is priced and drawn: noise never decreases."""
        rounded = replace(
            self,
            ridge=up(self.ridge, RIDGE_BITS) * 2.0**-RIDGE_BITS,
            scale=up(self.scale, SCALE_BITS) * 2.0**-SCALE_BITS,
            noise_scale=up(self.noise_scale, SCALE_BITS) * 2.0**-SCALE_BITS,
        )
        return self if rounded == self else rounded


def path_guarantee(
    design: PosteriorSamplingDesign, n: int, prior_facts: PriorFacts, neighbours: Neighbours = "replace-one"
) -> Guarantee:
    """Upper bound on the cost of releasing `design`, as rounded, on n records (responses in [-1,
    1]).

    `prior_facts` are those of the prior of the release. Neighbours exchange a record, or its value
    only. Source: Maciazek, arXiv:2606.17995, Theorem 3.1 and Proposition 2; for the mean term the
    source of the bound; for values only docs/exact-paths.md, section 6. Raises BoundRefused for a
    bound that is unknown, unproved, or does not hold for the prior.
    """
    design = design.rounded_up()
    if neighbours == "values-only":
        _bound_for(design, prior_facts)
        mu = public_places_mu(design, n, prior_facts)
        source = "docs/exact-paths.md, section 6"
        return Guarantee(RdpCurve.gaussian(mu), design.bound, source, True, mu, neighbours=neighbours)
    terms = _terms(design, n, prior_facts)
    bound, total, pairs = terms.bound, terms.total, terms.pairs
    if design.scale > 0.0:
        return Guarantee(terms.curve(total), bound.name, bound.source, True, None, pairs)
    # With sigma = 0 the covariance does not depend on the records: a plain Gaussian mechanism
    # (docs/mathematics.md, section 4). Every S(alpha) bounds the same squared distance of means.
    exact = math.sqrt(design.paths * float(terms.shift.min())) / total * (1.0 + 2.0**-50)
    return Guarantee(terms.curve(total), bound.name, bound.source, True, exact)


def public_places_mu(design: PosteriorSamplingDesign, n: int, facts: PriorFacts) -> float:
    """mu of the paths if the places of all records are public; an upper bound from n and the prior.

    With core variance v <= V_n at the place of the exchanged value, `k_D(x, x) = v r^2/(v + r^2)`,
    so `mu = 2 sqrt(L) sqrt(v/(v + r^2))/(r omega)` grows with v. Source: docs/exact-paths.md,
    section 6. Raises DesignError for a design without scale and noise.
    """
    total = amplitude(design.scale, design.noise_scale)[0]
    if total == 0.0:
        raise DesignError("a design with scale 0 and noise_scale 0 releases the mean itself: add noise.")
    share = float(leverage(design.ridge, variance_bound(n, design.ridge, facts.kappa)))
    return 2.0 * math.sqrt(design.paths * share) / (design.ridge * total) * (1.0 + 2.0**-48)


def least_at_public_places(
    design: PosteriorSamplingDesign, n: int, facts: PriorFacts, budget: Budget
) -> PosteriorSamplingDesign | None:
    """The design with the least noise within the budget if places are public; its noise share is
    fixed."""
    mu = budget.mu
    if not mu > 0.0:
        return None
    name = proved_bounds(facts, budget.bound)[0]
    share = design.noise_share
    unit = replace(design, scale=math.sqrt(1.0 - share), noise_scale=math.sqrt(share), bound=name)
    # mu is proportional to 1 / total scale, so a design of total scale 1 gives the answer without a
    # search.
    total = public_places_mu(unit, n, facts) / mu * (1.0 + 2.0**-46)
    return replace(unit, scale=total * unit.scale, noise_scale=total * unit.noise_scale).rounded_up()


def sharpened_paths(
    design: PosteriorSamplingDesign, n: int, prior_facts: PriorFacts, epsilon: float, delta: float
) -> PosteriorSamplingDesign:
    """The design with the least noise that the sharper conversion of `path_guarantee` allows, else
    unchanged.

    The input costs at most (epsilon, delta), for example a design from `smallest_scale_for`. The
    result has the same share of prior noise and about 8 % less noise. Source: docs/accounting.md,
    section 5. It takes about 50 ms.
    """
    design = design.rounded_up()
    if design.scale == 0.0:
        return design
    terms = _terms(design, n, prior_facts)
    least_noise = least_total(
        epsilon, delta, shift=terms.shift, covariance=terms.covariance, pairs=terms.pairs, start=terms.total
    )
    # The split into two scales is rounded, so an offer may miss the budget by ulps: only an offer
    # that the forward computation confirms is returned.
    for nudge in (1e-12, 1e-9, 1e-6):
        less = least_noise / terms.total * (1.0 + nudge)
        offer = replace(design, scale=design.scale * less, noise_scale=design.noise_scale * less)
        if less < 1.0 and path_guarantee(offer, n, prior_facts).epsilon(delta).epsilon <= epsilon:
            return offer
    return design


@dataclass(frozen=True, eq=False)
class _Terms:
    """Terms of a design's RDP curve on `ORDERS`: mean shift at total scale 1, and covariance
    term."""

    bound: Bound
    total: float
    shift: Floats
    covariance: Floats
    pairs: GaussianPairs

    def curve(self, total: float) -> RdpCurve:
        return RdpCurve(
            rdp_from_shift(ORDERS, self.shift, self.covariance, np.asarray(total), self.pairs.paths)
        )


def _terms(design: PosteriorSamplingDesign, n: int, prior_facts: PriorFacts) -> _Terms:
    n = whole("n", n)
    bound = _bound_for(design, prior_facts)
    variance = variance_bound(n, design.ridge, prior_facts.kappa)
    total, share = amplitude(design.scale, design.noise_scale)
    if total == 0.0:
        raise DesignError("a design with scale 0 and noise_scale 0 releases the mean itself: add noise.")
    # With prior noise the whole of section 2 holds with omega for sigma and P = share V_n / (V_n +
    # r^2) (docs/mathematics.md, section 4); `leverage` computes this P.
    shift = bound.mean_shift(ORDERS, n=n, ridge=design.ridge, variance=variance, noise_share=share)
    p = leverage(design.ridge, variance, share)
    return _Terms(bound, total, shift, covariance_term(ORDERS, p), GaussianPairs(float(p), design.paths))


def _bound_for(design: PosteriorSamplingDesign, facts: PriorFacts) -> Bound:
    if design.bound not in BOUNDS:
        raise BoundRefused(f"there is no bound named {design.bound!r}: choose one of {', '.join(BOUNDS)}.")
    bound = BOUNDS[design.bound]
    if not bound.proved:
        raise BoundRefused(f"the bound {bound.name!r} is not proved, so it backs no release: choose 'sharp'.")
    if bound.name not in facts.bounds:
        raise BoundRefused(
            f"the bound {bound.name!r} does not hold for the prior {facts.name!r} "
            f"(it needs {bound.requires}): choose one of {', '.join(facts.bounds)}."
        )
    return bound


PATTERNS = 128  # number of smooth patterns for reading paths: their randomness hides finer detail
DEVIATIONS = (0.2, 0.4, 0.8)
"""Candidate standard deviations of the field before clipping, response units; the paths weigh
them."""

SCATTERS = (0.7, 2.0)  # scatters of a record around its cell, in units of that deviation
RANGES = (0.7, 1.6, 4.0)  # ranges of the field, in units of the design's lengthscale
CONSTANT = 0.2
"""Share of the field's variance common to all cells: the centre is near the field's mean."""


@dataclass(frozen=True, eq=False)
class PathReader:
    """Reader of released paths; it depends on the design and public facts alone, not on the draw.

    With the design's prior K, counts m in D = diag(m)/r^2 and mean responses y per cell, a released
    path is `f = (K^-1 + D)^-1 D y + noise` of covariance `sigma^2 (K^-1 + D)^-1 + eta^2 K`. For any
    patterns H and W = K H the numbers `H^T f + W^T D f` are then sums of the records with features
    W/r^2, plus noise of covariance `sigma^2 (H^T K H + W^T D W) + eta^2 (H^T K H + 2 W^T D W + W^T
    D K D W)`, divided by the number of paths for their mean. They are read like other noisy sums
    (docs/spectral-statistics.md). The counts are not released: D uses their public guess, and an
    error d of it adds `W^T d (g - f)/r^2`, where `g - f = (1 - k_D D) g - noise`, with k_D = (K^-1
    + D)^-1, is treated as independent of d; as n is public, such errors sum to 0. Deviation, range
    and scatter of the field are not public: the evidence of the paths weighs several values of
    each.
    """

    design: PosteriorSamplingDesign  # design of the paths
    facts: PublicFacts  # public facts of the release
    known: Floats | None = None  # (N,) records per cell if the places are public, else None

    @cached_property
    def model(self) -> SpectralModel:
        """The domain's harmonics, shared with spectral statistics."""
        facts = self.facts
        store = None if facts.store is None else FolderStore(facts.store)
        return facts.cache.keep(
            "spectral model", len(facts.parents), lambda: SpectralModel(facts.lattice, store, facts.parents)
        )

    @cached_property
    def counts(self) -> CountPrior:
        """Public belief on the number of records per node."""
        nodes, facts = self.model.nodes, self.facts
        if self.known is not None:
            at_nodes = nodes.gather(self.known)
            return CountPrior(np.maximum(at_nodes, 1e-9), np.zeros(nodes.size))
        if facts.counts is not None:
            return prior_from_reference(nodes, facts.counts, float(facts.n), single=facts.single)
        shape = FieldBasis.of(self._pairs(RANGES[1])).rows
        uneven = prior_of_unknown(nodes, float(facts.n), shape, single=facts.single)
        return uneven.with_total_known()

    @cached_property
    def parts(self) -> _Parts:
        """The part of the reading that does not depend on the paths; public."""
        design, nodes = self.design, self.model.nodes
        prior = self.facts.prior(design.prior, design.lengthscale)
        vectors = self.model.harmonics.vectors[:, :PATTERNS]
        patterns = nodes.spread(np.ascontiguousarray(vectors.T)).T
        features = _correlate(prior, patterns)
        share = (self.counts.mean / nodes.cells_per_node)[nodes.place] / design.ridge**2
        weighted = features * share[:, None]
        prior_part, record_part = patterns.T @ features, features.T @ weighted
        noise = design.scale**2 * (prior_part + record_part)
        if design.noise_scale > 0:
            of_records = weighted.T @ _correlate(prior, weighted)
            noise = noise + design.noise_scale**2 * (prior_part + 2.0 * record_part + of_records)
        # Each sum is scaled to noise variance 1: the factors of the Cholesky decompositions below
        # then have comparable entries.
        size = 1.0 / np.sqrt(np.maximum(noise.diagonal(), 1e-9 * noise.diagonal().max()))
        at_nodes = np.stack([nodes.gather(column) for column in features.T], axis=1)
        at_nodes /= nodes.cells_per_node[:, None]
        noise = noise * size * size[:, None] / design.paths
        noise[np.diag_indices_from(noise)] += 1e-9 * noise.diagonal()
        inner = prior_part + record_part
        inner[np.diag_indices_from(inner)] *= 1.0 + 1e-9
        root = cholesky(inner, "the precision of the paths", "use a larger ridge")
        within = solve_lower(root, np.ascontiguousarray(at_nodes.T)).T
        loadings = at_nodes * (size / design.ridge**2)
        return _Parts((patterns + weighted) * size, loadings, noise, np.ascontiguousarray(within))

    def _basis(self, factor: float) -> FieldBasis:
        """Basis of the field for one range: its patterns, a constant, and the remaining
        variance."""
        basis = FieldBasis.of(self._pairs(factor), 2 * PATTERNS)
        even = np.full((basis.rest.size, 1), np.sqrt(CONSTANT))
        return FieldBasis(
            np.hstack([np.sqrt(1.0 - CONSTANT) * basis.rows, even]), (1.0 - CONSTANT) * basis.rest
        )

    @cached_property
    def from_counts(self) -> tuple[Floats, tuple[Floats, ...]]:
        """(p, p) covariances from errors of the counts: by path noise, and per unit of each range's
        field."""
        design, counts, within = self.design, self.counts, self.parts.within
        weight = counts.mean / design.ridge**2
        variance = (design.scale**2 + design.noise_scale**2) / design.paths
        through_paths = self._through_counts(np.sqrt(variance) * within)
        fields = []
        for factor in RANGES:
            rows = self._basis(factor).rows
            fields.append(self._through_counts(rows - within @ (within.T @ (weight[:, None] * rows))))
        return through_paths, tuple(fields)

    def _through_counts(self, rows: Floats) -> Floats:
        """(p, p) covariance of `loadings^T d q`, d errors of the counts, q of covariance rows
        rows^T."""
        # d and q are independent, so the covariance of their products is the product of their
        # covariances.
        counts, loadings = self.counts, self.parts.loadings
        variance = np.square(rows).sum(axis=1)
        independent = loadings.T @ (loadings * (counts.white * variance)[:, None])
        if counts.relative is None:
            return np.asarray(independent)
        shared = counts.mean[:, None] * counts.relative
        return np.asarray(independent + loadings.T @ (((shared @ shared.T) * (rows @ rows.T)) @ loadings))

    def _pairs(self, factor: float) -> Eigenpairs:
        return self.model.smooth_pairs("exponential", factor * self.design.lengthscale)

    def read(self, paths: Floats, count: int, entropy: Entropy) -> Reading:
        """The field, and `count` draws of it, given released paths (L, N) before smoothing."""
        average = np.asarray(paths, dtype=np.float64).mean(axis=0)
        parts = self.parts
        sums = parts.sums.T @ average
        posteriors = [self._posterior(sums, *belief) for belief in self._beliefs()]
        evidence = np.array([posterior.reader.log_evidence(sums) for posterior in posteriors])
        weight = np.exp(evidence - evidence.max())
        likely = np.flatnonzero(weight >= LEAST_WEIGHT * weight.sum())
        weight = weight[likely] / weight[likely].sum()
        times = shares(weight, count)
        readings = []
        for place, number in zip(likely, times, strict=True):
            posterior = posteriors[place]
            draws = posterior.paths(number, entropy) if number else np.empty((0, average.size))
            prior = posterior.reader.prior
            draws, mean, sd = unclipped(posterior.mean(), posterior.deviation(), prior, draws)
            readings.append(Reading(mean, sd, draws))
        return mixed(readings, weight)

    def _beliefs(self) -> list[tuple[int, float, float]]:
        return [(a, b, c) for a in range(len(RANGES)) for b in DEVIATIONS for c in SCATTERS]

    def _posterior(self, sums: Floats, place: int, deviation: float, ridge: float) -> FieldPosterior:
        nodes, counts, parts = self.model.nodes, self.counts, self.parts
        prior = ClippedPrior.of(PublicPrior(0.0, deviation, ridge))
        by_paths, by_field = self.from_counts
        noise = parts.noise + by_paths + prior.deviation**2 * by_field[place]
        expected = NodeCounts.known(counts.mean, parts.loadings.shape[1])
        basis = self._basis(RANGES[place])
        return FieldPosterior(FieldReader.of(nodes, basis, prior, parts.loadings, expected, noise), sums)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of the reading that depend on the design alone."""

    sums: Floats  # (N, p) weights that turn a path into sums
    loadings: Floats  # (M, p) features of the records per node
    noise: Floats  # (p, p) covariance of the noise on the sums
    within: Floats  # (M, p) root of the posterior covariance (K^-1 + D)^-1 at the nodes, along the patterns


def _correlate(prior: Prior, values: Floats) -> Floats:
    """(N, m) the prior's correlation times values (N, m) on the domain."""
    if prior.graph is None:
        return np.asarray(prior.correlation() @ values)
    inside = prior.lattice.inside
    right = np.zeros((prior.lattice.centres.shape[0], values.shape[1]), order="F")
    right[inside] = values
    return np.asarray(prior.graph.factor.solve(right)[inside])
