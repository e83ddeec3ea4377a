"""The workspace of one domain: what depends on public facts only is made once and kept."""

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

PAIRS = 256  # harmonics kept per domain: more directions than a release of such a domain is worth
KEPT = 12  # sets of features kept in memory; one takes up to 20 MB
RECORD_NOISE = 0.5
"""Scatter of one clipped record around its cell's value that features reckon with where `signal` is given."""

BELIEFS_OF_COUNTS = (
    (1.0, 1.0, 1.0, 0.3),
    (0.5, 1.0, 1.0, 0.18),
    (2.0, 1.0, 1.0, 0.18),
    (1.0, 2.0, 1.0, 0.09),
    (1.0, 0.75, 0.45, 0.09),
    (1.0, 1.0, 0.0, 0.16),
)
"""Of counted records: range and deviation in units of the design's, the share of the variance that neighbours
share, and how likely each is before a release."""

BELIEFS_OF_AMOUNTS = ((1.0, 1.0), (1.0, 0.5), (0.5, 1.0), (0.5, 0.5))
"""Of amounts without reference data: range and ridge in units of the design's, as likely as one another."""

COLUMNS = 0.2
"""How likely public columns explain something, before a release: many that people name say nothing."""

ROUGH = 16  # a rough plan prices its counts by every so many nodes against all


@dataclass(frozen=True)
class SpectralPlan:
    """Every public choice before a release that its noise and its reading depend on."""

    strategy: str  # name in `STRATEGIES`
    prior: str  # name in `PRIORS`
    lengthscale: float  # metres
    field: PublicPrior  # public belief on responses before clipping, response units
    mu: float  # Gaussian-DP parameter that the release may cost
    density: float  # public number of records per cell, or a guess where it is not public
    relation: Relation = "replace-one"  # which datasets are neighbours
    # standard deviation of the clipped field for which the features are chosen, which plans that differ in
    # `field` alone then share; None: that of `field`
    signal: float | None = None
    # share of the field's variance that the whole domain has in common: its mean is then read, too
    common: float = 0.0
    # for simulations only: the noise of the counts, of all pairs of nodes, is taken from some of them
    rough: bool = False
    # share of the variance that the domain's public columns explain together, beside the field's own
    covariates: float = 0.0
    whole: bool = False  # whether all patterns of the domain are kept for the reading, for a second look
    # records per cell and Gaussian-DP parameter that the features are chosen for, where several
    # holders release the same features; None: `density` and `mu`
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
        """Whether amounts are read under BELIEFS_OF_AMOUNTS: no reference data say how they vary.

        Two looks see enough for one.
        """
        return self.common > 0.0 and self.field.law == "amount" and not self.whole

    @property
    def laws(self) -> tuple[tuple[PublicPrior, float], ...]:
        """What is believed of the field but for its range, and how likely each is before a release."""
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
        """Sensitivity for features of length 1, which is what strategies reckon with."""
        full = 2.0 if self.relation == "add-or-remove" else 4.0  # squared; without values half of it
        return float(np.sqrt(0.5 * full if self.field.counted else full))


@dataclass(frozen=True, eq=False)
class PublicCounts:
    """What is public of the counts."""

    # "unknown" (n alone), "reference" (counts of another period), "known" (the places are public)
    kind: Literal["unknown", "reference", "known"]
    n: float | None  # number of records where it is public, else None
    cells: Floats | None = None  # (N,) public counts per cell for "reference" and "known"
    single: bool = False  # whether a cell holds at most one record (cell records)

    def __post_init__(self) -> None:
        if self.kind not in ("unknown", "reference", "known"):
            raise InvalidValue(f"unknown kind of public counts {self.kind!r}: unknown, reference or known.")
        if (self.cells is None) != (self.kind == "unknown"):
            raise InvalidValue("counts per cell are given exactly for the kinds 'reference' and 'known'.")


