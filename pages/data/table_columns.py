"""Ask how a table is written and what its columns say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from data_loaders import ColumnGuess
from data_loaders.columns.qualifiers import NO_UNIT
from data_loaders.columns.specification import DELIMITER_WORDS, Written
from data_loaders.files.blocks import DELIMITERS
from data_loaders.files.codings import ENCODINGS
from hexcursion.errors import WorkflowError
from hexcursion.settings.data_settings import SourceSettings
from pages.shared.fields import FIELDS, on_screen
from pages.shared.plain_text import Markdown, plain
from pages.shared.session.previews import propose_columns

KEEP: Any = {"persist_state": "session"}
ORDERS = {"have the day first": True, "have the month first": False}
EQUALS = {"once": "count once: a record is listed again", "each": "are records of their own"}
MADE_BY_TRACE = "sd_m"  # what the trace command calls it in the tables that it writes
NO_VALUE = "\0none"


def kept(name: str, path: str) -> dict[str, Any]:
    """Return the arguments of a widget about a file that keeps its value while it is off the screen."""
    return {"key": f"sensors_{name}_{path}", **KEEP}


def pick(place: Any, words: Markdown, options: Sequence[Any], unanswered: str, **keywords: Any) -> Any:
    """A list of `options` of which none is chosen yet; it then shows the text `unanswered`."""
    return place.selectbox(words, options, index=None, placeholder=unanswered, **keywords)


def measured(columns: list[str], guess: str | None, path: str) -> str | None:
    """The column of values; NO_VALUE where each row is a record without one, such as a case."""
    column: str | None = st.selectbox(
        "Measured value",
        [*columns, NO_VALUE],
        index=at(columns, guess),
        format_func=lambda name: "none: count the rows" if name == NO_VALUE else name,
        help="Cases, crimes or sightings have none: the map then shows where their risk or density is high.",
        **kept("value", path),
    )
    return column


def counted_word(path: str) -> str:
    """What one row of a table without values is."""
    return str(
        st.text_input(
            "One row is a",
            value="case",
            help="The released map asks its question in this word: burglary, sighting.",
            **kept("word", path),
        )
    ).strip()


def at(columns: list[str], name: str | None) -> int | None:
    """The position of a column, None for an unknown name."""
    return columns.index(name) if name in columns else None


def owner(columns: list[str], question: str, path: str) -> tuple[str | None, int]:
    """The column that names the sensor or person of a row, and how many rows of each may count."""
    first, second = st.columns(2)
    name: str | None = pick(
        first,
        "Sensor or person of a row (optional)",
        columns,
        "each reading on its own",
        help="Without it each reading is protected, and a sensor or person with several is protected less.",
        **kept("owner", path),
    )
    if name is None:
        if question:
            st.caption(f":material/help: {plain(question)}")
        return None, 1
    limit = second.number_input(
        "Readings of each that may count",
        min_value=1,
        value=1,
        help="Further ones are left out by a public rule. With one of each, a whole sensor or person is "
        "protected as strongly as a reading is; with several, less: the release says how much less.",
        **kept("most", path),
    )
    return name, int(limit)


def further(columns: list[str], identifier: str | None, time: str | None, path: str) -> dict[str, Any]:
    """Ask for the settings that tell one record from another; they are guessed, and never published."""
    with st.expander("What tells one record from another (optional)"):
        name = st.selectbox(
            "Name of the row, such as a sample number",
            columns,
            index=at(columns, identifier),
            placeholder="none",
            **kept("identifier", path),
        )
        moment = st.selectbox(
            "Date or time", columns, index=at(columns, time), placeholder="none", **kept("time", path)
        )
        by_default = "found; the day first where the dates leave it open"
        order: str | None = pick(st, FIELDS["day_first"], list(ORDERS), by_default, **kept("day_first", path))
        by_default = "count once; asked for where values are 1 and 0, or none"
        state = {"format_func": EQUALS.__getitem__, **kept("equal_rows", path)}
        equal = pick(st, FIELDS["equal_rows"], list(EQUALS), by_default, **state)
    first = None if order is None else ORDERS[order]
    return {"identifier": name, "time": moment, "day_first": first, "equal_rows": equal}


def order_words(day_first: bool | None) -> str | None:
    """How the screen calls an order of dates."""
    return next((words for words, first in ORDERS.items() if first is day_first), None)


def place_noise(columns: list[str], path: str) -> str | None:
    """How sure a row's place is, by a column (proposed in tables of the trace command) or a number."""
    key = f"sensors_place_sd_{path}"
    with st.expander("Places that carry known noise (optional)", expanded=MADE_BY_TRACE in columns):
        current = st.session_state.setdefault(key, MADE_BY_TRACE if MADE_BY_TRACE in columns else None)
        name: str | None = pick(  # nothing is chosen, so that a proposal can be taken back
            st,
            "Standard deviation of a row's place, metres per axis",
            [*columns, *([current] if current and current not in columns else [])],
            "none: exact; choose a column, or type metres",
            accept_new_options=True,
            help="A row then counts in the hexagon where it most probably was, and the report says how "
            "probable that is on average. A number holds for every row, and is published.",
            key=key,
            **KEEP,
        )
    return name


