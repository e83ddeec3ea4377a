"""Noisy cell statistics: one release of noisy sums and counts per cell, and its free readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import erfcx

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import Mechanism, SearchSpace
from dpgp_core.mechanisms.cell_sums import (
    NoisyStatistics,
    apart_mu,
    release_statistics,
    statistic_mu,
    statistic_noise_for,
    statistics_cost,
)
from dpgp_core.mechanisms.design import (
    LENGTHSCALE,
    NUMBER,
    RIDGE,
    Budget,
    Design,
    Parameter,
    Protection,
    SearchSpec,
)
from dpgp_core.mechanisms.grids import CELL_SCALES, RECORD_RIDGES, coarse_grid, tried
from dpgp_core.noise import Entropy, SimulationEntropy, distance_of
from dpgp_core.numbers import significant
from dpgp_core.posterior.fitting import Posterior, fit_cells
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.posterior.ridge_family import FEW
from dpgp_core.priors.lattice import Lattice, Prior, smooth
from dpgp_core.priors.registry import PRIORS
from dpgp_core.releasing import Prepared, PublicFacts, Released
from dpgp_core.simulation import SEED, HeldOut, World

COUNT_SMOOTHING = 5  # rounds of neighbour averaging behind the local mean count
LEAST_SHARE = 0.02
"""Least local mean count, before scaling, as a share of n/N: averages of noise can be negative."""

FAR_BELOW = -50.0
"""Standardised noisy count below which the truncated normal's moments use their asymptotic
series."""

LEAST_INFORMATION = 1e-3
"""Cells whose estimated count is below this share of the noise are treated as unobserved."""


def estimated_counts(statistics: NoisyStatistics, lattice: Lattice) -> tuple[Floats, Floats]:
    """Posterior mean and variance, (N,) each, of the true counts given the noisy ones: always
    positive.

    A cell's count has an exponential prior, the law of largest entropy on [0, inf) with mean c.
    This mean is the noisy counts' average around the cell, bounded from below and scaled so that
    all c sum to the public n. Times the noise's normal density this is a normal density with mean
    `count - s^2/c` and variance s^2, cut off at 0, whose moments are closed formulas
    (docs/mathematics.md, section 11).
    """
    lower = LEAST_SHARE * statistics.n / statistics.counts.size
    around = np.maximum(smooth(lattice, statistics.counts, COUNT_SMOOTHING), lower)
    around *= statistics.n / around.sum()
    noise = statistics.noise
    score = (statistics.counts - noise**2 / around) / noise
    # phi / Phi at the score; erfcx takes out the factor exp(-score^2/2), which would underflow.
    hazard = np.sqrt(2.0 / np.pi) / erfcx(-score / np.sqrt(2.0))
    mean, variance = score + hazard, 1.0 - hazard * (score + hazard)
    # Far below the cut these cancel; their series in 1/|score| is then exact to a part in 10^8.
    far = np.minimum(score, FAR_BELOW) ** -2
    mean = np.where(score < FAR_BELOW, np.sqrt(far) * (1.0 - far * (2.0 - 10.0 * far)), mean)
    variance = np.where(score < FAR_BELOW, far * (1.0 - far * (6.0 - 50.0 * far)), variance)
    return noise * mean, noise**2 * variance


def cell_observations(
    statistics: NoisyStatistics, lattice: Lattice, ridge: float, scale: float
) -> tuple[np.ndarray, Floats, Floats]:
    """Cells with enough records, their estimated mean response and its noise variance, (k,) each.

    With estimated count m and its variance q the noisy sum is `m f + (noise of m records) +
    (error of m) f + N(0, s^2)` for a cell value f with prior variance scale^2 and records' noise
    variance (ridge scale)^2. So `sum / m` observes f with variance
    `(m (ridge scale)^2 + q scale^2 + s^2) / m^2`.
    """
    count, doubt = estimated_counts(statistics, lattice)
    cells = np.flatnonzero(count > LEAST_INFORMATION * statistics.noise)
    m, q = count[cells], doubt[cells]
    variance = (m * (ridge * scale) ** 2 + q * scale**2 + statistics.noise**2) / np.square(m)
    return cells, statistics.sums[cells] / m, variance


def noise_aware_posterior(statistics: NoisyStatistics, prior: Prior, ridge: float, scale: float) -> Posterior:
    """Posterior of the field given the released statistics only: free for any prior, ridge and
    scale.

    `scale` is the field's prior standard deviation, response units, which also scales its paths;
    `ridge` is the standard deviation of one record around its cell's value, in units of scale.
    Raises InvalidValue if statistics and prior are over different cells, or a number is not
    positive.
    """
    if statistics.sums.size != prior.size:
        raise InvalidValue("the statistics and the prior must be over the same cells.")
    cells, mean, variance = cell_observations(statistics, prior.lattice, ridge, scale)
    return fit_cells(prior, cells, mean, variance, signal_scale=scale)


def log_evidence(statistics: NoisyStatistics, prior: Prior, ridge: float, scale: float) -> float:
    """Log marginal likelihood of the estimated cell means, in nats: ranks (prior, ridge, scale) for
    free."""
    # y^T V^-1 y = y^T R^-1 (y - posterior mean), R the noise, and det V = det R det(1 + R^-1 K):
    # both come from the posterior's factor, without forming V.
    cells, mean, variance = cell_observations(statistics, prior.lattice, ridge, scale)
    posterior = fit_cells(prior, cells, mean, variance, signal_scale=scale)
    misfit = float(np.sum(mean * (mean - posterior.mean[cells]) / variance))
    spread = float(np.sum(np.log(variance))) + posterior.log_determinant()
    return -0.5 * (misfit + spread + cells.size * float(np.log(2.0 * np.pi)))


def reference_records(
    statistics: NoisyStatistics, prior: Prior, ridge: float, scale: float
) -> CollapsedRecords:
    """Public substitutes for the records, to tune a design: estimated counts, noise-aware posterior
    means.

    An analyst without reference data pays for pilot statistics once, then searches on these records
    for free. Raises InvalidValue if the noise hides every record.
    """
    count = np.rint(estimated_counts(statistics, prior.lattice)[0]).astype(np.int64)
    mean = noise_aware_posterior(statistics, prior, ridge, scale).mean
    cells = np.flatnonzero(count >= 1)
    if cells.size == 0:
        raise InvalidValue("the pilot statistics are too noisy to show any record; spend more on them.")
    return CollapsedRecords(cells, count[cells], np.clip(mean[cells], -1.0, 1.0))


SIMULATIONS = 4
# A quick simulation takes enough releases to cover this number of cells: a few releases of many
# cells differ by less than designs do.
QUICK_CELLS = 8_000
FACTORS = 2**17  # cells of all cached factors of simulations
DENSE_CELLS, PATHS = 600, 100  # largest number of cells for dense priors; number of free paths


@dataclass(frozen=True)
class NoisyCellStatisticsDesign(Design):
    """Noise on every cell's sum and count, and the model of the field for the free reading."""

    mechanism: ClassVar[str] = "noisy-cell-statistics"

    prior: str  # name in `PRIORS`
    lengthscale: float  # range of the prior, metres, > 0
    ridge: float  # standard deviation of one record around its cell's value, in units of `scale`
    scale: float  # prior standard deviation of the field, response units, > 0
    statistic_noise: float  # standard deviation s > 0 added to each cell's sum and count

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("lengthscale", "ridge", "scale", "statistic_noise")
        self.refuse_smoothing()


