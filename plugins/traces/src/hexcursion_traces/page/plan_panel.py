"""The plan of a release on the screen: secrets, noise, and the adversary's knowledge."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import streamlit as st

from hexcursion.errors import WorkflowError
from hexcursion_traces.adversaries import KINDS
from hexcursion_traces.loading import Trace
from hexcursion_traces.mathematics.secret import MOVES
from hexcursion_traces.page.maps import recorded_deck
from hexcursion_traces.page.picking import (
    distance_chart,
    picked_records,
    picked_stretch,
    slider_limits,
    span_of_records,
    span_of_stretch,
)
from hexcursion_traces.page.view import comparison_rows, curve_points, span_text, window_of
from hexcursion_traces.page.work import TraceWork
from hexcursion_traces.plan import TracePlan
from hexcursion_traces.settings import GOALS, TraceSettings
from hexcursion_traces.statement import objection, sentences
from pages.shared import maps
from pages.shared.charts import alt, spec_of
from pages.shared.plain_text import plain
from pages.shared.session.side_jobs import show_progress

GOAL_WORDS = {"error": "error added", "interval": "uncertainty left"}
MOVE_WORDS = {"together": "place as a whole", "separately": "each record"}


def show_recorded(work: TraceWork, trace: Trace) -> None:
    """Show the private trip on a map and over time; picks in both move the slider of
    `ask_secrets`."""
    maps.show_deck(
        recorded_deck(trace, work.plan, maps.theme()),
        key=f"trace-recorded-{work.upload}",
        alt="The recorded trip as a line with its records as dots",
        private=True,
        on_pick=lambda: _take_records(work, trace),
    )
    st.caption(
        "Click records on the map: one chooses the stay around it, two the span between them. Or drag over "
        "a stretch of the chart: the line is level at a stop."
    )
    st.vega_lite_chart(
        spec_of(distance_chart(trace)),
        key=f"trace-chart-{work.upload}",
        alt="Distance from the start of the trip over time",
        on_select=lambda: _take_stretch(work, trace),
    )


def _take_records(work: TraceWork, trace: Trace) -> None:
    records = picked_records(st.session_state.get(f"trace-recorded-{work.upload}"), trace.size)
    if records:
        st.session_state[_span_key(work)] = span_of_records(trace, records)


def _take_stretch(work: TraceWork, trace: Trace) -> None:
    ends = picked_stretch(st.session_state.get(f"trace-chart-{work.upload}"))
    if ends is not None:
        st.session_state[_span_key(work)] = span_of_stretch(trace, *ends)


def _span_key(work: TraceWork) -> str:
    return f"span_{work.upload}_{work.position}"


def ask_secrets(work: TraceWork, trace: Trace) -> None:
    """Ask for secret windows of time, and list them."""
    st.header("Secrets", anchor=False)
    if trace.size > 1:
        limits = slider_limits(trace)
        st.session_state.setdefault(_span_key(work), limits)
        with st.container(key="trace-span"):
            span: Any = st.slider(  # a pair, like its state
                "A secret span of time (UTC)",
                *limits,
                step=timedelta(seconds=1),
                format="HH:mm:ss" if limits[0].date() == limits[1].date() else "MMM D HH:mm:ss",
                key=_span_key(work),
            )
        if st.button("Add this span", icon=":material/add:"):
            work.windows.append(window_of(*span))
            work.forget_plan()
            st.rerun()
    for number, window in enumerate(work.windows):
        line, drop = st.columns([5, 1])
        line.markdown(f"Secret: {plain(span_text(window))}")
        if drop.button("Remove", key=f"drop_{number}", icon=":material/close:"):
            del work.windows[number]
            work.forget_plan()
            st.rerun()


def ask_noise(work: TraceWork, trace: Trace) -> None:
    """Ask for the noise and the adversary's beliefs; submitting shapes the noise."""
    default = TraceSettings()
    with st.form("trace-plan", border=True, enter_to_submit=False):
        first, second, third = st.columns(3)
        stops = first.number_input(
            "Stops longer than (minutes) are secret, 0 for none", 0.0, 10_000.0, 0.0 if work.windows else 10.0
        )
        goal = second.selectbox(
            "The noise is set by the",
            GOALS,
            format_func=GOAL_WORDS.__getitem__,
            help="Either how far noise moves records at the secrets (root mean square), or how wide an "
            "adversary's 68 % interval for a secret place is to stay.",
        )
        metres = third.number_input("In metres, per axis", 1.0, 100_000.0, default.metres)
        radius = first.number_input(
            "Two places are confused within (m)",
            1.0,
            100_000.0,
            default.radius,
            help="Two guesses about a secret within this distance are hard to distinguish: μ and the odds "
            "in the statement are about such guesses.",
        )
        moves = second.selectbox(
            "Hide of a secret",
            MOVES,
            format_func=MOVE_WORDS.__getitem__,
            help="The place of all its records, shifted as one piece, or the place of each record by itself. "
            "The second needs far more noise: it hides even impossible movements.",
        )
        every = third.number_input("One record every (s), 0 for all", 0.0, 3600.0, default.every)
        with st.expander("Beliefs of the adversary (public knowledge, not this trip)"):
            lengthscale = st.number_input(
                "Movers keep their direction for about (s)", 1.0, 100_000.0, default.lengthscale
            )
            amplitude = st.number_input("Movers roam over (m)", 1.0, 1_000_000.0, default.amplitude)
            error = st.number_input("The receiver (GPS) errs by (m)", 0.1, 1_000.0, default.error)
        submitted = st.form_submit_button("Shape the noise", type="primary", icon=":material/graphic_eq:")
    if submitted:
        try:
            settings = TraceSettings(
                lengthscale=lengthscale,
                amplitude=amplitude,
                error=error,
                windows=tuple(work.windows),
                stops=stops,
                moves=moves,
                radius=radius,
                goal=goal,
                metres=metres,
                every=every,
            )
        except WorkflowError as refused:
            st.error(plain(refused), icon=":material/error:")
            return
        work.begin(trace, settings)
        st.rerun()


