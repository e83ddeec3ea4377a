"""Released posterior paths: their designs, what these cost, and how the paths are read."""

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
        """The design in the whole numbers in which it is priced and drawn: never less noise."""
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
    """Upper bound on the cost of releasing `design`, as rounded, on n records (responses in [-1, 1]).

    `prior_facts` are those of the prior that is really used. Neighbours exchange a record, or its value only.
    Source: Maciazek, arXiv:2606.17995, Theorem 3.1 and Proposition 2; for the mean term the source of the
    bound; for values only docs/exact-paths.md, section 6. Raises BoundRefused for a bound that is unknown,
    unproved, or does not hold for the prior.
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
    # A plain Gaussian mechanism: every S(alpha) bounds the same squared distance of means.
    exact = math.sqrt(design.paths * float(terms.shift.min())) / total * (1.0 + 2.0**-50)
    return Guarantee(terms.curve(total), bound.name, bound.source, True, exact)


def public_places_mu(design: PosteriorSamplingDesign, n: int, facts: PriorFacts) -> float:
    """mu of the paths where the places of all records are public; an upper bound from n and the prior.

    With core variance v <= V_n at the place of the exchanged value, `k_D(x, x) = v r^2/(v + r^2)`, so
    `mu = 2 sqrt(L) sqrt(v/(v + r^2))/(r omega)` grows with v. Source: docs/exact-paths.md, section 6. Raises
    DesignError for a design without scale and noise.
    """
    total = amplitude(design.scale, design.noise_scale)[0]
    if total == 0.0:
        raise DesignError("a design with scale 0 and noise_scale 0 releases the mean itself: add noise.")
    share = float(leverage(design.ridge, variance_bound(n, design.ridge, facts.kappa)))
    return 2.0 * math.sqrt(design.paths * share) / (design.ridge * total) * (1.0 + 2.0**-48)


def least_at_public_places(
    design: PosteriorSamplingDesign, n: int, facts: PriorFacts, budget: Budget
) -> PosteriorSamplingDesign | None:
    """The design with the least noise within the budget where the places are public; its share is kept."""
    allowed = budget.mu
    if not allowed > 0.0:
        return None
    name = proved_bounds(facts, budget.bound)[0]
    share = design.noise_share
    unit = replace(design, scale=math.sqrt(1.0 - share), noise_scale=math.sqrt(share), bound=name)
    total = public_places_mu(unit, n, facts) / allowed * (1.0 + 2.0**-46)
    return replace(unit, scale=total * unit.scale, noise_scale=total * unit.noise_scale).rounded_up()


def sharpened_paths(
    design: PosteriorSamplingDesign, n: int, prior_facts: PriorFacts, epsilon: float, delta: float
) -> PosteriorSamplingDesign:
    """The design with the least noise that the sharper conversion of `path_guarantee` allows, else unchanged.

    It takes a design that costs at most (epsilon, delta), for example one from `smallest_scale_for`, keeps
    its share of prior noise, and saves about 8 % of the noise. Source: docs/accounting.md, section 5. About
    50 ms.
    """
    design = design.rounded_up()
    if design.scale == 0.0:
        return design
    terms = _terms(design, n, prior_facts)
    found = least_total(
        epsilon, delta, shift=terms.shift, covariance=terms.covariance, pairs=terms.pairs, start=terms.total
    )
    for nudge in (1e-12, 1e-9, 1e-6):  # the split into two scales is rounded
        less = found / terms.total * (1.0 + nudge)
        offer = replace(design, scale=design.scale * less, noise_scale=design.noise_scale * less)
        if less < 1.0 and path_guarantee(offer, n, prior_facts).epsilon(delta).epsilon <= epsilon:
            return offer
    return design


@dataclass(frozen=True, eq=False)
class _Terms:
    """What the curve of a design is made of, on `ORDERS`: mean shift at total scale 1, covariance term."""

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


PATTERNS = 128  # smooth patterns along which paths are read: finer detail is hidden by what was drawn
DEVIATIONS = (0.2, 0.4, 0.8)
"""Standard deviations of the field before clipping that may be, response units; the paths weigh them."""

SCATTERS = (0.7, 2.0)  # scatters of a record around its cell, in units of that deviation
RANGES = (0.7, 1.6, 4.0)  # ranges of the field, in units of the design's lengthscale
CONSTANT = 0.2
"""Share of the field's variance that all cells have in common: the centre is near the field's mean."""


@dataclass(frozen=True, eq=False)
class PathReader:
    """Reads released paths; made from the design and public facts alone, so before anything is drawn.

    With the design's prior K, counts m in D = diag(m)/r^2 and mean responses y per cell, a released path is
    `f = (K^-1 + D)^-1 D y + noise` of covariance `sigma^2 (K^-1 + D)^-1 + eta^2 K`. For any patterns H and W
    = K H the numbers `H^T f + W^T D f` are then sums of the records with features W/r^2, plus noise of
    covariance `sigma^2 (H^T K H + W^T D W) + eta^2 (H^T K H + 2 W^T D W + W^T D K D W)`, divided by the
    number of paths for their mean. They are read as other noisy sums are (docs/spectral-statistics.md). The
    counts are not released: with their public guess in D, an error d of them adds `W^T d (g - f)/r^2`, where
    `g - f = (1 - k_D D) g - noise`, with k_D = (K^-1 + D)^-1, is taken as independent of d; as n is public,
    such errors sum to 0. What is not public of the field (its deviation, range and scatter) is weighed by how
    well it explains the paths.
    """

    design: PosteriorSamplingDesign  # whose paths are read
    facts: PublicFacts  # public facts of the release
    known: Floats | None = None  # (N,) records per cell where the places are public, else None

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
        """What is publicly believed of the records per node."""
        nodes, facts = self.model.nodes, self.facts
        if self.known is not None:
            found = nodes.gather(self.known)
            return CountPrior(np.maximum(found, 1e-9), np.zeros(nodes.size))
        if facts.counts is not None:
            return prior_from_reference(nodes, facts.counts, float(facts.n), single=facts.single)
        shape = FieldBasis.of(self._pairs(RANGES[1])).rows
        uneven = prior_of_unknown(nodes, float(facts.n), shape, single=facts.single)
        return uneven.with_total_known()

    @cached_property
    def parts(self) -> _Parts:
        """Everything of the reading that does not depend on the paths; public."""
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
            both = weighted.T @ _correlate(prior, weighted)
            noise = noise + design.noise_scale**2 * (prior_part + 2.0 * record_part + both)
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
        """The field of one range: its patterns, a constant, and what they leave out."""
        basis = FieldBasis.of(self._pairs(factor), 2 * PATTERNS)
        even = np.full((basis.rest.size, 1), np.sqrt(CONSTANT))
        return FieldBasis(
            np.hstack([np.sqrt(1.0 - CONSTANT) * basis.rows, even]), (1.0 - CONSTANT) * basis.rest
        )

    @cached_property
    def from_counts(self) -> tuple[Floats, tuple[Floats, ...]]:
        """(p, p) what errors of the counts add per unit of path noise, and per unit of each range's field."""
        design, counts, within = self.design, self.counts, self.parts.within
        weight = counts.mean / design.ridge**2
        drawn = (design.scale**2 + design.noise_scale**2) / design.paths
        through_paths = self._through_counts(np.sqrt(drawn) * within)
        fields = []
        for factor in RANGES:
            rows = self._basis(factor).rows
            fields.append(self._through_counts(rows - within @ (within.T @ (weight[:, None] * rows))))
        return through_paths, tuple(fields)

    def _through_counts(self, rows: Floats) -> Floats:
        """(p, p) law of `loadings^T d q` for errors d of the counts and q with covariance rows rows^T."""
        counts, loadings = self.counts, self.parts.loadings
        variance = np.square(rows).sum(axis=1)
        found = loadings.T @ (loadings * (counts.white * variance)[:, None])
        if counts.relative is None:
            return np.asarray(found)
        shared = counts.mean[:, None] * counts.relative
        return np.asarray(found + loadings.T @ (((shared @ shared.T) * (rows @ rows.T)) @ loadings))

    def _pairs(self, factor: float) -> Eigenpairs:
        return self.model.smooth_pairs("exponential", factor * self.design.lengthscale)

    def read(self, paths: Floats, count: int, entropy: Entropy) -> Reading:
        """The field, and `count` draws of it, given paths (L, N) as they were released, before smoothing."""
        seen = np.asarray(paths, dtype=np.float64).mean(axis=0)
        parts = self.parts
        sums = parts.sums.T @ seen
        found = [self._posterior(sums, *belief) for belief in self._beliefs()]
        evidence = np.array([posterior.reader.log_evidence(sums) for posterior in found])
        weight = np.exp(evidence - evidence.max())
        kept = np.flatnonzero(weight >= LEAST_WEIGHT * weight.sum())
        weight = weight[kept] / weight[kept].sum()
        times = shares(weight, count)
        readings = []
        for place, number in zip(kept, times, strict=True):
            posterior = found[place]
            drawn = posterior.paths(number, entropy) if number else np.empty((0, seen.size))
            prior = posterior.reader.prior
            drawn, mean, sd = unclipped(posterior.mean(), posterior.deviation(), prior, drawn)
            readings.append(Reading(mean, sd, drawn))
        return mixed(readings, weight)

    def _beliefs(self) -> list[tuple[int, float, float]]:
        return [(a, b, c) for a in range(len(RANGES)) for b in DEVIATIONS for c in SCATTERS]

    def _posterior(self, sums: Floats, place: int, deviation: float, ridge: float) -> FieldPosterior:
        nodes, counts, parts = self.model.nodes, self.counts, self.parts
        prior = ClippedPrior.of(PublicPrior(0.0, deviation, ridge))
        by_paths, by_field = self.from_counts
        noise = parts.noise + by_paths + prior.deviation**2 * by_field[place]
        known = NodeCounts.known(counts.mean, parts.loadings.shape[1])
        basis = self._basis(RANGES[place])
        return FieldPosterior(FieldReader.of(nodes, basis, prior, parts.loadings, known, noise), sums)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of the reading that depend on the design alone."""

    sums: Floats  # (N, p) what turns a path into sums
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
