"""An accounted look at the private records before a search: a pilot."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from dpgp_core.accounting.composition import Cost, epsilon, selection_curve
from dpgp_core.accounting.guarantee import together
from dpgp_core.mechanisms.cell_sums import (
    NoisyStatistics,
    release_statistics,
    statistic_mu,
    statistic_noise_for,
    statistics_cost,
)
from dpgp_core.mechanisms.design import Budget, Design
from dpgp_core.mechanisms.grids import CELL_SCALES, RECORD_RIDGES, coarse_grid
from dpgp_core.mechanisms.noisy_cell_statistics import (
    NoisyCellStatistics,
    log_evidence,
    noise_aware_posterior,
    reference_records,
)
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy, SystemEntropy, random_name
from dpgp_core.numbers import significant
from dpgp_core.priors.lattice import Lattice, Prior
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import Owner, PublicFacts
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Charge, Ledger, Reservation
from hexcursion.ledger.ledger import charge_stands
from hexcursion.project.model import Pilot, Project, area_facts, record_keys
from hexcursion.project.records import PlacedObservations, bin_records, public_places, responses_of
from hexcursion.project.response import ResponseScale
from hexcursion.project.simulated import SIMULATION_SEED, StandIns, world_model
from hexcursion.search.block_choice import LAWS, LEAST_ODDS, blocks_of, choose_law, strength
from hexcursion.search.scenes import private_n, public_facts
from hexcursion.search.task import Scored
from hexcursion.words import plural

STEPS = 14
SLACK = 1.25  # calibration charges a release up to so much more than it is proved to cost
PATCHES, SWING = 25, 0.5  # see `pilot_strength`
LEAST_STRENGTH = 0.5


def fingerprint(project: Project, ledger: Ledger) -> str:
    """The ledger's name of the private dataset: all located rows, before any choice of domain."""
    observations = project.private.observations
    return ledger.fingerprint(observations.x, observations.y, observations.value)


def _models(lattice: Lattice, n: int) -> list[tuple[Prior, float, float]]:
    """Prior, ridge and scale of every model that may explain a pilot."""
    return [
        (make_prior("car", lattice, lengthscale), ridge, scale)
        for lengthscale in coarse_grid(lattice, n, quick=True).lengthscales
        for ridge in RECORD_RIDGES
        for scale in CELL_SCALES
    ]


def run_pilot(project: Project, ledger: Ledger, session: str = "") -> Project:
    """Pay for noisy cell statistics once and put what they say in the place of reference data.

    The share `settings.pilot` of epsilon is spent on one Gaussian release of all cells' sums and counts
    (docs/mathematics.md, section 11), charged to the ledger before it is drawn. All after it, the model
    choice by marginal likelihood and the whole search, is post-processing and free. With `pilot_by` "choice"
    it buys a private choice of a simulated field's law instead. A session pays for one pilot once. Raise,
    before any charge, `WorkflowError`, `BudgetExceeded` or `RequestTaken`; after it `Unreleased`.
    """
    settings = project.settings
    if settings.pilot is None or settings.reference is not None:
        raise WorkflowError("A pilot stands in for reference data: set `pilot` and leave `reference` out.")
    if project.pilot is not None:
        raise WorkflowError("A pilot was paid for already, and stands in for reference data.")
    project.refuse_dropped()
    project.refuse_large_delta()
    if warning := pilot_warning(project):
        raise WorkflowError(warning)
    share = settings.pilot * settings.epsilon
    if settings.pilot_by == "choice":
        return _run_choice(project, ledger, share, session)
    records = bin_records(project.private.placed, project.response, settings.unit)
    n, n_is_public = private_n(project), settings.relation == "replace-one"
    noise = _pilot_noise(share, project)
    facts = {"title": "Pilot for private tuning", "mechanism": NoisyCellStatistics.name}
    charge = _charge(project, ledger, _pilot_cost(noise, project), {**facts, "epsilon": share, "n": n})
    models = _models(project.lattice, n)
    try:  # whatever cannot be computed fails here, on invented records
        _best(_simulated(project, noise), models)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise WorkflowError(f"A pilot could not be read ({error}): nothing was charged.") from error
    with _charged(project, ledger, charge, session) as reservation:
        statistics = release_statistics(
            records, project.domain.size, noise, SystemEntropy(), n_is_public=n_is_public
        )
        digest = hashlib.sha256(statistics.sums.tobytes() + statistics.counts.tobytes()).hexdigest()
        reservation.commit(f"pilot-{random_name()}", digest)
    try:
        stand_in = stand_ins(statistics, *_best(statistics, models), project.response)
    except ValueError as error:
        raise WorkflowError(
            f"The pilot (ledger entry {reservation.number}, paid for) is too noisy to show any record: raise "
            "`pilot` or epsilon."
        ) from error
    pilot = Pilot(charge.cost, share, reservation.seal)
    return replace(project, reference=stand_in, reference_kind="private selection", pilot=pilot)