@dataclass(frozen=True, eq=False, repr=False)
class _PreparedStatistics:
    """The exact statistics, ready for the noise."""

    design: NoisyCellStatisticsDesign
    prior: Prior
    records: CollapsedRecords

    def draw(self, entropy: Entropy) -> Released:
        design = self.design
        statistics = release_statistics(self.records, self.prior.size, design.statistic_noise, entropy)
        posterior = noise_aware_posterior(statistics, self.prior, design.ridge, design.scale)
        paths = posterior.draw(design.scale, design.paths, entropy)
        sd = design.scale * np.sqrt(posterior.variance)
        return Released(paths, posterior.mean, sd, (statistics.sums, statistics.counts))


class CellSpace(SearchSpace):
    """A few models of the field, all for the same statistics."""

    def grid(self, facts: PublicFacts, ask: SearchSpec) -> tuple[NoisyCellStatisticsDesign, ...]:
        """Models to search. As every cell is observed, only sparse priors are quick on large
        domains."""
        sparse = tuple(name for name in ask.priors if PRIORS[name].sparse)
        priors = ask.priors if facts.lattice.size <= DENSE_CELLS or not sparse else sparse
        lengthscales = coarse_grid(facts.lattice, facts.n, ask.quick).lengthscales
        return tuple(
            NoisyCellStatisticsDesign(prior, lengthscale, ridge, scale, 1.0, paths=PATHS)
            for prior in priors
            for lengthscale in lengthscales
            for scale in CELL_SCALES
            for ridge in tried(RECORD_RIDGES, ask.thorough)
        )

    def given(
        self, facts: PublicFacts, ask: SearchSpec, lengthscale: float, ridge: float
    ) -> NoisyCellStatisticsDesign:
        return NoisyCellStatisticsDesign(ask.priors[0], lengthscale, ridge, CELL_SCALES[1], 1.0, paths=PATHS)


