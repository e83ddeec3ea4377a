"""The workspace of one domain: it computes once, and caches, everything that depends on public facts only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.features.eigen import Eigenpairs, FolderStore, eigen_key
from dpgp_core.features.gridded import Features, InnerProducts, inner_products, sampled_products
from dpgp_core.features.harmonics import Harmonics, domain_harmonics, prior_spectrum
from dpgp_core.features.nodes import MOST_NODES, Nodes
from dpgp_core.features.strategies import StrategyFacts, make_features
from dpgp_core.linalg import Floats, Ints
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import PRIORS, make_prior
from dpgp_core.spectral.cost import Relation, SpectralNoise, noise_for
from dpgp_core.spectral.counts import (
    CountPrior,
    NodeCounts,
    estimated_number,
    prior_from_reference,
    prior_of_unknown,
    read_counts,
)
from dpgp_core.spectral.prior import ClippedPrior, FieldBasis, LinearLaw, PublicPrior, at_nodes
from dpgp_core.spectral.reading import FieldReader
from dpgp_core.spectral.settled import settled_reader

PAIRS = 256  # harmonics per domain: more directions than a release of such a domain can use
KEPT = 12  # sets of features cached in memory; one takes up to 20 MB
RECORD_NOISE = 0.5
"""Assumed scatter of one clipped record around its cell's value, for features of a given `signal`."""

BELIEFS_OF_COUNTS = (
    (1.0, 1.0, 1.0, 0.3),
    (0.5, 1.0, 1.0, 0.18),
    (2.0, 1.0, 1.0, 0.18),
    (1.0, 2.0, 1.0, 0.09),
    (1.0, 0.75, 0.45, 0.09),
    (1.0, 1.0, 0.0, 0.16),
)
"""Beliefs on counted records: range and deviation in units of the design's, the share of the variance that
neighbours share, and the probability of each belief before a release."""

BELIEFS_OF_AMOUNTS = ((1.0, 1.0), (1.0, 0.5), (0.5, 1.0), (0.5, 0.5))
"""Beliefs on amounts without reference data: range and ridge in units of the design's, equally likely."""

COLUMNS = 0.2
"""Probability, before a release, that public columns explain anything: many columns do not."""

_ANY_BELIEF = PublicPrior(0.0, 1.0, 1.0)  # replaces that of a plan where it makes no difference
ROUGH = 16  # a rough plan prices its counts by every ROUGH-th node against all


@dataclass(frozen=True)
class SpectralPlan:
    """The public choices, made before a release, that determine its noise and its reading."""

    strategy: str  # name in `STRATEGIES`
    prior: str  # name in `PRIORS`
    lengthscale: float  # metres
    field: PublicPrior  # public belief on responses before clipping, response units
    mu: float  # Gaussian-DP parameter that the release may cost
    density: float  # public number of records per cell, or a guess if it is not public
    relation: Relation = "replace-one"  # neighbouring relation of the guarantee
    # standard deviation of the clipped field for which the features are chosen, so that plans with different
    # `field` may share them; None: that of `field`
    signal: float | None = None
    # share of the field's variance that the whole domain has in common; above 0 the mean is estimated
    common: float = 0.0
    # for simulations only: price the counts by a sample of the pairs of nodes instead of all pairs
    rough: bool = False
    # share of the variance that the domain's public columns explain together
    covariates: float = 0.0
    whole: bool = False  # whether the reading uses all patterns of the domain, as a second look needs
    # records per cell and Gaussian-DP parameter for which the features are chosen, if several holders release
    # the same features; None: `density` and `mu`
    pool: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name in ("lengthscale", "mu", "density"):
            positive(name, getattr(self, name))
        if self.signal is not None:
            positive("signal", self.signal)
        for number in self.pool or ():
            positive("pool", number)
        for name, share in (("common share", self.common), ("share of covariates", self.covariates)):
            if not 0.0 <= share < 1.0:
                raise InvalidValue(f"the {name} of the variance must be at least 0 and below 1.")

    @property
    def several(self) -> bool:
        """Whether amounts are read under BELIEFS_OF_AMOUNTS, as no reference data show how they vary.

        Two looks carry enough information for a single belief.
        """
        return self.common > 0.0 and self.field.law == "amount" and not self.whole

    @property
    def laws(self) -> tuple[tuple[PublicPrior, float], ...]:
        """Priors of the field, apart from its range, with their probabilities before a release."""
        field = self.field
        if field.counted:
            return tuple((field.scaled(wide), odds) for _, wide, _, odds in BELIEFS_OF_COUNTS)
        if self.several:
            share = 1.0 / len(BELIEFS_OF_AMOUNTS)
            return tuple(
                (replace(field, ridge=field.ridge * ridge), share) for _, ridge in BELIEFS_OF_AMOUNTS
            )
        return ((field, 1.0),)

    @property
    def sensitivity(self) -> float:
        """Sensitivity for features of length 1, which strategies assume."""
        # Theorem C with k = 1 and free counts gives mu = 2/s; Corollary 2 with weight 1 gives mu^2 = 2/s^2
        # for one record more or less (docs/spectral-statistics.md, section 2). Counted records have D = 2 for
        # orthogonal features, or k = 1: half of the squared sensitivity. Strategies only choose features by
        # this number; `release_mu` sets the price.
        full = 2.0 if self.relation == "add-or-remove" else 4.0
        return float(np.sqrt(0.5 * full if self.field.counted else full))


