"""cells.csv: one row a cell, for spreadsheets and for maps that know hexagons by `hex_id`."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.exports.base import Export, Exported
from hexcursion.bundle.untrusted import neutral_cell

NAME = "cells.csv"
ALIAS = "hex_id"  # what Kepler.gl, CARTO and Unfolded look for


def write(exported: Exported) -> bytes:
    """Comma-separated UTF-8 with a heading; booleans as true and false."""
    columns = {"h3": exported.columns["h3"], ALIAS: exported.columns["h3"], **exported.columns}
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(map(_said, column) for column in columns.values()), strict=True))
    return sink.getvalue().encode()


def read(content: bytes) -> Mapping[str, Sequence[Any]]:
    """The columns as they were written; numbers and truth values are told by their look. Raise `BundleError`
    if it is damaged, its rows have different lengths, or `hex_id` is not `h3` again."""
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True))
    except (csv.Error, UnicodeError) as error:
        raise BundleError(f"{NAME} is damaged: it cannot be read as a table.") from error
    if not rows or any(len(row) != len(rows[0]) for row in rows) or len(set(rows[0])) != len(rows[0]):
        raise BundleError(f"{NAME} is damaged: its rows have different lengths.")
    found = {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}
    if ALIAS not in found or found[ALIAS] != found.get("h3"):
        raise BundleError(f"{NAME} must have the column {ALIAS}, equal to h3.")
    return {name: [_meant(text) for text in column] for name, column in found.items() if name != ALIAS}


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return neutral_cell(value) if isinstance(value, str) else repr(value)


def _meant(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text or len(text) < 15 else text
    except ValueError:
        return text


TABLE = Export(NAME, "the cells as a table, `h3` repeated as `hex_id`", 60_000_000, write, read)
