"""The release transaction: plan, reserve, draw once, store, commit."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from dpgp_core.accounting.composition import Cost, Neighbours
from dpgp_core.accounting.composition import epsilon as composed_epsilon
from dpgp_core.accounting.guarantee import group_epsilon, priced_for
from dpgp_core.accounting.rdp import ORDERS
from dpgp_core.mechanisms.base import Reading
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SystemEntropy, random_name
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, Ready, Released, draw_release
from geo import geometry_dict
from hexcursion.bundle.statement.designs import values_of
from hexcursion.bundle.statement.guarantee import owner_block
from hexcursion.bundle.statement.receipt import AT_EDGE, BudgetLine, ReceiptFacts, build_receipt
from hexcursion.bundle.workplace import rehearse_writing
from hexcursion.bundle.write import bundle_contents, targets
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Budget, Charge, Ledger, Preview, Reservation
from hexcursion.ledger.places import home
from hexcursion.ledger.sentences import account_lines
from hexcursion.project.model import Project, area_facts, record_keys
from hexcursion.project.public_numbers import Covariates
from hexcursion.project.records import bin_records
from hexcursion.promises import Protected
from hexcursion.record import GROUPS, AnyRelease, PrivacyFacts, ReceiptLine, Release
from hexcursion.releasing.once import (
    Order,
    Stamp,
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
from hexcursion.settings.names import TuningKind
from hexcursion.words import named

UNWRITTEN = f"0:{'0' * 64}:{'0' * 16}"  # the ledger entry in a rehearsed bundle


@dataclass(frozen=True, repr=False)
class Plan:
    """A planned release: its facts, its charge and its receipt, before any draw or charge."""

    project: Project
    choice: Choice
    facts: PublicFacts  # with their cached work, which publishing uses again
    records: CollapsedRecords | None  # private (curator only); None if the draw alone has them
    prepared: Ready[Any]  # the prepared draw: all steps that can fail have run
    privacy: PrivacyFacts
    charge: Charge
    preview: Preview  # the ledger's forecast of the charge
    receipt: tuple[ReceiptLine, ...]

    def released(self, release_id: str, drawn: Any, seal: str, *, trial: bool = False) -> AnyRelease:
        """The release of the draw `drawn`; a `trial` as for `read_release`."""
        assert self.records is not None
        reading = read_release(self.choice.design, self.facts, self.records, drawn, trial=trial)
        return release_of(self, Stamp(release_id, now(), seal), drawn, reading)

    def again(self, ledger: Ledger) -> Plan:
        """The same plan against the present state of the ledger."""
        return plan_release(self.project, self.choice, ledger)

    @property
    def wish(self) -> str:
        """All public facts that identify this plan, as one text."""
        settings = self.project.settings
        return json.dumps(
            {
                "dataset": self.charge.dataset,
                "unit": self.charge.unit,
                "facts": dict(self.charge.facts),
                "curve": [value.hex() for value in self.privacy.rdp_values],
                "design": repr(self.choice.design),
                "threshold": settings.threshold,
                "direction": settings.direction,
                "response": repr(self.choice.response),
            },
            sort_keys=True,
        )


@dataclass(frozen=True)
class Published:
    """A release that was charged, drawn, stored and committed."""

    release: AnyRelease
    folder: Path
    archive: Path


def plan_release(project: Project, choice: Choice, ledger: Ledger) -> Plan:
    """Plan everything that the curator should read before the button.

    Raise `LowAgreement` for a map expected to be poor that the settings do not accept,
    `BoundRefused` for a bound not proved for the design, `RowsDropped` for many rows left out,
    `WorkflowError` for a delta not agreed to, no finite epsilon, or no possible draw.
    """
    settings, design = project.settings, choice.design
    project.refuse_dropped()
    level = choice.level(settings.threshold)
    worth = stop_or_state(*choice.judged, settings.accept_low_agreement, level)
    mean, wide = None, None
    if choice.public_map is not None:
        mean, wide = choice.public_map.mean, project.response
    records = bin_records(project.private.placed, choice.response, settings.unit, mean, wide)
    project.refuse_large_delta()
    facts = choice.facts(project)
    price = priced(project, design, facts)
    charge = charge_of(project, ledger, price, choice.tuning.kind, _title(project))
    preview = ledger.preview(charge, project.delta)
    receipt = receipt_of(project, choice, price, preview, worth)
    prepared = prepare_draw(design, facts, records)
    return Plan(project, choice, facts, records, prepared, price.privacy, charge, preview, receipt)


@dataclass(frozen=True)
class Price:
    """The proved cost of a design under public facts."""

    design: Design
    neighbours: Neighbours
    own: Cost  # of the release without a pilot
    privacy: PrivacyFacts
    at_edge: bool  # whether the best Renyi order is the first or last of the public grid


def priced(project: Project, design: Design, facts: PublicFacts) -> Price:
    """Prove the cost of a design; raise `WorkflowError` for no finite epsilon, or for facts that it
    does not protect."""
    settings, mechanism = project.settings, mechanism_of(design)
    mechanism.refuse_unprotected(facts)  # also for a `guarantee` that a package replaced
    proved = mechanism.guarantee(design, facts)
    release_cost = priced_for(proved.cost, facts.neighbours)
    cost = with_pilot(release_cost, project.pilot)
    bound = composed_epsilon(cost, project.delta)
    by_curve = cost.curve.epsilon(project.delta)
    if not np.isfinite(bound.epsilon):
        raise WorkflowError(
            f"No finite epsilon is proved for this design at delta {project.delta:g}: choose a larger delta, "
            "or a design with more noise."
        )
    privacy = PrivacyFacts(
        epsilon=bound.epsilon,
        delta=project.delta,
        order=by_curve.order if bound.method == "renyi" else None,
        unit=settings.unit,
        unit_word=settings.unit_word,
        n=facts.n,
        bound=proved.bound,
        bound_source=proved.source,
        proved=proved.proved,
        rdp_orders=tuple(float(order) for order in ORDERS),
        rdp_values=tuple(float(value) for value in cost.curve.values),
        group=tuple((q, group_epsilon(cost, q, project.delta).epsilon, project.delta) for q in GROUPS),
        gaussian_mu=cost.gaussian_mu,
        cost=cost,
        owner=facts.owner,
        owner_word=project.private.observations.owner_word if facts.owner else None,
        each_row=settings.unit == "point" and settings.data.equal_rows == "each",
    )
    at_edge = bound.method == "renyi" and by_curve.at_edge
    return Price(design, facts.neighbours, release_cost, privacy, at_edge)


def charge_of(project: Project, ledger: Ledger, price: Price, kind: TuningKind, title: str) -> Charge:
    """The one charge of a release, by the project's records; `kind` is the choice of its design."""
    settings, privacy = project.settings, price.privacy
    return Charge(
        dataset=fingerprint(project, ledger),
        unit=settings.unit,
        cost=price.own,
        facts={
            "title": title,
            "file": Path(settings.data.path).name,  # the ledger is private to the curator
            "mechanism": price.design.mechanism,
            "bound": privacy.bound,
            "epsilon": privacy.epsilon,
            "delta": project.delta,
            "n": privacy.n,
            "tuning": kind,
            **area_facts(project),
        },
        records=record_keys(project, ledger),
        accepts_weaker=settings.accept_weaker_promise,
        same_as=project.same_as,
    )