@dataclass(frozen=True, eq=False)
class PublicCounts:
    """Public knowledge of the counts."""

    # "unknown" (n alone), "reference" (counts of another period), "known" (the places are public)
    kind: Literal["unknown", "reference", "known"]
    n: float | None  # number of records if it is public, else None
    cells: Floats | None = None  # (N,) public counts per cell for "reference" and "known"
    single: bool = False  # whether a cell holds at most one record (cell records)

    def __post_init__(self) -> None:
        if self.kind not in ("unknown", "reference", "known"):
            raise InvalidValue(f"unknown kind of public counts {self.kind!r}: unknown, reference or known.")
        if (self.cells is None) != (self.kind == "unknown"):
            raise InvalidValue("counts per cell are given exactly for the kinds 'reference' and 'known'.")


@dataclass(frozen=True, eq=False)
class Prepared:
    """A plan with its features, their extremes, the noise, and the field's prior."""

    plan: SpectralPlan
    nodes: Nodes
    features: Features
    products: InnerProducts
    noise: SpectralNoise
    shape: FieldBasis  # basis of the part that varies over the domain
    basis: FieldBasis  # basis of the field: `shape` with a common part
    prior: ClippedPrior
    columns: Floats | None = None  # (M, k) public columns, if the plan reads any
    further: tuple[FieldBasis, ...] = ()  # one basis for each law of the plan, if it has several

    @property
    def beliefs(self) -> tuple[tuple[FieldBasis, ClippedPrior], ...]:
        """Basis and prior of the field under each belief: first with public columns, if any, then without.

        Both groups follow the plan's `laws`, but counted records use columns with the first law alone.
        """
        share, plan = self.plan.covariates, self.plan
        laws = list(zip(self.further or (self.basis,), (law for law, _ in plan.laws), strict=True))
        plain = [(basis, ClippedPrior.of(law)) for basis, law in laws]
        if self.columns is None or not share:
            return tuple(plain)
        bases = {id(basis): basis.with_columns(self.columns, share) for basis, _ in laws}
        # `with_columns` scales the field's own part by sqrt(1 - share). The wider law undoes this: columns
        # add to the variance (docs/spectral-statistics.md, section 4, "Public columns").
        wider = float(np.sqrt(1.0 / (1.0 - share)))
        column_laws = laws[:1] if plan.field.counted else laws
        return (
            *((bases[id(basis)], ClippedPrior.of(law.scaled(wider))) for basis, law in column_laws),
            *plain,
        )

    @property
    def odds(self) -> Floats:
        """(B,) probability of each belief before a release, up to a common factor."""
        plain = np.array([odds for _, odds in self.plan.laws])
        if self.columns is None or not self.plan.covariates:
            return plain
        column_odds = np.ones(1) if self.plan.field.counted else plain
        return np.concatenate([COLUMNS * column_odds, (1.0 - COLUMNS) * plain])

    def count_prior(self, public_counts: PublicCounts, released: Floats) -> CountPrior:
        """Prior of the counts; an n that is not public is estimated from the released counts (p,)."""
        cells, n = public_counts.cells, public_counts.n
        shape = self.nodes.cells_per_node if cells is None else self.nodes.gather(cells)
        n = estimated_number(self.features, shape, released) if n is None else n
        if public_counts.kind == "reference" and cells is not None:
            return prior_from_reference(self.nodes, cells, n, single=public_counts.single)
        return prior_of_unknown(self.nodes, n, self.shape.rows, single=public_counts.single)

    def counts(self, public_counts: PublicCounts, released: Floats | None) -> NodeCounts:
        """Posterior of the counts per node given released counts (p,), None if the places are public.

        A rough plan uses single precision. Raises InvalidValue if counts are neither released nor public.
        """
        if public_counts.kind == "known" and public_counts.cells is not None:
            return NodeCounts.known(self.nodes.gather(public_counts.cells), self.features.size)
        if released is None or self.noise.counts is None:
            raise InvalidValue("counts were not released: say what is known of them.")
        prior = self.count_prior(public_counts, released)
        return read_counts(
            prior, self.features.values, released, self.noise.counts, self.nodes, rough=self.plan.rough
        )

    def places(self, public_counts: PublicCounts, released: Floats | None, counts: NodeCounts) -> Floats:
        """(N,) expected records per cell, which decide where a map can be judged: free.

        They come from `counts`, with one exception. If the counts of a reference were the prior and the
        released counts (p,) are likeliest with a growth above 1, they changed by more than their own size:
        the reference then hides records in cells where it has few. In this case the released counts are read
        again with their number alone as public knowledge.
        """
        has_moved = public_counts.kind == "reference" and counts.growth > 1.0
        if not has_moved or released is None or self.noise.counts is None:
            return counts.at_cells(self.nodes)
        prior = self.count_prior(replace(public_counts, kind="unknown", cells=None), released)
        prior = prior.likelier_alone(self.features.values, released, self.noise.counts)
        counts_alone = read_counts(
            prior, self.features.values, released, self.noise.counts, self.nodes, rough=self.plan.rough
        )
        return counts_alone.at_cells(self.nodes)

    def reader(self, counts: NodeCounts, *, paths: bool = True) -> FieldReader:
        """Reader of the field for these counts, without public columns; it takes released sums later."""
        return FieldReader.of(
            self.nodes, self.basis, self.prior, self.features.values, counts, self.noise.sums, paths=paths
        )

    def readers(self, counts: NodeCounts) -> tuple[FieldReader, ...]:
        """A reader for each of the beliefs."""
        return tuple(replace(self, basis=basis, prior=prior).reader(counts) for basis, prior in self.beliefs)

    def answers(self, reader: FieldReader, counts: NodeCounts, sums: Floats) -> FieldReader:
        """One of `readers` for these counts, linearised around its own reading of the sums (p,)."""
        # The probit of the share of yes is not linear in the sums. Each round linearises the responses around
        # the last posterior, and half steps avoid the swings of whole steps (docs/spectral-statistics.md,
        # section 4, "Answers of yes and no").
        prior, basis = reader.prior, reader.basis

        def linear(moments: Floats) -> FieldReader:
            law, a = LinearLaw.around(prior.before, *moments), self.features.values
            return FieldReader.of(self.nodes, basis, prior, a, counts, self.noise.sums, linear=law)

        deviation = prior.before.deviation * np.sqrt(basis.variance)
        first = linear(np.array([np.full(deviation.size, prior.before.mean), deviation]))
        return settled_reader(first, linear, lambda settling: (settling.mean(sums), settling.deviation()))


