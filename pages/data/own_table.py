"""Ask for a person's own table: its file, the columns to confirm, and the reference data."""

from __future__ import annotations

from typing import Any

import streamlit as st

from data_loaders import ColumnGuess, split_unit
from data_loaders.wanted import is_metres
from dpgp_core.spectral.ball import MOST_COLUMNS
from hexcursion.bundle.published.earlier import is_bundle
from hexcursion.errors import WorkflowError
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.words import listed
from pages.data import row_filters, table_columns
from pages.data.findings import ask_place, offer_agency, offer_findings
from pages.data.row_filters import Rows
from pages.data.sources import EARLIER, Sources, Where, ask_file, ask_public, ask_where
from pages.data.table_columns import KEEP, at, kept
from pages.shared.fields import on_screen
from pages.shared.glossary import tip
from pages.shared.plain_text import plain
from pages.shared.session.previews import propose_columns
from pages.shared.session.workspace import Workspace

Answers = dict[str, Any]


def ask_sensors(work: Workspace) -> Sources | None:
    """Ask for a sensor table and have its guessed columns confirmed; None until enough is named."""
    where = ask_where("sensors")
    left, right = st.columns(2, gap="large")
    with left, st.container(border=True):
        st.markdown("**Private data**")
        path = ask_file(
            "Table of places and values (.csv, .xlsx) or points (.gpkg, .geojson)",
            where,
            "sensors_private",
            work,
        )
        if path is None:
            st.caption(":material/info: Name a table with a column each for place and value to go on.")
            return None
        guess, reading = table_columns.first_look(path)
        if guess is None:
            return None
        table = _ask_table(guess, reading, path, where, work)
    with right, st.container(border=True):
        st.markdown("**Reference data** (optional)", help=tip("reference"))
        reference = _ask_reference(guess, reading, table, path, where, work)
    missing = [word for word, answer in _needed(table, reference) if not answer]
    if missing:
        st.caption(f":material/info: Name {plain(' and '.join(missing))} to go on.")
        return None
    return _sources(guess, reading, table, reference, path)


def _needed(table: Answers, reference: Answers) -> tuple[tuple[str, Any], ...]:
    """What must be named, in words, and whether it is."""
    place_column = table["places"]["place_column"]
    return (
        ("the column of longitude or easting", table["x"] or place_column),
        ("the column of latitude or northing", table["y"] or place_column),
        ("the measured value", table["value"] or table["counted"]),
        ("what one row is", not table["counted"] or table["word"]),
        ("the unit of the values", table["unit"].strip()),
        ("the coordinate system", table["crs"].strip()),
        ("the rows to keep", table["where"] is not None and reference["where"] is not None),
    )


def _ask_table(guess: ColumnGuess, reading: Answers, path: str, where: Where, work: Workspace) -> Answers:
    """Ask what the columns say: value and unit in sight, the rest in two folds."""
    columns = list(guess.columns)
    st.caption("Guessed from the first rows; please confirm.")
    offer_agency(guess, path)
    offer_findings(guess, path)
    answers = {"word": "", **_ask_value(guess, path, list(work.kept.get("columns", ())))}
    # what a finding above says already is not asked a second time
    question = "" if any(finding.setting == "owner" for finding in guess.findings) else guess.question
    answers["owner"], answers["most"] = table_columns.owner(table_columns.owners(guess, path), question, path)
    filters = st.container()
    answers |= _ask_places(guess, path)
    with st.expander("More about this table", expanded=table_columns.asks(guess, path)):
        table_columns.ask_written(guess, path)
        answers["numbers"] = table_columns.numbers(guess, path)
        answers["known_by"] = table_columns.further(columns, guess.identifier, guess.time, path)
        answers["place_sd"] = sd = table_columns.place_noise(columns, path)
        answers["trip"] = None
        if sd is not None and not is_metres(sd):
            answers["trip"] = ask_file(
                "Statement of the sanitised trip (statement.json, optional)",
                where,
                "sensors_trip",
                work,
                help="Where the places come from a trip that was released under Traces: the map's own "
                "statement then says how the trip's secret moments are protected, "
                "beside its guarantee of the values.",
            )
    with filters:
        answers["choosable"] = _choosable(guess, answers)
        if guess.choices:
            st.caption("Does the table mix several quantities or years? Then keep the rows of one.")
        key = f"sensors_where_{path}"
        answers["where"] = row_filters.ask_rows(
            "Keep only rows where", answers["choosable"], key, path, reading, _quantity(guess)
        )
    return answers


