"""The chart of a comparison: one curve for each mechanism of one protection, its spread, dots to click."""

from __future__ import annotations

import altair as alt
import streamlit as st

from dpgp_core.mechanisms.terms import Protects
from hexcursion.comparing.run import Comparison
from pages.compare.view import MEASURES, MeasureName, dots

PICK = "picked"


def show(found: Comparison, protects: Protects, measure: MeasureName, key: str) -> int | None:
    """Draw one protection's curves; the number of the row whose dot was clicked, or None."""
    rows = dots(found, protects, measure)
    if not rows:
        st.caption("No mechanism has this figure here.")
        return None
    title = MEASURES[measure].title
    pick = alt.selection_point(name=PICK, fields=["number"], nearest=False)
    height = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False))
    colour = alt.Color("mechanism:N", title=None, legend=alt.Legend(orient="top", columns=2, labelLimit=260))
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(
            "epsilon:Q",
            title="privacy budget ε",
            scale=alt.Scale(type="log", nice=False, padding=14),
            axis=alt.Axis(values=sorted({row["epsilon"] for row in rows}), format=".3~g"),
        ),
        color=colour,
    )
    dot = (
        base.mark_point(filled=True)
        .encode(
            y=height,
            shape=alt.Shape("mechanism:N", title=None),
            size=alt.condition(pick, alt.value(170), alt.value(70), empty=False),
            tooltip=[
                alt.Tooltip("mechanism:N", title="mechanism"),
                alt.Tooltip("epsilon:Q", title="budget ε", format=".3~g"),
                alt.Tooltip("value:Q", title=title, format=".3f"),
                alt.Tooltip("design:N", title="parameters"),
            ],
        )
        .add_params(pick)
    )
    spread = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    picked = st.altair_chart(
        alt.layer(base.mark_line(opacity=0.5).encode(y=height), spread, dot).properties(
            height=260, autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
        ),
        on_select="rerun",
        selection_mode=PICK,
        key=key,
        alt=f"{title} against the privacy budget: one curve for each mechanism that hides {protects}.",
    )
    numbers = picked["selection"].get(PICK, [])
    return int(numbers[0]["number"]) if numbers else None
