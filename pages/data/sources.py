"""Ask for files by upload or by path, for Price Paid sales, and let widgets show a workspace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import streamlit as st

from data_loaders import SEGMENTS
from hexcursion.errors import WorkflowError
from hexcursion.settings.data_settings import SourceSettings
from pages.data import row_filters, table_columns
from pages.data.table_columns import KEEP
from pages.shared.glossary import tip
from pages.shared.plain_text import Markdown, plain
from pages.shared.server import access
from pages.shared.session.saving import remembered
from pages.shared.session.workspace import Workspace

Where = Literal["upload", "path"]
UPLOAD: Final = "upload"
PATH: Final = "path"
Files = Literal["sales", "sensors"]
EARLIER: Markdown = (
    "An earlier release: what it tells of the values now stands in for reference data. It is public, so it "
    "costs nothing."
)
SEGMENT_TITLES = {name: segment.title for name, segment in SEGMENTS.items()}


@dataclass(frozen=True)
class Sources:
    """What a person named: settings for the private and the reference source, by field name, and of several
    columns what each has for itself."""

    choices: dict[str, Any]
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def files(self) -> tuple[SourceSettings, ...]:
        """What will be read, one after the other."""
        return tuple(self.choices[name] for name in ("data", "reference") if name in self.choices)


def ask_sales(work: Workspace) -> Sources | None:
    """Ask for Price Paid files and a postcode lookup; None until enough is named."""
    where = ask_where("sales")
    left, right = st.columns(2, gap="large")
    with left, st.container(border=True):
        st.markdown("**Private data**")
        private = ask_file("Price Paid file (.csv, .csv.gz, .zip)", where, "sales_private", work)
        postcodes = ask_file(
            "Postcode lookup (ONSPD, NSPL or Code-Point Open)",
            where,
            "sales_postcodes",
            work,
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
        st.markdown("**Reference data** (optional)", help=tip("reference"))
        reference = ask_file(
            "Price Paid file of an earlier year", where, "sales_reference", work, help=tip("reference")
        )
        earlier = _years("Years of transfer (optional)", "sales_reference_years")
        public = ask_public("sales")
    missing = [
        word
        for word, answer in (("a Price Paid file", private), ("a postcode lookup", postcodes))
        if answer is None
    ]
    if missing:
        st.caption(f":material/info: Name {plain(' and '.join(missing))} to go on.")
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


def refill(work: Workspace) -> None:
    """Let the widgets show what a workspace holds, however its data came to be chosen."""
    region = work.choices.get("region")
    if region is not None and work.folder.holds(region):
        work.uploads["region"] = region
    data: SourceSettings | None = work.choices.get("data")
    if data is None or work.kind not in ("sales", "sensors"):
        return
    reference: SourceSettings | None = work.choices.get("reference")
    files = {f"{work.kind}_private": data.path}
    if data.postcodes is not None:
        files["sales_postcodes"] = data.postcodes
    if data.trip is not None:
        files["sensors_trip"] = data.trip
    own_reference = reference is not None and reference.path != data.path
    if reference is not None and (own_reference or work.kind == "sales"):
        files[f"{work.kind}_reference"] = reference.path
    state: dict[str, Any] = {}
    if any(work.folder.holds(path) for path in files.values()):
        state[f"{work.kind}_where"] = UPLOAD
        work.uploads.update(files)
    else:
        state[f"{work.kind}_where"] = PATH
        keys = [f"{work.kind}_{part}" for part in ("private", "postcodes", "reference", "trip")]
        state |= {f"{key}_path": files.get(key, "") for key in keys}
    if work.kind == "sales":
        state["sales_segment"] = data.segment
        state["sales_years"] = _typed(data.years)
        state["sales_reference_years"] = _typed(reference.years) if reference is not None else ""
    else:
        state |= _fields_of_table(work, data, reference)
    if reference is not None:
        state[f"{work.kind}_public"] = bool(work.choices.get("reference_public"))
    st.session_state.update(state)


def _fields_of_table(
    work: Workspace, data: SourceSettings, reference: SourceSettings | None
) -> dict[str, Any]:
    """The state of the widgets that say how a table is read."""
    fields: tuple[tuple[str, Any], ...] = (
        ("x", data.x),
        ("y", data.y),
        ("value", data.value or table_columns.NO_VALUE),
        ("crs", data.crs),
        ("identifier", data.identifier),
        ("time", data.time),
        ("equal_rows", data.equal_rows),
        ("place_sd", data.place_sd),
        ("day_first", table_columns.order_words(data.day_first)),
        ("owner", work.choices.get("owner")),
        ("most", work.choices.get("records_per_owner") or 1),
    )
    fields = (*fields, *table_columns.shown(data).items())
    state = {f"sensors_{name}_{data.path}": value for name, value in fields}
    state[f"sensors_further_{data.path}"] = list(work.columns)[1:]
    state[f"sensors_name_{data.path}_{data.value}"] = work.choices.get("value_name") or data.value or ""
    state[f"sensors_unit_{data.path}_{data.value}"] = work.choices.get("value_unit", "")
    state[f"sensors_word_{data.path}"] = work.choices.get("record_word") or "case"
    state |= row_filters.refilled(f"sensors_where_{data.path}", data)
    if reference is not None:
        if reference.path != data.path:
            state[f"sensors_reference_layer_{reference.path}"] = reference.layer
        elif reference.layer != data.layer:
            state[f"sensors_other_layer_{data.path}"] = reference.layer
        state |= row_filters.refilled(f"sensors_reference_where_{data.path}", reference)
    return state


def show_paths(paths: dict[str, str]) -> None:
    """Put paths into the widgets of Price Paid sales, by the widget's name."""
    st.session_state["sales_where"] = PATH
    for key, path in paths.items():
        st.session_state[f"{key}_path"] = path


def ask_file(
    label: Markdown, where: Where, key: str, work: Workspace, help: Markdown | None = None
) -> str | None:
    """A path to the file a person uploaded or named, or None."""
    if where == UPLOAD:
        return remembered(label, None, key, work, help=help)
    path = str(st.text_input(label, key=f"{key}_path", help=help, **KEEP)).strip()
    if not path:
        return None
    try:
        access.reach_of(work.folder).check(path)
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
        return None
    return path


def ask_where(kind: Files) -> Where:
    choice: Where = st.segmented_control(
        "Where are the files?",
        [UPLOAD, PATH],
        format_func={UPLOAD: "Upload them", PATH: "On the machine that runs this app"}.__getitem__,
        default=UPLOAD,
        required=True,
        help="Uploads are held in memory and on a private folder of this session. Name large files by path.",
        key=f"{kind}_where",
        **KEEP,
    )
    return choice


def _years(label: Markdown, key: str) -> tuple[int, ...] | None:
    """Years as typed, "2017, 2018"; None while they cannot be read."""
    text = st.text_input(label, placeholder="2018", key=key, **KEEP)
    words = text.replace(",", " ").split()
    if all(word.isascii() and word.isdigit() and len(word) == 4 for word in words):
        return tuple(int(word) for word in words)
    st.caption(":material/error: Years have four digits, for example 2017, 2018.")
    return None


def _typed(years: tuple[int, ...]) -> str:
    return ", ".join(str(year) for year in years)


def ask_public(kind: Files) -> bool:
    return st.checkbox(
        "These reference data are published",
        value=kind == "sales",  # Price Paid data are; of other data the curator must say so
        help="Published data may also serve as a public prior mean and be shown. Data that were merely set "
        "aside are used for tuning only.",
        key=f"{kind}_public",
        **KEEP,
    )
