"""The pipeline of a release, from settings to a bundle, for command line, screens and programs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from dpgp_core.mechanisms.grids import FRONTIER_EPSILONS
from dpgp_core.numbers import lower, upper
from geo.errors import part_of, silent
from hexcursion.bundle.published.earlier import load_columns, load_with_earlier
from hexcursion.comparing.run import Comparison, comparable, compare_mechanisms
from hexcursion.errors import Report, WorkflowError
from hexcursion.estimates.forecasts import (
    expected_of,
    expected_reading,
    expected_release,
    refuse_what_cannot_fit,
)
from hexcursion.ledger import Ledger, begin, ledger_to_plan
from hexcursion.project.atlas import AtlasProject
from hexcursion.project.model import HeldTable, Project
from hexcursion.record import ReceiptLine
from hexcursion.releasing.atlas import plan_atlas
from hexcursion.releasing.transaction import Plan, Published, named_budget, plan_release, publish
from hexcursion.search.atlas import AtlasChoice, choose_atlas, foretold_words
from hexcursion.search.bench import smallest_epsilon
from hexcursion.search.choice import Choice, given_choice, stated
from hexcursion.search.executors import HERE, Run, Workers, make_executor
from hexcursion.search.pilot import run_pilot
from hexcursion.search.results import settle_on
from hexcursion.search.shared import SharedDesign, read_shared_design, shared_choice, with_shared_scale
from hexcursion.search.tuning import Tuned, tune
from hexcursion.settings import ReleaseSettings
from hexcursion.settings.atlas import AtlasSettings, Settings


class Listener:
    """Callbacks while a release is planned. The base class ignores them."""

    def loaded(self, project: Project) -> None:
        """Called with the loaded data; `project.private` is for the curator alone."""

    def note(self, line: str) -> None:
        """Called with a sentence of public facts: the duration of a step, oddities of the area."""

    def progress(self, fraction: float, text: str) -> None:
        """Called with the progress of the search; may raise to cancel."""

    def searched(self, tuned: Tuned) -> None:
        """Called after the search."""

    def foretold(self, lines: Sequence[str]) -> None:
        """Called with the expectation for each map of an atlas."""

    def solved(self, sentence: str) -> None:
        """Called with the smallest epsilon that reaches the wanted agreement."""


@dataclass(frozen=True, eq=False, repr=False)
class Planned:
    """A planned release, with the ledger of its preview. Nothing is drawn and nothing charged."""

    plan: Plan  # curator only: it holds the private records
    ledger: Ledger  # of the preview; it may not be begun yet
    tuned: Tuned | None = None  # the search behind the design; None for a stated design
    # a session releases a plan once; without one every call is a separate request
    session: str = ""
    foretold: tuple[str, ...] = ()  # the expectation for each map of an atlas

    def __repr__(self) -> str:
        """Return public facts only, because notebooks show this text and are passed on."""
        facts = self.plan.choice.design.mechanism, self.plan.project.domain.size
        return f"<Planned release by {facts[0]} on {facts[1]:,} hexagons, epsilon {upper(self.epsilon, 4)}>"

    @property
    def epsilon(self) -> float:
        """The cost of the release at `delta`: a proved upper bound."""
        return self.plan.privacy.epsilon

    @property
    def delta(self) -> float:
        """The delta at which `epsilon` is stated."""
        return self.plan.privacy.delta

    @property
    def receipt(self) -> tuple[ReceiptLine, ...]:
        """The lines that will be published about the release."""
        return self.plan.receipt

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks for the curator before the release, from the search alone."""
        return self.foretold if self.tuned is None else self.tuned.remarks()

    def check(self) -> None:
        """Raise `BudgetExceeded` or `NoBudget` if the ledger would not accept the charge now."""
        self.ledger.check_charge(self.plan.charge, named_budget(self.plan))