def follow(work: TraceWork) -> None:
    """Show the running job with progress and cancel; take its result at the end."""
    if work.job is None:
        return
    if work.job.state.state == "running":
        show_progress(work.job, "Cancel")
        return
    work.finish()
    st.rerun()


def say(work: TraceWork, plan: TracePlan) -> None:
    """Show the guarantee, and the adversary's intervals before and after the release."""
    st.header("What it protects, and what not", anchor=False)
    for sentence in sentences(plan):
        st.markdown(f"- {plain(sentence)}")
    if work.published is None:
        for line in plan.left:
            st.warning(plain(line), icon=":material/visibility:")
    st.markdown(
        "**Width of the adversary's 68 % interval at each secret, per axis**, at noise of the same size:"
    )
    st.dataframe(comparison_rows(plan), hide_index=True)
    number = 0
    if len(plan.secrets) > 1:
        number = int(st.number_input("Secret number", 1, len(plan.secrets), 1)) - 1
    st.vega_lite_chart(
        spec_of(_interval_chart(curve_points(work.adversaries(number)))),
        key="trace-curves",
        alt="The adversary's interval by lengthscale, before and after, by noise",
    )
    st.caption(
        "All noises move a record equally far on average. This noise is made for all stated lengthscales: "
        "among all noises it has the widest smallest interval. The best noise for one lengthscale may fail "
        "the others. Click a name below the chart to see its line alone."
    )


def _interval_chart(points: list[dict[str, float | str]]) -> alt.Chart:
    """Lines of the adversary's interval over the lengthscale, one for each noise."""
    kinds = [kind for kind in KINDS if any(point["noise"] == kind for point in points)]
    lengthscales = sorted({float(point["lengthscale"]) for point in points})
    highlight = alt.selection_point(fields=["noise"], bind="legend")
    chart: alt.Chart = (
        alt.Chart(alt.Data(values=points), height=420)
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "lengthscale:Q",
                title="Lengthscale that the adversary believes in (s)",
                scale=alt.Scale(type="log", nice=False, padding=14),
                axis=alt.Axis(values=lengthscales, format=".3~r"),
            ),
            y=alt.Y("metres:Q", title="68 % interval (m)"),
            color=alt.Color(
                "noise:N",
                title=None,
                sort=kinds,
                legend=alt.Legend(orient="bottom", columns=1, labelLimit=0),
            ),
            strokeDash=alt.StrokeDash("noise:N", sort=kinds, legend=None),
            opacity=alt.condition(highlight, alt.value(1.0), alt.value(0.15)),
            tooltip=["noise:N", "lengthscale:Q", "metres:Q"],
        )
        .add_params(highlight)
    )
    return chart


def stopped(work: TraceWork, plan: TracePlan) -> bool:
    """Warn of large odds; return whether they stop the release."""
    why = objection(plan)
    if not why:
        return False
    st.warning(
        f"**This release is stopped**: {plain(why)}. Ask for more noise, or for a smaller distance "
        "of the two places. Nothing has been drawn or charged.",
        icon=":material/front_hand:",
    )
    agreed = st.checkbox(
        "Release it anyway: its statement will say that these odds were accepted",
        value=plan.settings.accept_large_odds,
        key=f"accept_odds_{work.session}",
    )
    if agreed != plan.settings.accept_large_odds:
        work.accept_odds(bool(agreed))
        st.rerun()
    return not agreed
