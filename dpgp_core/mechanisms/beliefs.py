"""Reading released sums under several beliefs, with and without public columns: the evidence weighs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dpgp_core.excursion import cutoff_for_map
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.base import Reading, mixed, shares
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.noise import Entropy, SimulationEntropy
from dpgp_core.releasing import Released
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.looks import Look, counts_of_looks, read_looks
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.model_check import FEWEST_CHECKED, ModelCheck, check_model
from dpgp_core.spectral.prior import REACH, ClippedPrior, unclipped
from dpgp_core.spectral.rates import RateReading, check_rates, read_rates
from dpgp_core.spectral.reading import FieldPosterior
from dpgp_core.spectral.shared import SharedReadings
from dpgp_core.spectral.sums import SpectralSums

Unseen = Callable[[ClippedPrior], float]
"""What clipping may hide of the records' mean under a belief, clipped response units."""


UNSEEN = 0.35
"""Of the field's deviation: what clipping may hide of the records' mean where it is read from the release."""


RATE_REACH = 6.0  # a rate is said within a factor of `exp` of this around the average


def unseen_by(design: SpectralStatisticsDesign, prior: ClippedPrior) -> float:
    """What clipping may hide of the records' mean, clipped response units; reference data would show it."""
    slope = prior.deviation / prior.before.deviation
    hidden = design.common and design.law == "amount"  # answers are not clipped
    return UNSEEN * design.spread * slope if hidden else 0.0


def belief_weights(evidence: Floats, odds: Floats) -> Floats:
    """Posterior weights of beliefs from log densities (B,) or (B, R) and what was likely before, (B,)."""
    likely = (evidence.T + np.log(odds)).T
    weight = np.exp(likely - likely.max(axis=0))
    return np.asarray(weight / weight.sum(axis=0))


def read_sums(
    plan: Prepared,
    released: SpectralSums,
    known: PublicCounts,
    unseen: Unseen,
    paths: int,
    entropy: Entropy,
    second: tuple[Look, SpectralSums] | None = None,
    *,
    maps: int = 0,
    under: tuple[RateReading, ...] | None = None,
) -> Released:
    """The field given one release, its beliefs weighed by how likely they make what was released: free.

    `maps` joint draws of the map without privacy noise are made by a public seed: every reader finds them.
    `under` holds what `each_belief` makes, where it is at hand.
    """
    under = each_belief(plan, released, known, second) if under is None else under
    weight = belief_weights(np.array([each.reader.log_evidence(each.seen) for each in under]), plan.odds)
    reach = RATE_REACH if plan.plan.field.counted else REACH
    readings, of_map, records = [], np.zeros(plan.nodes.cells), np.zeros(plan.nodes.cells)
    for each, number in zip(under, shares(weight, paths), strict=True):
        posterior = FieldPosterior(each.reader, each.seen)
        drawn = np.empty((0, plan.nodes.cells))
        if number:
            drawn = posterior.paths(number, entropy) + each.shift
        found_at = posterior.mean() + each.shift, posterior.deviation()
        if each.reader.linear is None:
            found, mean, sd = unclipped(*found_at, each.reader.prior, drawn)
            readings.append(Reading(mean, sd, found))
        else:  # the field itself is read
            found = np.clip(drawn, -reach, reach)
            readings.append(Reading(np.clip(found_at[0], -reach, reach), found_at[1], found))
    field = readings[0] if len(readings) == 1 else mixed(readings, weight)
    seeded, of_maps = SimulationEntropy(0), []
    for each, reading, share, number in zip(under, readings, weight, shares(weight, maps), strict=True):
        posterior, hidden = FieldPosterior(each.reader, each.seen), unseen(each.reader.prior)
        if second is not None:  # what is read is the field itself, before it is clipped
            hidden *= each.reader.prior.before.deviation / each.reader.prior.deviation
        of_records = posterior.map_deviation(each.counts, hidden)
        shown = reading.sd * of_records / posterior.deviation()
        if number:
            drawn = posterior.map_draws(each.counts, number, seeded, hidden)
            of_maps.append(reading.mean - field.mean + reading.sd / posterior.deviation() * drawn)
        of_map += share * (np.square(shown) + np.square(reading.mean - field.mean))
        records += share * plan.places(known, released.counts, each.counts)
    releases = (released,) if second is None else (released, second[1])
    raw = tuple(part for each in releases for part in each.parts)
    counts = None if second is None else plan.counts(known, released.counts)
    check = _check(plan, under, int(np.argmax(weight)), released.sums, known, counts)
    return Released(
        field.draws, field.mean, field.sd, raw, np.sqrt(of_map), records=records, model_check=check,
        map_draws=np.concatenate(of_maps) if of_maps else None,
    )  # fmt: skip