def receipt_of(
    project: Project,
    choice: Choice,
    price: Price,
    preview: Preview,
    worth: tuple[ReceiptLine, ...],
) -> tuple[ReceiptLine, ...]:
    """All lines of a receipt; `worth` are those about a poor map."""
    privacy = price.privacy
    receipt = (*_receipt(project, choice, privacy, preview), *worth)
    if preview.standing is not None:
        protected = Protected(
            project.settings.unit_word,
            preview.standing.unit,
            project.settings.relation,
            "values" if price.neighbours == "values-only" else "values and places",
            values_of(choice.design),
            owner_block(privacy),
        )
        lines = account_lines(preview.standing, protected)
        receipt += tuple(ReceiptLine(line.topic, line.text, line.warning) for line in lines)
    return (*receipt, ReceiptLine("Orders", AT_EDGE)) if price.at_edge else receipt


def publish(plan: Plan, ledger: Ledger, folder: Path | None = None, session: str = "") -> Published:
    """Try everything, reserve, draw once from operating-system entropy, stage, commit, put in
    place.

    A dataset without a budget gets this release's epsilon as its budget. All steps that can fail
    are tried before the charge, so a bundle is made twice, with its picture: a font, a title or a
    limit of size may stop any of its files. A `session` releases the same plan only once; without a
    session every call is a new release.

    Raise `BundleError`, `WorkflowError`, `NoBudget`, `BudgetExceeded`, `RequestTaken`, and
    `LedgerError` for a larger budget without a reason, before any charge; `Unreleased`, naming the
    charge's entry, after it.
    """
    ledger.check_charge(plan.charge, named_budget(plan))
    release_id = random_name()
    target = folder if folder is not None else home() / "releases" / release_id
    targets(target)
    with ExitStack() as notes, working_beside(target, ledger) as work:
        rehearsed = plan.released(release_id, try_draw(plan.prepared), UNWRITTEN, trial=True)
        rehearse_writing(bundle_contents(rehearsed, plan.facts), target, work.folder)
        if (budget := named_budget(plan)) is not None:
            ledger.set_budget(plan.charge.dataset, plan.charge.unit, budget.epsilon, budget.delta)

        def draw(reservation: Reservation) -> AnyRelease:
            return plan.released(release_id, draw_release(plan.prepared, SystemEntropy()), reservation.seal)

        request = ledger.request(plan.wish, session or random_name())
        order = Order(plan.charge, request, release_id, target)
        release, paths = release_once(ledger, order, draw, work.folder, plan.facts)
        notes.enter_context(told_that_it_stands(release_id, target))
    return Published(release, paths.directory, paths.zip)