def _run_choice(project: Project, ledger: Ledger, share: float, session: str) -> Project:
    """Pay for a private choice among the laws of simulated worlds, and draw one field by the chosen law."""
    settings, spacing = project.settings, project.lattice.spacing
    laws = [world_model(spacing, number) for number in range(LAWS)]
    index, responses = responses_of(project.private.placed, project.response, settings.unit)
    places, n = project.lattice.domain_centres[index], project.public_n
    owner, neighbours = public_facts(project).owner, public_facts(project).neighbours
    record_epsilon = share if owner is None else share / owner.records
    cost = Cost.pure(share, selection_curve(share)).among(neighbours)
    facts = {"title": "Private choice for tuning", "mechanism": "private-choice"}
    charge = _charge(project, ledger, cost, {**facts, "epsilon": share, "n": n})
    with _charged(project, ledger, charge, session) as reservation:
        law = choose_law(
            laws, spacing, places, responses, blocks_of(n, record_epsilon), record_epsilon, SystemEntropy()
        )
        reservation.commit(f"pilot-{random_name()}", hashlib.sha256(repr(law).encode()).hexdigest())
    record_places = public_places(project.private.placed) if settings.places_public else None
    stand_in = StandIns(settings, project.lattice, project.response, n, record_places).draw(law=law)
    pilot = Pilot(cost, share, reservation.seal, law)
    return replace(project, reference=stand_in, reference_kind="private selection", pilot=pilot)


def _charge(project: Project, ledger: Ledger, cost: Cost, facts: Mapping[str, Any]) -> Charge:
    """The charge of a look at a project's records; area and delta join its `facts`."""
    return Charge(
        dataset=fingerprint(project, ledger),
        unit=project.settings.unit,
        cost=cost,
        facts={**facts, "delta": project.delta, **area_facts(project)},
        records=record_keys(project, ledger),
        accepts_weaker=project.settings.accept_weaker_promise,
        same_as=project.same_as,
    )


@contextmanager
def _charged(project: Project, ledger: Ledger, charge: Charge, session: str) -> Iterator[Reservation]:
    """Reserve a charge once for a session, with a budget where the data have none yet, and begin its draw."""
    if ledger.preview(charge, project.delta).budget is None:
        budget = project.settings.budget or project.settings.epsilon
        ledger.set_budget(charge.dataset, charge.unit, budget, project.delta)
    facts = json.dumps(dict(charge.facts), sort_keys=True)
    request = ledger.request("pilot", charge.dataset, charge.unit, facts, session or random_name())
    with charge_stands(ledger, charge, request) as reservation:
        reservation.begin_draw()
        yield reservation


def _pilot_noise(share: float, project: Project) -> float:
    """The noise of a pilot that costs a share of epsilon: for all records of an owner where one is named."""
    owner = public_facts(project).owner
    steps = 1.0 if owner is None or owner.records == 1 else _steps(owner) * (1.0 + 2.0**-39)
    return statistic_noise_for(share, project.delta) * steps


def _steps(owner: Owner) -> float:
    """Prices of one exchanged record that all records of an owner cost (docs/proofs/owners.md)."""
    return math.sqrt(owner.records) if owner.apart else float(owner.records)


def _pilot_cost(noise: float, project: Project) -> Cost:
    """Price the pilot for the neighbours of the project's release.

    One record more or less moves a sum and a count by at most 1 each, an exchange twice that in square: the
    cost of an exchange bounds both.
    """
    facts = public_facts(project)
    cost, neighbours = statistics_cost(noise, project.domain.size), facts.neighbours
    if facts.owner is not None and facts.owner.records > 1:
        cost = Cost.gaussian(_steps(facts.owner) * statistic_mu(noise) * (1.0 + 2.0**-40), cost.distance)
    return cost.among(neighbours, cost.gaussian_mu if neighbours == "add-or-remove" else None)


def pilot_strength(n: int, cells: int, noise: float) -> float:
    """Signal over noise of a pilot in one of `PATCHES` parts of the area, from public numbers alone.

    A part holds n / PATCHES records on average; a field half a clip bound high there moves the sum of their
    responses by half as much, and the sum over its cells / PATCHES hexagons has noise of noise * sqrt(cells /
    PATCHES). Measured on simulated fields of five ranges across, the means that a pilot shows agree with the
    true ones by a correlation of .93 at strength 7, .64 at 2.4, .4 at 1.2, .16 at .5 and next to nothing
    below.
    """
    return SWING * (n / PATCHES) / (noise * float(np.sqrt(cells / PATCHES)))


