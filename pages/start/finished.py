"""The finished example: generated data, a finished search and its release, shipped with the program as files.

Nothing is searched, drawn or charged when it is opened: it is in no ledger of this installation, and among
none of its releases. `python -m studies.screens.tour` makes the files again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from hexcursion.bundle.published.view import Viewer
from hexcursion.project.baseline import Baseline, fit_baseline
from hexcursion.project.example import changed_settings
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.decision.stored import tuned_from
from hexcursion.search.decision.tuning import Tuned
from hexcursion.settings.model import ReleaseSettings
from pages.shared.session.previews import Preview, look_at
from pages.shared.shipped import CITY, FILES, shipped

SEARCH = FILES / "search.json"
CHARGED = "Made beforehand on generated data, and charged to no account here."


@dataclass(frozen=True)
class Finished:
    """The example as a curator would have it after the last step; its "private" year is invented too."""

    project: Project
    tuned: Tuned
    viewer: Viewer
    private: Preview
    reference: Preview
    baseline: Baseline


def finished_example() -> Finished:
    """The example, read once and then kept: it is generated, so all sessions may share it."""
    return _read(changed_settings(files=CITY))  # which puts its files back where they are gone


@lru_cache(maxsize=1)
def _read(settings: ReleaseSettings) -> Finished:
    project = load_project(settings)
    assert settings.reference is not None
    tuned = tuned_from(project, SEARCH.read_text(encoding="utf-8"))
    return Finished(
        project=project,
        tuned=tuned,
        viewer=shipped(),
        private=look_at(settings.data),
        reference=look_at(settings.reference, spread=True),
        baseline=fit_baseline(project, tuned.result.model),
    )