def named_budget(plan: Plan) -> Budget | None:
    """The budget that a release sets; None if there is one and the settings name no other."""
    if plan.project.settings.budget is None and plan.preview.budget is not None:
        return None
    return Budget(_first_budget(plan.project, plan.preview), plan.project.delta)


def now() -> str:
    """The date and time of a release, as its statement says them."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def release_of(plan: Plan, stamp: Stamp, released: Released, reading: Reading | None) -> Release:
    """The release of one drawn column, with all facts that its bundle states."""
    project, choice, settings = plan.project, plan.choice, plan.project.settings
    mean = None if choice.public_map is None else choice.public_map.mean
    shifted = released.shifted(mean)
    read = None if reading is None else reading.shifted(mean)
    field = shifted if read is None else read
    level = float(choice.response.forward(settings.threshold))
    release = Release(
        release_id=stamp.release_id,
        created=stamp.created,
        title=_title(project),
        cells=tuple(project.domain.cells),
        resolution=project.domain.resolution,
        region=geometry_dict(project.domain.region),
        response=choice.response,
        value_name=project.value_name,
        value_unit=project.unit,
        threshold=settings.threshold,
        direction=settings.direction,
        design=choice.design.settled(shifted, level, settings.direction),
        privacy=plan.privacy,
        tuning=choice.tuning,
        paths=shifted.paths,
        mean=field.mean,
        sd=field.sd,
        draws=None if read is None else read.draws,
        shown_map=shifted.shown_map,
        map_draws=shifted.map_draws,
        cut_by_map=shifted.map_mean is not None,
        records=None if field.mean is None or project.exposure is not None else shifted.records,
        sums=released.sums,
        model_check=released.model_check,
        expected=choice.expected,
        receipt=plan.receipt,
        prior_mean=mean,
        covariates=_read_covariates(project, choice),
        ledger_entry=stamp.seal,
    )
    return _with_public_facts(release, project)


def _with_public_facts(release: Release, project: Project) -> Release:
    """Add to a release what its settings and its public data say of it, whatever was drawn."""
    return replace(
        release,
        relation=project.settings.relation,
        protects=protects(project),
        attribution=project.attribution,
        notes=project.notes,
        trip=project.trip,
        generated=project.generated,
        relative=project.relative,
        answers=project.answers,
        exposure=project.exposure,
        domain_origin=project.domain.origin,
        stated=project.settings.stated,
        scope=project.settings.scope,
        layers=project.layers,
    )


def _receipt(
    project: Project, choice: Choice, privacy: PrivacyFacts, preview: Preview
) -> tuple[ReceiptLine, ...]:
    standing = None if project.settings.budget is not None else preview.budget
    budget = _first_budget(project, preview) if standing is None else standing.epsilon
    at_delta = None if preview.delta == privacy.delta else preview.delta
    lines = build_receipt(
        ReceiptFacts(
            privacy,
            choice.design,
            choice.response,
            choice.tuning,
            cells=project.domain.size,
            resolution=project.domain.resolution,
            domain_origin=project.domain.origin,
            value_unit=project.unit,
            ledger=BudgetLine(preview.before, preview.after, budget, at_delta, _differing(preview, privacy)),
            prior_mean_origin=None if choice.public_map is None else choice.public_map.origin,
            generated=project.generated,
            relation=project.settings.relation,
            protects=protects(project),
        )
    )
    relative, covariates = project.relative, _read_covariates(project, choice)
    if covariates is not None:
        lines = (*lines, ReceiptLine("Covariates", covariates.sentence))
    return lines if relative is None else (*lines, ReceiptLine("Question", relative.sentence))


def _read_covariates(project: Project, choice: Choice) -> Covariates | None:
    """The public columns that the design reads."""
    return project.covariates if getattr(choice.design, "covariates", 0.0) else None


def _differing(preview: Preview, privacy: PrivacyFacts) -> Neighbours | None:
    """Neighbours of all releases of the records together, if they differ from this release's."""
    neighbours = None if privacy.cost is None else privacy.cost.neighbours
    return None if neighbours == preview.neighbours else preview.neighbours


def _first_budget(project: Project, preview: Preview) -> float:
    """The budget of the settings, else the epsilon of this release, else the epsilon of the
    settings (for a release that delta alone covers)."""
    budget = project.settings.budget
    return float(budget if budget is not None else preview.asked or project.settings.epsilon)


def _title(project: Project) -> str:
    settings = project.settings
    if settings.title:
        return settings.title
    scope = {"population": settings.scope.population, "period": settings.scope.period}
    answers = {} if project.answers is None else {"answers": project.answers.block()}
    counts = {} if project.exposure is None else {"counts": project.exposure.block()}
    facts = {"value": project.value_name, "unit": project.unit, "threshold": settings.threshold}
    return named({**facts, "direction": settings.direction, "scope": scope, **answers, **counts})
