"""Say whose table it seems to be, and what its columns may mean, each with the click that answers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from data_loaders import ColumnGuess, Finding, Recognised
from data_loaders.wanted import is_metres
from pages.data.table_columns import NO_VALUE, at, kept, pick
from pages.shared.fields import on_screen
from pages.shared.plain_text import plain

_CLICKS = {
    "where": "Keep the rows of one entry of {}",
    "owner": "Protect all rows of one {} together",
    "place_sd": "Take the noise of places as {}",
}


def offer_agency(guess: ColumnGuess, path: str) -> None:
    """Say whose table it seems to be; its columns fill the fields below when a person says so."""
    known = guess.known
    if known is None or known.profile.rows != "readings":
        return
    with st.container(border=True):
        st.markdown(f":material/badge: These look like the columns of **{plain(known.profile.title)}**.")
        st.caption(" ".join(plain(line) for line in agency_sentences(known)))
        st.button("Use its columns", key=f"sensors_profile_{path}", on_click=_take_agency, args=(known, path))


def agency_sentences(known: Recognised) -> list[str]:
    """What the agency's columns are, and what a person still has to choose."""
    said = []
    if known.place is not None:
        zone = known.place.zone and f"the zones of {known.place.zone}"
        system = known.place.crs or zone or "a coordinate system to state"
        said.append(f"Places: {known.place.x}, {known.place.y} in {system}.")
    if known.profile.count:
        said.append(f"Each row is a {known.profile.count}, and counted.")
    elif len(known.values) == 1:
        said.append(f"Value: {known.values[0].column}.")
    elif known.values:
        said.append(f"Values, of which you choose one: {', '.join(one.column for one in known.values)}.")
    if known.quantity is not None:
        said.append(f"What a row measures: {known.quantity}, of which you choose one entry.")
    if known.kind is not None:
        kind, entry = known.kind
        said.append(f"Kind of a row: {kind}, of which you may keep one entry, such as {entry}.")
    for what, column in (
        ("Owner", known.owner),
        ("Time", known.time),
        ("Limits", known.condition),
        ("Units", known.unit),
        ("Name of a row", known.identifier),
        ("How sure a place is, if in metres", known.place_sd),
        ("Metres to which every place is known", known.metres),
    ):
        if column is not None:
            said.append(f"{what}: {column}.")
    if known.limit is not None:
        said.append(f"Limits of detection, if they have the values' unit: {known.limit}.")
    return [*said, known.profile.note] if known.profile.note else said


def widget_state(known: Recognised, path: str) -> dict[str, Any]:
    """Return what the fields hold when the agency's columns are taken over, by key; a field that a person
    must fill is emptied: a value among several, the quantity, a system that varies."""
    only, counted = known.measured(None), known.profile.count
    state: dict[str, Any] = {
        "value": NO_VALUE if counted else None if only is None else only.column,
        "owner": known.owner,
        "time": known.time,
        "condition": known.condition,
    }
    also = {
        "identifier": known.identifier,
        "unit_column": None if counted else known.unit,
        "equal_rows": known.profile.equal_rows,
        "place_sd": known.metres,
        "word": counted,
    }
    state |= {name: held for name, held in also.items() if held}
    if known.place is not None:
        state |= {"x": known.place.x, "y": known.place.y, "crs": known.place.crs or ""}
        if known.place.zone is not None:
            state |= {"zone_column": known.place.zone, "crs": "EPSG:4326"}
    if known.profile.missing:
        state["missing"] = " ".join(known.profile.missing)
    if known.quantity is not None:
        state |= {"where": [known.quantity], "reference_where": []}
    named = {f"sensors_{name}_{path}": held for name, held in state.items()}
    if only is not None:
        of_it = {"name": only.name, "unit": only.unit}
        named |= {f"sensors_{what}_{path}_{only.column}": said for what, said in of_it.items() if said}
    return named


def ask_place(guess: ColumnGuess, path: str) -> dict[str, Any]:
    """Ask for a column of whole places, or of UTM zones; proposed where the first rows look so."""
    columns = list(guess.columns)
    with st.expander("Whole places in one column, or UTM zones (optional)", expanded=guess.place is not None):
        place = st.selectbox(
            "Column with whole places",
            columns,
            at(columns, guess.place),
            placeholder="none",
            help="POINT (x y), latitude and longitude together, cells, or letters of a grid.",
            **kept("place_column", path),
        )
        state, unanswered = kept("zone_column", path), "none: one system for all"
        zone = pick(st, "Column with the UTM zone of a row", columns, unanswered, **state)
    return {"place_column": place, "zone_column": zone}


def offer_findings(guess: ColumnGuess, path: str) -> None:
    """Ask what the first rows leave open; a click fills the field that answers a question."""
    stated = _stated(path)
    codes = [code for number in guess.suspects if (code := f"{number:g}") not in stated]
    codes = [] if "none" in stated else codes
    findings = [finding for finding in guess.findings if not _answered(finding, path)]
    if not findings and not codes:
        return
    with st.expander("Questions about this table", expanded=True):
        for code in codes:
            st.markdown(plain(f"In {guess.value!r} {_odd(code)}."))
            _button(f"{code} stands for a missing value", f"code_{code}", path, _take_code, code, path)
        if codes and not stated:
            _button("Every number is a measurement", "no_code", path, _take_code, "none", path)
        for finding in findings:
            st.markdown(plain(on_screen(finding.sentence)))
            key = finding.column
            label = _CLICKS[finding.setting].format(f"{plain(key)}{' metres' if is_metres(key) else ''}")
            _button(label, f"{finding.setting}_{key}", path, _take, finding, path)


def _odd(code: str) -> str:
    """Say why a number of the first rows may be no measurement."""
    if code == "0":
        return "many numbers are 0, and hardly another comes near 0"
    return f"{code} is far from all other values"


def _stated(path: str) -> list[str]:
    """Return what the field for missing values holds: codes, or `none`."""
    return str(st.session_state.get(f"sensors_missing_{path}") or "").replace(",", " ").split()


def _answered(finding: Finding, path: str) -> bool:
    """Whether the field that a finding fills holds its column already."""
    held = st.session_state.get(f"sensors_{finding.setting}_{path}")
    return finding.column in held if isinstance(held, list) else finding.column == held


def _button(label: str, key: str, path: str, act: Callable[..., None], *args: Any) -> None:
    st.button(label, key=f"sensors_finding_{key}_{path}", on_click=act, args=args)


def _take_code(code: str, path: str) -> None:
    st.session_state[f"sensors_missing_{path}"] = " ".join((*_stated(path), code))


def _take(finding: Finding, path: str) -> None:
    state = st.session_state
    if finding.setting == "where":
        key = f"sensors_where_{path}"
        state[key] = list(dict.fromkeys((*state.get(key, ()), finding.column)))
    elif finding.setting == "owner":
        state[f"sensors_owner_{path}"], state[f"sensors_most_{path}"] = finding.column, 1
    else:
        state[f"sensors_place_sd_{path}"] = finding.column


def _take_agency(known: Recognised, path: str) -> None:
    st.session_state.update(widget_state(known, path))