class SpectralModel:
    """The public facts of one domain, computed on first use and cached.

    `store` saves eigenpairs between runs, `pairs` of them for each prior. `hierarchy` holds (N,) public
    parent labels of the cells, coarsest level first, for the strategy "parent-tree"; `columns` (N, k) public
    numbers that may explain the field, in any units. The domain has at most `most_nodes` nodes (see `Nodes`).
    """

    def __init__(
        self,
        lattice: Lattice,
        store: FolderStore | None = None,
        hierarchy: Sequence[Ints] = (),
        columns: Floats | None = None,
        most_nodes: int = MOST_NODES,
        pairs: int = PAIRS,
    ) -> None:
        self.nodes = Nodes.of(lattice, most_nodes)
        self._store, self._count = store, pairs
        # A node has the parent of its first cell: labels only shape the features, which are priced exactly.
        first = np.unique(self.nodes.place, return_index=True)[1]
        for labels in hierarchy:
            if labels.shape != (lattice.size,):
                raise InvalidValue("every level of the hierarchy needs one parent label per cell.")
        self.hierarchy = tuple(np.asarray(labels)[first] for labels in hierarchy)
        self.columns = None if columns is None else at_nodes(self.nodes, columns)
        self._spectra: dict[tuple[str, float], Floats] = {}
        self._cores: OrderedDict[Hashable, _Core] = OrderedDict()

    @cached_property
    def harmonics(self) -> Harmonics:
        """The smoothest patterns of the domain: one eigendecomposition serves all plans."""
        return domain_harmonics(self.nodes.lattice, self._count, self._store)

    def smooth_pairs(self, prior: str, lengthscale: float) -> Eigenpairs:
        """The domain's harmonics with the variances of a prior of PRIORS along them."""
        name = (prior, float(lengthscale))
        if name not in self._spectra:
            key = eigen_key(self.nodes.lattice, f"spectrum of {prior}", lengthscale, self._count)
            spectra = None if self._store is None else self._store.arrays(key, ("spectrum",))
            size = self.harmonics.vectors.shape[1]
            if (
                spectra is None
                or spectra[0].shape != (size,)
                or not np.all(np.isfinite(spectra[0]) & (spectra[0] > 0))
            ):
                smooth_prior = make_prior(prior, self.nodes.lattice, lengthscale)
                spectra = (prior_spectrum(self.harmonics, smooth_prior),)
                if self._store is not None:
                    self._store.put_arrays(key, {"spectrum": spectra[0]})
            self._spectra[name] = spectra[0]
        return self.harmonics.pairs(self._spectra[name])

    def prepare(self, plan: SpectralPlan) -> Prepared:
        """Compute what a release by this plan needs, from public facts only; plans share features."""
        prior = ClippedPrior.of(plan.field)
        deviation = prior.deviation if plan.signal is None else plan.signal
        scatter = prior.record_noise if plan.signal is None else RECORD_NOISE
        # Everything that `_core` reads; plans that differ in their reading alone share one entry.
        belief = (deviation, scatter, plan.field.counted, plan.several, plan.field.ball)
        key = (replace(plan, field=_ANY_BELIEF, signal=None, common=0.0), *belief)
        if key not in self._cores:
            self._cores[key] = self._core(plan, deviation, scatter)
            if len(self._cores) > KEPT:
                self._cores.popitem(last=False)
        self._cores.move_to_end(key)
        core = self._cores[key]
        basis, further = core.with_common(plan.common)
        features, products, noise = core.features, core.products, core.noise
        columns = self.columns if plan.covariates else None
        return Prepared(
            plan, self.nodes, features, products, noise, core.shape, basis, prior, columns, further
        )

    def _core(self, plan: SpectralPlan, deviation: float, scatter: float) -> _Core:
        smooth = pairs = self.smooth_pairs(plan.prior, plan.lengthscale)
        if plan.covariates:
            if self.columns is None:
                raise InvalidValue("this plan reads covariates, and the domain has none: name them.")
            pairs = smooth.with_columns(self.columns, plan.covariates)
        density, mu = plan.pool or (plan.density, plan.mu)
        facts = StrategyFacts(
            nodes=self.nodes,
            pairs=pairs,
            lengthscale=plan.lengthscale,
            decay=PRIORS[plan.prior].decay,
            density=density,
            deviation=deviation,
            record_noise=scatter,
            noise=plan.sensitivity / mu,
            hierarchy=self.hierarchy,
        )
        # The noise is solved from the products of the rounded features, not from the strategy's assumptions:
        # Theorem C holds for features of any origin (docs/spectral-statistics.md, section 2).
        features = make_features(plan.strategy, facts)
        products = sampled_products(features, ROUGH) if plan.rough else inner_products(features)
        ball = plan.field.ball
        noise = noise_for(plan.mu, products, plan.relation, counted=plan.field.counted, ball=ball)
        patterns = None if plan.whole else 2 * features.size + 64
        shape = FieldBasis.of(smooth, patterns)
        further: tuple[FieldBasis, ...] = ()
        if plan.field.counted:
            further = self.bases_of_counts(plan.prior, plan.lengthscale, patterns)
        elif plan.several:
            bases = {1.0: shape}
            for wide, _ in BELIEFS_OF_AMOUNTS:
                if wide not in bases:
                    bases[wide] = FieldBasis.of(
                        self.smooth_pairs(plan.prior, wide * plan.lengthscale), patterns
                    )
            further = tuple(bases[wide] for wide, _ in BELIEFS_OF_AMOUNTS)
        return _Core(features, products, noise, shape, further)

    def bases_of_counts(
        self, prior: str, lengthscale: float, count: int | None = None
    ) -> tuple[FieldBasis, ...]:
        """The field's basis under each of BELIEFS_OF_COUNTS; their ranges multiply `lengthscale`, metres."""
        return tuple(
            FieldBasis.of(self.smooth_pairs(prior, wide * lengthscale), count).with_own(share)
            for wide, _, share, _ in BELIEFS_OF_COUNTS
        )


@dataclass(frozen=True, eq=False)
class _Core:
    """Features, noise and bases, shared by plans that differ in their reading alone."""

    features: Features
    products: InnerProducts
    noise: SpectralNoise
    shape: FieldBasis
    further: tuple[FieldBasis, ...]
    bases: dict[float, tuple[FieldBasis, tuple[FieldBasis, ...]]] = field(default_factory=dict)

    def with_common(self, share: float) -> tuple[FieldBasis, tuple[FieldBasis, ...]]:
        """`shape` and `further` with a common share of the variance; equal bases are computed once."""
        if share not in self.bases:
            several = (self.shape, *self.further)
            common = {id(basis): basis.with_common(share) if share else basis for basis in several}
            self.bases[share] = common[id(self.shape)], tuple(common[id(basis)] for basis in self.further)
        return self.bases[share]
