"""Releasing from a screen: the plan to read, the one draw, the comparison for the curator only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workflow.baseline import Agreement, Baseline, compare, fit_baseline
from workflow.ledger import open_ledger
from workflow.project import Project
from workflow.release import Plan, Published, plan_release, publish
from workflow.tuning import Choice, Tuned, stated
from workflow.words import significant, upper

Bools = NDArray[np.bool_]
DUST = 1e-6  # what is left of a budget below this is rounding, and no release could use it


@dataclass(frozen=True)
class BudgetState:
    """A dataset's budget as text, at the release's delta; `total` is None before a budget was set."""

    total: str | None
    before: str
    asked: float
    after: str
    left: str
    fits: bool

    @property
    def line(self) -> str:
        """Spent and left in one line."""
        if self.total is None:
            return "No budget is set for these data yet."
        return f"Spent ε {self.before} of {self.total}."


def plan(project: Project, choice: Choice) -> Plan:
    """What a release would say and cost; nothing is drawn and nothing charged."""
    return plan_release(project, stated(project, choice), open_ledger(project.settings.ledger))


def budget_state(planned: Plan) -> BudgetState:
    """What the ledger says about a plan."""
    preview = planned.preview
    budget = preview.budget
    return BudgetState(
        total=None if budget is None else significant(budget.epsilon, 4),
        before=upper(preview.before, 4),
        asked=preview.asked,
        after=upper(preview.after, 4),
        left="–" if preview.left is None else significant(math.floor(preview.left / DUST) * DUST, 4),
        fits=budget is None or preview.fits,
    )


def release(project: Project, choice: Choice, budget: float | None = None) -> Published:
    """The transaction: charge, draw once, store, commit.

    `budget` is the dataset's total epsilon, set with its first release; None leaves what stands.
    """
    ledger, choice = open_ledger(project.settings.ledger), stated(project, choice)
    planned = plan_release(project, choice, ledger)
    if budget is not None and planned.preview.budget is None:
        charge = planned.charge
        ledger.set_budget(charge.dataset, charge.unit, budget, planned.privacy.delta)
        planned = plan_release(project, choice, ledger)  # its receipt now names the budget
    return publish(planned, ledger)


def curators_baseline(project: Project, tuned: Tuned) -> Baseline:
    """The map without privacy, of the private data, for the curator's eyes only."""
    return fit_baseline(project, tuned.result.unconstrained.design)


def baseline_at(project: Project, baseline: Baseline, threshold: float) -> Bools:
    """The baseline's set at another threshold, data's unit."""
    level = float(project.response.forward(threshold))
    side = baseline.mean > level
    return side if project.settings.direction == "above" else ~side


def agreement(released: Bools, baseline: Bools) -> Agreement:
    """IoU and the cells falsely in and out; for the curator only."""
    return compare(released, baseline)
