"""A release of spectral sums: its draw, and the results that readers recompute from the released sums."""

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
from dpgp_core.mechanisms.beliefs import (
    GivenSums,
    Output,
    belief_weights,
    drifted_again,
    read_drifted,
    read_sums,
    unseen_by,
)
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign, fixed_design
from dpgp_core.noise import Entropy, SimulationEntropy
from dpgp_core.posterior.records import UNIT, CollapsedRecords
from dpgp_core.releasing import PublicFacts, Reads, Released
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
    """The workspace of a domain with at most `pairs` patterns, cached with the facts."""
    store = None if facts.store is None else FolderStore(facts.store)
    columns, levels = facts.covariates, len(facts.parents)
    return facts.cache.keep(
        "spectral model",
        (pairs, levels) if columns is None else (pairs, levels, columns.tobytes()),
        lambda: SpectralModel(facts.lattice, store, facts.parents, columns, pairs=pairs),
    )


def prepared_plan(design: SpectralStatisticsDesign, facts: PublicFacts, *, rough: bool = False) -> Prepared:
    """Compute everything that follows from a design and public facts; `rough` as in `SpectralPlan`."""
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


def public_counts_of(facts: PublicFacts, released_sums: KeptSums) -> PublicCounts:
    """Public knowledge of the counts of a release, from its stored sums."""
    n = None if facts.relation == "add-or-remove" or released_sums.noise.ball.presence else float(facts.n)
    if facts.neighbours == "values-only":
        return PublicCounts("known", n, released_sums.public_counts, facts.single)
    kind: Literal["unknown", "reference"] = "unknown" if released_sums.public_counts is None else "reference"
    return PublicCounts(kind, n, released_sums.public_counts, facts.single)


def grid_records(records: CollapsedRecords) -> GridRecords:
    """Records in whole numbers, as the sums take them."""
    return GridRecords(records.index, records.count, records.units)


def per_cell(records: CollapsedRecords, facts: PublicFacts) -> tuple[Floats, Floats]:
    """(N,) records, and sums of their rounded responses, of every cell."""
    exact = grid_records(records)
    counts, totals = np.zeros(facts.lattice.size), np.zeros(facts.lattice.size)
    counts[exact.cell], totals[exact.cell] = exact.count, exact.total * UNIT
    return counts, totals


def known_counts(facts: PublicFacts, records: CollapsedRecords | GridRecords) -> PublicCounts:
    """Public knowledge of the counts; `records` give their number, and their places if these are public.

    With presence sums the number of records of a column is private, so `n` is None.
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

    The law of `facts` is "rate" or "density", and their counts are the public numbers over which records are
    counted; `lengthscale` is in metres. As in a release, the likelihood of the counts weighs the beliefs
    about the field.
    """
    design, model = fixed_design(facts.lattice.spacing).for_law(facts.law), spectral_model(facts)
    field = PublicPrior(design.middle, design.spread, design.ridge, design.law)
    public = PublicCounts("reference", None, facts.counts)
    bases, readings, evidence = model.bases_of_counts(design.prior, lengthscale), [], []
    for basis, (_, deviation, _, _) in zip(bases, BELIEFS_OF_COUNTS, strict=True):
        mean, sd, likely = rates_of_records(model.nodes, basis, field.scaled(deviation), public, counts)
        readings.append(Reading(mean, sd, np.empty((0, mean.size))))
        evidence.append(likely)
    odds = np.array([belief[-1] for belief in BELIEFS_OF_COUNTS])
    reading = mixed(readings, belief_weights(np.array(evidence), odds))
    return reading.mean, reading.sd


def records_again(
    design: SpectralStatisticsDesign, facts: PublicFacts, released_sums: KeptSums
) -> tuple[Floats, Floats]:
    """Mean and deviation (N,) of the number of records of each cell, from released counts: free.

    Deviations are 0 if the places of the records are public. Raises InvalidValue as `read_again`.
    """
    plan = prepared_plan(design, facts)
    released, public = released_sums.again(plan.features), public_counts_of(facts, released_sums)
    if released.noise != plan.noise:
        raise InvalidValue("the noise of these sums is not that of their design.")
    if public.kind == "known" and public.cells is not None:
        return public.cells, np.zeros(public.cells.size)
    no_values = plan.plan.field.counted
    counts, noise = (released.sums, plan.noise.sums) if no_values else (released.counts, plan.noise.counts)
    if counts is None or noise is None:
        raise InvalidValue("no counts were released.")
    if design.law == "density":  # expected numbers are even over the area
        public = replace(public, kind="unknown", cells=None)
    prior = plan.count_prior(public, counts)
    if prior.relative is not None:
        prior = prior.likelier_alone(plan.features.values, counts, noise)
    posterior = read_counts(prior, plan.features.values, counts, noise, plan.nodes, with_sd=True)
    cells_of_node = plan.nodes.cells_per_node[plan.nodes.place]
    mean, sd = posterior.at_cells(plan.nodes), np.asarray(posterior.sd)[plan.nodes.place] / cells_of_node
    # Records of a node fall on its cells by chance, which adds to the deviation of a cell.
    return mean, np.sqrt(np.square(sd) + (1.0 - 1.0 / cells_of_node) * CHANCE * mean)