def plan_settings(
    settings: Settings,
    place: str | Path | None = None,
    listener: Listener | None = None,
    *,
    tables: Mapping[str, HeldTable] | None = None,
    wanted: float | None = None,
    same_as: Sequence[int] = (),
    pay: bool = False,
) -> Planned:
    """Load, search on reference data, and plan: all steps before the charge.

    `place` is the ledger, as for `open_ledger`; `listener` gets the callbacks; `tables` are tables
    in memory, by the `path` in the settings; `wanted` is an agreement (IoU, 0 to 1) on reference
    data, which is planned at the smallest epsilon, at most that of the settings; `same_as` are
    ledger entries whose data hold the same records in other words; `pay`: whether to charge and
    draw a pilot of the settings. Raise `WorkflowError`, `DataError` or `GeoError`, with one
    sentence, if the release cannot be planned, `Unreleased` if a paid pilot is interrupted after
    its charge.
    """
    listener = listener or Listener()
    if isinstance(settings, AtlasSettings):
        if wanted is not None:
            raise WorkflowError("An atlas is planned at its epsilon: leave the wanted agreement out.")
        return plan_columns(settings, place, listener, tables=tables, same_as=same_as)
    _refuse_looks(settings, wanted, pay)
    shared = None
    if settings.shared_design is not None:
        shared = read_shared_design(settings.shared_design)
        settings = with_shared_scale(settings, shared)
    project = _load(settings, listener, tables)
    searching = settings.lengthscale is None and shared is None
    _say_how_long(project, listener, searching=searching, alone=wanted is None)
    ledger = ledger_to_plan(place)
    if late := ledger.clock_note():
        listener.note(late)
    project = replace(project, same_as=ledger.datasets_of(same_as))
    if settings.pilot is not None:
        ledger = begin(ledger)
        project = run_pilot(project, ledger)
    tuned = None
    if searching:
        frontier = () if wanted is None else FRONTIER_EPSILONS  # the solver starts from a frontier
        tuned = search_design(project, listener.progress, Workers(settings.executor), beside=frontier)
        listener.searched(tuned)
    choice = _chosen(project, shared, tuned)
    if wanted is not None:
        project, choice = _at_wanted_iou(project, tuned, wanted, listener)
    return plan_choice(project, choice, ledger, tuned)


def _load(settings: ReleaseSettings, listener: Listener, tables: Mapping[str, HeldTable] | None) -> Project:
    """Load the data of a release, and refuse what no plan of it may hold."""
    if (reading := expected_reading(settings.data)) is not None:
        listener.note(reading)
    project = load_with_earlier(settings, tables=tables)
    listener.loaded(project)
    project.refuse_dropped()
    project.refuse_large_delta()
    return project


def _chosen(project: Project, shared: SharedDesign | None, tuned: Tuned | None) -> Choice:
    """Return the design of the search, of the holders together, or of the settings."""
    if tuned is not None:
        return tuned.choice
    return given_choice(project) if shared is None else shared_choice(project, shared)


def _say_how_long(project: Project, listener: Listener, *, searching: bool, alone: bool) -> None:
    """Note the time of a search or a release; refuse a search that does not fit this machine."""
    if searching:
        processes = (os.cpu_count() or 1) if project.settings.executor == "processes" else 1
        refuse_what_cannot_fit(project, processes)
        listener.note(expected_of(project, processes, alone=alone))
    elif (text := expected_release(project)) is not None:
        listener.note(text)


def plan_columns(
    settings: AtlasSettings,
    place: str | Path | None = None,
    listener: Listener | None = None,
    *,
    tables: Mapping[str, HeldTable] | None = None,
    same_as: Sequence[int] = (),
) -> Planned:
    """Load all columns, judge the map of each in simulated worlds, and plan one joint release.

    Arguments and errors as `plan_settings`; `LowAgreement` names the columns that should be left
    out.
    """
    listener = listener or Listener()
    if (reading := expected_reading(settings.first.data)) is not None:
        listener.note(reading)
    project = load_columns(settings, tables=tables)
    listener.loaded(project.first)
    project.first.refuse_dropped()
    project.first.refuse_large_delta()
    refuse_what_cannot_fit(project.first, 1)
    ledger = ledger_to_plan(place)
    datasets = ledger.datasets_of(same_as)
    project = replace(project, layers=tuple(replace(layer, same_as=datasets) for layer in project.layers))
    choice = choose_atlas(project, listener.progress)
    lines = foretold_words(choice, settings.names)
    listener.foretold(lines)
    return replace(plan_atlas_choice(project, choice, ledger), foretold=lines)


def search_design(
    project: Project,
    report: Report | None = None,
    workers: Workers = HERE,
    *,
    beside: tuple[float, ...] = FRONTIER_EPSILONS,
    walked: tuple[float, ...] = (),
) -> Tuned:
    """Search for the best design on the project's reference data.

    `workers` score the designs. The other
    arguments and the errors are those of `tune`; also raise `WorkflowError` if the executor cannot
    be reached.
    """
    with closing(make_executor(*workers, project.settings.dask)) as executor:
        return tune(project, Run(report or silent, executor), frontier=beside, walked=walked)


