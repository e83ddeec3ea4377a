"""A private choice of the field's range: among the values at public places, paid for before the search."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np

from dpgp_core.label_plan import PublicPlaces
from dpgp_core.mechanisms.grids import FieldModel, RangeChoice
from dpgp_core.noise import SimulationEntropy, SystemEntropy, random_name
from dpgp_core.numbers import significant
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.private_choice import choice_cost
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Charge, Ledger
from hexcursion.ledger.unreleased import charge_stands
from hexcursion.project.model import Pilot, Project, area_facts, record_keys
from hexcursion.project.records import bin_records
from hexcursion.project.simulated import SIMULATION_SEED, simulate_reference
from hexcursion.search.looks.pilot import LOOSE, fingerprint
from hexcursion.search.problem.facts import private_n, public_facts

BLUNTEST = 0.05
"""Largest difference of mean squared errors, response units, that the odds of a choice may need."""


def run_range_choice(project: Project, ledger: Ledger, session: str = "", *, insist: bool = False) -> Project:
    """Pay for a choice of range and scatter once, and simulate the reference data with what was chosen.

    The share `settings.range_choice` of epsilon is spent on one exponential mechanism over public candidates,
    by their cross-validated squared errors (docs/public-places.md), charged to the ledger before it is drawn.
    The search afterwards is post-processing and free. Session, `insist` and errors (`WorkflowError` and
    others) are those of `run_pilot`.
    """
    settings = project.settings
    if settings.range_choice is None:
        raise WorkflowError("No range is to be chosen: set `range_choice`.")
    if project.pilot is not None:
        raise WorkflowError("A range was chosen and paid for already.")
    project.refuse_large_delta()
    epsilon = settings.range_choice * settings.epsilon
    records = bin_records(project.private.placed, project.response, settings.unit).records
    choice = planned_choice(project, records)
    if not insist and (warning := _warning(choice, records.n, epsilon)):
        raise WorkflowError(warning)
    charge = Charge(
        dataset=fingerprint(project, ledger),
        unit=settings.unit,
        cost=choice_cost(epsilon),
        facts={"title": "Private choice of the range", "mechanism": "exponential-mechanism",
               "epsilon": epsilon, "delta": project.delta, "n": records.n, **area_facts(project)},
        records=record_keys(project, ledger),
        accepts_weaker=settings.accept_weaker_promise,
        same_as=project.same_as,
    )  # fmt: skip
    # What cannot be drawn or simulated fails here, on public values: nothing of the records enters.
    blank = CollapsedRecords(records.index, records.count, np.zeros(records.index.size))
    trial, _ = choice.draw(blank, epsilon, SimulationEntropy(SIMULATION_SEED), simulation=True)
    simulate_reference(settings, project.lattice, project.response, records.n, model=trial)
    if ledger.preview(charge, project.delta).budget is None:
        budget = settings.budget or settings.epsilon
        ledger.set_budget(charge.dataset, charge.unit, budget, project.delta)
    facts = json.dumps(dict(charge.facts), sort_keys=True)
    request = ledger.request("range choice", charge.dataset, charge.unit, facts, session or random_name())
    with charge_stands(ledger, charge, request) as reservation:
        reservation.begin_draw()
        model, _ = choice.draw(records, epsilon, SystemEntropy())
        digest = hashlib.sha256(repr(model).encode()).hexdigest()
        reservation.commit(f"range-{random_name()}", digest)
    return with_model(project, model, Pilot(charge.cost, epsilon, reservation.seal, model))


def with_model(project: Project, model: FieldModel, paid: Pilot) -> Project:
    """The project with reference data simulated from a chosen model."""
    known = project.private.placed.index
    reference = simulate_reference(
        project.settings, project.lattice, project.response, private_n(project), known, model=model
    )
    return replace(project, reference=reference, reference_kind="private selection", pilot=paid)


def choice_warning(project: Project) -> str:
    """Why a choice at this share would be next to chance, or "": before it is paid, from public facts."""
    settings = project.settings
    if settings.range_choice is None:
        return ""
    records = bin_records(project.private.placed, project.response, settings.unit).records
    return _warning(planned_choice(project, records), records.n, settings.range_choice * settings.epsilon)


def planned_choice(project: Project, records: CollapsedRecords) -> RangeChoice:
    """Choose candidates and folds by the records' public places alone.

    Raise `WorkflowError` if there is no range.
    """
    facts = public_facts(project)

    def made(lengthscale: float) -> PublicPlaces:
        return PublicPlaces(facts.prior(project.priors[0], lengthscale), records.index, records.count)

    try:
        return RangeChoice.plan(project.lattice, records, made)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise WorkflowError(f"No range can be chosen ({error}): nothing was charged.") from error


def _warning(choice: RangeChoice, n: int, epsilon: float) -> str:
    blunt = choice.sharpness(n, epsilon)
    if blunt <= BLUNTEST:
        return ""
    return (
        f"This choice would be next to chance: two ranges must differ by {significant(blunt, 2)} in the mean "
        f"squared error of a value within its clip bounds of -1 and 1 before the odds change much ({LOOSE}). "
        "Nothing was charged: raise `range_choice` or epsilon, or tune on simulated fields, which is free."
    )
