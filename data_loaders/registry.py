"""The registry of loaders: their names, the settings they need, and how they read a source."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from data_loaders.errors import DataError
from data_loaders.house_prices.postcodes import PostcodeTable, load_postcodes
from data_loaders.house_prices.sales import load_sales
from data_loaders.observations import Kind, LoadReport, Observations
from data_loaders.sensors import load_sensors
from data_loaders.wanted import Wanted

_kept: tuple[tuple[Path, int, int], PostcodeTable] | None = None
NOTHING_MEASURED = (
    "Nothing says what is measured: name the measured column of a table with `value` (--value), count its "
    "rows with `values` (--values count), or name the lookup of a Price Paid file with `postcodes` "
    "(--postcodes)."
)


Read = Callable[[Wanted, str, str | None], tuple[Observations, LoadReport]]
"""(settings of the source, unit of measure or "", column of owners or None) -> observations,
report."""


@dataclass(frozen=True)
class Loader:
    """One way to read a source."""

    name: str  # in the settings
    title: str  # its sources, in words
    read: Read  # raises `DataError` with one sentence for an unreadable source
    # the missing setting as one sentence with the remedy, or ""; most loaders need only a file
    lacks: Callable[[Wanted], str] = lambda wanted: ""
    kind: Kind = "reading"  # the meaning of a row
    value_name: str = "value"  # the default name of the measured quantity
    log_scale: bool = False  # the default of whether values are modelled on the log scale
    owners: bool = False  # whether a column may name the owners of rows
    once_each: bool = False  # whether `read` itself leaves out rows that list a record again
    # settings that do not apply to it; giving one is an error, since the rows read would not be
    # those meant
    ignores: tuple[str, ...] = ()
    instead: str = ""  # the remedy: the settings to use instead


def _sales_lack(source: Wanted) -> str:
    if source.postcodes is not None:
        return ""
    return (
        "Price Paid rows carry postcodes, not coordinates: name a lookup with `postcodes`, "
        "or set `value` to the measured column of a sensor table."
    )


def _read_sales(source: Wanted, unit: str, owner: str | None) -> tuple[Observations, LoadReport]:
    if source.postcodes is None:
        raise DataError(_sales_lack(source))
    years = source.years or None
    return load_sales(source.path, _postcodes(Path(source.postcodes)), segment=source.segment, years=years)


def _postcodes(path: Path) -> PostcodeTable:
    """Read a lookup. Cache the last one, since private and reference data mostly name the same
    file."""
    global _kept  # noqa: PLW0603 - the last one
    # the files of a folder may change; the reader refuses a missing path
    if not os.path.isfile(path):
        return load_postcodes(path)[0]
    facts, last = path.stat(), _kept
    key = path, facts.st_size, facts.st_mtime_ns
    if last is None or last[0] != key:
        last = _kept = key, load_postcodes(path)[0]
    return last[1]


def forget_postcodes(folder: Path) -> None:
    """Drop the cached lookup if its file is in this folder, the folder of a session that ends."""
    global _kept  # noqa: PLW0603
    if _kept is not None and _kept[0][0].is_relative_to(folder):
        _kept = None


def _table_lacks(source: Wanted) -> str:
    if (source.x, source.y).count(None) == 1:  # without both the file may have points of its own
        return (
            "A sensor table needs its coordinate columns (longitude and latitude, or easting and northing "
            "with `crs`): set `x` and `y` in a settings file, or give --lon and --lat on the command line."
        )
    return ""


def read_table(source: Wanted, unit: str, owner: str | None) -> tuple[Observations, LoadReport]:
    """Read a sensor table as `load_sensors` does."""
    return load_sensors(source.path, source, unit, owner)


PRICE_PAID = Loader(
    "price-paid",
    "Price Paid sales with a postcode lookup",
    _read_sales,
    _sales_lack,
    "sale",
    "price",
    True,
    once_each=True,
    ignores=tuple(
        "value x y place_column zone_column where identifier time layer place_sd trip header_row decimal "
        "missing censored detection_limit condition limit_column unit_column day_first equal_rows encoding "
        "delimiter quoting sides behind".split()
    ),
    instead="choose sales with `segment` and `years`",
)
SENSOR_TABLE = Loader(
    "sensor-table",
    "a table of readings with a column for each coordinate",
    read_table,
    _table_lacks,
    owners=True,
    once_each=True,
    ignores=("postcodes", "segment", "years"),
    instead="choose rows with `where`",
)

LOADERS: dict[str, Loader] = {loader.name: loader for loader in (PRICE_PAID, SENSOR_TABLE)}


def loader_of(wanted: Wanted, known: Mapping[str, Loader] = LOADERS) -> Loader:
    """Return the loader that a source names. Without a name, infer it: a source with a `value`, or
    without any setting of sales, is a sensor table. Raise `DataError` for an unknown name."""
    if wanted.loader is None:
        of_sales = wanted.postcodes is not None or bool(wanted.years) or wanted.segment != "all"
        return PRICE_PAID if of_sales and wanted.value is None else SENSOR_TABLE
    if wanted.loader not in known:
        raise DataError(f"There is no loader {wanted.loader!r}: choose one of {', '.join(sorted(known))}.")
    return known[wanted.loader]