def _quantity(guess: ColumnGuess) -> str:
    """The column that says what a row measures; "" where none is known."""
    return "" if guess.known is None else guess.known.quantity or ""


def _choosable(guess: ColumnGuess, answers: Answers) -> list[str]:
    """The columns to filter by, the likeliest first."""
    likeliest = [name for name, _ in guess.choices]
    return [
        *likeliest,
        *(name for name in guess.columns if name not in (*likeliest, answers["x"], answers["y"])),
    ]


def _ask_value(guess: ColumnGuess, path: str, values_before: list[str]) -> Answers:
    """Ask for the measured value, its name and its unit, and for further values of the same rows, at first
    those of before a reload (`values_before`); or what one row is, where rows are counted."""
    first, second = st.columns(2)
    with first:
        value = table_columns.measured(list(guess.columns), guess.value, path)
    if value == table_columns.NO_VALUE:
        with second:
            word = table_columns.counted_word(path)
        return {"value": None, "counted": True, "word": word, "name": "", "unit": "records"}
    if value is None:
        return {"value": None, "counted": False, "name": "", "unit": "records"}
    name = second.text_input(
        "What it is, in words",
        value=split_unit(value)[0],
        placeholder="for example nitrogen dioxide",
        help="The released map asks its question in these words.",
        key=f"sensors_name_{path}_{value}",
        **KEEP,
    )
    unit_guess = guess.unit if value == guess.value else split_unit(value)[1]
    unit = st.text_input(
        "Its unit",
        value=unit_guess or "",
        placeholder="for example ug/m3",
        key=f"sensors_unit_{path}_{value}",
        **KEEP,
    )
    options = [name for name in guess.columns if name not in (value, guess.x, guess.y)]
    ticked = kept("further", path)
    st.session_state.setdefault(ticked["key"], [name for name in values_before if name in options])
    with st.expander("Further values of the same rows", icon=":material/stacks:"):
        further = st.multiselect(
            "Values that are released together with it",
            options,
            placeholder="none: one map",
            max_selections=MOST_COLUMNS - 1,
            help="One charge and a map of each: an atlas. Unit, threshold and what is usual are asked for "
            "each once the data are read.",
            **ticked,
        )
    if further:
        st.caption(f":material/stacks: Together with {plain(listed(further))}.")
    return {"value": value, "counted": False, "name": name, "unit": unit, "others": tuple(further or ())}


def _ask_places(guess: ColumnGuess, path: str) -> Answers:
    """Ask for the columns of places and their coordinate system, folded where all of them are guessed."""
    columns = list(guess.columns)
    clear = guess.place is None and None not in (guess.x, guess.y, guess.crs)
    titled = f"Places: {guess.x} and {guess.y}, {guess.crs}" if clear else "Places"
    with st.expander(plain(titled), expanded=not clear):
        st.caption(plain(" ".join(guess.reasons)))
        first, second = st.columns(2)
        x = first.selectbox("Longitude or easting", columns, index=at(columns, guess.x), **kept("x", path))
        y = second.selectbox("Latitude or northing", columns, index=at(columns, guess.y), **kept("y", path))
        crs = st.text_input(
            "Coordinate system",
            value=guess.crs or "",
            placeholder="for example EPSG:4326",
            help="An EPSG code or a name: EPSG:4326 is longitude and latitude in degrees; Dutch grid and "
            "British National Grid are known as well.",
            **kept("crs", path),
        )
        places = ask_place(guess, path)
    if places["place_column"] is not None:
        x = y = None
    return {"x": x, "y": y, "crs": crs, "places": places}


