"""A release of spectral sums: how it is drawn, and what readers compute again from what it left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import RANGE_DRAWS
from dpgp_core.features.eigen import FolderStore
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.base import Reading, mixed
from dpgp_core.mechanisms.beliefs import belief_weights, read_sums, unseen_by
from dpgp_core.mechanisms.drift_reading import DriftReader
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign, fixed_design
from dpgp_core.noise import Entropy, SimulationEntropy
from dpgp_core.posterior.records import UNIT, CollapsedRecords
from dpgp_core.releasing import PublicFacts, Released
from dpgp_core.spectral.cost import SpectralNoise
from dpgp_core.spectral.counts import CHANCE, read_counts
from dpgp_core.spectral.looks import PATTERNS, Look, second_look
from dpgp_core.spectral.model import (
    BELIEFS_OF_COUNTS,
    PAIRS,
    Prepared,
    PublicCounts,
    SpectralModel,
    SpectralPlan,
)
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.public_field import PublicField
from dpgp_core.spectral.rates import rates_of_records
from dpgp_core.spectral.sums import (
    ExactNoise,
    GridRecords,
    KeptSums,
    RoundedNoise,
    SpectralSums,
    release_sums,
    same_field,
)


def spectral_model(facts: PublicFacts, pairs: int = PAIRS) -> SpectralModel:
    """The workspace of a domain with so many patterns at most, kept with its other shared work."""
    store = None if facts.store is None else FolderStore(facts.store)
    columns, levels = facts.covariates, len(facts.parents)
    return facts.cache.keep(
        "spectral model",
        (pairs, levels) if columns is None else (pairs, levels, columns.tobytes()),
        lambda: SpectralModel(facts.lattice, store, facts.parents, columns, pairs=pairs),
    )


def prepared_plan(design: SpectralStatisticsDesign, facts: PublicFacts, *, rough: bool = False) -> Prepared:
    """Make everything that follows from a design and public facts; `rough` as in `SpectralPlan`."""
    return spectral_model(facts, PATTERNS if design.first else PAIRS).prepare(
        SpectralPlan(
            design.strategy,
            design.prior,
            design.lengthscale,
            PublicPrior(
                design.middle, design.spread * design.amplitude, design.ridge, design.law, design.ball
            ),
            design.looks[0],
            facts.n / facts.lattice.size,
            facts.neighbours,
            design.signal if design.law == "amount" else None,
            design.common,
            rough,
            design.covariates,
            design.first > 0.0,
            (design.pool_records / facts.lattice.size, design.pool_mu) if design.pool_mu else None,
        )
    )


def public_counts_of(facts: PublicFacts, kept: KeptSums) -> PublicCounts:
    """What was public of the counts of a release whose sums were kept."""
    n = None if facts.relation == "add-or-remove" or kept.noise.ball.presence else float(facts.n)
    if facts.neighbours == "values-only":
        return PublicCounts("known", n, kept.public_counts, facts.single)
    kind: Literal["unknown", "reference"] = "unknown" if kept.public_counts is None else "reference"
    return PublicCounts(kind, n, kept.public_counts, facts.single)


def grid_records(records: CollapsedRecords) -> GridRecords:
    """Records in the whole numbers that are summed."""
    return GridRecords(records.index, records.count, records.units)


def per_cell(records: CollapsedRecords, facts: PublicFacts) -> tuple[Floats, Floats]:
    """(N,) records, and sums of their rounded responses, of every cell."""
    exact = grid_records(records)
    counts, totals = np.zeros(facts.lattice.size), np.zeros(facts.lattice.size)
    counts[exact.cell], totals[exact.cell] = exact.count, exact.total * UNIT
    return counts, totals


def known_counts(facts: PublicFacts, records: CollapsedRecords | GridRecords) -> PublicCounts:
    """What is public of the counts; `records` for their number only, and for their places where public.

    How many records have a column is not public: the number is not known then.
    """
    exact = records if isinstance(records, GridRecords) else grid_records(records)
    n = None if facts.relation == "add-or-remove" or exact.ball.presence else float(exact.n)
    single = bool(facts.single)
    if facts.neighbours == "values-only":
        counts = np.zeros(facts.lattice.size)
        counts[exact.cell] = exact.count
        return PublicCounts("known", n, counts, single)
    if facts.counts is not None:
        return PublicCounts("reference", n, facts.counts, single)
    return PublicCounts("unknown", n, None, single)


def map_of_counts(facts: PublicFacts, counts: Floats, lengthscale: float) -> tuple[Floats, Floats]:
    """(N,) mean and deviation of the log rate given counts (N,) themselves: the map without privacy.

    The law of `facts` is "rate" or "density", and their counts are the public numbers that records are
    counted over; `lengthscale` is in metres. As in a release, beliefs about the field are weighed by how
    likely they make the counts.
    """
    design, model = fixed_design(facts.lattice.spacing).for_law(facts.law), spectral_model(facts)
    field = PublicPrior(design.middle, design.spread, design.ridge, design.law)
    known = PublicCounts("reference", None, facts.counts)
    bases, readings, evidence = model.bases_of_counts(design.prior, lengthscale), [], []
    for basis, (_, deviation, _, _) in zip(bases, BELIEFS_OF_COUNTS, strict=True):
        mean, sd, likely = rates_of_records(model.nodes, basis, field.scaled(deviation), known, counts)
        readings.append(Reading(mean, sd, np.empty((0, mean.size))))
        evidence.append(likely)
    odds = np.array([each[-1] for each in BELIEFS_OF_COUNTS])
    found = mixed(readings, belief_weights(np.array(evidence), odds))
    return found.mean, found.sd


def records_again(
    design: SpectralStatisticsDesign, facts: PublicFacts, kept: KeptSums
) -> tuple[Floats, Floats]:
    """Mean and deviation (N,) of the number of records of each cell, from released counts: free.

    Deviations are 0 where the places of the records are public. Raises InvalidValue as `read_again`.
    """
    made = prepared_plan(design, facts)
    released, known = kept.again(made.features), public_counts_of(facts, kept)
    if released.noise != made.noise:
        raise InvalidValue("the noise of these sums is not that of their design.")
    if known.kind == "known" and known.cells is not None:
        return known.cells, np.zeros(known.cells.size)
    counted = made.plan.field.counted
    counts, noise = (released.sums, made.noise.sums) if counted else (released.counts, made.noise.counts)
    if counts is None or noise is None:
        raise InvalidValue("no counts were released.")
    if design.law == "density":  # it has counted over an even area
        known = replace(known, kind="unknown", cells=None)
    prior = made.count_prior(known, counts)
    if prior.relative is not None:
        prior = prior.likelier_alone(made.features.values, counts, noise)
    found = read_counts(prior, made.features.values, counts, noise, made.nodes, with_sd=True)
    each = made.nodes.cells_per_node[made.nodes.place]
    mean, sd = found.at_cells(made.nodes), np.asarray(found.sd)[made.nodes.place] / each
    return mean, np.sqrt(np.square(sd) + (1.0 - 1.0 / each) * CHANCE * mean)  # and chance within a node


def read_again(design: SpectralStatisticsDesign, facts: PublicFacts, kept: KeptSums) -> Released:
    """Mean and deviation of the field, as a release stated them, from its sums, and its check: free.

    Without paths; with deviation and joint draws of the map without privacy where no public map is weighed.
    In response units, without the public prior mean if there is one. Of `facts` enter lattice, number of
    records, neighbours, unit, law and covariates; counts and public field are taken from `kept`. Raises
    InvalidValue if the sums were made with other features, or with another noise than the design's.
    """
    made = prepared_plan(design, facts)
    released, known = kept.again(made.features), public_counts_of(facts, kept)
    if released.noise != made.noise:
        raise InvalidValue("the noise of these sums is not that of their design.")
    if design.drift:
        if kept.field is None:
            raise InvalidValue("the public records that this release starts from are not kept with its sums.")
        if design.law == "yes-no" and kept.field.scatter != 1.0:
            raise InvalidValue("answers scatter by 1, and the public ones kept with the sums do not.")
        reader = DriftReader.of(made, known, released.counts, kept.field.at(made.nodes, made.columns))
        reader = reader.at(released.sums)
        mean, sd = reader.stated(released.sums)
        return Released(np.empty((0, mean.size)), mean, sd, model_check=reader.check(released.sums))
    second = second_again(design, made, released, known, kept)
    read_by, entropy = partial(unseen_by, design), SimulationEntropy(0)
    found = read_sums(made, released, known, read_by, 0, entropy, second, maps=RANGE_DRAWS)
    if found.mean is None or found.sd is None:
        raise InvalidValue("these sums state no field.")
    return found


ADDED = 1e-9
"""Relative difference between an added noise and that of the design with the added budget."""


@dataclass(frozen=True, eq=False)
class AddedSums:
    """The sums that several holders released by one design, and the field (N,) read from them."""

    design: SpectralStatisticsDesign  # its mu is that of the added noise
    noise: SpectralNoise  # standard deviations of the added noise
    reading: Released  # response units
    expected: Floats  # (N,) expected number of records of each cell


def add_sums(
    designs: Sequence[SpectralStatisticsDesign], kept: Sequence[KeptSums], facts: PublicFacts
) -> AddedSums:
    """Add the released sums of several holders of disjoint records, and read the field from them: free.

    Sums of disjoint records add, and so do the variances of independent noise. The noise of one design is
    proportional to 1/mu, so the added noise is that of the mu with 1/mu^2 = sum of 1/mu_h^2.

    Parameters
    ----------
    designs, kept : sequences of equal length
        Of each holder; the designs differ in mu alone.
    facts : PublicFacts
        With the number of records of all holders.

    Raises
    ------
    InvalidValue
        If the sums are of other features or public numbers, or their noise is not that of their designs.
    """
    design = replace(designs[0], mu=1.0 / math.sqrt(sum(1.0 / each.mu**2 for each in designs)))
    made = prepared_plan(design, facts)
    added = _added_noise([part.noise for part in kept])
    for computed, summed in ((made.noise.sums, added.sums), (made.noise.counts, added.counts)):
        if computed is None or summed is None:
            same = computed is summed
        else:
            same = math.isclose(computed, summed, rel_tol=ADDED)
        if not same:
            raise InvalidValue("the noise of these sums is not that of their designs.")
    counts = [part.counts for part in kept if part.counts is not None]
    sums = KeptSums(
        np.sum([part.sums for part in kept], axis=0, dtype=np.int64),
        np.sum(counts, axis=0, dtype=np.int64) if counts else None,
        kept[0].features,
        made.noise,
        _shared_counts([part.public_counts for part in kept], facts),
        kept[0].field,
    )
    if any(not same_field(part.field, kept[0].field) for part in kept[1:]):
        raise InvalidValue("these releases start from other public records: use one published reference.")
    expected = records_again(design, facts, sums)[0]
    return AddedSums(design, added, read_again(design, facts, sums), expected)


def _added_noise(noises: Sequence[SpectralNoise]) -> SpectralNoise:
    """Standard deviations of the sum of independent noises."""
    counts = [noise.counts for noise in noises if noise.counts is not None]
    sums = math.hypot(*(noise.sums for noise in noises))
    return SpectralNoise(sums, math.hypot(*counts) if counts else None)


def _shared_counts(counts: Sequence[Floats | None], facts: PublicFacts) -> Floats | None:
    """Public counts (N,) of all holders: public places add; numbers that are counted over are the same."""
    given = [part for part in counts if part is not None]
    if not given:
        return None
    if facts.neighbours == "values-only":
        return np.asarray(np.sum(given, axis=0))
    if len(given) < len(counts) or any(not np.array_equal(part, given[0]) for part in given):
        raise InvalidValue("these releases count records over other public numbers: use one population.")
    return given[0]


def second_again(
    design: SpectralStatisticsDesign,
    made: Prepared,
    released: SpectralSums,
    known: PublicCounts,
    kept: KeptSums,
) -> tuple[Look, SpectralSums] | None:
    """The second look of a release, made again from what the first released, and its sums; None without one.

    Raises InvalidValue if design and sums disagree about whether there is one, or if it looked elsewhere or
    with another noise.
    """
    if (kept.second is None) != (design.first == 0.0):
        raise InvalidValue("the design and its sums disagree about a second look.")
    if kept.second is None:
        return None
    look = second_look(made, released, known, design.looks[1], design.tight)
    again = kept.second.again(look.features)
    if again.noise != look.noise:
        raise InvalidValue("the noise of the second look is not that of its design.")
    return look, again


def _maps(design: SpectralStatisticsDesign) -> int:
    """Joint draws of the map without privacy that a release tells by: none where searches simulate it."""
    return RANGE_DRAWS if design.paths > 1 else 0


LEAST_DRAWS = 50  # of the map without privacy, from which its mean and deviation are taken
NO_RECORDS = "a second look needs the response of every record, and these are means of hexagons."


@dataclass(frozen=True, eq=False, repr=False)
class PreparedSums:
    """The exact integer sums' makers, ready for the noise."""

    design: SpectralStatisticsDesign
    plan: Prepared
    records: GridRecords
    known: PublicCounts
    field: PublicField | None

    def released(self, source: RoundedNoise) -> tuple[SpectralSums, ...]:
        """What leaves the curator's hands, once."""
        plan = self.plan
        return (release_sums(plan.features, plan.nodes, self.records, plan.noise, source),)

    def draw(self, entropy: Entropy) -> Released:
        (released,) = self.released(ExactNoise(entropy))
        kept = KeptSums.of(released, self.plan.features, self.known.cells, self.field)
        if self.field is not None:
            reader = DriftReader.of(self.plan, self.known, released.counts, self.field).at(released.sums)
            read = reader.read(released.sums, max(self.design.paths, LEAST_DRAWS), entropy)
            found, records = read.field, self.plan.places(self.known, released.counts, reader.counts)
            return Released(
                found.draws[: self.design.paths],
                found.mean,
                found.sd,
                released.parts,
                read.map_sd,
                map_mean=read.map_mean,
                records=records,
                sums=kept,
                model_check=reader.check(released.sums),
            )
        read_by = partial(unseen_by, self.design)
        found_by = read_sums(
            self.plan, released, self.known, read_by, self.design.paths, entropy, maps=_maps(self.design)
        )
        return replace(found_by, sums=kept)


