"""Spectral statistics: noisy sums of public features, once, and the posterior of the field given them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dpgp_core.accounting.composition import Cost, merged_mu
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import agreed, agreed_each, sign_of
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import Mechanism, SearchSpace
from dpgp_core.mechanisms.beliefs import simulated, under_beliefs, unseen_by
from dpgp_core.mechanisms.design import (
    LENGTHSCALE,
    MU,
    NUMBER,
    RIDGE,
    Budget,
    Parameter,
    Protection,
    SearchSpec,
)
from dpgp_core.mechanisms.drift_reading import NO_FIELD, DriftReader
from dpgp_core.mechanisms.grids import CUTOFFS, coarse_grid, tried
from dpgp_core.mechanisms.spectral_design import (
    FIRST,
    SPREADS_OF_COUNTS,
    SpectralStatisticsDesign,
    fixed_design,
)
from dpgp_core.mechanisms.spectral_release import (
    PreparedLooks,
    PreparedSums,
    grid_records,
    known_counts,
    per_cell,
    prepared_plan,
)
from dpgp_core.noise import Entropy, SimulationEntropy, distance_of
from dpgp_core.numbers import significant
from dpgp_core.posterior.records import UNIT, CollapsedRecords
from dpgp_core.posterior.ridge_family import FEW
from dpgp_core.releasing import PublicFacts, draw_release
from dpgp_core.simulation import SEED, HeldOut, World
from dpgp_core.spectral.ball import ONE_COLUMN
from dpgp_core.spectral.cost import exchange_mu, release_mu
from dpgp_core.spectral.looks import FUNCTIONS
from dpgp_core.spectral.model import Prepared as PreparedPlan
from dpgp_core.spectral.model import PublicCounts
from dpgp_core.spectral.prior import SHARE
from dpgp_core.spectral.public_field import PublicField
from dpgp_core.spectral.shared import SharedReadings
from dpgp_core.spectral.sums import ExactNoise, mean_and_noise

STRATEGY = "water-filled"
PRIOR = "exponential"
SIGNAL = 0.5  # clipped response units
COMMON = 0.3  # common share of the field's variance, if no reference data determine its mean
RIDGES = (0.8, 2.0)  # scatter of a record in units of the field's deviation
MOVES = (  # steps of range, signal, amplitude and ridge
    *((0, 0, 0, 1), (0, 0, 0, -1), (0, 0, 1, 0), (0, 0, -1, 0), (0, 0, 1, -1), (0, 0, -1, 1)),
    *((1, 0, 0, 0), (-1, 0, 0, 0), (0, 1, 0, 0), (0, -1, 0, 0)),
)
# Factor of a step of the local stage; number of lengthscales from the short end of the common grid.
STEP, LENGTHSCALES = 1.6, 3
RELEASES, COUNT_DRAWS = 12, 2
QUICK = 8  # releases for ranking a candidate, all with one release of the counts
PATHS = 100  # paths drawn after the noise cost nothing
WIDE, STEPS = 1.28, 8.0  # ridge, and range in spacings, of the sums where a reference is published
Stated = tuple[Floats, Floats, Floats | None]
"""Exceedance probabilities of R simulated releases, probabilities that cut sets (R, N), own cutoffs."""
# With a published reference: cached cells of all simulated releases, and releases in each world.
DRIFTED, DRIFT_RELEASES = 2**22, 1
READERS = 2**14  # cached nodes of all readers of such releases
ALONE = 3  # simulated releases in each world if each is read by itself
DETAIL, SHARED = 300, 24  # nodes with deviations in simulations; cached sets of shared readings


def _start(lengthscale: float, ridge: float) -> SpectralStatisticsDesign:
    """Return a design to search from: its range in metres, and the scatter of a record."""
    return SpectralStatisticsDesign(
        STRATEGY, PRIOR, lengthscale, SIGNAL, 0.0, 1.0, 1.0, ridge, 1.0, paths=PATHS
    )


class SpectralSpace(SearchSpace):
    """A few ranges and ridges, three local stages around them, and cutoffs."""

    stages = 3
    quick = True

    def grid(self, facts: PublicFacts, ask: SearchSpec) -> tuple[SpectralStatisticsDesign, ...]:
        """Ranges and ridges to search; with a published reference one design, without a search."""
        if facts.field is not None:
            reach = float(f"{STEPS * facts.lattice.spacing:.6g}")
            return (replace(_start(reach, WIDE), cutoff_from="release", drift=True),)
        lengthscales = coarse_grid(facts.lattice, facts.n).lengthscales[:LENGTHSCALES]
        return tuple(
            _start(lengthscale, ridge)
            for lengthscale in tried(lengthscales, ask.thorough)
            for ridge in tried(RIDGES, ask.thorough)
        )

    def fixed(self, spacing: float, looks: int = 1) -> SpectralStatisticsDesign:
        return replace(fixed_design(spacing), first=FIRST if looks > 1 else 0.0)

    def refinement(
        self, best: Sequence[SpectralStatisticsDesign], facts: PublicFacts, ask: SearchSpec
    ) -> tuple[SpectralStatisticsDesign, ...]:
        """Designs with one parameter moved, or with amplitude and ridge moved in opposite directions."""
        best = [design for design in best if not design.drift]
        return tuple(
            replace(
                design,
                lengthscale=design.lengthscale * STEP**a,
                signal=design.signal * STEP ** (2 * b),
                amplitude=design.amplitude * STEP**c,
                ridge=design.ridge * STEP**d,
            )
            for design in best
            for a, b, c, d in MOVES
        )

    def fitted(self, design: SpectralStatisticsDesign, world: World) -> SpectralStatisticsDesign:
        """Take mean and spread of the field from a world's reference data; add a common part if needed."""
        if design.drift:
            return design
        return replace(
            design,
            middle=float(f"{world.middle:.6g}"),
            spread=float(f"{world.spread:.6g}"),
            common=0.0 if world.mean_known else COMMON,
        )

    def place_of(self, design: SpectralStatisticsDesign, facts: PublicFacts) -> SpectralStatisticsDesign:
        return replace(design if design.drift else design.with_cutoff(0.5), mu=1.0)

    def variants(
        self, design: SpectralStatisticsDesign, ask: SearchSpec
    ) -> tuple[SpectralStatisticsDesign, ...]:
        return (design,) if design.drift else tuple(design.with_cutoff(cutoff) for cutoff in CUTOFFS)


