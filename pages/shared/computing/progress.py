"""Progress of a background job: how far it is, how long it has taken or will take, and a way to stop it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.shared.computing.jobs import Job
from pages.shared.plain_text import Markdown, plain

POLL_SECONDS = 0.4


def duration(seconds: float) -> Markdown:
    """A forecast in words, no finer than it can be: "5 s", "40 s", "3 min"."""
    if seconds < 90:
        step = 5 if seconds < 30 else 10
        return f"{max(step, round(seconds / step) * step):d} s"
    return f"{round(seconds / 60):d} min"


@st.fragment(run_every=POLL_SECONDS)
def show_progress(
    job: Job[Any], cancel: Markdown | None, on_cancel: Callable[[], None] | None = None
) -> None:
    """Follow a running job; the screen runs again once it has ended. `cancel` None: it cannot be stopped.

    Parameters
    ----------
    on_cancel
        what else a cancel does; the screen leaves the job at once, which ends when it hears of it
    """
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
