"""Progress of a background job: how far it is, how long it will take, and a way to stop it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from workflow.jobs import Job

POLL_SECONDS = 0.4


@st.fragment(run_every=POLL_SECONDS)
def show_progress(job: Job[Any], cancel: str | None, on_cancel: Callable[[], None] | None = None) -> None:
    """Follow a running job; the screen runs again once it has ended. `cancel` None: it cannot be stopped.

    on_cancel  what else a cancel does; the screen leaves the job at once, which ends when it hears of it
    """
    state = job.state
    if state.state != "running" or (on_cancel is not None and job.cancelling):
        st.rerun()
    left = f"about {state.seconds_left:.0f} s left" if state.seconds_left is not None else "estimating"
    st.progress(state.fraction, text=f"{state.text} · {left}")
    if cancel is not None:
        st.button(cancel, icon=":material/cancel:", on_click=_stop, args=(job, on_cancel))


def _stop(job: Job[Any], on_cancel: Callable[[], None] | None) -> None:
    job.cancel()
    if on_cancel is not None:
        on_cancel()
