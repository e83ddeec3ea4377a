"""Jobs of a session: progress, background computations, and the releases under way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import streamlit as st

from dpgp_core.mechanisms.design import Design
from hexcursion.errors import WorkflowError
from hexcursion.estimates.forecasts import duration
from hexcursion.project.model import Project
from hexcursion.search.bench import SimulatedRelease
from hexcursion.settings.atlas import AtlasSettings
from hexcursion.settings.model import ReleaseSettings
from pages.shared.plain_text import Markdown, plain
from pages.shared.session.workspace import Workspace
from pages.shared.subprocess_job import Job

POLL_SECONDS = 0.4


@st.fragment(run_every=POLL_SECONDS)
def show_progress(
    job: Job[Any], cancel: Markdown | None, on_cancel: Callable[[], None] | None = None
) -> None:
    """Follow a running job; the screen runs again once it has ended. `cancel` None: it cannot be stopped.
    After a cancel the screen leaves the job at once, which ends when it hears of it."""
    state = job.state
    if state.state != "running" or (on_cancel is not None and job.cancelling):
        st.rerun()
    left = state.seconds_left
    time = f"{state.seconds:.0f} s so far" if left is None else f"about {duration(left)} left"
    st.progress(state.fraction, text=f"{plain(state.text)} · {plain(time)}")
    if cancel is not None:
        st.button(cancel, icon=":material/cancel:", on_click=_stop, args=(job, on_cancel))


def _stop(job: Job[Any], on_cancel: Callable[[], None] | None) -> None:
    job.cancel()
    if on_cancel is not None:
        on_cancel()


KEY = "planning"
CANCELLED = "Cancelled."
SideJobName = Literal[
    "pilot",
    "solve",
    "typed",
    "coverage",
    "sweep",
    "limit",
    "compare",
    "areas",
    "remedies",
    "density",
    "study",
    "own_audit",
    "curve",
    "beside",
    "prior_noise",
    "atlas",
]
UNASKED: tuple[SideJobName, ...] = ("remedies", "curve")  # these give way to whatever a person asks for
PLAIN = (str, int, float, Design, ReleaseSettings, AtlasSettings)


@dataclass
class SideJob:
    """One computation: what it is about, its job while it runs, then its result or why it has no result."""

    about: tuple[Any, ...]
    job: Job[Any] | None
    result: Any = None
    done: bool = False
    note: str = ""


@dataclass
class Chain:
    """Computations of one subject, one after the other, and what they have brought so far."""

    about: tuple[Any, ...]
    brought: dict[str, Any] = field(default_factory=dict)  # None for a step that failed
    stopped: bool = False  # by a person


@dataclass
class Planning:
    """Results of background computations of this session, for one workspace."""

    mark: int
    wanted: float | None = None  # the agreement that was asked for instead of a budget
    piloted: Project | None = None  # of a pilot that was paid for
    jobs: dict[SideJobName, SideJob] = field(default_factory=dict)
    chains: dict[SideJobName, Chain] = field(default_factory=dict)
    note: str = ""  # what the search panel says until the next search
    # Simulated releases of reference data, by the design looked at
    simulated: list[tuple[tuple[Any, ...], SimulatedRelease]] = field(default_factory=list)


def planning(work: Workspace) -> Planning:
    """The session's computations for these data; other data begin anew."""
    plan: Planning | None = st.session_state.get(KEY)
    if plan is None or plan.mark != work.mark:
        plan = st.session_state[KEY] = Planning(work.mark)
    return plan


