"""Reading released sums under several beliefs, with and without public columns: the evidence weighs
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import cutoff_for_map
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.base import Reading, mixed, shares
from dpgp_core.mechanisms.drift_reading import DriftReader
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.noise import Entropy, SimulationEntropy
from dpgp_core.releasing import Reads, Released
from dpgp_core.spectral.looks import Look, counts_of_looks, read_looks
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.model_check import FEWEST_CHECKED, ModelCheck, check_model
from dpgp_core.spectral.prior import REACH, ClippedPrior, unclipped
from dpgp_core.spectral.public_field import PublicField
from dpgp_core.spectral.rates import RateReading, check_rates, read_rates
from dpgp_core.spectral.reading import FieldPosterior
from dpgp_core.spectral.shared import SharedReadings
from dpgp_core.spectral.sums import KeptField, SpectralSums

Unseen = Callable[[ClippedPrior], float]
"""Deviation of the part of the records' mean that clipping hides under a belief, clipped response
units."""


UNSEEN = 0.35
"""That deviation in units of the field's, if the release itself determines the records' mean."""


RATE_REACH = 6.0  # limit of a log rate around the average


@dataclass(frozen=True, eq=False)
class GivenSums:
    """The sums of one release, with the plan and the public counts by which they are read."""

    plan: Prepared
    released: SpectralSums
    known: PublicCounts
    second: tuple[Look, SpectralSums] | None = None  # the second look, if there is one


@dataclass(frozen=True)
class Output:
    """The parts of a reading that are asked for."""

    paths: int  # drawn by `entropy`
    entropy: Entropy
    # joint draws of the map without privacy noise, by a public seed, so that every reader recomputes them
    maps: int = 0
    reads: Reads = "all"  # as in `PublicFacts`


def unseen_by(design: SpectralStatisticsDesign, prior: ClippedPrior) -> float:
    """Deviation of the hidden part of the records' mean, clipped response units; 0 with reference
    data."""
    slope = prior.deviation / prior.before.deviation
    hidden = design.common and prior.before.law == "amount"  # answers are not clipped
    return UNSEEN * design.spread * slope if hidden else 0.0


def belief_weights(evidence: Floats, odds: Floats) -> Floats:
    """Posterior weights of beliefs from log densities (B,) or (B, R) and prior odds (B,)."""
    # Subtract the largest logarithm first: densities of hundreds of sums overflow or underflow.
    likely = (evidence.T + np.log(odds)).T
    weight = np.exp(likely - likely.max(axis=0))
    return np.asarray(weight / weight.sum(axis=0))


def read_sums(
    evidence: GivenSums, unseen: Unseen, output: Output, under: tuple[RateReading, ...] | None = None
) -> Released:
    """The field given one release, with beliefs weighed by the density of the released sums: free.

    `under` is the result of `each_belief`, if already computed.
    """
    plan, released, second, reads = evidence.plan, evidence.released, evidence.second, output.reads
    under = each_belief(evidence) if under is None else under
    weight = belief_weights(
        np.array([belief.reader.log_evidence(belief.seen) for belief in under]), plan.odds
    )
    numbers = shares(weight, 0 if reads == "field" else output.paths)
    pairs = zip(under, numbers, strict=True)
    readings = [_field(plan, belief, number, output.entropy) for belief, number in pairs]
    field = readings[0] if len(readings) == 1 else mixed(readings, weight)
    releases = (released,) if second is None else (released, second[1])
    read = Released(
        field.draws,
        field.mean,
        field.sd,
        tuple(part for release in releases for part in release.parts),
        records=_records(evidence, under, weight),
    )
    if reads == "field":
        return read
    hidden = [unseen(belief.reader.prior) for belief in under]
    if second is not None:  # two looks read the field before clipping: convert the unit
        priors = [belief.reader.prior for belief in under]
        units = [prior.before.deviation / prior.deviation for prior in priors]
        hidden = [part * unit for part, unit in zip(hidden, units, strict=True)]
    mixture = [Believed(*parts) for parts in zip(under, readings, weight, hidden, strict=True)]
    read = _with_map(read, mixture, output.maps)
    if reads == "map":
        return read
    return replace(read, model_check=_check(evidence, under, int(np.argmax(weight))))


def _field(plan: Prepared, belief: RateReading, paths: int, entropy: Entropy) -> Reading:
    """The field under one belief, with a number of its paths."""
    posterior = FieldPosterior(belief.reader, belief.seen)
    draws = np.empty((0, plan.nodes.cells))
    if paths:
        draws = posterior.paths(paths, entropy) + belief.shift
    mean, sd = posterior.mean() + belief.shift, posterior.deviation()
    if belief.reader.linear is None:
        unclipped_draws, mean, sd = unclipped(mean, sd, belief.reader.prior, draws)
        return Reading(mean, sd, unclipped_draws)
    # The reader returns the field itself.
    reach = RATE_REACH if plan.plan.field.counted else REACH
    return Reading(np.clip(mean, -reach, reach), sd, np.clip(draws, -reach, reach))


def _records(evidence: GivenSums, under: tuple[RateReading, ...], weight: Floats) -> Floats:
    """(N,) expected records of each cell, by the beliefs' weights (B,)."""
    plan, counts = evidence.plan, evidence.released.counts
    places: dict[int, Floats] = {}
    records = np.zeros(plan.nodes.cells)
    for belief, share in zip(under, weight, strict=True):
        if id(belief.counts) not in places:  # most beliefs share one reading of the counts
            places[id(belief.counts)] = plan.places(evidence.known, counts, belief.counts)
        records += share * places[id(belief.counts)]
    return records