class NoisyCellStatistics(Mechanism):
    """Release every cell's count and clipped sum with noise, once; read them by a Gaussian
    process."""

    name = "noisy-cell-statistics"
    title = "Noisy cell statistics"
    summary = "Adds noise to every hexagon's count and sum once; any number of maps is then free."
    source = "docs/mathematics.md, section 11"
    protection = Protection("values and places", ("point",))
    design_type = NoisyCellStatisticsDesign
    space = CellSpace
    usual = True
    reads = ("priors",)
    parameters = (
        LENGTHSCALE,
        RIDGE,
        Parameter("statistic_noise", "statistic_noise", "positive"),
        Parameter("scale", "model_scale", "positive"),
        NUMBER,
    )
    free_paths = True
    exact_on_a_computer = True

    def guarantee(self, design: NoisyCellStatisticsDesign, facts: PublicFacts) -> Guarantee:
        """A Gaussian mechanism: sums and counts of weight 1 have squared L2 sensitivity max(4, 2 +
        2) = 4."""
        cost = statistics_cost(design.statistic_noise, facts.lattice.size)
        return Guarantee.gaussian(cost, self.source)

    def apart_mu(self, design: NoisyCellStatisticsDesign, q: int) -> float:
        """sqrt(q) times the mu of one record (docs/proofs/owners.md, proposition 3)."""
        return apart_mu(design.statistic_noise, q)

    def calibrate(
        self, design: NoisyCellStatisticsDesign, facts: PublicFacts, budget: Budget
    ) -> NoisyCellStatisticsDesign:
        return replace(design, statistic_noise=statistic_noise_for(budget.epsilon, budget.delta))

    def prepare(
        self, design: NoisyCellStatisticsDesign, facts: PublicFacts, records: CollapsedRecords
    ) -> Prepared:
        prior = facts.prior(design.prior, design.lengthscale)
        records.refuse_outside(prior.size)
        # Read zeros first: a reading that cannot be computed must fail before the ledger is
        # charged.
        blank = np.zeros(prior.size)
        noise_aware_posterior(
            NoisyStatistics(blank, blank, design.statistic_noise, records.n),
            prior,
            design.ridge,
            design.scale,
        )
        return _PreparedStatistics(design, prior, records)

    def describe(self, design: NoisyCellStatisticsDesign) -> str:
        return (
            f"noise {significant(design.statistic_noise, 4)} (response units); prior {design.prior}, "
            f"range {significant(design.lengthscale, 4)} m"
        )


