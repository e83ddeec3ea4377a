"""The release transaction: plan, reserve, draw once, store, commit."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dpgp_core.accounting.composition import Neighbours
from dpgp_core.accounting.composition import epsilon as composed_epsilon
from dpgp_core.accounting.guarantee import group_epsilon, priced_for
from dpgp_core.accounting.rdp import ORDERS
from dpgp_core.mechanisms.base import Reading
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SystemEntropy, random_name
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import Prepared, PublicFacts, Released, draw_release
from geo import geometry_dict
from hexcursion.bundle.statement.receipt import AT_EDGE, BudgetLine, build_receipt
from hexcursion.bundle.workplace import rehearse_writing
from hexcursion.bundle.write import bundle_contents, targets
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Budget, Charge, Ledger, Preview, Reservation
from hexcursion.ledger.places import home
from hexcursion.ledger.sentences import account_lines
from hexcursion.project.model import Project, area_facts, record_keys
from hexcursion.project.public_numbers import Covariates
from hexcursion.project.records import bin_records
from hexcursion.record import GROUPS, PrivacyFacts, ReceiptLine, Release
from hexcursion.releasing.once import (
    prepare_draw,
    read_release,
    release_once,
    told_that_it_stands,
    try_draw,
    working_beside,
)
from hexcursion.releasing.release_guard import stop_or_state
from hexcursion.search.choice import Choice
from hexcursion.search.pilot import fingerprint, with_pilot
from hexcursion.search.scenes import protects
from hexcursion.words import named

UNWRITTEN = f"0:{'0' * 64}:{'0' * 16}"  # stands for the ledger entry while a bundle is rehearsed


@dataclass(frozen=True, repr=False)
class Plan:
    """A release as it would be: its facts, its charge and its receipt. Nothing is drawn, nothing charged."""

    project: Project
    choice: Choice
    facts: PublicFacts  # with whatever was made of them, which publishing uses again
    records: CollapsedRecords  # private (curator only)
    prepared: Prepared  # the draw, ready: everything that can fail before it has been tried
    privacy: PrivacyFacts
    charge: Charge
    preview: Preview  # what the ledger says of the charge now
    receipt: tuple[ReceiptLine, ...]


@dataclass(frozen=True)
class Published:
    """A release that was charged, drawn, stored and committed."""

    release: Release
    folder: Path
    archive: Path


def plan_release(project: Project, choice: Choice, ledger: Ledger) -> Plan:
    """Plan everything that the curator should read before the button.

    Raise `LowAgreement` for a map expected to be poor that the settings do not accept, `BoundRefused` for a
    bound not proved for the design, `WorkflowError` for a delta not agreed to, no finite epsilon, or no
    possible draw.
    """
    settings, design = project.settings, choice.design
    level = choice.level(settings.threshold)
    worth = stop_or_state(*choice.judged, settings.accept_low_agreement, level)
    mean, wide = (None, None) if choice.public_map is None else (choice.public_map.mean, project.response)
    records = bin_records(project.private.placed, choice.response, settings.unit, mean, wide)
    project.refuse_large_delta()
    mechanism, facts = mechanism_of(design), choice.facts(project)
    mechanism.refuse_unprotected(facts)  # whatever a package has made of its `guarantee`
    proved = mechanism.guarantee(design, facts)
    own = priced_for(proved.cost, facts.neighbours)
    cost = with_pilot(own, project.pilot)
    bound = composed_epsilon(cost, project.delta)
    by_curve = cost.curve.epsilon(project.delta)
    if not np.isfinite(bound.epsilon):
        raise WorkflowError(
            f"No finite epsilon is proved for this design at delta {project.delta:g}: choose a larger delta, "
            "or a design with more noise."
        )
    privacy = PrivacyFacts(
        epsilon=bound.epsilon, delta=project.delta, order=by_curve.order if bound.method == "renyi" else None,
        unit=settings.unit, unit_word=settings.unit_word, n=facts.n, bound=proved.bound,
        bound_source=proved.source, proved=proved.proved, rdp_orders=tuple(float(order) for order in ORDERS),
        rdp_values=tuple(float(value) for value in cost.curve.values),
        group=tuple((q, group_epsilon(cost, q, project.delta).epsilon, project.delta) for q in GROUPS),
        gaussian_mu=cost.gaussian_mu, cost=cost, owner=facts.owner,
        owner_word=project.private.observations.owner_word if facts.owner else None,
        each_row=settings.unit == "point" and settings.data.equal_rows == "each",
    )  # fmt: skip
    charge = Charge(
        dataset=fingerprint(project, ledger),
        unit=settings.unit,
        cost=own,
        facts={
            "title": _title(project),
            "file": Path(settings.data.path).name,  # the ledger is the curator's own
            "mechanism": design.mechanism,
            "bound": proved.bound,
            "epsilon": bound.epsilon,
            "delta": project.delta,
            "n": facts.n,
            "tuning": choice.tuning.kind,
            **area_facts(project),
        },
        records=record_keys(project, ledger),
        accepts_weaker=settings.accept_weaker_promise,
        same_as=project.same_as,
    )
    preview = ledger.preview(charge, project.delta)
    receipt = (*_receipt(project, choice, privacy, preview), *worth)
    if preview.standing is not None:
        lines = account_lines(
            preview.standing,
            settings.unit_word,
            settings.relation,
            values_only=facts.neighbours == "values-only",
            owner=privacy.owner_word,
        )
        receipt += tuple(ReceiptLine(line.topic, line.text, line.warning) for line in lines)
    if bound.method == "renyi" and by_curve.at_edge:
        receipt += (ReceiptLine("Orders", AT_EDGE),)
    prepared = prepare_draw(design, facts, records)
    return Plan(project, choice, facts, records, prepared, privacy, charge, preview, receipt)


def publish(plan: Plan, ledger: Ledger, folder: Path | None = None, session: str = "") -> Published:
    """Try everything, reserve, draw once from operating-system entropy, stage, commit, put in place.

    A dataset without a budget gets this release's epsilon as its budget. What can fail is tried before the
    charge, so a bundle is made twice, picture and all: a font, a title or a limit of size may stop any of its
    files. A `session` releases the same plan once, however often it asks; without one every call is its own.

    Raise `BundleError`, `WorkflowError`, `NoBudget`, `BudgetExceeded`, `RequestTaken`, and `LedgerError` for
    a larger budget without a reason, before any charge; `Unreleased`, naming the charge's entry, after it.
    """
    ledger.check_charge(plan.charge, named_budget(plan))
    release_id = random_name()
    target = folder if folder is not None else home() / "releases" / release_id
    targets(target)
    with ExitStack() as told, working_beside(target, ledger) as work:
        facts, records = plan.facts, plan.records
        trial = try_draw(plan.prepared)
        tried = read_release(plan.choice.design, facts, records, trial, trial=True)
        rehearsed = _release(plan, release_id, trial, tried, UNWRITTEN)
        rehearse_writing(bundle_contents(rehearsed, facts), target, work.folder)
        if (budget := named_budget(plan)) is not None:
            ledger.set_budget(plan.charge.dataset, plan.charge.unit, budget.epsilon, budget.delta)

        def draw(reservation: Reservation) -> Release:
            released = draw_release(plan.prepared, SystemEntropy())
            reading = read_release(plan.choice.design, facts, records, released)
            return _release(plan, release_id, released, reading, reservation.seal)

        request = ledger.request(_wish(plan), session or random_name())
        release, written = release_once(
            ledger, plan.charge, request, release_id, draw, target, work.folder, facts
        )
        told.enter_context(told_that_it_stands(release_id, target))
    return Published(release, written.directory, written.zip)


def named_budget(plan: Plan) -> Budget | None:
    """The budget that is set with a release; None where one stands and no other is named."""
    if plan.project.settings.budget is None and plan.preview.budget is not None:
        return None
    return Budget(_first_budget(plan.project, plan.preview), plan.project.delta)


def _wish(plan: Plan) -> str:
    """Everything public that makes this plan this plan, as one text."""
    settings = plan.project.settings
    return json.dumps(
        {
            "dataset": plan.charge.dataset,
            "unit": plan.charge.unit,
            "facts": dict(plan.charge.facts),
            "curve": [value.hex() for value in plan.privacy.rdp_values],
            "design": repr(plan.choice.design),
            "threshold": settings.threshold,
            "direction": settings.direction,
            "response": repr(plan.choice.response),
        },
        sort_keys=True,
    )


def _release(plan: Plan, release_id: str, released: Released, reading: Reading | None, seal: str) -> Release:
    project, choice = plan.project, plan.choice
    settings = project.settings
    mean = None if choice.public_map is None else choice.public_map.mean
    shifted = released.shifted(mean)
    read = None if reading is None else reading.shifted(mean)
    field = shifted if read is None else read
    level = float(choice.response.forward(settings.threshold))
    return Release(
        release_id=release_id, created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        title=_title(project), cells=tuple(project.domain.cells), resolution=project.domain.resolution,
        region=geometry_dict(project.domain.region), response=choice.response, value_name=project.value_name,
        value_unit=_unit(project), threshold=settings.threshold, direction=settings.direction,
        design=choice.design.settled(shifted, level, settings.direction), privacy=plan.privacy,
        tuning=choice.tuning, paths=shifted.paths, mean=field.mean, sd=field.sd,
        draws=None if read is None else read.draws, shown_map=shifted.shown_map,
        map_draws=shifted.map_draws, cut_by_map=shifted.map_mean is not None,
        records=None if field.mean is None or project.exposure is not None else shifted.records,
        sums=released.sums, model_check=released.model_check, relation=settings.relation,
        protects=protects(project), expected=choice.expected, receipt=plan.receipt,
        attribution=project.attribution,
        notes=project.notes,
        trip=project.trip, generated=project.generated, prior_mean=mean, relative=project.relative,
        covariates=_read_covariates(project, choice), answers=project.answers, exposure=project.exposure,
        domain_origin=project.domain.origin, ledger_entry=seal, stated=settings.stated, scope=settings.scope,
        layers=project.layers,
    )  # fmt: skip


def _receipt(
    project: Project, choice: Choice, privacy: PrivacyFacts, preview: Preview
) -> tuple[ReceiptLine, ...]:
    standing = None if project.settings.budget is not None else preview.budget
    budget = _first_budget(project, preview) if standing is None else standing.epsilon
    made = build_receipt(
        privacy, choice.design, choice.response, choice.tuning, cells=project.domain.size,
        resolution=project.domain.resolution, domain_origin=project.domain.origin, value_unit=_unit(project),
        ledger=BudgetLine(
            preview.before, preview.after, budget,
            None if preview.delta == privacy.delta else preview.delta, _differing(preview, privacy),
        ),
        prior_mean_origin=None if choice.public_map is None else choice.public_map.origin,
        generated=project.generated, relation=project.settings.relation, protects=protects(project),
    )  # fmt: skip
    relative, covariates = project.relative, _read_covariates(project, choice)
    if covariates is not None:
        made = (*made, ReceiptLine("Covariates", covariates.sentence))
    return made if relative is None else (*made, ReceiptLine("Question", relative.sentence))


def _read_covariates(project: Project, choice: Choice) -> Covariates | None:
    """The public columns that the design reads."""
    return project.covariates if getattr(choice.design, "covariates", 0.0) else None


def _differing(preview: Preview, privacy: PrivacyFacts) -> Neighbours | None:
    """What all releases of the records hide together, where this one promises more; else None."""
    own = None if privacy.cost is None else privacy.cost.neighbours
    return None if own == preview.neighbours else preview.neighbours


def _first_budget(project: Project, preview: Preview) -> float:
    """The budget that is named, else what this release costs, or may cost where its delta covers it all."""
    named = project.settings.budget
    return float(named if named is not None else preview.asked or project.settings.epsilon)


def _title(project: Project) -> str:
    settings = project.settings
    if settings.title:
        return settings.title
    scope = {"population": settings.scope.population, "period": settings.scope.period}
    answers = {} if project.answers is None else {"answers": project.answers.block()}
    counts = {} if project.exposure is None else {"counts": project.exposure.block()}
    return named(
        {
            "value": project.value_name,
            "unit": _unit(project),
            "threshold": settings.threshold,
            "direction": settings.direction,
            "scope": scope,
            **answers,
            **counts,
        }
    )


def _unit(project: Project) -> str:
    return project.unit
