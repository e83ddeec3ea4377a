"""What strangers may have written, made harmless: texts, JSON and tables, within bounds or
`BundleError`."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import math
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from geo import MAX_CELLS
from hexcursion.errors import WorkflowError


class BundleError(WorkflowError):
    """A bundle that cannot be written or must not be trusted; the text is one sentence."""


_UNREADABLE = (pa.ArrowException, sqlite3.Error, csv.Error, OSError, ValueError)
_TOO_MUCH = (OverflowError, IndexError, RecursionError, MemoryError)


@contextmanager
def readable(name: str, kind: str) -> Iterator[None]:
    """Raise `BundleError` for what a library says of a file that it cannot read as a `kind`."""
    try:
        yield
    except BundleError:
        raise
    except (*_UNREADABLE, *_TOO_MUCH) as error:
        raise BundleError(f"{name} is damaged: it cannot be read as {kind}.") from error


LONGEST = {"h3": 15, "class": 18}  # letters of the texts in the columns that hold such
MAX_UNPACKED = 700_000_000  # bytes of all columns together: 50 million numbers, texts and room


def checked_parquet(content: bytes, name: str, columns: int) -> pq.ParquetFile:
    """Open a Parquet file without unpacking a value. Raise `BundleError`, with `name`, if rows,
    more than `columns` columns, nesting or unpacked bytes exceed the limits; `pyarrow` errors
    pass."""
    if len(content) < 12 or int.from_bytes(content[-8:-4], "little") > len(content):
        raise BundleError(f"{name} is damaged: it cannot be read as Parquet.")
    # Texts as a dictionary: one of megabytes that every row repeats takes no room in the file, and
    # hundreds of gigabytes as a column.
    schema = _opened(content, []).schema
    paths = {schema.column(place).path for place in range(len(schema.names))}
    file = _opened(content, [text for text in LONGEST if text in paths])
    facts = file.metadata
    if facts.num_rows < 1 or facts.num_rows > MAX_CELLS or facts.num_columns > columns:
        raise BundleError(
            f"{name} holds {facts.num_rows:,} cells and {facts.num_columns:,} columns: outside what is "
            "accepted."
        )
    groups = [facts.row_group(place) for place in range(facts.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    values = [group.column(k).num_values for group in groups for k in range(group.num_columns)]
    if rows != facts.num_rows or any(count > MAX_CELLS for count in values):
        raise BundleError(f"{name} contradicts itself about its rows.")
    sizes = [group.column(k).total_uncompressed_size for group in groups for k in range(group.num_columns)]
    if min(sizes, default=0) < 0 or sum(sizes) > MAX_UNPACKED:
        raise BundleError(f"{name} would unpack to more than {MAX_UNPACKED // 10**6} MB: it is no bundle's.")
    return file


def _opened(content: bytes, texts: list[str]) -> pq.ParquetFile:
    return pq.ParquetFile(
        io.BytesIO(content),
        thrift_string_size_limit=10**7,
        thrift_container_size_limit=10**6,
        read_dictionary=texts,
    )


def table_of(file: pq.ParquetFile, name: str, columns: Sequence[str]) -> pa.Table:
    """Columns of a file from `checked_parquet`, all their values found right; those of `LONGEST` as
    texts. Raise `BundleError` for texts longer than any of a bundle's, and columns of anything but
    numbers; `pyarrow` errors pass."""
    schema = file.schema_arrow  # made anew at every look, column by column
    for column in columns:
        kind = schema.field(column).type
        if column not in LONGEST and not pa.types.is_primitive(kind):
            raise BundleError(f"{name} holds something else than a number for each cell: it is no bundle's.")
    table = file.read(columns=list(columns), use_threads=False)
    for text in set(LONGEST) & set(columns):
        cells = table.column(text)
        chunks = [chunk.dictionary for chunk in cells.chunks if isinstance(chunk, pa.DictionaryArray)]
        if any((pc.max(pc.binary_length(texts)).as_py() or 0) > LONGEST[text] for texts in chunks):
            raise BundleError(f"{name} holds names of cells or classes that are longer than any.")
        if pa.types.is_dictionary(cells.type):
            table = table.set_column(table.column_names.index(text), text, pc.cast(cells, pa.string()))
    table.validate(full=True)
    return table


# A spreadsheet takes a cell that starts with one of these for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def clean(text: str, limit: int, what: str) -> str:
    """The text as one line without control, formatting and direction characters, which can hide or
    reorder what a label shows. Raise `BundleError`, calling it `what`, if it is longer than
    `limit`."""
    spaced = "".join(" " if character in "\t\r\n\v\f\u2028\u2029" else character for character in str(text))
    printable = "".join(c for c in unicodedata.normalize("NFC", spaced) if unicodedata.category(c)[0] != "C")
    line = " ".join(printable.split())
    if len(line) > limit:
        raise BundleError(f"{what} has {len(line):,} characters: shorten it to {limit:,}.")
    return line


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as comma-separated lines, the heading first."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def neutral_cell(text: str) -> str:
    """The text with a leading apostrophe where a spreadsheet would run it as a formula."""
    return f"'{text}" if text.lstrip().startswith(FORMULA_STARTS) or text.startswith(FORMULA_STARTS) else text


def source_of(text: str) -> str:
    """What a policy calls an inline style or script: its SHA-256.

    Examples
    --------
    >>> source_of("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def strict_json(content: bytes, name: str) -> Any:
    """Parse JSON. Raise `BundleError`, with `name`, for NaN, infinities, repeated keys or deep
    nesting."""

    def constant(text: str) -> Any:
        raise BundleError(f"{name} holds {text}, which is not JSON.")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            raise BundleError(f"{name} gives a key twice.")
        return members

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise BundleError(f"{name} holds a number too large to read.")
        return value

    def whole(text: str) -> int:
        if len(text) > 18:
            raise BundleError(f"{name} holds a number too large to read.")
        return int(text)

    with readable(name, "JSON"):
        return json.loads(
            content.decode("utf-8"),
            parse_constant=constant,
            object_pairs_hook=unique,
            parse_float=number,
            parse_int=whole,
        )
