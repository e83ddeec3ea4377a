"""The attacker's odds: what the guarantee leaves to anybody who is after one record, as table and curve."""

from __future__ import annotations

from typing import Any

import altair as alt
import streamlit as st

from dpgp_core.numbers import upper
from hexcursion import words
from pages.privacy.guarantee.odds import attack_odds
from pages.shared.plain_text import plain

HELP = (
    "An attacker knows every other record and wants to tell whether the remaining one is a certain record or "
    "another. No attack on the release, however clever, does better than this. The numbers follow from ε and "
    "δ alone; the release's own design usually leaves the attacker less."
)


def show(epsilon: float, delta: float, record: words.UnitWord) -> None:
    """The best any attack on one record can do at this epsilon and delta."""
    odds = attack_odds(epsilon, delta)
    with st.container(border=True, key="odds"):
        st.markdown(
            f"**At ε {plain(upper(epsilon, 3))} an attacker who is after one {plain(record)}**",
            help=HELP,
        )
        st.table(
            {
                "An attacker": [
                    "changes anybody's odds, but for δ",
                    "guesses right from even odds",
                    *(f"detects it at {plain(alarms)} false alarms" for alarms, _ in odds.rows),
                ],
                "at most": [
                    plain(odds.factor),
                    plain(odds.guesses),
                    *(plain(power) for _, power in odds.rows),
                ],
            },
            hide_index=True,
            border="horizontal",
        )
        with st.popover("As a curve", type="tertiary", icon=":material/show_chart:"):
            st.altair_chart(
                _curve(odds.curve),
                alt="The best detection rate of an attack against its rate of false alarms.",
            )
            st.caption("Solid: the best any attack can do. Dashed: guessing without looking at the release.")


def _curve(points: tuple[tuple[float, float], ...]) -> Any:
    percent = alt.Axis(format="%", values=[0, 0.5, 1], title="false alarms")
    base = alt.Chart(alt.Data(values=[{"alarms": a, "detections": d} for a, d in points]))
    bound = base.mark_line(strokeWidth=2.5).encode(
        x=alt.X("alarms:Q", axis=percent, scale=alt.Scale(domain=[0, 1])),
        y=alt.Y(
            "detections:Q",
            axis=alt.Axis(format="%", values=[0, 0.5, 1], title="detected"),
            scale=alt.Scale(domain=[0, 1]),
        ),
        tooltip=[
            alt.Tooltip("alarms:Q", title="false alarms", format=".1%"),
            alt.Tooltip("detections:Q", title="detected at most", format=".1%"),
        ],
    )
    guessing = (
        alt.Chart(alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
        .mark_line(strokeDash=[4, 4], color="#7b8a90", strokeWidth=1)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
    )
    return alt.layer(guessing, bound).properties(height=240, width=320)
