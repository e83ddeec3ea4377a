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
    agency = guess.known
    if agency is None or agency.profile.rows != "readings":
        return
    with st.container(border=True):
        st.markdown(f":material/badge: These look like the columns of **{plain(agency.profile.title)}**.")
        st.caption(" ".join(plain(line) for line in agency_sentences(agency)))
        st.button(
            "Use its columns", key=f"sensors_profile_{path}", on_click=_take_agency, args=(agency, path)
        )


def agency_sentences(agency: Recognised) -> list[str]:
    """What the agency's columns are, and what a person still has to choose."""
    sentences = []
    if agency.place is not None:
        zone = agency.place.zone and f"the zones of {agency.place.zone}"
        system = agency.place.crs or zone or "a coordinate system to state"
        sentences.append(f"Places: {agency.place.x}, {agency.place.y} in {system}.")
    if agency.profile.count:
        sentences.append(f"Each row is a {agency.profile.count}, and counted.")
    elif len(agency.values) == 1:
        sentences.append(f"Value: {agency.values[0].column}.")
    elif agency.values:
        sentences.append(
            f"Values, of which you choose one: {', '.join(value.column for value in agency.values)}."
        )
    if agency.quantity is not None:
        sentences.append(f"What a row measures: {agency.quantity}, of which you choose one entry.")
    if agency.kind is not None:
        kind, entry = agency.kind
        sentences.append(f"Kind of a row: {kind}, of which you may keep one entry, such as {entry}.")
    for what, column in (
        ("Owner", agency.owner),
        ("Time", agency.time),
        ("Limits", agency.condition),
        ("Units", agency.unit),
        ("Name of a row", agency.identifier),
        ("How sure a place is, if in metres", agency.place_sd),
        ("Metres to which every place is known", agency.metres),
    ):
        if column is not None:
            sentences.append(f"{what}: {column}.")
    if agency.limit is not None:
        sentences.append(f"Limits of detection, if they have the values' unit: {agency.limit}.")
    return [*sentences, agency.profile.note] if agency.profile.note else sentences


def widget_state(agency: Recognised, path: str) -> dict[str, Any]:
    """Return what the fields hold when the agency's columns are taken over, by key; a field that a person
    must fill is emptied: a value among several, the quantity, a system that varies."""
    only, record_kind = agency.measured(None), agency.profile.count
    state: dict[str, Any] = {
        "value": NO_VALUE if record_kind else None if only is None else only.column,
        "owner": agency.owner,
        "time": agency.time,
        "condition": agency.condition,
    }
    also = {
        "identifier": agency.identifier,
        "unit_column": None if record_kind else agency.unit,
        "equal_rows": agency.profile.equal_rows,
        "place_sd": agency.metres,
        "word": record_kind,
    }
    state |= {name: value for name, value in also.items() if value}
    if agency.place is not None:
        state |= {"x": agency.place.x, "y": agency.place.y, "crs": agency.place.crs or ""}
        if agency.place.zone is not None:
            state |= {"zone_column": agency.place.zone, "crs": "EPSG:4326"}
    if agency.profile.missing:
        state["missing"] = " ".join(agency.profile.missing)
    if agency.quantity is not None:
        state |= {"where": [agency.quantity], "reference_where": []}
    widgets = {f"sensors_{name}_{path}": value for name, value in state.items()}
    if only is not None:
        of_it = {"name": only.name, "unit": only.unit}
        widgets |= {f"sensors_{what}_{path}_{only.column}": text for what, text in of_it.items() if text}
    return widgets


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
    answers = _stated(path)
    codes = [code for number in guess.suspects if (code := f"{number:g}") not in answers]
    codes = [] if "none" in answers else codes
    findings = [finding for finding in guess.findings if not _answered(finding, path)]
    if not findings and not codes:
        return
    with st.expander("Questions about this table", expanded=True):
        for code in codes:
            st.markdown(plain(f"In {guess.value!r} {_odd(code)}."))
            _button(f"{code} stands for a missing value", f"code_{code}", path, _take_code, code, path)
        if codes and not answers:
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
    content = st.session_state.get(f"sensors_{finding.setting}_{path}")
    return finding.column in content if isinstance(content, list) else finding.column == content


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


def _take_agency(agency: Recognised, path: str) -> None:
    st.session_state.update(widget_state(agency, path))