class SpectralStatistics(Mechanism):
    """Release sums of smooth features, whose noise is smaller relative to the field than per hexagon."""

    name = "spectral-statistics"
    title = "Spectral statistics"
    summary = (
        "Adds noise to a few hundred smooth sums over the map, once; any number of maps follows at no "
        "further cost."
    )
    source = "docs/spectral-statistics.md, Theorem C"
    protection = Protection(
        "values and places", ("point", "cell"), ("replace-one", "add-or-remove"), shows_public_places=True
    )
    design_type = SpectralStatisticsDesign
    space = SpectralSpace
    reads = ("covariates", "looks", "values")
    usual = True
    sole = True
    weighs_drift = True
    parameters = (LENGTHSCALE, RIDGE, Parameter("amplitude", "model_scale", "positive"), MU, NUMBER)
    free_paths = True
    exact_on_a_computer = True

    def guarantee(self, design: SpectralStatisticsDesign, facts: PublicFacts) -> Guarantee:
        """Exact mu of the Gaussian mechanism, from the extremes of the rounded features themselves."""
        plan = prepared_plan(design, facts)
        no_values, second = plan.plan.field.counted, design.looks[1]
        first = release_mu(plan.products, plan.noise, facts.neighbours, counted=no_values)
        exchange = exchange_mu(plan.products, plan.noise, facts.neighbours, counted=no_values)
        # An exchange is a removal and an addition, each of which costs at most the second mu.
        if exchange is not None:
            exchange = merged_mu((exchange, 2.0 * second))
        numbers = plan.features.size + (FUNCTIONS if design.first else 0)
        counts = 0 if plan.noise.counts is None else design.ball.parts
        # The exact samplers' distance from the ideal law adds to delta (docs/accounting.md, section 6).
        distance = distance_of(numbers * (design.ball.columns + counts))
        cost = Cost.gaussian(merged_mu((first, second)), distance).among(facts.neighbours, exchange)
        proof = self.source if design.ball == ONE_COLUMN else "docs/spectral-statistics.md, Theorem D"
        return Guarantee.gaussian(cost, proof)

    def calibrate(
        self, design: SpectralStatisticsDesign, facts: PublicFacts, budget: Budget
    ) -> SpectralStatisticsDesign:
        explained = not design.drift or (facts.field is not None and facts.field.covariates > 0.0)
        read = facts.covariates is not None and explained
        return replace(design.for_law(facts.law), mu=budget.mu, covariates=SHARE if read else 0.0)

    def prepare(
        self, design: SpectralStatisticsDesign, facts: PublicFacts, records: CollapsedRecords
    ) -> PreparedSums | PreparedLooks:
        records.refuse_outside(facts.lattice.size)
        if design.ball != ONE_COLUMN:
            raise InvalidValue("several columns are released together: use `dpgp_core.release_atlas`.")
        plan, public_counts = prepared_plan(design, facts), known_counts(facts, records)
        if design.first:
            return PreparedLooks(design, plan, public_counts, records, facts.reads)
        if design.drift and facts.field is None:
            raise InvalidValue(NO_FIELD)
        if plan.plan.field.counted and np.any(records.units * UNIT != records.count):
            raise InvalidValue("records that are counted have no values: each response must be 1.")
        field = facts.field if design.drift else None
        return PreparedSums(design, plan, grid_records(records), public_counts, field, facts.reads)

    def describe(self, design: SpectralStatisticsDesign) -> str:
        looks = (
            f"; two looks, the first for {significant(100.0 * design.first, 3)} % of mu squared, the second "
            f"about its map, clipped at {significant(design.tight, 3)} deviations"
        )
        return (
            f"{design.strategy} features, mu {significant(design.mu, 4)}; prior {design.prior}, range "
            f"{significant(design.lengthscale, 4)} m{looks if design.first else ''}"
            f"{design.ball.said}"
        )