class Believed(NamedTuple):
    """A release as it is read under one belief, and how much that belief weighs."""

    belief: RateReading
    reading: Reading
    weight: float
    # deviation of the part of the records' mean that clipping hides, clipped response units
    hidden: float


def _with_map(read: Released, mixture: Sequence[Believed], maps: int) -> Released:
    """Add the map without privacy of the same records, and a number of its joint draws."""
    assert read.mean is not None
    seeded, of_maps, of_map = SimulationEntropy(0), [], np.zeros(read.mean.size)
    has_own = any(believed.belief.of_map is not None for believed in mixture)
    means = [_map_mean(believed.belief, believed.reading) for believed in mixture]
    weight = np.array([believed.weight for believed in mixture])
    map_mean = np.asarray(weight @ np.array(means)) if has_own else read.mean
    for believed, mean, number in zip(mixture, means, shares(weight, maps), strict=True):
        belief, reading, share, unseen = believed
        posterior = FieldPosterior(belief.reader, belief.seen)
        of_records = posterior.map_deviation(belief.counts, unseen)
        map_sd = reading.sd * of_records / posterior.deviation()
        if number:
            draws = posterior.map_draws(belief.counts, number, seeded, unseen)
            of_maps.append(mean - map_mean + reading.sd / posterior.deviation() * draws)
        # The variance of a mixture: its beliefs' mean variance and the variance of their means.
        of_map += share * (np.square(map_sd) + np.square(mean - map_mean))
    return replace(
        read,
        map_sd=np.sqrt(of_map),
        map_draws=np.concatenate(of_maps) if of_maps else None,
        map_mean=map_mean if has_own else None,
    )


LEAST_DRAWS = 50  # draws of the map without privacy, for its mean and deviation


def read_drifted(evidence: GivenSums, field: PublicField, output: Output) -> Released:
    """The field less the public map given one release that starts from it: free."""
    plan, released, paths = evidence.plan, evidence.released, output.paths
    reader = DriftReader.of(plan, evidence.known, released.counts, field).at(released.sums)
    records = plan.places(evidence.known, released.counts, reader.counts)
    if output.reads == "field":
        mean, sd = reader.stated(released.sums)
        no_paths = np.empty((0, mean.size))
        return Released(no_paths, mean, sd, released.parts, records=records)
    read = reader.read(released.sums, max(paths, LEAST_DRAWS), output.entropy)
    return Released(
        read.field.draws[:paths],
        read.field.mean,
        read.field.sd,
        released.parts,
        read.map_sd,
        map_mean=read.map_mean,
        records=records,
        model_check=reader.check(released.sums) if output.reads == "all" else None,
    )


def drifted_again(evidence: GivenSums, stored_field: KeptField | None) -> Released:
    """Mean, deviation and check of the same from the stored numbers of the public field, without paths.

    Raises InvalidValue if these are missing, or are not those of the plan's domain and law.
    """
    plan, released = evidence.plan, evidence.released
    if stored_field is None:
        raise InvalidValue("the public records that this release starts from are not kept with its sums.")
    if plan.plan.field.law == "yes-no" and stored_field.scatter != 1.0:
        raise InvalidValue("answers scatter by 1, and the public ones kept with the sums do not.")
    field = replace(stored_field.at(plan.nodes, plan.columns), ball=plan.plan.field.ball)
    reader = DriftReader.of(plan, evidence.known, released.counts, field).at(released.sums)
    mean, sd = reader.stated(released.sums)
    return Released(np.empty((0, mean.size)), mean, sd, model_check=reader.check(released.sums))


