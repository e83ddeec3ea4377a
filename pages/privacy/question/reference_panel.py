"""The public reference values on a screen: a histogram with the threshold as a line, and what it says."""

from __future__ import annotations

import altair as alt
import streamlit as st

from geo.colours import colour
from pages.privacy.question.reference_values import bars, sentences
from pages.shared import maps
from pages.shared.plain_text import plain
from pages.shared.session.workspace import Workspace


def show(work: Workspace, threshold: float | None) -> None:
    """The histogram, where there are reference data and they are published; nothing otherwise."""
    seen = work.reference
    if seen is None or not seen.quantiles or not work.choices.get("reference_public"):
        return
    unit = str(work.choices.get("value_unit", ""))
    drawn = bars(seen.quantiles)
    if drawn:
        rows = [{"low": bar.low, "high": bar.high, "none": 0, "share": bar.share} for bar in drawn]
        scale = alt.Scale(nice=False, zero=False)
        chart = (
            alt.Chart(alt.Data(values=rows))
            .mark_bar(color=colour("field3", maps.theme()))
            .encode(
                x=alt.X("low:Q", title=unit or "value", scale=scale, axis=alt.Axis(format="~s", tickCount=5)),
                x2="high:Q",
                y=alt.Y("share:Q", title="share", axis=alt.Axis(format="%", tickCount=3)),
                y2="none:Q",
            )
        )
        if threshold is not None and drawn[0].low <= threshold <= drawn[-1].high:
            line = alt.Chart(alt.Data(values=[{"threshold": threshold}])).mark_rule(
                color=colour("inside", maps.theme()), strokeWidth=3
            )
            chart = chart + line.encode(x=alt.X("threshold:Q", scale=scale))
        st.altair_chart(
            chart.properties(height=150),
            alt=f"Histogram of {seen.size:,} public reference values; the threshold is a line.",
            key=f"reference_{work.mark}",
        )
    st.caption(plain(" ".join(sentences(seen, unit, threshold))))
