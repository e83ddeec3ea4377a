"""The pilot on a screen: paying once for an accounted look, and knowing what it can be used for again."""

from __future__ import annotations

from dataclasses import replace

from dpgp_core.numbers import upper
from hexcursion.errors import Report, WorkflowError
from hexcursion.estimates.words import refuse_what_cannot_fit
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.looks import look_warning, paid_look
from hexcursion.settings.model import ReleaseSettings
from pages.shared.jobs import Job
from pages.shared.subprocess_job import Lost, in_subprocess, workers

# What may change after a pilot: everything that only reads what it showed.
AFTERWARDS = ("threshold", "direction", "paths", "priors", "mechanisms", "objective", "bound", "quick",
              "title", "looked", "notes")  # fmt: skip

MAY_BE_CHARGED = (
    "Look into the ledger first: if it shows an open entry for this pilot, the pilot is paid for and stays "
    "so."
)


def pilot_job(settings: ReleaseSettings, total: float, session: str = "") -> Job[Project]:
    """Load, charge the ledger, draw the pilot: once per call, so call it from a submitted action only.

    Once it has been charged a job of this kind must not be cancelled: what was paid for would be lost.

    Parameters
    ----------
    total
        budget of the dataset over all releases, set if none stands yet
    session
        as for `releasing.release`: the same pilot is paid for once in a session
    """

    def work(report: Report) -> Project:
        try:
            return in_subprocess(report, pay_and_draw, settings, total, session)
        except Lost as error:
            raise WorkflowError(f"{error} {MAY_BE_CHARGED}") from error

    return Job(work)


def pay_and_draw(report: Report, settings: ReleaseSettings, total: float, session: str) -> Project:
    """Load, charge, draw and read a pilot, once; picklable, for a process of its own.

    Raises
    ------
    WorkflowError
        For data that do not do, and a look that would show next to nothing; nothing was charged.
    Unreleased
        If it broke off after the charge.
    """
    project = load_project(settings, lambda fraction, text: report(0.5 * fraction, text))
    if warning := look_warning(project):
        raise WorkflowError(warning)
    refuse_what_cannot_fit(project, workers())
    report(0.5, "Trying it, charging the ledger, drawing once, reading what was drawn")
    # The look sets the budget where none stands, once it has been tried.
    asked = replace(project, settings=settings.with_changes(budget=total))
    paid = paid_look(asked, open_ledger(settings.ledger), session)
    return replace(paid, settings=settings)


def pilot_serves(piloted: Project, settings: ReleaseSettings) -> bool:
    """Whether a pilot that was paid for answers these settings too: nothing it depends on has changed."""
    then = {name: getattr(piloted.settings, name) for name in AFTERWARDS}
    return replace(settings, **then) == piloted.settings


def pilot_words(piloted: Project) -> str:
    """What was paid, in one sentence.

    Raises
    ------
    ValueError
        If nothing was paid for.
    """
    paid = piloted.pilot
    if paid is None:
        raise ValueError("no pilot was paid for.")
    number = paid.entry.split(":")[0]
    return (
        f"{paid.words.capitalize()} was paid for: ε {upper(paid.epsilon, 3)}, ledger entry {number}. It is "
        "part of the stated ε, and what it showed can be used again at no further cost."
    )
