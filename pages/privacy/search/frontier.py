"""The frontier: utility against budget, one dot per design, each a door to its map."""

from __future__ import annotations

import math

import altair as alt
import streamlit as st

from hexcursion.search.problem.task import FrontierPoint
from pages.privacy.designs import settling
from pages.privacy.designs.designs import dots
from pages.shared.glossary import tip
from pages.shared.session.workspace import Found

PICK = "picked"


def _budget(found: Found, scale: alt.Scale) -> alt.Chart:
    """A ring around the design to release: it moves with the slider."""
    scored = settling.chosen(found)
    here = {"epsilon": found.project.settings.epsilon, "agreement": scored.utility.agreement}
    rows = [here] if math.isfinite(here["agreement"]) else []
    ring = alt.Chart(alt.Data(values=rows)).mark_point(
        size=320, strokeWidth=2.5, color="#c2410c", shape="circle"
    )
    drawn: alt.Chart = ring.encode(
        x="epsilon:Q",
        y=alt.Y("agreement:Q", scale=scale),
        tooltip=[
            alt.Tooltip("epsilon:Q", title="your budget ε", format=".3~g"),
            alt.Tooltip("agreement:Q", title="agreement (IoU)", format=".2f"),
        ],
    )
    return drawn


def show(found: Found, key: str) -> FrontierPoint | None:
    """Draw the frontier; the point a person clicked, or None."""
    points = [dot for dot in dots(found.tuned) if math.isfinite(dot.agreement)]
    if not points:
        return None
    st.markdown("**Agreement that each budget buys**", help=tip("iou"))
    rows = [
        {
            "number": dot.number,
            "epsilon": dot.epsilon,
            "agreement": dot.agreement,
            "low": max(0.0, dot.agreement - dot.spread),
            "high": min(1.0, dot.agreement + dot.spread),
            "family": dot.family,
            "design": dot.design,
        }
        for dot in points
    ]
    lowest = max(0.0, min(dot.agreement - dot.spread for dot in points) - 0.1)
    scale = alt.Scale(domain=[round(lowest, 1), 1.0])
    height = alt.Y("agreement:Q", title="agreement (IoU)", scale=scale)
    pick = alt.selection_point(name=PICK, fields=["number"], nearest=False)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(
            "epsilon:Q",
            title="privacy budget ε",
            scale=alt.Scale(type="log", nice=False, padding=14),
            axis=alt.Axis(values=sorted({dot.epsilon for dot in points}), format=".3~g"),
        ),
        color=alt.Color("family:N", title=None, legend=alt.Legend(orient="top", labelLimit=420, columns=1)),
    )
    dot_layer = (
        base.mark_point(filled=True)
        .encode(
            y=height,
            shape=alt.Shape("family:N", title=None),
            size=alt.condition(pick, alt.value(170), alt.value(70), empty=False),
            opacity=alt.value(1.0),
            tooltip=[
                alt.Tooltip("family:N", title="design"),
                alt.Tooltip("epsilon:Q", title="budget ε", format=".3~g"),
                alt.Tooltip("agreement:Q", title="agreement (IoU)", format=".2f"),
                alt.Tooltip("design:N", title="parameters"),
            ],
        )
        .add_params(pick)
    )
    layers = [
        base.mark_line(opacity=0.5).encode(y=height),
        base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        dot_layer,
    ]
    layers.append(_budget(found, scale))
    free = found.tuned.free_agreement
    if free is not None:
        ground = alt.Chart(alt.Data(values=[{"free": free}]))
        line = ground.mark_rule(strokeDash=[5, 4], color="#7b8a90")
        layers.append(line.encode(y=alt.Y("free:Q", scale=scale)))
        layers.append(
            ground.mark_text(align="left", dy=9, dx=4, color="#7b8a90", text="public map").encode(
                y=alt.Y("free:Q", scale=scale), x=alt.value(0)
            )
        )
    picked = st.altair_chart(
        alt.layer(*layers).properties(
            height=260, autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
        ),
        on_select="rerun",
        selection_mode=PICK,
        key=key,
        alt="Agreement with the map without privacy, against the privacy budget: one dot for each design.",
    )
    st.caption(
        "The ring is the design to release. Click a dot to see its map."
        if free is None
        else "The ring is the design to release. Click a dot to see its map. The dashed line is what public "
        "data alone reach."
    )
    if found.project.pilot is not None:
        st.caption(
            "The budgets on the chart are of a release alone; what was paid for beforehand comes on top."
        )
    numbers = picked["selection"].get(PICK, [])
    return found.tuned.result.frontier[int(numbers[0]["number"])] if numbers else None