@dataclass(frozen=True, eq=False)
class Prepared:
    """A plan with everything made from it: features, their extremes, the noise, and the field's prior."""

    plan: SpectralPlan
    nodes: Nodes
    features: Features
    products: InnerProducts
    noise: SpectralNoise
    shape: FieldBasis  # of what varies over the domain
    basis: FieldBasis  # of the field: the same with a common part
    prior: ClippedPrior
    columns: Floats | None = None  # (M, k) that may explain the field, if the plan reads any
    further: tuple[FieldBasis, ...] = ()  # one for each law of the plan, where there are several

    @property
    def beliefs(self) -> tuple[tuple[FieldBasis, ClippedPrior], ...]:
        """Basis and prior of the field: with public columns where there are any, and without.

        Without them those of the plan's `laws`, and with them the same; of counted records the first alone.
        """
        share, plan = self.plan.covariates, self.plan
        laws = list(zip(self.further or (self.basis,), (law for law, _ in plan.laws), strict=True))
        plain = [(basis, ClippedPrior.of(law)) for basis, law in laws]
        if self.columns is None or not share:
            return tuple(plain)
        bases = {id(basis): basis.with_columns(self.columns, share) for basis, _ in laws}
        wider = float(np.sqrt(1.0 / (1.0 - share)))
        beside = laws[:1] if plan.field.counted else laws
        return (*((bases[id(basis)], ClippedPrior.of(law.scaled(wider))) for basis, law in beside), *plain)

    @property
    def odds(self) -> Floats:
        """(B,) how likely each of the beliefs is before a release."""
        plain = np.array([odds for _, odds in self.plan.laws])
        if self.columns is None or not self.plan.covariates:
            return plain
        beside = np.ones(1) if self.plan.field.counted else plain
        return np.concatenate([COLUMNS * beside, (1.0 - COLUMNS) * plain])

    def count_prior(self, known: PublicCounts, released: Floats) -> CountPrior:
        """The prior of the counts; where n is not public it is estimated from the released ones (p,)."""
        shape = self.nodes.cells_per_node if known.cells is None else self.nodes.gather(known.cells)
        n = known.n if known.n is not None else estimated_number(self.features, shape, released)
        if known.kind == "reference" and known.cells is not None:
            return prior_from_reference(self.nodes, known.cells, n, single=known.single)
        return prior_of_unknown(self.nodes, n, self.shape.rows, single=known.single)

    def counts(self, known: PublicCounts, released: Floats | None) -> NodeCounts:
        """Posterior of the counts per node given the released ones (p,), None where the places are public.

        A rough plan uses single precision. Raises InvalidValue if nothing was released and nothing is known.
        """
        if known.kind == "known" and known.cells is not None:
            return NodeCounts.known(self.nodes.gather(known.cells), self.features.size)
        if released is None or self.noise.counts is None:
            raise InvalidValue("counts were not released: say what is known of them.")
        prior = self.count_prior(known, released)
        return read_counts(
            prior, self.features.values, released, self.noise.counts, self.nodes, rough=self.plan.rough
        )

    def places(self, known: PublicCounts, released: Floats | None, counts: NodeCounts) -> Floats:
        """(N,) expected records per cell, by which a map says where it may be judged: free.

        Those of `counts`, unless they were read beside a reference and the released counts (p,) asked for a
        growth above 1, changes larger than the counts themselves: then records stand where the reference has
        few, and its proportions would hide them. They are read as if only their number were public.
        """
        moved = known.kind == "reference" and counts.growth > 1.0
        if not moved or released is None or self.noise.counts is None:
            return counts.at_cells(self.nodes)
        prior = self.count_prior(replace(known, kind="unknown", cells=None), released)
        prior = prior.likelier_alone(self.features.values, released, self.noise.counts)
        found = read_counts(
            prior, self.features.values, released, self.noise.counts, self.nodes, rough=self.plan.rough
        )
        return found.at_cells(self.nodes)

    def reader(self, counts: NodeCounts, *, paths: bool = True) -> FieldReader:
        """The posterior of the field for these counts, waiting for released sums; without public columns."""
        return FieldReader.of(
            self.nodes, self.basis, self.prior, self.features.values, counts, self.noise.sums, paths=paths
        )

    def readers(self, counts: NodeCounts) -> tuple[FieldReader, ...]:
        """The same under each of the beliefs."""
        return tuple(replace(self, basis=basis, prior=prior).reader(counts) for basis, prior in self.beliefs)

    def answers(self, reader: FieldReader, counts: NodeCounts, sums: Floats) -> FieldReader:
        """One of `readers` for these counts, made linear around what it reads of sums (p,)."""
        prior, basis = reader.prior, reader.basis

        def linear(found: Floats) -> FieldReader:
            law, a = LinearLaw.around(prior.before, *found), self.features.values
            return FieldReader.of(self.nodes, basis, prior, a, counts, self.noise.sums, linear=law)

        deviation = prior.before.deviation * np.sqrt(basis.variance)
        first = linear(np.array([np.full(deviation.size, prior.before.mean), deviation]))
        return settled_reader(first, linear, lambda made: (made.mean(sums), made.deviation()))


