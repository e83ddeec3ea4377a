"""States of a session, and the scenes that show a screen in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pages.shared.session import side_jobs, workspace
from pages.shared.session.outcome import Explored, SearchOutcome
from pages.shared.session.workspace import Workspace
from pages.shared.shipped import shelved
from pages.start.finished import finished_example
from tests.pages.scenes.screen import Screen

Scene = Callable[[Screen, pytest.MonkeyPatch], None]
SCENES: dict[str, Scene] = {}


def scene(name: str) -> Callable[[Scene], Scene]:
    """Note a state of a screen under "address: what it shows"."""

    def noted(made: Scene) -> Scene:
        SCENES[name] = made
        return made

    return noted


def plain_scene(name: str, make: Callable[[], Workspace], **held: Any) -> None:
    """A state that is a workspace and what stands in the session."""

    @scene(name)
    def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
        put(screen, make())
        for key, value in held.items():
            (screen.query_params if key == "release" else screen.session_state)[key] = value


def put(screen: Screen, work: Workspace) -> Workspace:
    screen.session_state[workspace.KEY] = work
    return work


def fresh(**held: Any) -> Workspace:
    return Workspace(mark=0, session="visit", **held)


def searched(**choices: Any) -> Workspace:
    """The finished example before its release."""
    known, work = finished_example(), fresh()
    work.adopt(known.project.settings)
    work.private, work.reference = known.private, known.reference
    work.domain, work.layers = known.project.domain, known.project.layers
    work.choose(**choices)
    settings = work.settings()
    work.outcome = SearchOutcome(replace(known.project, settings=settings), known.tuned, known.tuned.choice)
    return work


def released() -> Workspace:
    known, work = finished_example(), searched()
    work.explored = Explored(known.viewer, known.baseline)
    work.release_id, work.budget_text = shelved().name, "Made beforehand."
    return work


def filled(**choices: Any) -> Workspace:
    """The example's data and area, nothing searched."""
    work = searched(**choices)
    work.outcome = None
    return work


def done(work: Workspace, screen: Screen, name: side_jobs.SideJobName, about: Any, result: Any) -> None:
    kept = screen.session_state.setdefault(side_jobs.KEY, side_jobs.Planning(work.mark))
    kept.jobs[name] = side_jobs.SideJob(about, None, result, True)


SENSORS = "lon,lat,no2 (ug/m3),station,kind,sd_m\n" + "".join(
    f"{2.1 + 0.02 * i},{54.7 + 0.01 * i},{20 + i},s{i % 3},{'ab'[i % 2]},5\n" for i in range(12)
)


def table(name: str = "no2.csv", text: str = SENSORS) -> str:
    """A table in the session's home."""
    path = Path(os.environ["HEXCURSION_HOME"]) / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def sensors(screen: Screen, **held: Any) -> str:
    """The screen Data with a table that was named by its path; `held` by the beginnings of keys."""
    put(screen, fresh())
    path = table()
    about = {"data_kind": "sensors", "sensors_where": "path", "sensors_private_path": path}
    about |= {f"sensors_{name}_{path}": value for name, value in held.items()}
    screen.session_state.update(about)
    return path


def without_reference(**choices: Any) -> Workspace:
    work = filled(reference=None, reference_public=False, prior_mean=False)
    work.reference = None
    work.choose(**choices)
    return work
