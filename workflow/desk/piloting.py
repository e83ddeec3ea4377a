"""The pilot on a screen: paying once for an accounted look, and knowing what it can be used for again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workflow.jobs import Job
from workflow.ledger import open_ledger
from workflow.pilot import fingerprint, run_pilot
from workflow.project import Project, load_project
from workflow.settings import ReleaseSettings
from workflow.words import upper

# What may change after a pilot: everything that only reads what it showed.
AFTERWARDS = ("threshold", "direction", "paths", "priors", "mechanisms", "objective", "bound", "quick",
              "title", "looked", "notes")  # fmt: skip


def pilot_job(settings: ReleaseSettings, total: float) -> Job[Project]:
    """Load, charge the ledger, draw the pilot: once per call, so call it from a submitted action only.

    total  budget of the dataset over all releases, set if none stands yet
    Once it has been charged a job of this kind must not be cancelled: what was paid for would be lost.
    """

    def work(report: Callable[[float, str], None]) -> Project:
        project = load_project(settings, lambda fraction, text: report(0.5 * fraction, text))
        ledger = open_ledger(settings.ledger)
        dataset = fingerprint(project, ledger)
        if ledger.account(dataset, settings.unit).budget is None:
            ledger.set_budget(dataset, settings.unit, total, settings.delta)
        report(0.5, "Charging the ledger, drawing the pilot, reading it")
        return run_pilot(project, ledger)

    return Job(work)


def pilot_serves(piloted: Project, settings: ReleaseSettings) -> bool:
    """Whether a pilot that was paid for answers these settings too: nothing it depends on has changed."""
    then = {name: getattr(piloted.settings, name) for name in AFTERWARDS}
    return replace(settings, **then) == piloted.settings


def pilot_words(piloted: Project) -> str:
    """What was paid, in one sentence."""
    paid = piloted.pilot
    if paid is None:
        raise ValueError("no pilot was paid for.")
    number = paid.entry.split(":")[0]
    return (
        f"A pilot was paid for: ε {upper(paid.epsilon, 3)}, ledger entry {number}. It is part of the stated "
        "ε, and what it showed can be used again at no further cost."
    )