_MARKS = {".": "point", ",": "comma"}
_WRITTEN = ("encoding", "delimiter", "quoting")
_QUOTES = {"line": "close on their line", "lines": "may hold line breaks"}
_RULES = {"limit": "count as the limit", "half": "count as half of it", "drop": "are dropped"}


def first_look(path: str) -> tuple[ColumnGuess | None, dict[str, Any]]:
    """Return the guessed columns of a file, and the settings that say how it is written.

    None where the file cannot be read, after its error."""
    key, state = f"sensors_header_row_{path}", st.session_state
    row: int | None = state.get(key)
    coded, split, quoted = (state.get(f"sensors_{name}_{path}") for name in _WRITTEN)
    layer: str | None = state.get(f"sensors_layer_{path}")
    guess: ColumnGuess | None = None
    try:
        guess = propose_columns(path, layer, Written(row, coded, split, quoted))
        if len(guess.layers) > 1:
            if layer is None:
                st.session_state[f"sensors_layer_{path}"] = guess.layer
            layer = st.selectbox("Sheet or layer", guess.layers, **kept("layer", path))
    except WorkflowError as error:
        st.error(plain(on_screen(str(error))), icon=":material/error:")
    if guess is None:
        ask_written(None, path)
    return guess, {"layer": layer, "said": Written(row, coded, split, quoted)}


def ask_written(guess: ColumnGuess | None, path: str) -> None:
    """Ask how the file is written; `first_look` reads the answers on the next run."""
    with st.expander(plain(_how_written(guess)), expanded=guess is None or guess.header_row > 1):
        changed: Any = {"on_change": _forget_columns, "args": (path,)}
        st.number_input(
            FIELDS["header_row"],
            min_value=1,
            value=None,
            placeholder="found" if guess is None else f"found: row {guess.header_row}",
            help="Counted from 1 as a spreadsheet does, blank rows too. Titles and comments above are passed "
            "over.",
            **kept("header_row", path),
            **changed,
        )
        if guess is None or not guess.specification.typed:
            form = None if guess is None else guess.specification
            left, middle, right = st.columns(3)
            coding = "choose one" if form is None else f"found: {form.encoding}"
            pick(left, FIELDS["encoding"], ENCODINGS, coding, **kept("encoding", path), **changed)
            mark = "choose one" if form is None else f"found: {DELIMITER_WORDS[form.delimiter]}"
            state = {"format_func": DELIMITER_WORDS.__getitem__, **kept("delimiter", path)}
            pick(middle, FIELDS["delimiter"], DELIMITERS, mark, **state, **changed)
            state = {"format_func": _QUOTES.__getitem__, **kept("quoting", path)}
            pick(right, FIELDS["quoting"], list(_QUOTES), _QUOTES["line"], **state)
        if guess is not None and not guess.points:
            width = max((len(top) for _, top in guess.top), default=0)
            st.dataframe(
                [
                    {"row": at, **{f"{column + 1}": cell for column, cell in enumerate(cells)}}
                    for at, top in guess.top
                    for cells in [[*top, *[""] * (width - len(top))]]
                ],
                hide_index=True,
                height="content",
            )


def asks(guess: ColumnGuess, path: str) -> bool:
    """Whether a seldom needed field has a question of this table to be answered."""
    unclear = guess.decimal is None or guess.beyond
    return unclear or guess.header_row > 1 or MADE_BY_TRACE in guess.columns