@dataclass(frozen=True, eq=False, repr=False)
class PreparedLooks:
    """Two looks at some records, ready for the noise."""

    # design, plan, known: of the release, and of its first look
    design: SpectralStatisticsDesign
    plan: Prepared
    known: PublicCounts
    records: CollapsedRecords  # private

    def __post_init__(self) -> None:
        if self.records.singles is None:
            raise InvalidValue(NO_RECORDS)

    @property
    def released_records(self) -> GridRecords:
        """What the first look sums."""
        return GridRecords(self.records.index, self.records.count, self.records.units)

    def looks(self, source: RoundedNoise) -> tuple[SpectralSums, Look, SpectralSums]:
        """Release the first look's sums, plan the second look from them, and release its sums.

        The plan depends only on public facts and the first look's released numbers: given them, the second
        look is a Gaussian mechanism.
        """
        plan, held, singles = self.plan, self.records, self.records.singles
        assert singles is not None
        first = release_sums(plan.features, plan.nodes, self.released_records, plan.noise, source)
        look = second_look(plan, first, self.known, self.design.looks[1], self.design.tight)
        seen = look.records(plan.nodes, held.index, held.count, singles.astype(np.int64))
        return first, look, release_sums(look.features, plan.nodes, seen, look.noise, source)

    def released(self, source: RoundedNoise) -> tuple[SpectralSums, ...]:
        """What leaves the curator's hands, once."""
        first, _, second = self.looks(source)
        return first, second

    def draw(self, entropy: Entropy) -> Released:
        return self._read(*self.looks(ExactNoise(entropy)), entropy)

    def _read(self, first: SpectralSums, look: Look, second: SpectralSums, entropy: Entropy) -> Released:
        design, plan = self.design, self.plan
        read_by = partial(unseen_by, design)
        looks, maps = (look, second), _maps(design)
        found = read_sums(plan, first, self.known, read_by, design.paths, entropy, looks, maps=maps)
        more = KeptSums.of(second, look.features)
        return replace(found, sums=KeptSums.of(first, plan.features, self.known.cells, None, more))