def _map_mean(belief: RateReading, reading: Reading) -> Floats:
    """(N,) mean of the map without privacy under a belief, response units."""
    if belief.of_map is None:
        return reading.mean
    nodes, prior = belief.reader.nodes, belief.reader.prior
    spread = nodes.spread(belief.reader.deviation())
    return unclipped(belief.of_map, spread, prior, np.empty((0, nodes.cells)))[1]


def each_belief(evidence: GivenSums) -> tuple[RateReading, ...]:
    """The readings of a release under each belief, ready for its sums."""
    plan, released, public_counts, second = evidence.plan, evidence.released, evidence.known, evidence.second
    if second is not None:
        looks, sums = (Look.first(plan), second[0]), np.concatenate([released.sums, second[1].sums])
        counts = counts_of_looks(plan, looks, public_counts, (released.counts, second[1].counts))
        several = range(len(plan.beliefs))
        return tuple(
            RateReading(read_looks(plan, looks, counts, sums, belief), sums, counts, 0.0)
            for belief in several
        )
    if plan.plan.field.counted:
        return tuple(
            read_rates(replace(plan, basis=basis, prior=prior), public_counts, released.sums)
            for basis, prior in plan.beliefs
        )
    counts = plan.counts(public_counts, released.counts)
    readers = plan.readers(counts)
    if plan.plan.field.law == "yes-no":
        readers = tuple(plan.answers(reader, counts, released.sums) for reader in readers)
    return tuple(RateReading(reader, released.sums, counts, 0.0) for reader in readers)


def _check(evidence: GivenSums, under: tuple[RateReading, ...], best: int) -> ModelCheck | None:
    """Compare sums with the likeliest belief, linearised around its mean; None for few sums.

    Of two looks only the first is compared, with the counts given the first alone.
    """
    plan, sums, public_counts = evidence.plan, evidence.released.sums, evidence.known
    if sums.size < FEWEST_CHECKED:
        return None
    if plan.plan.field.counted:
        basis, prior = plan.beliefs[best]
        return check_rates(replace(plan, basis=basis, prior=prior), public_counts, sums)
    reader = under[best].reader
    if reader.linear is None:
        return check_model(reader, under[best].seen)
    counts = (
        under[best].counts
        if evidence.second is None
        else plan.counts(public_counts, evidence.released.counts)
    )
    return check_model(plan.readers(counts)[best], sums)


def under_beliefs(plan: Prepared, readings: SharedReadings) -> tuple[SharedReadings, ...]:
    """Simulated releases with the basis of each belief of a plan."""
    beliefs = plan.beliefs
    by_basis = {id(basis): readings.under(basis) for basis, _ in beliefs}
    return tuple(by_basis[id(basis)] for basis, _ in beliefs)


def simulated(
    readings: Sequence[SharedReadings],
    plan: Prepared,
    totals: Floats,
    level: Floats,
    sign: float,
    unseen: Unseen | None,
) -> tuple[Floats, Floats | None]:
    """Exceedance probabilities (R, N) of simulated releases, mixed over beliefs, and own cutoffs
    (R,).

    `totals` (N,) are sums of the reference records' responses; `level` (N,) is the threshold,
    response units; `sign` is 1 for above and -1 for below. With `unseen` None no cutoffs are
    computed.
    """
    if unseen is None and len(readings) == 1:
        return readings[0].probabilities(totals, plan.prior, level, sign), None
    statements = [
        reading.stated(totals, prior, level, sign, 0.0 if unseen is None else unseen(prior))
        for reading, (_, prior) in zip(readings, plan.beliefs, strict=True)
    ]
    weight = belief_weights(np.array([density for _, _, density in statements]), plan.odds)
    probability, of_maps = (
        np.einsum("br,brn->rn", weight, np.array([parts[kind] for parts in statements])) for kind in (0, 1)
    )
    if unseen is None:
        return probability, None
    return probability, np.array([cutoff_for_map(*row) for row in zip(probability, of_maps, strict=True)])