def _ask_reference(
    guess: ColumnGuess, reading: Answers, table: Answers, path: str, where: Where, work: Workspace
) -> Answers:
    """Ask for reference data: another file, other rows of the same, or an earlier release."""
    file = ask_file("Table of an earlier time (same columns)", where, "sensors_reference", work)
    if file is None:
        st.caption(
            "Other rows or another sheet of the same table can serve too, or the zip of an earlier release."
        )
    elif is_bundle(file):
        st.caption(EARLIER)
        return {"file": file, "own": True, "layer": None, "where": (), "public": True}
    layer = _reference_sheet(path, reading["layer"], file)
    separate = file is not None or layer != reading["layer"]
    key = f"sensors_reference_where_{path}"
    rows = row_filters.ask_rows(
        "Keep only rows where",
        table["choosable"],
        key,
        file or path,
        {**reading, "layer": layer},
        _quantity(guess),
    )
    rows = row_filters.with_shared(table["where"], rows, _quantity(guess) if separate else None)
    public = ask_public("sensors") if separate or rows else False
    return {"file": file, "own": separate, "layer": layer, "where": rows, "public": public}


def _sources(
    guess: ColumnGuess, reading: Answers, table: Answers, reference: Answers, path: str
) -> Sources | None:
    """Return the settings of the named files; None, with the reason said, where one of them is refused."""

    def source(file: str, rows: Rows | None, layer: str | None) -> SourceSettings:
        same_file = file == path
        return SourceSettings(
            file,
            value=table["value"],
            x=table["x"],
            y=table["y"],
            crs=table["crs"].strip(),
            where=rows or (),
            layer=layer,
            place_sd=table["place_sd"] if same_file else None,
            trip=table["trip"] if same_file else None,
            **vars(reading["said"]),
            **table["numbers"],
            **table["known_by"],
            **table["places"],
        )

    value, is_count = table["value"], table["counted"]
    choices: Answers = {"value_name": table["name"].strip() or value or ""}
    choices["value_unit"] = "" if is_count else table["unit"].strip()
    referred = reference["own"] or bool(reference["where"])
    try:
        choices["data"] = source(path, table["where"], reading["layer"])
        if referred:
            file = reference["file"] or path
            choices["reference"] = source(file, reference["where"], reference["layer"])
            choices["reference_public"] = reference["public"]
    except WorkflowError as error:  # of typed text, such as a missing value that is no number
        st.error(plain(on_screen(str(error))), icon=":material/error:")
        return None
    if is_count:
        choices |= {"values": "count", "record_word": table["word"]}
    elif guess.answers and value == guess.value and (reference["public"] or not referred):
        choices["values"] = "yes-no"
    if table["owner"] is not None:
        choices |= {"owner": table["owner"], "records_per_owner": table["most"]}
    keys = ("value_name", "value_unit", "values")
    first = {name: choices[name] for name in keys if name in choices}
    further = {name: _named_by(name, choices["value_unit"]) for name in table.get("others", ())}
    columns = {str(value): first, **further}
    return Sources(choices, columns if len(columns) > 1 else {})


def _named_by(column: str, usual: str) -> Answers:
    """What a column is called, and its unit: the `usual` one where its name says none."""
    name, unit = split_unit(column)
    return {"value_name": name or column, "value_unit": unit or usual}


def _reference_sheet(path: str, layer: str | None, reference: str | None) -> str | None:
    """Which sheet holds the reference data: of the second file, else another one of the private table's."""
    sheet_before = layer if reference in (None, path) else None
    try:
        layers = propose_columns(reference or path, sheet_before).layers
    except WorkflowError:  # said where the data are read
        return sheet_before
    if len(layers) < 2:
        return sheet_before
    other_layers = [name for name in layers if name != sheet_before]
    sheet: str | None = st.selectbox(
        "Sheet or layer of the reference data",
        other_layers if reference is None else layers,
        index=None
        if reference is None
        else layers.index(layer if layer in other_layers else other_layers[0]),
        placeholder="the same sheet",
        **kept("other_layer" if reference is None else "reference_layer", reference or path),
    )
    return sheet or sheet_before
