"""Where one set of observations comes from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Literal

from data_loaders import DataError, Loader, loader_of
from data_loaders.columns.numbers import missing_of
from data_loaders.house_prices.segments import FIRST_YEAR, LAST_YEAR
from hexcursion.errors import WorkflowError
from hexcursion.settings.field import Checked, Setting
from hexcursion.settings.names import LOADERS, loader_names, segment_names

OF_ITS_OWN = ("path", "years", "where", "layer", "place_sd", "trip")
"""What reference data do not take over from the private data where they say nothing: file and filters."""


@dataclass(frozen=True)
class SourceSettings(Checked):
    """One source: Price Paid sales with a postcode lookup, a sensor table, or what another loader reads.

    Where no `loader` is named, a source with `postcodes` and without `value` is a Price Paid file, any other
    a sensor table. Raise `WorkflowError` for a bad value or fields that do not fit together.
    """

    path: Annotated[
        str,
        Setting(
            "Price Paid file (.csv, .csv.gz, .xlsx), or sensor table (.csv, .xlsx, .gpkg, .geojson).",
            "data",
            metavar="FILE",
        ),
    ]
    postcodes: Annotated[
        str | None,
        Setting(
            "Postcode lookup for Price Paid rows (NSPL, ONSPD or Code-Point).",
            "data",
            shortest=1,
            metavar="FILE",
            otherwise="none: a sensor table has coordinates",
        ),
    ] = None
    segment: Annotated[
        str,
        Setting("Which sales of a Price Paid file are kept.", "data", names=segment_names, metavar="NAME"),
    ] = "all"
    years: Annotated[
        tuple[int, ...],
        Setting(
            "Years of transfer that are kept of a Price Paid file.",
            "data",
            minimum=FIRST_YEAR,
            maximum=LAST_YEAR,
            metavar="YEAR",
            otherwise="every year",
        ),
    ] = ()
    value: Annotated[
        str | None,
        Setting(
            "Measured column of a sensor table.",
            "data",
            shortest=1,
            metavar="COLUMN",
            otherwise="none: a Price Paid file",
        ),
    ] = None
    x: Annotated[
        str | None,
        Setting(
            "Column of a sensor table with the longitude, or the easting.",
            "data",
            shortest=1,
            flag="lon",
            metavar="COLUMN",
            otherwise="none: a Price Paid file, or the points of a GeoPackage or GeoJSON file",
        ),
    ] = None
    y: Annotated[
        str | None,
        Setting(
            "Column of a sensor table with the latitude, or the northing.",
            "data",
            shortest=1,
            flag="lat",
            metavar="COLUMN",
            otherwise="none: a Price Paid file, or the points of a GeoPackage or GeoJSON file",
        ),
    ] = None
    crs: Annotated[
        str,
        Setting(
            "Coordinate reference system of a sensor table's columns.", "data", shortest=1, metavar="EPSG:n"
        ),
    ] = "EPSG:4326"
    where: Annotated[
        tuple[tuple[str, str], ...],
        Setting(
            "Rows of a sensor table that are kept: those with these entries. The map says so.",
            "data",
            must_be="a table of columns and the entry that each should have",
            metavar="COLUMN=VALUE",
            otherwise="every row",
        ),
    ] = ()

    identifier: Annotated[
        str | None,
        Setting(
            "Column of a sensor table that names each record for good: rows of one name are one record, "
            "and the ledger knows it again.",
            "data",
            shortest=1,
            metavar="COLUMN",
            otherwise="none: a row is known by its place, value and time",
        ),
    ] = None
    time: Annotated[
        str | None,
        Setting(
            "Column of a sensor table with the date or time of a row.",
            "data",
            shortest=1,
            metavar="COLUMN",
            otherwise="none",
        ),
    ] = None
    layer: Annotated[
        str | None,
        Setting(
            "Sheet of a workbook, or layer of a GeoPackage.",
            "data",
            shortest=1,
            also="sheet",
            metavar="NAME",
            otherwise="the only one",
        ),
    ] = None
    header_row: Annotated[
        int | None,
        Setting(
            "Row of a sensor table that names its columns, counted from 1 without blank rows.",
            "data",
            minimum=1,
            metavar="ROW",
            otherwise="found: titles and comments above it are passed over",
        ),
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None,
        Setting(
            "Decimal mark of a sensor table's values.",
            "data",
            otherwise="found, and asked for where the values admit both",
        ),
    ] = None
    missing: Annotated[
        tuple[str, ...],
        Setting(
            "Numbers of a sensor table's value that stand for a missing value, such as -99 or 9999; `none` "
            "where every number is a measurement.",
            "data",
            metavar="NUMBER",
            otherwise="-999, -9999, -99999, -999999, -32768 and what is beyond 1e30; others are asked about",
        ),
    ] = ()
    censored: Annotated[
        Literal["limit", "half", "drop"],
        Setting(
            "What becomes of readings of a sensor table such as <0.5 and > 200: they count as the limit, "
            "those below as half of it, or they are dropped.",
            "data",
        ),
    ] = "limit"
    detection_limit: Annotated[
        float | None,
        Setting(
            "Limit of readings below one that they do not name, such as ND.",
            "data",
            measure="the data's own unit",
            otherwise="asked for where it is needed",
        ),
    ] = None
    condition: Annotated[
        str | None,
        Setting(
            "Column of a sensor table that says which readings are below or above a limit: <, Not Detected.",
            "data",
            shortest=1,
            metavar="COLUMN",
            otherwise="none",
        ),
    ] = None
    limit_column: Annotated[
        str | None,
        Setting(
            "Column of a sensor table with the limit of readings below one that they do not name, in the "
            "values' unit.",
            "data",
            shortest=1,
            metavar="COLUMN",
            otherwise="none",
        ),
    ] = None
    day_first: Annotated[
        bool | None,
        Setting(
            "Dates of a sensor table such as 3/4/2018 have the day first.",
            "data",
            otherwise="found; the day where no date tells, and said",
        ),
    ] = None
    place_sd: Annotated[
        str | None,
        Setting(
            "Column of a sensor table with the standard deviation of a row's place in metres per axis, where "
            "places carry known noise.",
            "data",
            shortest=1,
            metavar="COLUMN",
            otherwise="none: places are exact",
        ),
    ] = None
    trip: Annotated[
        str | None,
        Setting(
            "The statement.json of the sanitised trip that a sensor table's places come from.",
            "data",
            shortest=1,
            metavar="FILE",
            otherwise="none",
        ),
    ] = None
    loader: Annotated[
        str | None,
        Setting(
            "Loader that reads the file.",
            "data",
            names=loader_names,
            metavar="NAME",
            otherwise="price-paid with `postcodes`, sensor-table without",
        ),
    ] = None

    def agree(self) -> None:
        """Raise `WorkflowError` unless the loader is told what it needs, and nothing that it ignores."""
        if not self.path:
            raise WorkflowError("No data file is named: set `data` to a Price Paid file or a sensor table.")
        try:
            missing_of(self.missing)
        except DataError as error:
            raise WorkflowError(str(error)) from error
        if self.trip is not None and self.place_sd is None:
            raise WorkflowError(
                "Places of a sanitised trip carry noise: name the column of its standard deviation with "
                "`place_sd`, which is sd_m in the table that the trace command writes."
            )
        if lacking := self.read_by.lacks(self):
            raise WorkflowError(lacking)
        usual = {each.name: each.default for each in fields(self)}
        if said := [name for name in self.read_by.ignores if getattr(self, name) != usual[name]]:
            named = " and ".join(f"`{name}`" for name in said)
            raise WorkflowError(
                f"Nothing is done with {named} where the data are {self.read_by.title}: leave that out and "
                f"{self.read_by.instead}."
            )

    @property
    def rules_in_words(self) -> tuple[str, ...]:
        """Sentences for the statement: what a person said becomes of readings beyond a limit."""
        told = (self.detection_limit, self.condition, self.limit_column)
        if self.censored == "limit" and told == (None, None, None):
            return ()
        if self.censored == "drop":
            return ("Readings below or above a limit of measurement were left out.",)
        named = "" if self.detection_limit is None else f", {self.detection_limit:g} where they name none"
        half = "half of their limit" if self.censored == "half" else "their limit"
        return (
            f"Readings below a limit of measurement count as {half}{named}; those above one, as the limit.",
        )

    @property
    def read_by(self) -> Loader:
        """The loader that is named, or else meant."""
        return loader_of(self, LOADERS)

    @property
    def is_sales(self) -> bool:
        """Whether its rows are sales."""
        return self.read_by.kind == "sale"