def same(subject: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two subjects are the same objects, or equal plain values."""
    return len(subject) == len(other) and all(
        a is b or (isinstance(a, PLAIN) and a == b) for a, b in zip(subject, other, strict=True)
    )


def start(work: Workspace, name: SideJobName, about: tuple[Any, ...], job: Job[Any]) -> None:
    """Follow a job from now on under this name; it ends with the session."""
    stop(work, name)
    give_way(work)
    planning(work).jobs[name] = SideJob(about, job)
    work.ends_with(job)


def give_way(work: Workspace, to: SideJobName | None = None) -> None:
    """End unasked jobs, except `to`: it goes on from its last step when nothing else runs."""
    for name in UNASKED:
        if name != to:
            stop(work, name)


def one_by_one(
    work: Workspace,
    name: SideJobName,
    about: tuple[Any, ...],
    steps: Mapping[str, Callable[[], Job[Any]]],
    cancel: Markdown,
) -> dict[str, Any]:
    """Start one job after the other, as long as a person asked for no other; return what they have brought,
    by step. Chains of other screens end: their progress is shown there alone."""
    give_way(work, name)
    plan = planning(work)
    chain = plan.chains.get(name)
    if chain is None or not same(chain.about, about):
        stop(work, name)
        plan.jobs.pop(name, None)
        chain = plan.chains[name] = Chain(about)
    left = 0  # steps that ended because there was no reader
    while True:
        side_before, busy = plan.jobs.get(name), running(work, name, cancel)
        side = plan.jobs.get(name)
        left += side_before is not side
        if side is not None and not busy:
            del plan.jobs[name]
            chain.stopped = chain.stopped or side.note == CANCELLED
            chain.brought[side.about[-1]] = side.result
        open_steps = [step for step in steps if step not in chain.brought]
        other_jobs = [other.job for key, other in plan.jobs.items() if key != name and other.job is not None]
        under_way = any(job.state.state == "running" for job in other_jobs)
        if busy or not open_steps or chain.stopped or under_way or left > 1:
            break
        start(work, name, (*about, open_steps[0]), steps[open_steps[0]]())
    return {step: brought for step, brought in chain.brought.items() if brought is not None}


def stop(work: Workspace, name: SideJobName) -> None:
    """End the job of this name, where one runs."""
    side = planning(work).jobs.get(name)
    if side is not None and side.job is not None:
        side.job.cancel()
        del planning(work).jobs[name]


def running(work: Workspace, name: SideJobName, cancel: Markdown | None) -> bool:
    """Show the progress of a job that is under way; otherwise take up what it brought."""
    side = planning(work).jobs.get(name)
    if side is None or side.job is None:
        return False
    if side.job.state.state == "running":
        show_progress(side.job, cancel, lambda: _cancelled(side))
        return True
    job, side.job = side.job, None
    if job.left:  # and came back: a chain begins this step anew
        del planning(work).jobs[name]
        return False
    if job.state.state == "cancelled":
        _cancelled(side)
        return False
    try:
        side.result, side.done = job.result(), True
    except (WorkflowError, ValueError) as error:
        side.note = str(error)
    return False


def _cancelled(side: SideJob) -> None:
    side.job, side.note = None, CANCELLED


def finished(work: Workspace, name: SideJobName, about: tuple[Any, ...]) -> SideJob | None:
    """The finished computation about exactly this; it shows failures and outdated results."""
    side = planning(work).jobs.get(name)
    if side is None:
        return None
    if side.note and same(side.about, about):
        st.info(plain(side.note), icon=":material/info:")
    if not side.done:
        return None
    if same(side.about, about):
        return side
    st.caption(":material/update: What was computed here belongs to another design or other choices.")
    return None


def follow(
    work: Workspace,
    name: SideJobName,
    about: tuple[Any, ...],
    label: Markdown,
    cancel: Markdown,
    make: Callable[[], Job[Any]],
) -> SideJob | None:
    """A button that starts the job, then its progress, then its result: whichever it is time for."""
    if running(work, name, cancel):
        if not same(planning(work).jobs[name].about, about):
            st.caption(":material/update: This was begun with other choices: its result is shown with them.")
        return None
    side = finished(work, name, about)
    if side is None:
        st.button(
            label,
            icon=":material/play_arrow:",
            key=f"{name}_start_{work.mark}",
            on_click=lambda: start(work, name, about, make()),
        )
    return side


MOST_ASKED = 1_000  # that are remembered: the oldest are forgotten first
BROKE_OFF = (
    "The release that you asked for did not complete. If it was charged, the charge stands until a person "
    "voids it on the Ledger screen."
)


@dataclass
class Asked:
    """A release in demand: under way, or released as `release_id`, or why not (`text`)."""

    running: bool = True
    release_id: str | None = None
    text: str = BROKE_OFF


_LOCK = threading.Lock()
_ASKED: dict[str, Asked] = {}


@contextmanager
def note_release(token: str) -> Iterator[Asked]:
    """Remember a release from its beginning to its end, however that comes; the body says what came of it."""
    release = Asked()
    with _LOCK:
        _ASKED.pop(token, None)
        _ASKED[token] = release
        while len(_ASKED) > MOST_ASKED:
            del _ASKED[next(iter(_ASKED))]
    try:
        yield release
    finally:
        release.running = False


def release_asked(token: str) -> Asked | None:
    """The last release that was asked for with a token, or None."""
    with _LOCK:
        return _ASKED.get(token)
