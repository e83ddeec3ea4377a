"""Releasing from a screen: the plan to read, the one draw, the comparison for the curator only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion import excursion
from dpgp_core.numbers import significant, upper
from geo.errors import silent
from hexcursion.door.pipeline import Planned, plan_atlas_choice, plan_choice, publish_planned
from hexcursion.errors import Report
from hexcursion.ledger import ledger_to_plan, open_ledger
from hexcursion.ledger.assess import RECOGNISED, login_name
from hexcursion.ledger.sentences import Alike
from hexcursion.project.baseline import Baseline, FieldModel, curators_map
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.releasing.transaction import Plan, Published
from hexcursion.search.tuning import Tuned
from hexcursion.words import remaining
from pages.shared.session.outcome import SearchOutcome
from pages.shared.subprocess_job import in_subprocess

Bools = NDArray[np.bool_]
MANY_HEXAGONS = 1_000  # below, a map is fitted sooner than a process starts


@dataclass(frozen=True)
class BudgetState:
    """A dataset's budget as text, at the release's delta; `total` is None before a budget was set."""

    total: str | None
    before: str
    asked: float
    after: str
    left: str
    fits: bool
    refused: str = ""  # whose budget, or which earlier promise, does not allow for it
    breaks: str = ""  # which earlier promise it breaks, agreed or not

    @property
    def line(self) -> str:
        """Spent and left in one line."""
        if self.total is None:
            return "No budget is set for these data yet."
        return f"Spent ε {self.before} of {self.total}."


def plan(outcome: SearchOutcome) -> Plan:
    """What a release would say and cost; nothing is drawn and nothing charged."""
    return _planned(outcome).plan


def _planned(outcome: SearchOutcome, budget: float | None = None) -> Planned:
    """On a screen the budget is the ledger's, or what the form says: a settings file proposes one at most."""
    with_budget = outcome.restated(budget=budget)
    ledger = ledger_to_plan(with_budget.project.settings.ledger)
    if with_budget.atlas is None:
        return plan_choice(with_budget.project, with_budget.choice, ledger)
    return plan_atlas_choice(*with_budget.atlas, ledger)


def budget_state(planned: Plan) -> BudgetState:
    """What the ledger says about a plan."""
    preview = planned.preview
    budget = preview.budget
    return BudgetState(
        total=None if budget is None else significant(budget.epsilon, 4),
        before=upper(preview.before, 4),
        asked=preview.asked,
        after=upper(preview.after, 4),
        left="–" if preview.left is None else remaining(preview.left),
        fits=preview.fits or (budget is None and not preview.refused),
        refused=preview.refused,
        breaks=preview.breaks,
    )


def release(outcome: SearchOutcome, budget: float | None = None, session: str = "") -> Published:
    """Try, charge, draw once, commit, put in place; `budget` is the dataset's total epsilon, set with its
    first release.

    The same plan is released once in a `session`, a random token: a second click raises `RequestTaken`."""
    planned = _planned(outcome)
    if budget is not None and planned.plan.preview.budget is None:
        planned = _planned(outcome, budget)  # its receipt names the budget
    return publish_planned(replace(planned, session=session))


def count_together(planned: Plan, alike: Alike, person: str) -> None:
    """Note that a curator (`person`, or this process's login name) recognised an earlier release's records in
    these data."""
    ledger = open_ledger(planned.project.settings.ledger, create=False)
    person = person or login_name() or "the curator"
    ledger.decide(planned.charge.dataset, alike.dataset, True, reason=RECOGNISED, person=person)


def released_as(entry: int, ledger: str | None) -> str | None:
    """The release of a ledger entry, or None while it has none."""
    book = open_ledger(ledger)
    for name in book.committed():
        charge = book.charge_of(name)
        if charge is not None and charge.number == entry:
            return name
    return None


def curators_baselines(layers: Sequence[tuple[Project, Tuned]]) -> tuple[Baseline, ...]:
    """Fit the map without privacy of every column, for the curator only; on many hexagons in one
    subprocess."""
    fits = tuple((project, tuned.result.model, tuned.choice.cut) for project, tuned in layers)
    if fits[0][0].domain.size < MANY_HEXAGONS:
        return baselines_apart(silent, fits)
    return in_subprocess(silent, baselines_apart, fits)


def baselines_apart(
    report: Report, fits: Sequence[tuple[Project, FieldModel, ResponseScale | None]]
) -> tuple[Baseline, ...]:
    """`curators_map` of each, for another process."""
    return tuple(curators_map(*arguments) for arguments in fits)


def baseline_at(project: Project, baseline: Baseline, threshold: float) -> Bools:
    """The baseline's set at another threshold, data's unit."""
    return excursion(baseline.mean, float(project.response.forward(threshold)), project.settings.direction)
