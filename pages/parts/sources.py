"""Asking for sources: files by upload or by path, and the columns of a sensor table to confirm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.parts.glossary import tip
from workflow.desk import SEGMENT_TITLES, PrivateFolder, propose_columns
from workflow.errors import WorkflowError
from workflow.settings import SourceSettings

UPLOAD, PATH = "upload", "path"
KEEP: Any = {"persist_state": "session"}


@dataclass(frozen=True)
class Sources:
    """What a person named: settings for the private and the reference source, by field name."""

    choices: dict[str, Any]


def ask_sales(folder: PrivateFolder) -> Sources | None:
    """Ask for Price Paid files and a postcode lookup; None until enough is named."""
    where = _where("sales")
    left, right = st.columns(2, gap="large")
    with left, st.container(border=True):
        st.markdown("**Private data**")
        private = _file("Price Paid file (.csv, .csv.gz, .zip)", where, "sales_private", folder)
        postcodes = _file(
            "Postcode lookup (ONSPD, NSPL or Code-Point Open)",
            where,
            "sales_postcodes",
            folder,
            help="Price Paid rows carry postcodes only; the lookup gives each postcode its place.",
        )
        segment = st.selectbox(
            "Which sales?",
            list(SEGMENT_TITLES),
            format_func=SEGMENT_TITLES.__getitem__,
            index=1,
            key="sales_segment",
            **KEEP,
        )
        years = _years("Years of transfer (optional)", "sales_years")
    with right, st.container(border=True):
        st.markdown("**Reference data**", help=tip("reference"))
        reference = _file(
            "Price Paid file of an earlier year", where, "sales_reference", folder, help=tip("reference")
        )
        earlier = _years("Years of transfer (optional)", "sales_reference_years")
        public = _public("sales")
    if private is None or postcodes is None or years is None or earlier is None:
        return None
    choices: dict[str, Any] = {
        "data": SourceSettings(private, postcodes, segment, years),
        "value_name": "price",
        "value_unit": "GBP",
    }
    if reference is not None:
        choices["reference"] = SourceSettings(reference, postcodes, segment, earlier)
        choices["reference_public"] = public
    return Sources(choices)


def ask_sensors(folder: PrivateFolder) -> Sources | None:
    """Ask for a sensor table and have its guessed columns confirmed; None until enough is named."""
    where = _where("sensors")
    left, right = st.columns(2, gap="large")
    with left, st.container(border=True):
        st.markdown("**Private data**")
        path = _file("Sensor table (.csv, .csv.gz, .zip)", where, "sensors_private", folder)
        if path is None:
            return None
        try:
            guess = propose_columns(path)
        except WorkflowError as error:
            st.error(str(error), icon=":material/error:")
            return None
        st.caption("Guessed from the first rows; please confirm. " + " ".join(guess.reasons))
        columns = list(guess.columns)
        first, second = st.columns(2)
        x = first.selectbox(
            "Longitude or easting", columns, index=_at(columns, guess.x), key=f"sensors_x_{path}", **KEEP
        )
        y = second.selectbox(
            "Latitude or northing", columns, index=_at(columns, guess.y), key=f"sensors_y_{path}", **KEEP
        )
        value = first.selectbox(
            "Measured value", columns, index=_at(columns, guess.value), key=f"sensors_value_{path}", **KEEP
        )
        unit = second.text_input(
            "Its unit", value=guess.unit or "", placeholder="ug/m3", key=f"sensors_unit_{path}", **KEEP
        )
        crs = first.text_input(
            "Coordinate system (EPSG code)",
            value=guess.crs or "",
            placeholder="EPSG:4326",
            help="EPSG:4326 is longitude and latitude in degrees; EPSG:27700 the British National Grid.",
            key=f"sensors_crs_{path}",
            **KEEP,
        )
        filters = dict(guess.choices)
        where_private = _filter("Keep only rows where", filters, f"sensors_where_{path}")
    with right, st.container(border=True):
        st.markdown("**Reference data**", help=tip("reference"))
        reference = _file(
            "Sensor table of an earlier time (same columns)", where, "sensors_reference", folder
        )
        same = bool(filters) and reference is None
        if same:
            st.caption("Without a second file, other rows of the same table can serve: choose them here.")
        where_reference = _filter("Keep only rows where", filters, f"sensors_reference_where_{path}")
        public = _public("sensors")
    if not all((x, y, value, unit.strip(), crs.strip())):
        st.caption(":material/info: Name the columns, the unit and the coordinate system to go on.")
        return None

    def source(file: str, rows: tuple[tuple[str, str], ...]) -> SourceSettings:
        return SourceSettings(file, value=value, x=x, y=y, crs=crs.strip(), where=rows)

    choices: dict[str, Any] = {
        "data": source(path, where_private),
        "value_name": value,
        "value_unit": unit.strip(),
    }
    if reference is not None or where_reference:
        choices["reference"] = source(reference or path, where_reference)
        choices["reference_public"] = public
    return Sources(choices)


def _where(kind: str) -> str:
    choice = st.segmented_control(
        "Where are the files?",
        [UPLOAD, PATH],
        format_func={UPLOAD: "Upload them", PATH: "On the machine that runs this app"}.__getitem__,
        default=UPLOAD,
        required=True,
        help="Uploads are held in memory and on a private folder of this session. Name large files by path.",
        key=f"{kind}_where",
        **KEEP,
    )
    return str(choice)


def _file(label: str, where: str, key: str, folder: PrivateFolder, help: str | None = None) -> str | None:
    """A path to the file a person uploaded or named, or None."""
    if where == PATH:
        named = st.text_input(label, key=f"{key}_path", help=help, **KEEP).strip()
        return named or None
    upload = st.file_uploader(label, key=f"{key}_upload", help=help)
    if upload is None:
        return None
    return str(folder.keep(upload.name, upload.getvalue()))


def _years(label: str, key: str) -> tuple[int, ...] | None:
    """Years as typed, "2017, 2018"; None while they cannot be read."""
    text = st.text_input(label, placeholder="2018", key=key, **KEEP)
    words = text.replace(",", " ").split()
    if all(word.isdigit() and len(word) == 4 for word in words):
        return tuple(int(word) for word in words)
    st.caption(":material/error: Years have four digits, for example 2017, 2018.")
    return None


def _public(kind: str) -> bool:
    return st.checkbox(
        "These reference data are published",
        value=kind == "sales",  # Price Paid data are; of other data the curator must say so
        help="Published data may also serve as a public prior mean and be shown. Data that were merely set "
        "aside are used for tuning only.",
        key=f"{kind}_public",
        **KEEP,
    )


def _filter(label: str, filters: dict[str, tuple[str, ...]], key: str) -> tuple[tuple[str, str], ...]:
    """At most one chosen entry for each column that has few different ones."""
    if not filters:
        return ()
    names = st.multiselect(label, list(filters), placeholder="all rows", key=key, **KEEP)
    chosen = []
    for name in names:
        entry = st.selectbox(f"{name} is", filters[name], key=f"{key}_{name}", **KEEP)
        chosen.append((name, str(entry)))
    return tuple(chosen)


def _at(columns: list[str], name: str | None) -> int | None:
    return columns.index(name) if name in columns else None
