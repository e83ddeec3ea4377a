"""The sparse Gaussian process: noisy moments of kernels with public inducing points, once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import Mechanism, SearchSpace
from dpgp_core.mechanisms.bin_means import square_bins
from dpgp_core.mechanisms.design import (
    LENGTHSCALE,
    MU,
    NUMBER,
    RIDGE,
    Budget,
    Design,
    Parameter,
    Protection,
    SearchSpec,
)
from dpgp_core.mechanisms.grids import FEW_CUTOFFS, RECORD_RIDGES, SCALES, coarse_grid, tried
from dpgp_core.noise import Entropy, distance_of
from dpgp_core.numbers import significant
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice, Prior
from dpgp_core.releasing import PublicFacts, Released
from dpgp_core.simulation import SEED, World
from hexcursion_peers.sparse.moments import GriddedFeatures, Moments, sensitivity
from hexcursion_peers.sparse.posterior import (
    InducingPosterior,
    Regularisation,
    chosen_regularisation,
    errors_in_variables,
    private_posterior,
)

InducingReading = Literal["shrunken", "errors-in-variables"]
"""How the moments are read: the paper's posterior with its noise corrected, or one that models all noise."""

MOST_CELLS = 6_000  # the prior's covariance is a dense matrix
MOST_POINTS = 150  # inducing points; m (m + 1)/2 numbers are released
NUGGET = 1e-6  # public share of white noise at the inducing points, so that their covariance can be inverted
RIDGES = RECORD_RIDGES[:2]
SPACINGS = (1.0, 1.5)  # of the inducing points, in ranges of the prior
PATHS = 100
_UP = 1.0 + 2.0**-40


@dataclass(frozen=True)
class SparseGpDesign(Design):
    """Moments of kernels with inducing points, and the model by which they are read.

    Parameters
    ----------
    prior
        Name in `PRIORS`.
    lengthscale
        Range of the prior, metres, > 0.
    ridge
        Scatter of one record around its cell's value, in units of `scale`.
    scale
        Standard deviation of the field, response units, > 0; used for the reading only.
    spacing
        Distance between inducing points, metres, > 0: one cell in each square of this side, or in each public
        parent cell where those are about as large.
    mu
        Gaussian-DP parameter that the release may cost, > 0.
    balance
        c, the variance of the noise on the first moment over that on the second; 1 in the paper.
    reading
        "shrunken" (the paper's, closer to the field) or "errors-in-variables" (calibrated).
    regularisation
        Where lambda of the shrunken reading comes from: "bound" (the paper's) or "raised".
    """

    mechanism: ClassVar[str] = "sparse-gp"

    prior: str
    lengthscale: float
    ridge: float
    scale: float
    spacing: float
    mu: float
    balance: float = 1.0
    reading: InducingReading = "shrunken"
    regularisation: Regularisation = "bound"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("lengthscale", "ridge", "scale", "spacing", "mu", "balance")
        self.refuse_unless_among("reading", get_args(InducingReading))
        self.refuse_unless_among("regularisation", get_args(Regularisation))
        self.refuse_smoothing()


