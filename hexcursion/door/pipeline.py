"""The pipeline of a release, from settings to a bundle, for command line, screens and programs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from dpgp_core.mechanisms.grids import FRONTIER_EPSILONS
from dpgp_core.numbers import lower, upper
from hexcursion.bundle.published.earlier import load_with_earlier
from hexcursion.comparing.run import Comparison, comparable, compare_mechanisms
from hexcursion.errors import Report, WorkflowError
from hexcursion.estimates.forecasts import (
    expected_of,
    expected_reading,
    expected_release,
    refuse_what_cannot_fit,
)
from hexcursion.ledger import Ledger, begin, ledger_to_plan
from hexcursion.project.model import HeldTable, Project
from hexcursion.record import ReceiptLine
from hexcursion.releasing.transaction import Plan, Published, named_budget, plan_release, publish
from hexcursion.search.bench import smallest_epsilon
from hexcursion.search.choice import Choice, given_choice, stated
from hexcursion.search.executors import make_executor
from hexcursion.search.pilot import run_pilot
from hexcursion.search.results import settle_on
from hexcursion.search.shared import read_shared_design, shared_choice, with_shared_scale
from hexcursion.search.tuning import Tuned, tune
from hexcursion.settings import ReleaseSettings
from hexcursion.settings.names import ExecutorName


class Listener:
    """What a caller is told while a release is planned; nothing is done with it unless a subclass does."""

    def loaded(self, project: Project) -> None:
        """The data are loaded; what `project.private` says of them is for the curator alone."""

    def note(self, line: str) -> None:
        """A sentence from public facts: how long a step will take, what is unusual about the area."""

    def progress(self, fraction: float, text: str) -> None:
        """How far the search is; may raise to cancel."""

    def searched(self, tuned: Tuned) -> None:
        """The search is done."""

    def solved(self, sentence: str) -> None:
        """The smallest epsilon for a wanted agreement is found."""


@dataclass(frozen=True, eq=False, repr=False)
class Planned:
    """A release as it would be, with the ledger that was asked. Nothing is drawn, nothing charged for it."""

    plan: Plan  # curator only: it holds the private records
    ledger: Ledger  # what was asked; it may not be begun yet
    tuned: Tuned | None = None  # the search that found the design; None for one that was given
    # who asks: the same plan is released once in a session; without one every call is another request
    session: str = ""

    def __repr__(self) -> str:
        """Public facts alone: a notebook shows it, and a notebook is passed on."""
        facts = self.plan.choice.design.mechanism, self.plan.project.domain.size
        return f"<Planned release by {facts[0]} on {facts[1]:,} hexagons, epsilon {upper(self.epsilon, 4)}>"

    @property
    def epsilon(self) -> float:
        """What the release costs at `delta`: a proved upper bound."""
        return self.plan.privacy.epsilon

    @property
    def delta(self) -> float:
        """The delta at which `epsilon` is stated."""
        return self.plan.privacy.delta

    @property
    def receipt(self) -> tuple[ReceiptLine, ...]:
        """What will be published about the release, line by line."""
        return self.plan.receipt

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a curator should know before releasing, from the search alone."""
        return () if self.tuned is None else self.tuned.remarks()

    def check(self) -> None:
        """Ask the ledger; raise `BudgetExceeded` or `NoBudget` if it would not accept the charge now."""
        self.ledger.check_charge(self.plan.charge, named_budget(self.plan))


def plan_settings(
    settings: ReleaseSettings,
    place: str | Path | None = None,
    listener: Listener | None = None,
    *,
    tables: Mapping[str, HeldTable] | None = None,
    wanted: float | None = None,
    same_as: Sequence[int] = (),
    pay: bool = False,
) -> Planned:
    """Load, search on reference data, and plan: everything before the button.

    `place` is the ledger, as for `open_ledger`; `listener` hears how far it is; `tables` are those in memory,
    by the `path` that the settings give them; `wanted` is an agreement (IoU, 0 to 1) on reference data, for
    which the smallest epsilon, at most the settings', is planned; `same_as` are ledger entries whose data
    hold the same records in other words; `pay`: whether a look at the records that the settings ask for is
    charged and drawn. Raise `WorkflowError`, `DataError` or `GeoError`, one sentence, for what stops the
    release, `Unreleased` where a paid look broke off after its charge.
    """
    listener = listener or Listener()
    _refuse_looks(settings, wanted, pay)
    if (reading := expected_reading(settings.data)) is not None:
        listener.note(reading)
    shared = None
    if settings.shared_design is not None:
        shared = read_shared_design(settings.shared_design)
        settings = with_shared_scale(settings, shared)
    project = load_with_earlier(settings, tables=tables)
    listener.loaded(project)
    project.refuse_large_delta()
    searching = settings.lengthscale is None and shared is None
    if searching:
        processes = (os.cpu_count() or 1) if settings.executor == "processes" else 1
        refuse_what_cannot_fit(project, processes)
        listener.note(expected_of(project, processes, alone=wanted is None))
    elif (text := expected_release(project)) is not None:
        listener.note(text)
    ledger = ledger_to_plan(place)
    project = replace(project, same_as=ledger.datasets_of(same_as))
    if settings.pilot is not None:
        ledger = begin(ledger)
        project = run_pilot(project, ledger)
    tuned = None
    if searching:
        beside = () if wanted is None else FRONTIER_EPSILONS  # a frontier is where a solver begins
        tuned = search_design(project, listener.progress, settings.executor, beside=beside)
        listener.searched(tuned)
    if shared is not None:
        choice = shared_choice(project, shared)
    else:
        choice = given_choice(project) if tuned is None else tuned.choice
    if wanted is not None:
        project, choice = _at_wanted_iou(project, tuned, wanted, listener)
    return plan_choice(project, choice, ledger, tuned)