def _how_written(guess: ColumnGuess | None) -> str:
    """One line about how the file is written."""
    if guess is None:
        return "How the file is written"
    form = guess.specification
    row = f"names of the columns in row {form.header_row}"
    if form.typed:
        return f"How the file is written: {row}"
    coding = "UTF-8 and Windows-1252" if form.mixed else form.encoding.upper()
    return f"How the file is written: {coding}, {DELIMITER_WORDS[form.delimiter]} between columns, {row}"


def numbers(guess: ColumnGuess, path: str) -> dict[str, Any]:
    """Settings that say how the values are written: only a person's answers, never proposals."""
    columns, state = list(guess.columns), st.session_state
    expanded = guess.decimal is None or guess.beyond
    with st.expander("Decimal mark, missing values and limits", expanded=expanded):
        left, right = st.columns(2)
        mark = "choose one" if guess.decimal is None else f"found: {_MARKS[guess.decimal]}"
        marks = {"format_func": _MARKS.__getitem__, **kept("decimal", path)}
        decimal = pick(left, FIELDS["decimal"], list(_MARKS), mark, **marks)
        missing = right.text_input(
            FIELDS["missing"],
            placeholder="for example -99, 9999; none if all are measurements",
            help="-999, -9999, -99999, -999999, -32768 and numbers beyond 1e30 are missing values anyway.",
            **kept("missing", path),
        )
        state.setdefault(f"sensors_censored_{path}", "limit")
        censored = left.selectbox(
            FIELDS["censored"],
            list(_RULES),
            format_func=_RULES.__getitem__,
            help="They are low or high, not unknown. What becomes of them is a public rule; clipping makes "
            "most of the difference disappear.",
            **kept("censored", path),
        )
        words = "in the unit of the values"
        state_of_limit = kept("detection_limit", path)
        limit = right.number_input(
            FIELDS["detection_limit"], value=None, format="%g", placeholder=words, **state_of_limit
        )
        further = _columns_of_limits(columns, path)
    return {
        "decimal": decimal,
        "missing": tuple(missing.replace(",", " ").split()),
        "censored": censored,
        "detection_limit": limit,
        **further,
    }


def _columns_of_limits(columns: list[str], path: str) -> dict[str, Any]:
    """The columns that qualify a value: remarks, limits, units, and letters of the side of the globe."""
    condition = pick(st, FIELDS["condition"], columns, "none", **kept("condition", path))
    limit_column = pick(
        st,
        FIELDS["limit_column"],
        columns,
        "none",
        help="In the unit of the values. Where it is blank, the limit above counts.",
        **kept("limit_column", path),
    )
    behind = st.text_input(
        FIELDS["behind"], placeholder="those of laboratories, such as J and B", **kept("behind", path)
    )
    sides = st.multiselect(
        FIELDS["sides"],
        columns,
        placeholder="found by their names",
        max_selections=2,
        **kept("sides", path),
    )
    unit_column = pick(
        st,
        FIELDS["unit_column"],
        [*columns, NO_UNIT],
        "found by its name",
        format_func=lambda name: "none: units are all as stated" if name == NO_UNIT else name,
        help="Values in another unit are converted to the one that you state, where the factor is known.",
        **kept("unit_column", path),
    )
    return {
        "condition": condition,
        "limit_column": limit_column,
        "unit_column": unit_column,
        "sides": tuple(sides or ()),
        "behind": tuple((behind or "").split()),
    }


def shown(source: SourceSettings) -> dict[str, Any]:
    """What the widgets show of the settings of a source, by the beginnings of their keys."""
    names = "layer header_row decimal censored detection_limit condition limit_column unit_column".split()
    names += [*_WRITTEN, "place_column", "zone_column"]
    return {
        **{name: getattr(source, name) for name in names},
        "missing": " ".join(source.missing),
        "sides": list(source.sides),
        "behind": " ".join(source.behind),
    }


def _forget_columns(path: str) -> None:
    """Other names were proposed from another row."""
    for name in "x y value crs owner identifier time place_sd condition limit_column unit_column".split():
        st.session_state.pop(f"sensors_{name}_{path}", None)


def owners(guess: ColumnGuess, path: str) -> list[str]:
    """What may name the owner of a row: each column, and those that do so together."""
    current: str | None = st.session_state.get(f"sensors_owner_{path}")
    together = (None if guess.known is None else guess.known.owner, current)
    return list(dict.fromkeys((*guess.columns, *(name for name in together if name is not None))))
