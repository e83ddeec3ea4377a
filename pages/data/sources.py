"""Asking for sources: files by upload or by path, and the columns of a sensor table to confirm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import streamlit as st

from data_loaders import SEGMENTS, split_unit
from data_loaders.wanted import is_metres
from hexcursion.bundle.published.earlier import is_bundle
from hexcursion.errors import WorkflowError
from hexcursion.settings.data_settings import SourceSettings
from pages.data import table_columns
from pages.data.findings import ask_place, offer_agency, offer_findings
from pages.data.table_columns import KEEP, Rows, at, kept
from pages.shared.glossary import tip
from pages.shared.plain_text import Markdown, plain
from pages.shared.server import access
from pages.shared.session.previews import propose_columns
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
    """What a person named: settings for the private and the reference source, by field name."""

    choices: dict[str, Any]

    @property
    def files(self) -> tuple[SourceSettings, ...]:
        """What will be read, one after the other."""
        return tuple(self.choices[name] for name in ("data", "reference") if name in self.choices)


def ask_sales(work: Workspace) -> Sources | None:
    """Ask for Price Paid files and a postcode lookup; None until enough is named."""
    where = _where("sales")
    left, right = st.columns(2, gap="large")
    with left, st.container(border=True):
        st.markdown("**Private data**")
        private = _file("Price Paid file (.csv, .csv.gz, .zip)", where, "sales_private", work)
        postcodes = _file(
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
        reference = _file(
            "Price Paid file of an earlier year", where, "sales_reference", work, help=tip("reference")
        )
        earlier = _years("Years of transfer (optional)", "sales_reference_years")
        public = _public("sales")
    missing = [
        word
        for word, there in (("a Price Paid file", private), ("a postcode lookup", postcodes))
        if there is None
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


def ask_sensors(work: Workspace) -> Sources | None:
    """Ask for a sensor table and have its guessed columns confirmed; None until enough is named."""
    where = _where("sensors")
    left, right = st.columns(2, gap="large")
    with left, st.container(border=True):
        st.markdown("**Private data**")
        path = _file(
            "Table of places and values (.csv, .xlsx) or points (.gpkg, .geojson)",
            where,
            "sensors_private",
            work,
        )
        if path is None:
            st.caption(":material/info: Name a table with a column each for place and value to go on.")
            return None
        guess, told = table_columns.first_look(path)
        if guess is None:
            return None
        st.caption("Guessed from the first rows; please confirm. " + plain(" ".join(guess.reasons)))
        offer_agency(guess, path)
        offer_findings(guess, path)
        columns = list(guess.columns)
        first, second = st.columns(2)
        x = first.selectbox("Longitude or easting", columns, index=at(columns, guess.x), **kept("x", path))
        y = second.selectbox("Latitude or northing", columns, index=at(columns, guess.y), **kept("y", path))
        places = ask_place(guess, path)
        if places["place_column"] is not None:
            x = y = None
        first, second = st.columns(2)  # a separate row keeps its fields together on a telephone
        with first:
            value = table_columns.measured(columns, guess.value, path)
        counted, named, unit = value == table_columns.NO_VALUE, "", "records"
        if counted:
            with second:
                word, value = table_columns.counted_word(path), None
        elif value is not None:  # a table without values has no unit
            named = second.text_input(
                "What it is, in words",
                value=split_unit(value)[0],
                placeholder="for example nitrogen dioxide",
                help="The released map asks its question in these words.",
                key=f"sensors_name_{path}_{value}",
                **KEEP,
            )
            first, second = st.columns(2)
            stated = guess.unit if value == guess.value else split_unit(value)[1]
            unit = first.text_input(
                "Its unit",
                value=stated or "",
                placeholder="for example ug/m3",
                key=f"sensors_unit_{path}_{value}",
                **KEEP,
            )
        crs = second.text_input(
            "Coordinate system",
            value=guess.crs or "",
            placeholder="for example EPSG:4326",
            help="An EPSG code or a name: EPSG:4326 is longitude and latitude in degrees; Dutch grid and "
            "British National Grid are known as well.",
            **kept("crs", path),
        )
        numbers = table_columns.numbers(guess, path)
        # what a finding above says already is not asked a second time
        question = "" if any(one.setting == "owner" for one in guess.findings) else guess.question
        owner, most = table_columns.owner(table_columns.owners(guess, path), question, path)
        known_by = table_columns.further(columns, guess.identifier, guess.time, path)
        place_sd = table_columns.place_noise(columns, path)
        trip = None
        if place_sd is not None and not is_metres(place_sd):
            trip = _file(
                "Statement of the sanitised trip (statement.json, optional)",
                where,
                "sensors_trip",
                work,
                help="Where the places come from a trip that was released under Traces: the map's own "
                "statement then says how the trip's secret moments are protected, "
                "beside its guarantee of the values.",
            )
        choosable = [name for name, _ in guess.choices]
        choosable = [*choosable, *(name for name in columns if name not in (*choosable, x, y))]
        if guess.choices:
            st.caption("Does the table mix several quantities or years? Then keep the rows of one.")
        where_private = table_columns.ask_rows(
            "Keep only rows where", choosable, f"sensors_where_{path}", path, told
        )
    with right, st.container(border=True):
        st.markdown("**Reference data** (optional)", help=tip("reference"))
        reference = _file("Table of an earlier time (same columns)", where, "sensors_reference", work)
        if reference is None:
            st.caption(
                "Other rows or another sheet of the same table can serve too, or the zip of an earlier "
                "release."
            )
        reference_layer: str | None = None
        own = reference is not None
        where_reference: Rows | None = ()
        if reference is not None and is_bundle(reference):
            st.caption(EARLIER)
            public = True
        else:
            reference_layer = _reference_sheet(path, told["layer"], reference)
            own = reference is not None or reference_layer != told["layer"]
            told_there = {**told, "layer": reference_layer}
            where_reference = table_columns.ask_rows(
                "Keep only rows where",
                choosable,
                f"sensors_reference_where_{path}",
                reference or path,
                told_there,
            )
            where_reference = table_columns.with_shared(
                where_private,
                where_reference,
                None if not own else "" if guess.known is None else guess.known.quantity or "",
            )
            public = _public("sensors")
    missing = [
        word
        for word, there in (
            ("the column of longitude or easting", x or places["place_column"]),
            ("the column of latitude or northing", y or places["place_column"]),
            ("the measured value", value or counted),
            ("what one row is", not counted or word),
            ("the unit of the values", unit.strip()),
            ("the coordinate system", crs.strip()),
            ("the rows to keep", where_private is not None and where_reference is not None),
        )
        if not there
    ]
    if missing:
        st.caption(f":material/info: Name {plain(' and '.join(missing))} to go on.")
        return None

    def source(file: str, rows: Rows | None, layer: str | None) -> SourceSettings:
        return SourceSettings(
            file, value=value, x=x, y=y, crs=crs.strip(), where=rows or (),
            layer=layer, **vars(told["said"]), **numbers,
            place_sd=place_sd if file == path else None, trip=trip if file == path else None,
            **known_by, **places,
        )  # fmt: skip

    choices: dict[str, Any] = {"value_name": named.strip() or value or ""}
    choices["value_unit"] = "" if counted else unit.strip()
    try:
        choices["data"] = source(path, where_private, told["layer"])
        if referred := own or bool(where_reference):
            choices["reference"] = source(reference or path, where_reference, reference_layer)
            choices["reference_public"] = public
    except WorkflowError as error:  # of what was typed, such as a missing value that is no number
        st.error(plain(table_columns.on_screen(str(error))), icon=":material/error:")
        return None
    if counted:
        choices |= {"values": "count", "record_word": word}
    elif guess.answers and value == guess.value and (public or not referred):
        choices["values"] = "yes-no"
    if owner is not None:
        choices |= {"owner": owner, "records_per_owner": most}
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
        named = [f"{work.kind}_{part}" for part in ("private", "postcodes", "reference", "trip")]
        state |= {f"{key}_path": files.get(key, "") for key in named}
    if work.kind == "sales":
        state["sales_segment"] = data.segment
        state["sales_years"] = _typed(data.years)
        state["sales_reference_years"] = _typed(reference.years) if reference is not None else ""
    else:
        known = (
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
        told = (*known, *table_columns.shown(data).items())
        state |= {f"sensors_{name}_{data.path}": value for name, value in told}
        state[f"sensors_name_{data.path}_{data.value}"] = work.choices.get("value_name") or data.value or ""
        state[f"sensors_unit_{data.path}_{data.value}"] = work.choices.get("value_unit", "")
        state[f"sensors_word_{data.path}"] = work.choices.get("record_word") or "case"
        state |= table_columns.refilled(f"sensors_where_{data.path}", data)
        if reference is not None:
            if own_reference:
                state[f"sensors_reference_layer_{reference.path}"] = reference.layer
            elif reference.layer != data.layer:
                state[f"sensors_other_layer_{data.path}"] = reference.layer
            state |= table_columns.refilled(f"sensors_reference_where_{data.path}", reference)
    if reference is not None:
        state[f"{work.kind}_public"] = bool(work.choices.get("reference_public"))
    st.session_state.update(state)


def show_paths(paths: dict[str, str]) -> None:
    """Put paths into the widgets of Price Paid sales, by the widget's name."""
    st.session_state["sales_where"] = PATH
    for key, path in paths.items():
        st.session_state[f"{key}_path"] = path