def _of_all(design: SpectralStatisticsDesign, world: World, releases: int, draws: int) -> Stated:
    """`stated` for all records of the world, cached."""
    plain = replace(design, cutoff=0.5, paths=1)
    key = (world.key, plain, *(() if design.drift else (releases, draws)))
    size = max(FEW, DRIFTED // world.facts.lattice.size) if design.drift else FEW
    return world.cache.keep(
        "spectral", key, lambda: stated(plain, world, world.records, releases, draws), size
    )


def _left_out(design: SpectralStatisticsDesign, world: World) -> Stated:
    """`stated` without the records of the held-out cells, cached."""
    plain = replace(design, cutoff=0.5, paths=1)
    key = ("held out", world.key, plain)
    return world.cache.keep("spectral held out", key, lambda: stated(plain, world, world.training))


def stated(
    design: SpectralStatisticsDesign,
    world: World,
    records: CollapsedRecords,
    releases: int = RELEASES,
    draws: int = COUNT_DRAWS,
) -> Stated:
    """Read simulated releases of a design, apart from its cutoff and paths; readings share draws."""
    if design.first or design.law in SPREADS_OF_COUNTS:
        return _alone(design, world, records, ALONE, SimulationEntropy(SEED + 5))
    plan = prepared_plan(design, world.facts, rough=True)
    counts, totals = per_cell(records, world.facts)
    public = known_counts(world.facts, records)
    if design.drift:  # worlds with records at the same places share one reader: only values differ
        field = world.facts.field
        reader = world.cache.keep(
            "drift reader",
            (design, field, public.kind, public.n, public.single, hash(counts.tobytes())),
            lambda: _drift_reader(plan, counts, public, field, SimulationEntropy(SEED + 5)),
            max(1, READERS // plan.nodes.size),
        )
        draws_of_sums = questions.Draws(DRIFT_RELEASES, SimulationEntropy(SEED + 6))
        return _drifted(reader, totals, plan, world, draws_of_sums)

    def make() -> tuple[SharedReadings, ...]:
        entropy, thin = SimulationEntropy(SEED + 5 + draws), max(1, plan.nodes.size // DETAIL)
        readings = SharedReadings(plan, counts, public, releases, entropy, draws, thin=thin)
        return under_beliefs(plan, readings)

    noise = (design.strategy, design.prior, design.lengthscale, design.signal, design.mu)
    same = (counts.tobytes(), noise, design.common, design.covariates, releases, draws)
    readings = world.cache.keep("spectral readings", hash(same), make, SHARED)
    return _read(readings, design, totals, plan, world)


def _alone(
    design: SpectralStatisticsDesign, world: World, records: CollapsedRecords, releases: int, entropy: Entropy
) -> Stated:
    """`stated` for counted records and for two looks, where each simulated release is read by itself."""
    prepared = SpectralStatistics().prepare(replace(design, paths=1), world.facts, records)
    level, side = world.level - world.offset, world.direction
    released = [draw_release(prepared, entropy, simulation=True) for _ in range(releases)]
    probability = np.array([release.probability(level, side) for release in released])
    return probability, probability, np.array([release.own_cutoff(level, side) for release in released])


@questions.least_cost.register
def _least_cost(design: SpectralStatisticsDesign) -> Cost:
    """Cost of both looks by their own noise, which `read_again` compares with the released noise."""
    return Cost.gaussian(merged_mu(design.looks) if design.first else design.mu, distance_of(1))


@questions.sharpened.register
def _sharpened(
    design: SpectralStatisticsDesign, facts: PublicFacts, budget: Budget
) -> SpectralStatisticsDesign:
    """Let the release choose its cutoff if there are no reference data: simulated fields cannot."""
    return replace(design, cutoff=0.5, cutoff_from="release") if design.common else design


@questions.simulated_sets.register
def _simulated_sets(
    design: SpectralStatisticsDesign, world: World, records: CollapsedRecords, releases: int, entropy: Entropy
) -> Bools:
    """Each release draws its own counts; probabilities are the limits of the votes of free paths."""
    if design.first or design.law in SPREADS_OF_COUNTS:
        return _cut(design, *_alone(design, world, records, releases, entropy))
    plan = prepared_plan(design, world.facts, rough=True)
    counts, totals = per_cell(records, world.facts)
    public = known_counts(world.facts, records)
    if design.drift:
        reader = _drift_reader(plan, counts, public, world.facts.field, entropy)
        return _cut(design, *_drifted(reader, totals, plan, world, questions.Draws(releases, entropy)))
    readings = SharedReadings(plan, counts, public, releases, entropy, releases, same=False)
    return _cut(design, *_read(under_beliefs(plan, readings), design, totals, plan, world))


@questions.simulate.register
def _simulate(design: SpectralStatisticsDesign, world: World, *, quick: bool = False) -> Bools:
    """Releases share all but a small matrix, quick ones also their counts; all cutoffs share readings."""
    return _cut(design, *_of_all(design, world, *((QUICK, 1) if quick else (RELEASES, COUNT_DRAWS))))


@questions.simulate_held_out.register
def _simulate_held_out(design: SpectralStatisticsDesign, world: World) -> Bools:
    return _cut(design, *_left_out(design, world))


@questions.held_out.register
def _held_out(design: SpectralStatisticsDesign, world: World) -> HeldOut:
    probability = _left_out(design, world)[0]
    return HeldOut(float(np.mean([world.bce(row[world.held_out]) for row in probability])))


@questions.seen.register
def _seen(
    design: SpectralStatisticsDesign,
    facts: PublicFacts,
    records: CollapsedRecords,
    cells: Sequence[int],
    draws: questions.Draws,
) -> Floats:
    """The released sums and counts, which do not depend on the attacked cells."""
    prepared, rows = SpectralStatistics().prepare(design, facts, records), []
    for _ in range(draws.releases):
        looks = prepared.released(ExactNoise(draws.entropy))
        rows.append(np.concatenate([part for look in looks for part in look.parts]))
    return np.array(rows)[:, None]


@questions.mean_and_noise.register
def _mean_and_noise(
    design: SpectralStatisticsDesign, facts: PublicFacts, records: CollapsedRecords, cells: Sequence[int]
) -> tuple[Floats, Floats] | None:
    if design.first:  # the second look's mean depends on the first
        return None
    plan = prepared_plan(design, facts)
    return mean_and_noise(plan.features, plan.nodes, grid_records(records), plan.noise)


def _cut(design: SpectralStatisticsDesign, _: Floats, cut: Floats, own_cutoffs: Floats | None) -> Bools:
    """(R, N) sets of simulated releases, cut at the design's cutoff or each at its own."""
    if own_cutoffs is None or design.cutoff_from == "design":
        return agreed(cut, design.cutoff)
    return agreed_each(cut, own_cutoffs)


def _drift_reader(
    plan: PreparedPlan, counts: Floats, public: PublicCounts, field: PublicField | None, entropy: Entropy
) -> DriftReader:
    """Reader of releases of records with counts (N,), for one simulated release of these counts."""
    a, released = plan.features.values, None
    if plan.noise.counts is not None:
        released = a.T @ plan.nodes.gather(counts) + plan.noise.counts * entropy.normal(a.shape[1])
    return DriftReader.of(plan, public, released, field)


def _drifted(
    reader: DriftReader, totals: Floats, plan: PreparedPlan, world: World, draws: questions.Draws
) -> Stated:
    """`_read` for simulated releases that start from a published reference and share their counts."""
    level, sign = world.level - world.offset, sign_of(world.direction)
    sums = plan.features.values.T @ plan.nodes.gather(totals)
    return reader.simulated(sums, draws.releases, level, sign, draws.entropy)


def _read(
    readings: tuple[SharedReadings, ...],
    design: SpectralStatisticsDesign,
    totals: Floats,
    plan: PreparedPlan,
    world: World,
) -> Stated:
    sign, level = sign_of(world.direction), world.level - world.offset
    unseen = None if design.cutoff_from == "design" else partial(unseen_by, design)
    probability, own_cutoffs = simulated(readings, plan, totals, level, sign, unseen)
    return probability, probability, own_cutoffs
