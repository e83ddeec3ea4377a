"""The finished example: generated data, a finished search and its release, shipped with the program as files.

Nothing is searched, drawn or charged when it is opened: it is in no ledger of this installation, and among
none of its releases. `python -m benchmarks.tour` makes the files again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pages.shared.computing.jobs import Job
from pages.tour.view import FILES, tour
from workflow.bundle.published.view import Viewer
from workflow.project.example import changed_settings
from workflow.project.load import Project, load_project
from workflow.search.stored import tuned_from
from workflow.search.tuning import Tuned

CITY, SEARCH = FILES / "files", FILES / "search.json"
CHARGED = "Made beforehand on generated data, and charged to no account here."


@dataclass(frozen=True)
class Finished:
    """The example as a curator would have it after the last step."""

    project: Project
    tuned: Tuned
    viewer: Viewer


def example_job() -> Job[Finished]:
    """Open the finished example in the background."""
    return Job(_open)


def _open(report: Callable[[float, str], None]) -> Finished:
    report(0.0, "Reading the invented city")
    project = load_project(changed_settings(files=CITY), lambda share, text: report(0.5 * share, text))
    tuned = tuned_from(project, SEARCH.read_text(encoding="utf-8"))
    report(0.6, "Opening its release")
    return Finished(project, tuned, tour().viewer)