def read_again(design: SpectralStatisticsDesign, facts: PublicFacts, released_sums: KeptSums) -> Released:
    """Recompute the stated mean and deviation of the field, and the check, from a release's sums:
    free.

    The result has no paths; without a public map it has the deviation and joint draws of the map without
    privacy. It is in response units, without a public prior mean. `facts` supply lattice, number of records,
    neighbours, unit, law and covariates; counts and public field come from `released_sums`. Raises
    InvalidValue if the sums belong to other features, or to another noise than the design's.
    """
    plan = prepared_plan(design, facts)
    released, public = released_sums.again(plan.features), public_counts_of(facts, released_sums)
    if released.noise != plan.noise:
        raise InvalidValue("the noise of these sums is not that of their design.")
    if design.drift:
        return drifted_again(GivenSums(plan, released, public), released_sums.field)
    second = second_again(design, plan, released, public, released_sums)
    evidence, output = GivenSums(plan, released, public, second), Output(0, SimulationEntropy(0), RANGE_DRAWS)
    reading = read_sums(evidence, partial(unseen_by, design), output)
    if reading.mean is None or reading.sd is None:
        raise InvalidValue("these sums state no field.")
    return reading


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
    designs: Sequence[SpectralStatisticsDesign], released_sums: Sequence[KeptSums], facts: PublicFacts
) -> AddedSums:
    """Add the released sums of several holders of disjoint records, and read the field from them:
    free.

    Sums of disjoint records add, and so do the variances of independent noise. The noise of one design is
    proportional to 1/mu, so the added noise is that of the mu with 1/mu^2 = sum of 1/mu_h^2.

    Parameters
    ----------
    designs, released_sums : sequences of equal length
        Design and sums of each holder; the designs differ in mu alone.
    facts : PublicFacts
        Public facts, with the number of records of all holders.

    Raises
    ------
    InvalidValue
        If the sums are of other features or public numbers, or their noise is not that of their designs.
    """
    design = replace(designs[0], mu=1.0 / math.sqrt(sum(1.0 / holder.mu**2 for holder in designs)))
    plan = prepared_plan(design, facts)
    noise = _added_noise([part.noise for part in released_sums])
    for computed, summed in ((plan.noise.sums, noise.sums), (plan.noise.counts, noise.counts)):
        if computed is None or summed is None:
            same = computed is summed
        else:
            same = math.isclose(computed, summed, rel_tol=ADDED)
        if not same:
            raise InvalidValue("the noise of these sums is not that of their designs.")
    counts = [part.counts for part in released_sums if part.counts is not None]
    sums = KeptSums(
        np.sum([part.sums for part in released_sums], axis=0, dtype=np.int64),
        np.sum(counts, axis=0, dtype=np.int64) if counts else None,
        released_sums[0].features,
        plan.noise,
        _shared_counts([part.public_counts for part in released_sums], facts),
        released_sums[0].field,
    )
    if any(not same_field(part.field, released_sums[0].field) for part in released_sums[1:]):
        raise InvalidValue("these releases start from other public records: use one published reference.")
    expected = records_again(design, facts, sums)[0]
    return AddedSums(design, noise, read_again(design, facts, sums), expected)


def _added_noise(noises: Sequence[SpectralNoise]) -> SpectralNoise:
    """Standard deviations of the sum of independent noises."""
    counts = [noise.counts for noise in noises if noise.counts is not None]
    sums = math.hypot(*(noise.sums for noise in noises))
    return SpectralNoise(sums, math.hypot(*counts) if counts else None)


def _shared_counts(counts: Sequence[Floats | None], facts: PublicFacts) -> Floats | None:
    """Public counts (N,) of all holders: counts of public places add, a shared population must be equal."""
    public = [part for part in counts if part is not None]
    if not public:
        return None
    if facts.neighbours == "values-only":
        return np.asarray(np.sum(public, axis=0))
    if len(public) < len(counts) or any(not np.array_equal(part, public[0]) for part in public):
        raise InvalidValue("these releases count records over other public numbers: use one population.")
    return public[0]