def compare_settings(
    settings: ReleaseSettings,
    names: Sequence[str],
    epsilons: Sequence[float],
    report: Report | None = None,
    workers: Workers = HERE,
    *,
    tables: Mapping[str, HeldTable] | None = None,
) -> tuple[Project, Comparison]:
    """Load, and compare mechanisms at equal epsilon; nothing is drawn from private records.

    `names` are the mechanisms, () for all that can serve; `epsilons` the budgets, each > 0;
    `workers` as for `search_design`, `tables` as for `plan_settings`. Raise
    `WorkflowError`, `DataError` or `GeoError`, with one sentence, for unusable settings or data.
    """
    project = load_with_earlier(settings, part_of(report or silent, 0.0, 0.05), tables)
    mechanisms = comparable(project, names)
    with closing(make_executor(*workers, settings.dask)) as executor:
        run = Run(report or silent, executor).part(0.05, 0.95)
        return project, compare_mechanisms(project, mechanisms, epsilons, run)


def plan_choice(project: Project, choice: Choice, ledger: Ledger, tuned: Tuned | None = None) -> Planned:
    """Plan the release of a chosen design; draw and charge nothing. Raise as `plan_release`."""
    return Planned(plan_release(project, stated(project, choice), ledger), ledger, tuned)


def plan_atlas_choice(project: AtlasProject, choice: AtlasChoice, ledger: Ledger) -> Planned:
    """Plan the release of all columns by a chosen design; draw and charge nothing. Raise as
    `plan_atlas`."""
    pairs = zip(project.layers, choice.layers, strict=True)
    choice = replace(choice, layers=tuple(stated(layer, design) for layer, design in pairs))
    return Planned(plan_atlas(project, choice, ledger), ledger)


def publish_planned(planned: Planned, folder: Path | None = None, *, aged: bool = False) -> Published:
    """Charge the ledger, draw once, write the bundle, and move it to its final path.

    `folder` is new, by default in `releases` in this installation's home; `aged`: whether time may
    have passed since the plan, so that its receipt is renewed if the ledger has changed. Raise as
    `publish`; do not begin a ledger that would refuse the charge.
    """
    planned.check()
    plan, ledger = planned.plan, begin(planned.ledger)
    # by another process, with its own key
    began_elsewhere = ledger.identity != planned.ledger.identity
    # another plan of this process may have begun it
    may_differ = aged or ledger is not planned.ledger
    if began_elsewhere or (may_differ and ledger.preview(plan.charge, plan.project.delta) != plan.preview):
        plan = plan.again(ledger)
    return publish(plan, ledger, folder, planned.session)


def _refuse_looks(settings: ReleaseSettings, agreement: float | None, pay: bool) -> None:
    """Refuse a pilot that would not be paid, or be paid without use, before loading data."""
    if settings.pilot is None:
        return
    if not pay:
        raise WorkflowError("A pilot spends budget, so it is part of a release alone: leave `pilot` out.")
    if agreement is not None:
        raise WorkflowError(
            "A pilot is a share of a fixed epsilon: leave `pilot` out, or do not ask for an agreement."
        )


def _at_wanted_iou(
    project: Project, tuned: Tuned | None, agreement: float, listener: Listener
) -> tuple[Project, Choice]:
    """Choose the smallest epsilon that reaches the wanted IoU, at most that of the settings.

    Raise `WorkflowError` where none does, without a search, and for too few records to tell.
    """
    if tuned is None:
        raise WorkflowError(
            "A wanted IoU needs the search: leave --lengthscale, --ridge and --shared-design out."
        )
    if few := tuned.few:
        raise WorkflowError(f"Do not ask for an agreement: {few}.")
    point, limit = smallest_epsilon(project, tuned, agreement), project.settings.epsilon
    if point is None:
        raise WorkflowError(f"No design reaches IoU {agreement:g} on {project.tried_on}: accept less.")
    needed = f"IoU {agreement:g} on {project.tried_on} needs epsilon {upper(point.epsilon, 6)}"
    if point.epsilon > limit:
        raise WorkflowError(f"{needed}, more than {lower(limit, 6)}: raise --epsilon, or accept less.")
    listener.solved(f"{needed}: releasing at that.")
    return settle_on(project, tuned, point)