def _file(
    label: Markdown, where: Where, key: str, work: Workspace, help: Markdown | None = None
) -> str | None:
    """A path to the file a person uploaded or named, or None."""
    if where == UPLOAD:
        return remembered(label, None, key, work, help=help)
    named = str(st.text_input(label, key=f"{key}_path", help=help, **KEEP)).strip()
    if not named:
        return None
    try:
        access.reach_of(work.folder).check(named)
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
        return None
    return named


def _reference_sheet(path: str, layer: str | None, reference: str | None) -> str | None:
    """Which sheet holds the reference data: of the second file, else another one of the private table's."""
    before = layer if reference in (None, path) else None
    try:
        layers = propose_columns(reference or path, before).layers
    except WorkflowError:  # said where the data are read
        return before
    if len(layers) < 2:
        return before
    others = [one for one in layers if one != before]
    chosen: str | None = st.selectbox(
        "Sheet or layer of the reference data",
        others if reference is None else layers,
        index=None if reference is None else layers.index(layer if layer in others else others[0]),
        placeholder="the same sheet",
        **kept("other_layer" if reference is None else "reference_layer", reference or path),
    )
    return chosen or before


def _where(kind: Files) -> Where:
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


def _public(kind: Files) -> bool:
    return st.checkbox(
        "These reference data are published",
        value=kind == "sales",  # Price Paid data are; of other data the curator must say so
        help="Published data may also serve as a public prior mean and be shown. Data that were merely set "
        "aside are used for tuning only.",
        key=f"{kind}_public",
        **KEEP,
    )