def each_belief(
    plan: Prepared,
    released: SpectralSums,
    known: PublicCounts,
    second: tuple[Look, SpectralSums] | None = None,
) -> tuple[RateReading, ...]:
    """The readings of a release under each belief, ready for its sums."""
    if second is not None:
        looks, sums = (Look.first(plan), second[0]), np.concatenate([released.sums, second[1].sums])
        counts = counts_of_looks(plan, looks, known, (released.counts, second[1].counts))
        several = range(len(plan.beliefs))
        return tuple(
            RateReading(read_looks(plan, looks, counts, sums, belief), sums, counts, 0.0)
            for belief in several
        )
    if plan.plan.field.counted:
        return tuple(
            read_rates(replace(plan, basis=basis, prior=prior), known, released.sums)
            for basis, prior in plan.beliefs
        )
    counts = plan.counts(known, released.counts)
    readers = plan.readers(counts)
    if plan.plan.field.law == "yes-no":
        readers = tuple(plan.answers(reader, counts, released.sums) for reader in readers)
    return tuple(RateReading(reader, released.sums, counts, 0.0) for reader in readers)


def _check(
    plan: Prepared,
    under: tuple[RateReading, ...],
    best: int,
    sums: Floats,
    known: PublicCounts,
    first: NodeCounts | None,
) -> ModelCheck | None:
    """How sums compare with the likeliest belief, linear around its mean; None of few sums.

    Of two looks the sums of the first are compared, with the counts that it alone tells.
    """
    if sums.size < FEWEST_CHECKED:
        return None
    if plan.plan.field.counted:
        basis, prior = plan.beliefs[best]
        return check_rates(replace(plan, basis=basis, prior=prior), known, sums)
    reader = under[best].reader
    if reader.linear is None:
        return check_model(reader, under[best].seen)
    return check_model(plan.readers(first or under[best].counts)[best], sums)


def under_beliefs(plan: Prepared, readings: SharedReadings) -> tuple[SharedReadings, ...]:
    """The same simulated releases under each belief of a plan."""
    beliefs = plan.beliefs
    made = {id(basis): readings.under(basis) for basis, _ in beliefs}
    return tuple(made[id(basis)] for basis, _ in beliefs)


def simulated(
    readings: Sequence[SharedReadings],
    plan: Prepared,
    totals: Floats,
    level: Floats,
    sign: float,
    unseen: Unseen | None,
) -> tuple[Floats, Floats | None]:
    """Exceedance probabilities (R, N) of simulated releases, their beliefs weighed, and own cutoffs (R,).

    `totals` (N,) are sums of the reference records' responses; `level` (N,) is the threshold, response units;
    `sign` is 1 for above and -1 for below. `unseen` is None where no cutoffs are asked for.
    """
    if unseen is None and len(readings) == 1:
        return readings[0].probabilities(totals, plan.prior, level, sign), None
    found = [
        each.stated(totals, prior, level, sign, 0.0 if unseen is None else unseen(prior))
        for each, (_, prior) in zip(readings, plan.beliefs, strict=True)
    ]
    weight = belief_weights(np.array([density for _, _, density in found]), plan.odds)
    probability, shown = (
        np.einsum("br,brn->rn", weight, np.array([parts[kind] for parts in found])) for kind in (0, 1)
    )
    if unseen is None:
        return probability, None
    return probability, np.array([cutoff_for_map(*row) for row in zip(probability, shown, strict=True)])