class SpectralModel:
    """All that is public of one domain, made when first asked for and kept.

    `store` keeps eigenpairs between runs, `pairs` of them for each prior. `hierarchy` holds (N,) public
    parent labels of the cells, coarsest level first, for the strategy "parent-tree"; `columns` (N, k) public
    numbers that may explain the field, in any units. The domain has `most_nodes` nodes at most (see `Nodes`).
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
        """The smoothest patterns of the domain: one eigendecomposition for every plan."""
        return domain_harmonics(self.nodes.lattice, self._count, self._store)

    def smooth_pairs(self, prior: str, lengthscale: float) -> Eigenpairs:
        """The domain's harmonics with the variances of a prior of PRIORS along them."""
        name = (prior, float(lengthscale))
        if name not in self._spectra:
            key = eigen_key(self.nodes.lattice, f"spectrum of {prior}", lengthscale, self._count)
            kept = None if self._store is None else self._store.arrays(key, ("spectrum",))
            size = self.harmonics.vectors.shape[1]
            if kept is None or kept[0].shape != (size,) or not np.all(np.isfinite(kept[0]) & (kept[0] > 0)):
                made = make_prior(prior, self.nodes.lattice, lengthscale)
                kept = (prior_spectrum(self.harmonics, made),)
                if self._store is not None:
                    self._store.put_arrays(key, {"spectrum": kept[0]})
            self._spectra[name] = kept[0]
        return self.harmonics.pairs(self._spectra[name])

    def prepare(self, plan: SpectralPlan) -> Prepared:
        """Everything a release by this plan needs, from public facts only; plans share what they can."""
        prior = ClippedPrior.of(plan.field)
        deviation = prior.deviation if plan.signal is None else plan.signal
        scatter = prior.record_noise if plan.signal is None else RECORD_NOISE
        key = (
            plan.strategy, plan.prior, plan.lengthscale, plan.mu, plan.density, plan.relation, plan.rough,
            plan.covariates, plan.whole, deviation, scatter, plan.field.counted, plan.several,
            plan.pool, plan.field.ball,
        )  # fmt: skip
        if key not in self._cores:
            self._cores[key] = self._core(plan, deviation, scatter)
            if len(self._cores) > KEPT:
                self._cores.popitem(last=False)
        self._cores.move_to_end(key)
        core = self._cores[key]
        basis, further = core.with_common(plan.common)
        return Prepared(
            plan, self.nodes, core.features, core.products, core.noise, core.shape, basis, prior,
            self.columns if plan.covariates else None, further,
        )  # fmt: skip

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
        features = make_features(plan.strategy, facts)
        products = sampled_products(features, ROUGH) if plan.rough else inner_products(features)
        ball = plan.field.ball
        noise = noise_for(plan.mu, products, plan.relation, counted=plan.field.counted, ball=ball)
        kept = None if plan.whole else 2 * features.size + 64
        shape = FieldBasis.of(smooth, kept)
        further: tuple[FieldBasis, ...] = ()
        if plan.field.counted:
            further = self.bases_of_counts(plan.prior, plan.lengthscale, kept)
        elif plan.several:
            made = {1.0: shape}
            for wide, _ in BELIEFS_OF_AMOUNTS:
                if wide not in made:
                    made[wide] = FieldBasis.of(self.smooth_pairs(plan.prior, wide * plan.lengthscale), kept)
            further = tuple(made[wide] for wide, _ in BELIEFS_OF_AMOUNTS)
        return _Core(features, products, noise, shape, further)

    def bases_of_counts(
        self, prior: str, lengthscale: float, kept: int | None = None
    ) -> tuple[FieldBasis, ...]:
        """The field's basis under each of BELIEFS_OF_COUNTS, about a lengthscale in metres."""
        return tuple(
            FieldBasis.of(self.smooth_pairs(prior, wide * lengthscale), kept).with_own(share)
            for wide, _, share, _ in BELIEFS_OF_COUNTS
        )


@dataclass(frozen=True, eq=False)
class _Core:
    """What plans that differ in their reading alone share."""

    features: Features
    products: InnerProducts
    noise: SpectralNoise
    shape: FieldBasis
    further: tuple[FieldBasis, ...]
    bases: dict[float, tuple[FieldBasis, tuple[FieldBasis, ...]]] = field(default_factory=dict)

    def with_common(self, share: float) -> tuple[FieldBasis, tuple[FieldBasis, ...]]:
        """`shape` and `further` where nodes have a share of the variance in common, each made once."""
        if share not in self.bases:
            several = (self.shape, *self.further)
            made = {id(each): each.with_common(share) if share else each for each in several}
            self.bases[share] = made[id(self.shape)], tuple(made[id(each)] for each in self.further)
        return self.bases[share]