def second_again(
    design: SpectralStatisticsDesign,
    plan: Prepared,
    released: SpectralSums,
    public_counts: PublicCounts,
    released_sums: KeptSums,
) -> tuple[Look, SpectralSums] | None:
    """Recompute the second look from the sums of the first; return it with its sums, or None without one.

    Raises InvalidValue if design and sums disagree about a second look, or if its features or its noise
    differ.
    """
    # Corollary 4 (docs/spectral-statistics.md, section 4): a function of the first release, so recomputable.
    if (released_sums.second is None) != (design.first == 0.0):
        raise InvalidValue("the design and its sums disagree about a second look.")
    if released_sums.second is None:
        return None
    look = second_look(plan, released, public_counts, design.looks[1], design.tight)
    again = released_sums.second.again(look.features)
    if again.noise != look.noise:
        raise InvalidValue("the noise of the second look is not that of its design.")
    return look, again


def _maps(design: SpectralStatisticsDesign) -> int:
    """Number of joint draws of the map without privacy in a release: none in simulations of a search."""
    return RANGE_DRAWS if design.paths > 1 else 0


NO_RECORDS = "a second look needs the response of every record, and these are means of hexagons."


@dataclass(frozen=True, eq=False, repr=False)
class PreparedSums:
    """The inputs of the exact integer sums, ready for the noise."""

    design: SpectralStatisticsDesign
    plan: Prepared
    records: GridRecords
    known: PublicCounts
    field: PublicField | None
    reads: Reads = "all"  # as in `PublicFacts`

    def released(self, source: RoundedNoise) -> tuple[SpectralSums, ...]:
        """What leaves the curator's hands, once."""
        plan = self.plan
        return (release_sums(plan.features, plan.nodes, self.records, plan.noise, source),)

    def draw(self, entropy: Entropy) -> Released:
        (released,) = self.released(ExactNoise(entropy))
        stored = KeptSums.of(released, self.plan.features, self.known.cells, self.field)
        evidence = GivenSums(self.plan, released, self.known)
        output = Output(self.design.paths, entropy, _maps(self.design), self.reads)
        if self.field is not None:
            read = read_drifted(evidence, self.field, output)
        else:
            read = read_sums(evidence, partial(unseen_by, self.design), output)
        return replace(read, sums=stored)


@dataclass(frozen=True, eq=False, repr=False)
class PreparedLooks:
    """Two looks at some records, ready for the noise."""

    # design, plan, known: those of the release and of its first look
    design: SpectralStatisticsDesign
    plan: Prepared
    known: PublicCounts
    records: CollapsedRecords  # private
    reads: Reads = "all"  # as in `PublicFacts`

    def __post_init__(self) -> None:
        if self.records.singles is None:
            raise InvalidValue(NO_RECORDS)

    @property
    def released_records(self) -> GridRecords:
        """The records in the form that the first look sums."""
        return GridRecords(self.records.index, self.records.count, self.records.units)

    def looks(self, source: RoundedNoise) -> tuple[SpectralSums, Look, SpectralSums]:
        """Release the first look's sums, plan the second look from them, and release its sums.

        The plan depends only on public facts and the first look's released numbers: given them, the second
        look is a Gaussian mechanism.
        """
        # Corollary 4 (docs/spectral-statistics.md, section 4): an adaptive second look is priced.
        plan, records, singles = self.plan, self.records, self.records.singles
        assert singles is not None
        first = release_sums(plan.features, plan.nodes, self.released_records, plan.noise, source)
        look = second_look(plan, first, self.known, self.design.looks[1], self.design.tight)
        second_records = look.records(plan.nodes, records.index, records.count, singles.astype(np.int64))
        return first, look, release_sums(look.features, plan.nodes, second_records, look.noise, source)

    def released(self, source: RoundedNoise) -> tuple[SpectralSums, ...]:
        """What leaves the curator's hands, once."""
        first, _, second = self.looks(source)
        return first, second

    def draw(self, entropy: Entropy) -> Released:
        return self._read(*self.looks(ExactNoise(entropy)), entropy)

    def _read(self, first: SpectralSums, look: Look, second: SpectralSums, entropy: Entropy) -> Released:
        design, plan = self.design, self.plan
        evidence = GivenSums(plan, first, self.known, (look, second))
        output = Output(design.paths, entropy, _maps(design), self.reads)
        reading = read_sums(evidence, partial(unseen_by, design), output)
        second_sums = KeptSums.of(second, look.features)
        return replace(reading, sums=KeptSums.of(first, plan.features, self.known.cells, None, second_sums))