def search_design(
    project: Project,
    report: Report | None = None,
    executor: ExecutorName = "serial",
    processes: int | None = None,
    *,
    beside: tuple[float, ...] = FRONTIER_EPSILONS,
    walked: tuple[float, ...] = (),
) -> Tuned:
    """Search for the best design on the project's reference data.

    `executor` is where designs are scored, in `processes` processes (None: one per core). The other arguments
    and the errors are those of `tune`; `WorkflowError` also where the executor cannot be reached.
    """
    with closing(make_executor(executor, processes, project.settings.dask)) as where:
        return tune(project, report, where, beside=beside, walked=walked)


def compare_settings(
    settings: ReleaseSettings,
    names: Sequence[str],
    epsilons: Sequence[float],
    report: Report | None = None,
    executor: ExecutorName = "serial",
    processes: int | None = None,
    *,
    tables: Mapping[str, HeldTable] | None = None,
) -> tuple[Project, Comparison]:
    """Load, and compare mechanisms at equal epsilon; nothing is drawn from private records.

    `names` are the mechanisms, () for all that can serve; `epsilons` the budgets, each > 0; `executor` and
    `processes` as for `search_design`, `tables` as for `plan_settings`. Raise `WorkflowError`, `DataError` or
    `GeoError`, one sentence, for settings or data that cannot be used.
    """
    tell = report or (lambda fraction, text: None)
    project = load_with_earlier(settings, lambda fraction, text: tell(0.05 * fraction, text), tables)
    asked = comparable(project, names)
    with closing(make_executor(executor, processes, settings.dask)) as where:
        return project, compare_mechanisms(
            project, asked, epsilons, lambda fraction, text: tell(0.05 + 0.95 * fraction, text), where
        )


def plan_choice(project: Project, choice: Choice, ledger: Ledger, tuned: Tuned | None = None) -> Planned:
    """Plan the release of a chosen design; nothing is drawn and nothing charged. Raise as `plan_release`."""
    return Planned(plan_release(project, stated(project, choice), ledger), ledger, tuned)


def publish_planned(planned: Planned, folder: Path | None = None, *, aged: bool = False) -> Published:
    """Charge the ledger, draw once, write the bundle, and put it in its place.

    `folder` is new, by default in `releases` in this installation's home; `aged`: whether time may have
    passed since the plan, so that its receipt is made anew where the ledger has moved on. Raise as `publish`;
    where the ledger refuses, none is begun for it.
    """
    planned.check()
    plan, ledger = planned.plan, begin(planned.ledger)
    began_elsewhere = ledger.identity != planned.ledger.identity  # by another process, with its own key
    moved = aged or ledger is not planned.ledger  # another plan of this process may have begun it
    if began_elsewhere or (moved and ledger.preview(plan.charge, plan.project.delta) != plan.preview):
        plan = plan_release(plan.project, plan.choice, ledger)
    return publish(plan, ledger, folder, planned.session)


def _refuse_looks(settings: ReleaseSettings, wanted: float | None, pay: bool) -> None:
    """Refuse a look that is not to be paid, or that would be paid for nothing: before anything is loaded."""
    if settings.pilot is None:
        return
    if not pay:
        raise WorkflowError("A pilot spends budget, so it is part of a release alone: leave `pilot` out.")
    if wanted is not None:
        raise WorkflowError(
            "A pilot is a share of a fixed epsilon: leave `pilot` out, or do not ask for an agreement."
        )


def _at_wanted_iou(
    project: Project, tuned: Tuned | None, wanted: float, listener: Listener
) -> tuple[Project, Choice]:
    """The release of the smallest epsilon that reaches the wanted IoU, if the settings' epsilon allows it."""
    if tuned is None:
        raise WorkflowError(
            "A wanted IoU needs the search: leave --lengthscale, --ridge and --shared-design out."
        )
    point, most = smallest_epsilon(project, tuned, wanted), project.settings.epsilon
    if point is None:
        raise WorkflowError(f"No design reaches IoU {wanted:g} on {project.tried_on}: accept less.")
    needed = f"IoU {wanted:g} on {project.tried_on} needs epsilon {upper(point.epsilon, 6)}"
    if point.epsilon > most:
        raise WorkflowError(f"{needed}, more than {lower(most, 6)}: raise --epsilon, or accept less.")
    listener.solved(f"{needed}: releasing at that.")
    return settle_on(project, tuned, point)
