"""The public scale: a usual value and its spread, asked for where no reference data can tell them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from hexcursion.errors import WorkflowError
from pages.privacy.question.relative import relative_unit
from pages.privacy.question.scales import stated_scale, stated_values, uses_factors
from pages.shared.glossary import tip
from pages.shared.plain_text import plain
from pages.shared.session.workspace import Workspace

KEEP: Any = {"persist_state": "session"}
ONE_SCALE = ("yes-no", "count")
"""Values with one scale, whatever they are about."""


def ask(work: Workspace) -> None:
    """Ask for the public centre and clip bound in the data's unit, where no reference data give them."""
    if work.private is None or work.choices.get("reference") is not None:  # rows, or an earlier release
        return
    if work.choices.get("values") in ONE_SCALE:
        return
    factors = uses_factors(work.choices)
    unit = relative_unit(work) or work.choices.get("value_unit") or "the data's unit"
    usual, spread = stated_values(work.choices.get("centre"), work.choices.get("clip"), factors)
    st.header("What is usual", anchor=False)
    st.caption(
        "Without reference data please say what anybody knows, from the press or an earlier year. It must "
        "not be read off the private data: it is printed on the release."
    )
    first, second = st.columns(2)
    usual = first.number_input(
        f"A usual value ({plain(unit)})",
        value=usual,
        format="%g",
        help="The public centre: values are measured from here, and where the data say little the map "
        "stays near it.",
        key=f"usual_{work.mark}",
        **KEEP,
    )
    spread = second.number_input(
        "Most lie within a factor of" if factors else f"Most lie within ± ({plain(unit)})",
        value=spread,
        format="%g",
        help=tip("clip"),
        key=f"spread_{work.mark}",
        **KEEP,
    )
    try:
        centre, clip = stated_scale(usual, spread, factors)
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
        centre = clip = None
    if (centre, clip) != _standing(work, factors):
        work.choose(centre=centre, clip=clip)


def missing(work: Workspace) -> str | None:
    """What is still to be said before a search, in one sentence; None where nothing is."""
    if work.private is None or work.choices.get("reference") is not None:
        return None
    if work.choices.get("values") in ONE_SCALE:
        return None
    if work.choices.get("centre") is None or work.choices.get("clip") is None:
        return "Say under What is usual: a usual value, and how far most values lie from it."
    return None


def _standing(work: Workspace, factors: bool) -> tuple[float | None, float | None]:
    """The choices as the widgets can say them, so that showing them again changes nothing."""
    shown = stated_values(work.choices.get("centre"), work.choices.get("clip"), factors)
    return stated_scale(*shown, factors)
