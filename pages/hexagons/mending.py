"""Mending an area on its screen: named parts of a file, and axes exchanged where no row lies inside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import streamlit as st

from hexcursion.errors import WorkflowError
from pages.data.sources import refill
from pages.shared.plain_text import one_line, plain
from pages.shared.server import access
from pages.shared.session.previews import Box, Stray, columns_of, look_at, turned
from pages.shared.session.workspace import Workspace

KNOWN = "area_parts"


def parts_of(path: str, work: Workspace) -> tuple[tuple[str, ...], str | None]:
    """The names of the features of a file that a person picks, and their column; none for the whole file."""
    known = st.session_state.get(KNOWN)
    if known is None or known[0] != path:
        try:
            access.reach_of(work.folder).check(path)
        except WorkflowError:
            return (), None  # said where the area is filled
        known = st.session_state[KNOWN] = (path, columns_of(path))
    columns: dict[str, tuple[str, ...]] = known[1]
    if not columns:
        return (), None
    same = work.choices.get("region") == path
    decided = work.choices.get("feature_column") if same else None
    column = next(iter(columns))
    if len(columns) > 1:
        column = st.selectbox(
            "Column with the names of the parts",
            list(columns),
            index=[*columns].index(decided) if decided in columns else 0,
            format_func=one_line,
            key=f"part_column_{work.mark}_{path}",
            persist_state="session",
        )
    names = columns[column]
    chosen = work.choices.get("features", ()) if same else ()
    picked = st.multiselect(
        "Parts of the file",
        names,
        default=[name for name in chosen if name in names],
        placeholder=f"the whole file, all {len(names):,} parts",
        format_func=one_line,
        help="Type a few letters of a name. Several parts become one area.",
        key=f"parts_{work.mark}_{path}_{column}",
        persist_state="session",
    )
    return tuple(picked), (column if picked else None)


def stop(work: Workspace, found: Stray) -> None:
    """That no row lies inside, and the ways to mend it."""
    st.error(f"No row lies inside this area. {plain(found.reason)}", icon=":material/wrong_location:")
    if not found.swapped:
        return
    with st.container(horizontal=True):
        if work.kind == "sensors":
            st.button("Exchange the two columns of the data", on_click=exchange_columns, args=(work,))
        offer_exchange(work, work.choices.get("region"), work.choices.get("bbox"))


def offer_exchange(work: Workspace, region: str | None, box: Box | None) -> None:
    """A button that exchanges the axes of the area."""
    if region is not None or box is not None:
        st.button("Exchange longitude and latitude of the area", on_click=_exchange_area, args=(work, region))


def exchange_columns(work: Workspace) -> None:
    """Read the sources again with the two columns of the place exchanged."""
    unit, before = work.choices.get("value_unit", ""), dict(work.choices)
    for name in ("data", "reference"):
        source = work.choices.get(name)
        if source is not None:
            work.choose(**{name: replace(source, x=source.y, y=source.x)})
    try:
        work.private = look_at(work.choices["data"], unit)
        if work.choices.get("reference") is not None:
            work.reference = look_at(work.choices["reference"], unit, spread=True)
    except WorkflowError as error:
        work.choices = before
        st.toast(plain(error), icon=":material/error:")
        return
    refill(work)


def _exchange_area(work: Workspace, region: str | None) -> None:
    state = st.session_state
    if region is None:
        sides = [f"box_{side}_{work.mark}" for side in ("West", "South", "East", "North")]
        west, south, east, north = (state.get(side) for side in sides)
        state.update(zip(sides, (south, west, north, east), strict=True))
        return
    try:
        path = str(work.folder.keep(Path(region).name, turned(region)))
    except WorkflowError as error:
        st.toast(plain(error), icon=":material/error:")
        return
    work.uploads["region"] = path
    state[f"region_path_{work.mark}"] = path
