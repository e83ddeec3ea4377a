"""Computations beside the main path: started once, followed, kept for this session, visibly outdated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import streamlit as st

from dpgp_core.mechanisms.design import Design
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.search.exploration.simulated import SimulatedRelease
from hexcursion.settings.model import ReleaseSettings
from pages.shared.computing.jobs import Job
from pages.shared.computing.progress import show_progress
from pages.shared.plain_text import Markdown, plain
from pages.shared.session.workspace import Workspace

KEY = "planning"
CANCELLED = "Cancelled."
AsideName = Literal["pilot", "solve", "typed", "coverage", "sweep", "compare", "areas", "remedies"]
PLAIN = (str, int, float, Design, ReleaseSettings)


@dataclass
class Aside:
    """One computation: what it is about, its job while it runs, then its result or why there is none."""

    about: tuple[Any, ...]
    job: Job[Any] | None
    result: Any = None
    done: bool = False
    note: str = ""


@dataclass
class Planning:
    """What this session has computed beside the main path, for one workspace.

    Parameters
    ----------
    wanted
        the agreement that was asked for instead of a budget
    piloted
        the project of a pilot that was paid for
    note
        what the search panel has to say until the next search
    simulated
        simulated releases of reference data, by the design looked at
    """

    mark: int
    wanted: float | None = None
    piloted: Project | None = None
    asides: dict[AsideName, Aside] = field(default_factory=dict)
    note: str = ""
    simulated: list[tuple[tuple[Any, ...], SimulatedRelease]] = field(default_factory=list)


def planning(work: Workspace) -> Planning:
    """The session's computations for these data; other data begin anew."""
    kept: Planning | None = st.session_state.get(KEY)
    if kept is None or kept.mark != work.mark:
        kept = st.session_state[KEY] = Planning(work.mark)
    return kept


def same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two subjects are the same objects, or equal plain values."""
    return len(one) == len(other) and all(
        a is b or (isinstance(a, PLAIN) and a == b) for a, b in zip(one, other, strict=True)
    )


def start(work: Workspace, name: AsideName, about: tuple[Any, ...], job: Job[Any]) -> None:
    """Follow a job from now on under this name; it ends with the session."""
    stop(work, name)
    stop(work, "remedies")
    planning(work).asides[name] = Aside(about, job)
    work.ends_with(job)


def stop(work: Workspace, name: AsideName) -> None:
    """End the job of this name, where one runs; "remedies" give way to whatever a person asks for."""
    before = planning(work).asides.get(name)
    if before is not None and before.job is not None:
        before.job.cancel()
        del planning(work).asides[name]


def running(work: Workspace, name: AsideName, cancel: Markdown | None) -> bool:
    """Show the progress of a job that is under way; otherwise take up what it brought."""
    aside = planning(work).asides.get(name)
    if aside is None or aside.job is None:
        return False
    if aside.job.state.state == "running":
        show_progress(aside.job, cancel, lambda: _cancelled(aside))
        return True
    job, aside.job = aside.job, None
    if job.state.state == "cancelled":
        _cancelled(aside)
        return False
    try:
        aside.result, aside.done = job.result(), True
    except (WorkflowError, ValueError) as error:
        aside.note = str(error)
    return False


def _cancelled(aside: Aside) -> None:
    aside.job, aside.note = None, CANCELLED


def found(work: Workspace, name: AsideName, about: tuple[Any, ...]) -> Aside | None:
    """The finished computation about exactly this; what went wrong, and what is outdated, is said."""
    aside = planning(work).asides.get(name)
    if aside is None:
        return None
    if aside.note and same(aside.about, about):
        st.info(plain(aside.note), icon=":material/info:")
    if not aside.done:
        return None
    if same(aside.about, about):
        return aside
    st.caption(":material/update: What was computed here belongs to another design or other choices.")
    return None


def follow(
    work: Workspace,
    name: AsideName,
    about: tuple[Any, ...],
    label: Markdown,
    cancel: Markdown,
    make: Callable[[], Job[Any]],
) -> Aside | None:
    """A button that starts the job, then its progress, then its result: whichever it is time for."""
    if running(work, name, cancel):
        return None
    aside = found(work, name, about)
    if aside is None:
        st.button(
            label,
            icon=":material/play_arrow:",
            key=f"{name}_start_{work.mark}",
            on_click=lambda: start(work, name, about, make()),
        )
    return aside
