"""Ask what each of several columns is, its threshold and its usual value: all of it is public."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import streamlit as st

from hexcursion.settings.names import Direction
from hexcursion.words import listed, side_words
from pages.privacy.question import DIFFER, scale_fields
from pages.shared import panels
from pages.shared.glossary import tip
from pages.shared.plain_text import Markdown, plain
from pages.shared.session.workspace import Workspace

ANSWERS: Literal["yes-no"] = "yes-no"
Differ: TypeAlias = bool | Literal["yes-no"]
"""Whether values differ by factors; or that they are answers."""
KINDS: dict[Differ, str] = {False: DIFFER[False], True: DIFFER[True], ANSWERS: "answers: yes and no"}


def ask(work: Workspace) -> None:
    """One column at a time, chosen above its fields; below them the open fields."""
    st.header("Each value", anchor=False)
    st.caption("All of this is printed on the release: say what anybody knows, not what these data show.")
    names = list(work.columns)
    name = panels.ask_column("Value", names, work.called, **work.keyed("column"))
    column = work.columns[name]
    called, unit, kind = _meaning(work, name, column)
    unit_words = f" ({plain(unit.strip())})" if unit.strip() else ""
    side, limit, middle, far = st.columns(4, vertical_alignment="bottom")
    sides = list(get_args(Direction))
    direction = side.selectbox(
        "Where is it …",
        sides,
        index=sides.index(column.get("direction", "above")),
        format_func=side_words,
        **_kept(work, "direction", name),
    )
    threshold = limit.number_input(
        "so many of 100 that say yes" if kind == ANSWERS else f"the threshold{unit_words}",
        value=column.get("threshold"),
        format="%g",
        help=tip("threshold"),
        **_kept(work, "threshold", name),
    )
    scale = _scale(work, name, column, kind, unit_words, (middle, far))
    work.choose_column(
        name,
        value_name=called.strip(),
        value_unit=unit.strip(),
        direction=direction,
        threshold=threshold,
        weight=_weight(work, name, column),
        **scale,
    )
    _gaps(work)
    _say_what_is_missing(work)


def _meaning(work: Workspace, name: str, column: dict[str, Any]) -> tuple[str, str, Differ]:
    """Ask what a column is called, its unit, and whether its values differ by factors or are answers."""
    first, second, third = st.columns(3, vertical_alignment="bottom")
    called = first.text_input(
        "What it is, in words", value=column.get("value_name", ""), **_kept(work, "name", name)
    )
    unit = second.text_input("Its unit", value=column.get("value_unit", ""), **_kept(work, "unit", name))
    standing: Differ = ANSWERS if column.get("values") == ANSWERS else column.get("transform") == "log"
    kind = third.selectbox(
        "Values differ by",
        list(KINDS),
        index=list(KINDS).index(standing),
        format_func=KINDS.__getitem__,
        help="Factors suit prices, incomes and concentrations: all above 0, a few very high. Of answers the "
        "share of yes is shown.",
        **_kept(work, "factors", name),
    )
    return called, unit, kind


def _scale(
    work: Workspace,
    name: str,
    column: dict[str, Any],
    kind: Differ,
    unit_words: Markdown,
    places: tuple[Any, Any],
) -> dict[str, Any]:
    """Ask in two places for the usual values of amounts, or above what a value is a yes."""
    if kind == ANSWERS:
        limit = places[0].number_input(
            f"A value above this is a yes{unit_words}",
            value=column.get("yes_above"),
            format="%g",
            placeholder="empty: 1 and 0",
            help="A public limit, such as that of a law; empty where values are 1 and 0.",
            **_kept(work, "yes_above", name),
        )
        return {"values": ANSWERS, "yes_above": limit}
    centre = clip = None
    if not work.told_usual:
        keys = _kept(work, f"usual_{kind}", name), _kept(work, f"spread_{kind}", name)
        centre, clip = scale_fields(places, column, bool(kind), unit_words, keys)
    transform = "log" if kind else column.get("transform") and "identity"
    return {"transform": transform, "centre": centre, "clip": clip}


def _weight(work: Workspace, name: str, column: dict[str, Any]) -> float | None:
    """The priority of a column; None for that of all."""
    with st.expander("Does it matter more than the others?", icon=":material/balance:"):
        weight = st.number_input(
            "Weight",
            min_value=1.0,
            max_value=10.0,
            value=float(column.get("weight", 1.0)),
            format="%g",
            help="Twice the weight is half the noise, and more for the others. It is public.",
            **_kept(work, "weight", name),
        )
    return None if weight == 1.0 else weight


def _say_what_is_missing(work: Workspace) -> None:
    if unsaid := work.unsaid:
        st.caption(
            f":material/info: {plain(listed(unsaid))}: threshold, usual value and how far most lie from it "
            "are still to be said."
            if not work.told_usual
            else f":material/info: {plain(listed(unsaid))}: the threshold is still to be said."
        )


def _kept(work: Workspace, name: str, column: str) -> dict[str, Any]:
    """The arguments of a widget about a column of these data."""
    return work.keyed(f"column_{name}_{column}")


def _gaps(work: Workspace) -> None:
    """Whether values may be missing, with their numbers: the answer is public, the numbers are not."""
    lacking = {name: share for name, share in work.missing.items() if share > 0}
    gaps = st.checkbox(
        "Values may be missing",
        value=work.atlas.gaps,
        help="The records that have each value are then counted apart, and a record with few values may "
        "weigh less. The release says so.",
        **work.keyed("gaps"),
    )
    work.atlas = replace(work.atlas, gaps=gaps)
    if lacking:
        text = "; ".join(f"{work.called(name)} {100 * share:.1f} %" for name, share in lacking.items())
        st.caption(f":material/lock: For you only: without a value are {plain(text)} of the rows.")
    elif work.missing:
        st.caption(":material/lock: For you only: no value is missing.")