def inducing_cells(facts: PublicFacts, spacing: float) -> NDArray[np.int64]:
    """(m,) cells that serve as inducing points, from the public lattice alone.

    One for each public parent cell of the level whose size is nearest to `spacing`, where such levels are
    known and one is within a factor of two; else one for each square of that side. In each group the cell
    nearest to the group's middle.
    """
    lattice = facts.lattice
    centres, groups = lattice.domain_centres, square_bins(lattice, spacing)
    sizes = [lattice.spacing * np.sqrt(lattice.size / np.unique(level).size) for level in facts.parents]
    if sizes:
        best = int(np.argmin(np.abs(np.log(np.array(sizes) / spacing))))
        if abs(float(np.log(sizes[best] / spacing))) <= np.log(2.0):
            groups = np.unique(facts.parents[best], return_inverse=True)[1].ravel()
    cells = []
    for group in range(int(groups.max()) + 1):
        inside = np.flatnonzero(groups == group)
        distance = np.square(centres[inside] - centres[inside].mean(axis=0)).sum(axis=1)
        cells.append(int(inside[np.argmin(distance)]))
    return np.array(sorted(cells), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class InducingPlan:
    """The public part of a release: inducing points, features on a grid, the projection to all cells.

    `prior` and `features` are of the N cells; `between` (K, K) are correlations of the K inducing
    points, with a nugget; `projection` (N, K) carries values at these to the cells; `prior_variance`
    (N,) is in units of the scale squared; `chosen` (K,) are the cells that the inducing points are."""

    prior: Prior
    features: GriddedFeatures
    between: Floats
    projection: Floats
    prior_variance: Floats
    chosen: NDArray[np.int64]

    @classmethod
    def of(cls, facts: PublicFacts, design: SparseGpDesign) -> InducingPlan:
        """For a design on a public domain. Raises InvalidValue if the domain or the number of inducing
        points is too large for dense matrices."""
        lattice: Lattice = facts.lattice
        if lattice.size > MOST_CELLS:
            raise InvalidValue(
                f"the sparse Gaussian process keeps a dense matrix and takes at most {MOST_CELLS:,} cells, "
                f"got {lattice.size:,}: choose a coarser resolution or another mechanism."
            )
        cells = inducing_cells(facts, design.spacing)
        if cells.size > MOST_POINTS:
            raise InvalidValue(
                f"{cells.size:,} inducing points are too many, at most {MOST_POINTS}: space them wider apart."
            )
        prior = facts.prior(design.prior, design.lengthscale)
        correlation = prior.correlation()
        cross: Floats = np.ascontiguousarray(correlation[:, cells], dtype=float)
        between = cross[cells] + NUGGET * np.eye(cells.size)
        projection: Floats = np.asarray(np.linalg.solve(between, cross.T).T, dtype=float)
        return cls(
            prior, GriddedFeatures.of(cross), between, projection, correlation.diagonal().copy(), cells
        )

    def noises(self, design: SparseGpDesign) -> tuple[float, float]:
        """Deviations of the noise on both moments that cost at most the design's mu."""
        first = sensitivity(1.0, self.features.norm, design.balance) / design.mu * _UP
        return first, first / float(np.sqrt(design.balance))

    def read(self, moments: Moments, design: SparseGpDesign) -> InducingPosterior:
        """The field at the inducing points in units of `scale`."""
        scaled, variance = moments.scaled(design.scale), design.ridge**2
        if design.reading == "errors-in-variables":
            return errors_in_variables(self.between, scaled, variance)
        step = chosen_regularisation(design.regularisation, scaled, variance)
        return private_posterior(self.between, scaled, variance, step)

    def field(self, moments: Moments, design: SparseGpDesign) -> tuple[InducingPosterior, Floats, Floats]:
        """The posterior, and (N,) mean and (N,) deviation of the field at all cells, response units."""
        posterior = self.read(moments, design)
        mean, variance = posterior.at(self.projection, self.between, self.prior_variance)
        return posterior, design.scale * mean, design.scale * np.sqrt(variance)


@dataclass(frozen=True, eq=False, repr=False)
class _PreparedMoments:
    """The plan and the records, ready for the noise."""

    design: SparseGpDesign
    plan: InducingPlan
    records: CollapsedRecords

    def moments(self, entropy: Entropy) -> Moments:
        """Draw both moments once."""
        first, second = self.plan.noises(self.design)
        return self.plan.features.release(self.records, first, second, entropy)

    def draw(self, entropy: Entropy) -> Released:
        plan, design, moments = self.plan, self.design, self.moments(entropy)
        posterior, mean, sd = plan.field(moments, design)
        value, vector = np.linalg.eigh(posterior.covariance)
        root = vector * np.sqrt(np.maximum(value, 0.0))
        at = posterior.mean[:, None] + root @ entropy.normal((plan.chosen.size, design.paths))
        # Given its values at the inducing points the field is the prior's, conditioned: Matheron's rule.
        prior_draw = plan.prior.colour(entropy.normal((plan.prior.white_size, design.paths)))
        at_points = prior_draw[plan.chosen] + np.sqrt(NUGGET) * entropy.normal(
            (plan.chosen.size, design.paths)
        )
        paths = design.scale * (prior_draw + plan.projection @ (at - at_points))
        return Released(np.ascontiguousarray(paths.T), mean, sd, (moments.first, moments.second))

    def without_paths(self, entropy: Entropy, releases: int) -> list[Released]:
        """Simulated releases judged by their probabilities only."""
        read = [self.plan.field(self.moments(entropy), self.design) for _ in range(releases)]
        return [Released(mean[None], mean, sd) for _, mean, sd in read]


class SparseSpace(SearchSpace):
    """Ranges whose inducing points are few enough; both readings of each release are free."""

    def grid(self, facts: PublicFacts, ask: SearchSpec) -> tuple[SparseGpDesign, ...]:
        if facts.lattice.size > MOST_CELLS:
            return ()
        designs = [
            SparseGpDesign(ask.priors[0], lengthscale, ridge, scale, spacing * lengthscale, 1.0, paths=PATHS)
            for lengthscale in coarse_grid(facts.lattice, facts.n, ask.quick).lengthscales
            for spacing in SPACINGS
            for ridge in tried(RIDGES, ask.thorough)
            for scale in tried(SCALES, ask.thorough)
        ]
        possible = {
            spacing: 3 < inducing_cells(facts, spacing).size <= MOST_POINTS
            for spacing in {design.spacing for design in designs}
        }
        return tuple(design for design in designs if possible[design.spacing])

    def variants(self, design: SparseGpDesign, ask: SearchSpec) -> tuple[SparseGpDesign, ...]:
        readings: tuple[InducingReading, ...] = get_args(InducingReading)
        return tuple(
            replace(design, cutoff=cutoff, reading=reading) for reading in readings for cutoff in FEW_CUTOFFS
        )

    def given(self, facts: PublicFacts, ask: SearchSpec, lengthscale: float, ridge: float) -> SparseGpDesign:
        return SparseGpDesign(ask.priors[0], lengthscale, ridge, SCALES[1], lengthscale, 1.0, paths=PATHS)


class SparseGp(Mechanism):
    """Release noisy moments of kernels with inducing points, once; any number of maps is free."""

    name = "sparse-gp"
    title = "Sparse Gaussian process"
    summary = (
        "Adds noise to sums over pairs of public inducing points, once; any number of maps follows at no "
        "further cost."
    )
    source = "plugins/peers/docs/peers.md, sparse Gaussian process"
    protection = Protection("values and places", ("point", "cell"))
    design_type = SparseGpDesign
    space = SparseSpace
    parameters = (
        LENGTHSCALE,
        RIDGE,
        Parameter("scale", "model_scale", "positive"),
        Parameter("spacing", "inducing_spacing", "length"),
        Parameter("balance", "balance", "positive"),
        MU,
        NUMBER,
    )
    free_paths = True
    reads = ("priors",)
    exact_on_a_computer = True

    def guarantee(self, design: SparseGpDesign, facts: PublicFacts) -> Guarantee:
        """The noise is made from the gridded features so that one exchanged record costs at most mu."""
        return Guarantee.gaussian(Cost.gaussian(design.mu, distance_of(facts.lattice.size)), self.source)

    def calibrate(self, design: SparseGpDesign, facts: PublicFacts, budget: Budget) -> SparseGpDesign:
        return replace(design, mu=budget.mu)

    def prepare(
        self, design: SparseGpDesign, facts: PublicFacts, records: CollapsedRecords
    ) -> _PreparedMoments:
        records.refuse_outside(facts.lattice.size)
        plan = self.plan(design, facts)
        size, (first, second) = plan.chosen.size, plan.noises(design)
        # the reading is tried on nothing, so that it cannot fail after a charge
        plan.field(Moments(np.zeros(size), np.zeros((size, size)), first, second), design)
        return _PreparedMoments(design, plan, records)

    def plan(self, design: SparseGpDesign, facts: PublicFacts) -> InducingPlan:
        """Everything public of a design, kept with the domain's other shared work."""
        key = (design.prior, design.lengthscale, design.spacing, len(facts.parents))
        return facts.cache.keep("inducing plan", key, lambda: InducingPlan.of(facts, design))

    def describe(self, design: SparseGpDesign) -> str:
        return (
            f"inducing points {significant(design.spacing, 4)} m apart, mu {significant(design.mu, 4)}; "
            f"prior {design.prior}, range {significant(design.lengthscale, 4)} m, read as {design.reading}"
        )


@questions.least_cost.register
def _least_cost(design: SparseGpDesign) -> Cost:
    return Cost.gaussian(design.mu, distance_of(1))


questions.simulated_sets.register(SparseGpDesign)(questions.sets_without_paths)
questions.held_out.register(SparseGpDesign)(questions.held_out_without_paths)


@questions.simulate.register
def _simulate(design: SparseGpDesign, world: World, *, quick: bool = False) -> Bools:
    return questions.simulate_without_paths(design, world, SEED + 7)
