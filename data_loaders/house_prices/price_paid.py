"""The file formats of HM Land Registry Price Paid Data: which column is where."""

from __future__ import annotations

from dataclasses import dataclass

from data_loaders.columns.profiles import field_names, named_profile
from data_loaders.errors import DataError, closest
from data_loaders.files.csvstream import first_rows
from data_loaders.files.encoding import decode
from data_loaders.files.sources import Table

PROFILE = "price-paid"
GENERATED_ID = "GENERATED"  # how transaction identifiers of the demo data begin; real ones are hexadecimal

# What the loader reads; the rest of the address is never touched.
READ = (
    "id", "price", "date", "postcode", "property_type", "new_build", "tenure", "district", "county",
    "category", "status",
)  # fmt: skip

_OPTIONAL = ("status",)


@dataclass(frozen=True)
class Layout:
    """Where the columns of one Price Paid table are."""

    columns: dict[str, int]  # position of each field; "status" may be absent
    width: int  # number of columns
    header: tuple[str, ...] | None  # the first row where it names the columns, None where it is data
    words: str  # what the format is called in a report


def layout_of(table: Table) -> Layout:
    """Recognise the format of a table from its first row; raise `DataError` where it is none of Price Paid
    Data."""
    rows = first_rows(decode(table.head)[0], ",", 1)
    if not rows:
        raise DataError(f"{table.name} is empty: choose a file with rows.")
    first = rows[0]
    lower = [name.lower() for name in first]
    if any(name in lower for name in field_names(PROFILE)["price"]) and "postcode" in lower:
        return _with_header(table.name, tuple(first), lower)
    order = named_profile(PROFILE).order  # of the yearly, monthly and complete files, which have no header
    if len(first) != len(order):
        raise DataError(
            f"{table.name} has {len(first)} comma-separated columns in row 1, but Price Paid Data has "
            f"{len(order)}: choose an original yearly, monthly or complete file, or a report with its header."
        )
    columns = {field: order.index(field) for field in READ}
    if first[-1].lower().startswith(("http:", "https:")):
        # The report builder's CSV without headers: same order but for saon and paon, which are not read.
        del columns["status"]
        return Layout(columns, len(order), None, "a report of the report builder, without header")
    return Layout(columns, len(order), None, "Price Paid Data in its original 16 columns")


def _with_header(name: str, first: tuple[str, ...], lower: list[str]) -> Layout:
    columns: dict[str, int] = {}
    for field, spellings in field_names(PROFILE).items():
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