def _draws(noise: float, world: World) -> list[NoisyStatistics]:
    """Simulated releases of the reference records' statistics: the same draws for every noise."""

    def make() -> list[NoisyStatistics]:
        entropy = SimulationEntropy(SEED + 2)
        size = world.facts.lattice.size
        return [release_statistics(world.records, size, noise, entropy) for _ in range(SIMULATIONS)]

    return world.cache.keep("noisy statistics", (world.key, noise), make, 8)


def _published(draw: NoisyStatistics, design: NoisyCellStatisticsDesign, world: World) -> Bools:
    """The released set. Worlds with records at the same places share a factor: it depends on counts
    only."""
    prior = world.facts.prior(design.prior, design.lengthscale)
    cells, means, variance = cell_observations(draw, prior.lattice, design.ridge, design.scale)
    posterior = world.cache.keep(
        "noisy posterior",
        (design.prior, design.lengthscale, design.scale, hash((cells.tobytes(), variance.tobytes()))),
        lambda: fit_cells(prior, cells, np.zeros(cells.size), variance, signal_scale=design.scale),
        max(FEW, FACTORS // prior.size),
    )
    mean = posterior.mean_of(means)
    if design.cutoff == 0.5:  # a normal law exceeds the level with probability 1/2 if its mean does
        return world.inside(mean)
    return world.published(Released(mean[None], mean, design.scale * np.sqrt(posterior.variance)), design)


@questions.least_cost.register
def _least_cost(design: NoisyCellStatisticsDesign) -> Cost:
    return Cost.gaussian(statistic_mu(design.statistic_noise), distance_of(1))


@questions.simulated_sets.register
def _simulated_sets(
    design: NoisyCellStatisticsDesign,
    world: World,
    records: CollapsedRecords,
    releases: int,
    entropy: Entropy,
) -> Bools:
    """Use the excursion set of the posterior mean, to which the votes of many paths converge."""
    size = world.facts.lattice.size
    draws = [release_statistics(records, size, design.statistic_noise, entropy) for _ in range(releases)]
    return np.array([_published(draw, design, world) for draw in draws])


@questions.simulate.register
def _simulate(design: NoisyCellStatisticsDesign, world: World, *, quick: bool = False) -> Bools:
    """Simulate only the first releases: each factors another matrix."""
    enough = -(-QUICK_CELLS // world.facts.lattice.size) if quick else SIMULATIONS
    draws = _draws(design.statistic_noise, world)[:enough]
    return np.array([_published(draw, design, world) for draw in draws])


@questions.held_out.register
def _held_out(design: NoisyCellStatisticsDesign, world: World) -> HeldOut:
    prior, losses = world.facts.prior(design.prior, design.lengthscale), []
    for draw in _draws(design.statistic_noise, world):
        posterior = noise_aware_posterior(draw, prior, design.ridge, design.scale)
        sd = design.scale * np.sqrt(posterior.variance[world.held_out])
        losses.append(world.held_out_bce(posterior.mean[world.held_out], sd))
    return HeldOut(float(np.mean(losses)))


@questions.seen.register
def _seen(
    design: NoisyCellStatisticsDesign,
    facts: PublicFacts,
    records: CollapsedRecords,
    cells: Sequence[int],
    draws: questions.Draws,
) -> Floats:
    """The released sums and counts at some cells, one row for each release."""
    rows = np.empty((draws.releases, 1, 2 * len(cells)))
    for row in rows:
        noisy = release_statistics(records, facts.lattice.size, design.statistic_noise, draws.entropy)
        row[0] = np.concatenate([noisy.sums[list(cells)], noisy.counts[list(cells)]])
    return rows


@questions.law.register
def _law(
    design: NoisyCellStatisticsDesign,
    covariance: Floats,
    count: Floats,
    pull: Floats,
    attacked: Sequence[int],
) -> tuple[Floats, Floats]:
    at = list(attacked)
    return np.concatenate([pull[at], count[at]]), design.statistic_noise**2 * np.eye(2 * len(at))
