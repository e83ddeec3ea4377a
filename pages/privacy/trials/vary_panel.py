"""What each number of a design does: four small charts, one parameter varied, epsilon over agreement."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import streamlit as st

from hexcursion.search.problem.task import Scored
from pages.privacy.trials.trials import VariationView, cost_scale, sweep_job
from pages.shared.glossary import TERMS, label, tip
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.workspace import Found, Workspace

GROUND = "#7b8a90"


def show(work: Workspace, found: Found, scored: Scored) -> None:
    """Button, progress, then the charts of the design looked at."""
    st.caption(
        "One number of the design is varied, up to four times either way, and the others stay. Above: ε, an "
        "upper bound by the proved bound that is the lowest there. Below: the expected agreement on "
        f"{plain(found.project.tried_on)}. The line marks the design as it is."
    )
    answer = side_jobs.follow(
        work,
        "sweep",
        (scored.design, found.tuned),
        "Show what each number does",
        "Cancel the variation",
        lambda: sweep_job(found.project, found.tuned, scored),
    )
    if answer is None:
        return
    views: tuple[VariationView, ...] = answer.result
    with st.container(key="variations"):
        for column, view in zip(st.columns(len(views), gap="small"), views, strict=True):
            with column:
                unit = f" ({plain(view.unit)})" if view.unit else ""
                st.markdown(f"**{label(view.term)}**{unit}", help=tip(view.term))
                words = f"{TERMS[view.term].word}: {view.words}"
                st.altair_chart(
                    _cost(view, views), key=f"vary_{view.parameter}_cost", alt=f"Epsilon by {words}"
                )
                st.altair_chart(
                    _agreement(view, views), key=f"vary_{view.parameter}", alt=f"Agreement by {words}"
                )
    for view in views:
        st.caption(f"**{label(view.term)}.** {plain(view.words)}")
    if any(point.epsilon is None for view in views for point in view.points):
        st.caption("∞ marks values for which no finite bound is proved: such a design cannot be released.")


def _rows(view: VariationView) -> list[dict[str, Any]]:
    return [
        {
            "value": point.value,
            "epsilon": point.epsilon,
            "said": point.said,
            "agreement": point.agreement if math.isfinite(point.agreement) else None,
            "here": point.current,
            "unbounded": point.epsilon is None,
        }
        for point in view.points
    ]


def _base(view: VariationView, title: str | None) -> alt.Chart:
    values = [point.value for point in view.points]
    here = [point.value for point in view.points if point.current]
    ticks = sorted({values[0], *here, values[-1]})
    axis = alt.Axis(values=ticks, format=".2~r", title=title)
    return alt.Chart(alt.Data(values=_rows(view))).encode(
        x=alt.X(
            "value:Q",
            axis=axis,
            scale=alt.Scale(type="log", nice=False, padding=10, domain=[values[0], values[-1]]),
        ),
        tooltip=[
            alt.Tooltip("value:Q", title=TERMS[view.term].word, format=".3~g"),
            alt.Tooltip("said:N", title="cost"),
            alt.Tooltip("agreement:Q", title="agreement (IoU)", format=".3f"),
        ],
    )


def _here(base: alt.Chart) -> Any:
    return base.transform_filter("datum.here").mark_rule(color=GROUND, strokeDash=[3, 3])


def _cost(view: VariationView, views: tuple[VariationView, ...]) -> Any:
    """Solid: epsilon on one log scale for all charts; infinite values stand as signs on the upper edge."""
    base = _base(view, None)
    ends, ticks = cost_scale(views)
    height = alt.Y(
        "epsilon:Q",
        title="ε at most",
        scale=alt.Scale(type="log", nice=False, padding=12, domain=list(ends)),
        axis=alt.Axis(format="~r", values=list(ticks)),
    )
    bounded = base.transform_filter("!datum.unbounded")
    layers = [
        _here(base),
        bounded.mark_line(strokeWidth=2.5).encode(y=height),
        bounded.mark_point(filled=True, size=45, opacity=1).encode(y=height),
        base.transform_filter("datum.unbounded")
        .mark_text(text="∞", fontSize=18, color=GROUND)
        .encode(y=alt.value(8)),
    ]
    return alt.layer(*layers).properties(height=130)


def _agreement(view: VariationView, views: tuple[VariationView, ...]) -> Any:
    """Dashed, hollow: agreement, on one scale for all four charts."""
    known = [point.agreement for each in views for point in each.points if math.isfinite(point.agreement)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = max(0.1 * (high - low), 0.01)
    unit = f" ({view.unit})" if view.unit else ""
    base = _base(view, f"{TERMS[view.term].word}{unit}")
    height = alt.Y(
        "agreement:Q",
        title="agreement",
        scale=alt.Scale(domain=[max(0.0, low - room), min(1.0, high + room)], nice=True, zero=False),
        axis=alt.Axis(format=".2f", tickCount=4),
    )
    layers = [
        _here(base),
        base.mark_line(strokeWidth=2, strokeDash=[6, 3]).encode(y=height),
        base.mark_point(filled=False, size=45, opacity=1, strokeWidth=2).encode(y=height),
    ]
    return alt.layer(*layers).properties(height=130)