def pilot_warning(project: Project) -> str:
    """Why a pilot of this size would show next to nothing, or "": before it is paid."""
    settings = project.settings
    if settings.pilot is None:
        return ""
    if settings.pilot_by == "choice":
        return _choice_warning(project, settings.pilot * settings.epsilon)
    noise = _pilot_noise(settings.pilot * settings.epsilon, project)
    n, cells = private_n(project), project.domain.size
    if pilot_strength(n, cells, noise) >= LEAST_STRENGTH:
        return ""
    return (
        f"This pilot would show next to nothing: noise of {significant(noise, 2)} on each hexagon's count, "
        f"where {significant(n / cells, 2)} records lie on average. Nothing was charged: raise `pilot` or "
        "epsilon, take larger hexagons, or tune on a simulated field."
    )


def _choice_warning(project: Project, share: float) -> str:
    """Why a choice at this epsilon would be left to chance, or "": from public numbers alone."""
    owner = public_facts(project).owner
    record_epsilon = share if owner is None else share / owner.records
    if strength(project.public_n, record_epsilon) >= LEAST_ODDS:
        return ""
    return (
        f"This choice would be left to chance: {plural(project.public_n, 'record')} at epsilon "
        f"{significant(record_epsilon, 2)} make "
        f"{plural(blocks_of(project.public_n, record_epsilon), 'block')}, too few to outweigh its coins. "
        "Nothing was charged: raise `pilot` or epsilon, or tune on a simulated field."
    )


def _simulated(project: Project, noise: float) -> NoisyStatistics:
    """Statistics of the simulated reference data, which know no more of the private ones than n."""
    observations = project.reference
    records = bin_records(observations, project.response, project.settings.unit)
    return release_statistics(records, project.domain.size, noise, SimulationEntropy(SIMULATION_SEED))


def _best(
    statistics: NoisyStatistics, models: Sequence[tuple[Prior, float, float]]
) -> tuple[Prior, float, float]:
    """The model of the largest marginal likelihood."""
    return max(models, key=lambda model: log_evidence(statistics, *model))


def stand_ins(
    statistics: NoisyStatistics, prior: Prior, ridge: float, scale: float, response: ResponseScale
) -> PlacedObservations:
    """Draw the field once given the pilot; every record, of as many as it shows, gets its own scatter.

    Means in the place of draws would be smoother and surer than any real data: a search on them promises
    agreements that no release reaches.
    """
    records, entropy = (
        reference_records(statistics, prior, ridge, scale),
        SimulationEntropy(SIMULATION_SEED + 1),
    )
    field = noise_aware_posterior(statistics, prior, ridge, scale).draw(scale, 1, entropy)[0]
    cells = np.repeat(records.index, records.count)
    value = response.value(field[cells] + ridge * scale * entropy.normal(cells.size))
    return PlacedObservations(cells, np.asarray(value), int(cells.size), 0)


def left_for_release(total: float, pilot: Pilot | None) -> float:
    """About the epsilon left for a release after a pilot: costs of Gaussian-like releases add in squares."""
    return total if pilot is None else math.sqrt(total**2 - pilot.epsilon**2)


def cost_beside_pilot(design: Design, facts: PublicFacts, pilot: Pilot, delta: float) -> float:
    """Epsilon at `delta` of pilot and release together, an upper bound."""
    return epsilon(with_pilot(mechanism_of(design).guarantee(design, facts).cost, pilot), delta).epsilon


def with_pilot(cost: Cost, pilot: Pilot | None) -> Cost:
    """What a release costs together with the pilot that chose its design, for what both of them hide."""
    return cost if pilot is None else together((cost, pilot.cost))


def beside_pilot(project: Project, proposal: Scored, pilot: Pilot) -> Scored:
    """Return the design with the least noise at which pilot and release together cost at most epsilon.

    Its utility stays that of the search, whose noise differed by the little that composition leaves. Bisect
    on the release's own epsilon; the total is a proved bound. `WorkflowError` if the pilot leaves too little.
    """
    settings, facts = project.settings, public_facts(project)
    mechanism = mechanism_of(proposal.design)
    low, high, best = 0.0, SLACK * settings.epsilon, None
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        budget = Budget(middle, project.delta, settings.bound)
        design = mechanism.calibrate(proposal.design, facts, budget)
        if design is None:
            low = middle
            continue
        total = cost_beside_pilot(design, facts, pilot, project.delta)
        if total <= settings.epsilon:
            low, best = middle, replace(proposal, design=design, epsilon=total)
        else:
            high = middle
    if best is None:
        raise WorkflowError(
            "What was paid for beforehand leaves too little for a release: lower its share or raise epsilon."
        )
    return best
