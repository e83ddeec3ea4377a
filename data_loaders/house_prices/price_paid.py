"""The file formats of HM Land Registry Price Paid Data: which column is where."""

from __future__ import annotations

from dataclasses import dataclass

from data_loaders.errors import DataError, closest
from data_loaders.files.csvstream import first_rows
from data_loaders.files.encoding import decode
from data_loaders.files.sources import Table

WIDTH = 16
GENERATED_ID = "GENERATED"  # how transaction identifiers of the demo data begin; real ones are hexadecimal

# Order of the yearly, monthly and complete files, which have no header (gov.uk, "How to access HM Land
# Registry Price Paid Data", explanation of column headers).
FIELDS = (
    "id", "price", "date", "postcode", "property_type", "new_build", "tenure", "paon", "saon", "street",
    "locality", "town", "district", "county", "category", "status",
)  # fmt: skip

# What the loader reads; the rest of the address is never touched.
READ = (
    "id", "price", "date", "postcode", "property_type", "new_build", "tenure", "district", "county",
    "category", "status",
)  # fmt: skip

# Column names of the report builder's CSV with headers (saon stands before paon there, and a link to the
# transaction takes the place of the record status), then names people give the columns of the plain file.
_NAMES: dict[str, tuple[str, ...]] = {
    "id": (
        "unique_id",
        "transaction unique identifier",
        "transaction_unique_identifier",
        "transaction_id",
        "id",
    ),
    "price": ("price_paid", "price"),
    "date": ("deed_date", "date of transfer", "date_of_transfer", "date"),
    "postcode": ("postcode",),
    "property_type": ("property_type", "property type"),
    "new_build": ("new_build", "old/new", "old_new"),
    "tenure": ("estate_type", "duration", "tenure"),
    "district": ("district",),
    "county": ("county",),
    "category": (
        "transaction_category",
        "ppdcategory type",
        "ppd category type",
        "ppd_category_type",
        "category",
    ),
    "status": ("record status - monthly file only", "record status", "record_status"),
}
_OPTIONAL = ("status",)


@dataclass(frozen=True)
class Layout:
    """Where the columns of one Price Paid table are.

    Parameters
    ----------
    columns : dict of str to int
        Position of each field; "status" may be absent.
    width : int
        Number of columns.
    header : tuple of str or None
        The first row where it names the columns, None where it is data.
    words : str
        What the format is called in a report.
    """

    columns: dict[str, int]
    width: int
    header: tuple[str, ...] | None
    words: str


def layout_of(table: Table) -> Layout:
    """Recognise the format of a table from its first row.

    Raises
    ------
    DataError
        With the remedy, where it is none of Price Paid Data.
    """
    rows = first_rows(decode(table.head)[0], ",", 1)
    if not rows:
        raise DataError(f"{table.name} is empty: choose a file with rows.")
    first = rows[0]
    lower = [name.lower() for name in first]
    if any(name in lower for name in _NAMES["price"]) and "postcode" in lower:
        return _with_header(table.name, tuple(first), lower)
    if len(first) != WIDTH:
        raise DataError(
            f"{table.name} has {len(first)} comma-separated columns in row 1, but Price Paid Data has "
            f"{WIDTH}: choose an original yearly, monthly or complete file, or a report with its header."
        )
    columns = {field: FIELDS.index(field) for field in READ}
    if first[-1].lower().startswith(("http:", "https:")):
        # The report builder's CSV without headers: same order but for saon and paon, which are not read.
        del columns["status"]
        return Layout(columns, WIDTH, None, "a report of the report builder, without header")
    return Layout(columns, WIDTH, None, "Price Paid Data in its original 16 columns")


def _with_header(name: str, first: tuple[str, ...], lower: list[str]) -> Layout:
    columns: dict[str, int] = {}
    for field, spellings in _NAMES.items():
        at = next((lower.index(spelling) for spelling in spellings if spelling in lower), None)
        if at is not None:
            columns[field] = at
        elif field not in _OPTIONAL:
            hint = closest(spellings[0], lower)
            raise DataError(
                f"{name} has a header but no column {spellings[0]!r}{hint or '.'} "
                "Download the report again with all its columns."
            )
    return Layout(columns, len(lower), first, "a report of the report builder, with header")
