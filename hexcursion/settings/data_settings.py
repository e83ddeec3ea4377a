"""Settings of the sources of a release: private data, reference data and the public area."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Literal

from data_loaders import DataError, Loader, loader_of
from data_loaders.columns.numbers import missing_of
from data_loaders.files.blocks import Delimiter
from data_loaders.files.codings import Encoding
from data_loaders.house_prices.segments import FIRST_YEAR, LAST_YEAR
from data_loaders.wanted import Wanted
from dpgp_core.spectral.prior import MOST_COLUMNS
from geo.context.own_layers import MOST_LAYERS
from hexcursion.errors import WorkflowError
from hexcursion.settings.field import Checked, Setting
from hexcursion.settings.names import LOADERS, Values, loader_names, segment_names

OF_ITS_OWN = ("path", "years", "where", "layer", "place_sd", "trip")
"""The settings that reference data do not inherit from the private data: file and filters."""


@dataclass(frozen=True)
class SourceSettings(Checked, Wanted):
    """One source: Price Paid sales with a postcode lookup, a sensor table, or a file of another
    loader.

    Without `loader`, a source with `postcodes` and without `value` is a Price Paid file, any other
    is a sensor table. Raise `WorkflowError` for a bad value or inconsistent fields.
    """

    # fmt: off
    path: Annotated[str, Setting(
        "Price Paid file, or table of readings: .csv, .xlsx, .ods, .parquet, .gpkg, .geojson, a "
        "packed Shapefile and others.", "data",
        metavar="FILE",
    )]
    postcodes: Annotated[str | None, Setting(
        "Postcode lookup for Price Paid rows: NSPL, ONSPD or Code-Point.", "data", shortest=1,
        metavar="FILE", otherwise="none",
    )] = None
    segment: Annotated[str, Setting(
        "Sales of a Price Paid file that are kept.", "data", names=segment_names, metavar="NAME",
    )] = "all"
    years: Annotated[tuple[int, ...], Setting(
        "Years of transfer of a Price Paid file that are kept.", "data", minimum=FIRST_YEAR,
        maximum=LAST_YEAR, metavar="YEAR", otherwise="every year",
    )] = ()
    value: Annotated[str | None, Setting(
        "Column with the measured value.", "data", shortest=1, metavar="COLUMN",
        otherwise="none: a Price Paid file",
    )] = None
    x: Annotated[str | None, Setting(
        "Column with the longitude, or the easting.", "data", shortest=1, flag="lon",
        metavar="COLUMN", otherwise="none: the points of the file",
    )] = None
    y: Annotated[str | None, Setting(
        "Column with the latitude, or the northing.", "data", shortest=1, flag="lat",
        metavar="COLUMN", otherwise="none: the points of the file",
    )] = None
    place_column: Annotated[str | None, Setting(
        "Column with whole places: POINT (x y), latitude and longitude, cells, letters.",
        "data", shortest=1, metavar="COLUMN", otherwise="none: a column for each coordinate",
    )] = None
    zone_column: Annotated[str | None, Setting(
        "Column with the UTM zone of each row.", "data", shortest=1,
        metavar="COLUMN", otherwise="none: one system for all",
    )] = None
    crs: Annotated[str, Setting(
        "Coordinate reference system of the columns.", "data", shortest=1, metavar="EPSG:n",
    )] = "EPSG:4326"
    where: Annotated[tuple[tuple[str, str], ...], Setting(
        "Rows that are kept: those with these entries, one of several of a column. The map says "
        "so.", "data",
        must_be="a table of columns and the entry, or list of entries, that each should have",
        metavar="COLUMN=VALUE",
        otherwise="every row",
    )] = ()

    identifier: Annotated[str | None, Setting(
        "Column that names each record for good: rows of one name are one record, which the "
        "ledger knows again.", "data", shortest=1, metavar="COLUMN",
        otherwise="none: place, value and time",
    )] = None
    time: Annotated[str | None, Setting(
        "Column with the date or time of a row.", "data", shortest=1, metavar="COLUMN",
        otherwise="none",
    )] = None
    layer: Annotated[str | None, Setting(
        "Sheet of a workbook, or layer of a file of places.", "data", shortest=1, also="sheet",
        metavar="NAME", otherwise="the only one",
    )] = None
    header_row: Annotated[int | None, Setting(
        "Row that names the columns, counted from 1.", "data",
        minimum=1, metavar="ROW", otherwise="found, below titles and comments",
    )] = None
    decimal: Annotated[Literal[".", ","] | None, Setting(
        "Decimal mark of the values.", "data",
        otherwise="found, or asked for",
    )] = None
    missing: Annotated[tuple[str, ...], Setting(
        "Numbers that mean a missing value, such as -99 or 9999; `none` where every number is a "
        "measurement.", "data", metavar="NUMBER",
        otherwise="-999, -9999, -99999, -999999, -32768 and beyond 1e30; others are asked about",
    )] = ()
    censored: Annotated[Literal["limit", "half", "drop"], Setting(
        "Readings such as <0.5 and > 200 count as the limit, those below as half of it, or they "
        "are dropped.", "data",
    )] = "limit"
    detection_limit: Annotated[float | None, Setting(
        "Limit of readings such as ND, which name none.", "data",
        measure="the data's own unit", otherwise="asked for where needed",
    )] = None
    condition: Annotated[str | None, Setting(
        "Column that says which readings are below or above a limit: <, Not Detected.",
        "data", shortest=1, metavar="COLUMN", otherwise="none",
    )] = None
    limit_column: Annotated[str | None, Setting(
        "Column with the limit of readings that name none, in the values' unit.",
        "data", shortest=1, metavar="COLUMN", otherwise="none",
    )] = None
    unit_column: Annotated[str | None, Setting(
        "Column with the unit of each row, which is converted; `none` for no such column.",
        "data", shortest=1, metavar="COLUMN",
        otherwise="found by its name",
    )] = None
    day_first: Annotated[bool | None, Setting(
        "Dates such as 3/4/2018 have the day first.", "data",
        otherwise="found, otherwise the day, which is then said",
    )] = None
    equal_rows: Annotated[Literal["once", "each"] | None, Setting(
        "Whether rows without an identifier that are equal in place, value and time count once, "
        "or each is a record.", "data",
        otherwise="once; asked for with 1 and 0, counts, months or years",
    )] = None
    place_sd: Annotated[str | None, Setting(
        "Standard deviation of a place in metres per axis: a column, or one number for all rows, "
        "which is published.", "data",
        shortest=1, metavar="COLUMN|METRES", otherwise="none: exact",
    )] = None
    trip: Annotated[str | None, Setting(
        "The statement.json of the sanitised trip that the places come from.", "data",
        shortest=1, metavar="FILE", otherwise="none",
    )] = None
    encoding: Annotated[Encoding | None, Setting(
        "How the letters of a text file are coded.", "data",
        otherwise="found, or asked for",
    )] = None
    delimiter: Annotated[Delimiter | None, Setting(
        "What separates the columns of a text file.", "data",
        otherwise="found, or asked for",
    )] = None
    quoting: Annotated[Literal["line", "lines"] | None, Setting(
        "Whether quoted cells close on their line, or may hold line breaks.", "data",
        otherwise="line",
    )] = None
    sides: Annotated[tuple[str, ...], Setting(
        "Columns with the letters E and W of longitudes, and N and S of latitudes; `none` for no "
        "such columns.", "data", metavar="COLUMN", otherwise="found by their names",
    )] = ()
    behind: Annotated[tuple[str, ...], Setting(
        "Letters that may follow a number and leave it as it is; `none` for no letters.",
        "data", metavar="LETTERS",
        otherwise="those of laboratories, such as J, B, D and E; none for money",
    )] = ()
    loader: Annotated[str | None, Setting(
        "Loader that reads the file.", "data", names=loader_names, metavar="NAME",
        otherwise="price-paid with `postcodes`, otherwise sensor-table",
    )] = None
    # fmt: on

    def agree(self) -> None:
        """Raise `WorkflowError` unless the loader has the fields it needs and none that it
        ignores."""
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
        usual = {item.name: item.default for item in fields(self)}
        if ignored := [name for name in self.read_by.ignores if getattr(self, name) != usual[name]]:
            names = " and ".join(f"`{name}`" for name in ignored)
            raise WorkflowError(
                f"Nothing is done with {names} where the data are {self.read_by.title}: leave that out and "
                f"{self.read_by.instead}."
            )

    @property
    def measured_zeros(self) -> bool:
        """Whether every number is a measurement, 0 too."""
        return not missing_of(self.missing).numbers

    @property
    def rules_in_words(self) -> tuple[str, ...]:
        """Sentences for the statement about the stated rule for readings beyond a limit."""
        limits = (self.detection_limit, self.condition, self.limit_column)
        if self.censored == "limit" and limits == (None, None, None):
            return ()
        if self.censored == "drop":
            return ("Readings below or above a limit of measurement were left out.",)
        default_limit = (
            "" if self.detection_limit is None else f", {self.detection_limit:g} where they name none"
        )
        half = "half of their limit" if self.censored == "half" else "their limit"
        return (
            f"Readings below a limit of measurement count as {half}{default_limit}; "
            "those above one, as the limit.",
        )

    @property
    def filters(self) -> dict[str, list[str]]:
        """The accepted entries of rows, by column."""
        listed: dict[str, list[str]] = {}
        for column, entry in self.where:
            listed.setdefault(column, []).append(entry)
        return listed

    @property
    def read_by(self) -> Loader:
        """The named loader, or the one that the other fields imply."""
        return loader_of(self, LOADERS)

    @property
    def is_sales(self) -> bool:
        """Whether its rows are sales."""
        return self.read_by.kind == "sale"


@dataclass(frozen=True, kw_only=True)
class DataSettings(Checked):
    """Data, reference data and geography; part of `ReleaseSettings`."""

    # fmt: off
    data: Annotated[SourceSettings, Setting(
        "The private records: a table with at least a path.", "data",
        must_be="a table with at least a `path`",
    )]
    value_name: Annotated[str, Setting(
        "What is measured, for example price or NO2.", "data", one_line=True, longest=100,
        otherwise="price for sales, otherwise the column's name",
    )] = ""
    value_unit: Annotated[str, Setting(
        "The measured value's unit, for example GBP or ug/m3.", "data", one_line=True, longest=60,
        otherwise="as the data say",
    )] = ""
    values: Annotated[Values, Setting(
        "An amount, or an answer of yes and no, whose share is shown; `count` where records have "
        "no value.", "data",
    )] = "amount"
    yes_above: Annotated[float | None, Setting(
        "A value above this is a yes, in the values' unit.", "data",
        otherwise="values are 1 and 0",
    )] = None
    population_file: Annotated[str | None, Setting(
        "Public numbers over which records are counted, such as inhabitants: a layer, or a table "
        "by `h3`, or by lon and lat.", "data", shortest=1, metavar="FILE", otherwise="square kilometres",
    )] = None
    population_column: Annotated[str, Setting(
        "Column of that file with the numbers.", "data", longest=80, metavar="COLUMN", otherwise="population",
    )] = ""
    record_word: Annotated[str, Setting(
        "What one record is, for readers: well, moss sample.", "data", one_line=True, longest=40,
        metavar="WORD", otherwise="sale, or reading",
    )] = ""
    population: Annotated[str, Setting(
        "What the values were taken of, for readers: household wells, leasehold flats.",
        "data", one_line=True, longest=100, metavar="TEXT", otherwise="the segment of sales",
    )] = ""
    period: Annotated[str, Setting(
        "When the records were taken, for readers: 2018, May to July 2024.", "data",
        one_line=True, longest=60, metavar="TEXT", otherwise="the years of sales that are kept",
    )] = ""
    source: Annotated[str, Setting(
        "Who gave the records, named with the map.", "data", one_line=True, longest=200,
        metavar="TEXT", otherwise="as the data's licence asks",
    )] = ""
    owner: Annotated[str | None, Setting(
        "Column of the sensor or the person whose records are protected together.",
        "data", shortest=1, metavar="COLUMN", otherwise="each record by itself",
    )] = None
    records_per_owner: Annotated[int | None, Setting(
        "Most records of one owner that are used; epsilon is about all of an owner together.", "data",
        minimum=1, remedy="try 1", otherwise="no limit",
    )] = None
    owner_once_per_hexagon: Annotated[bool, Setting(
        "Keep at most one record of an owner in each hexagon: noisy cell statistics then need "
        "less noise.",
        "data",
    )] = False
    reference: Annotated[SourceSettings | None, Setting(
        "Data of an earlier time on which the design is tuned; or the bundle of an earlier "
        "release of the same question.", "reference",
        must_be="a table with at least a `path`",
        otherwise="none: one fixed design, and no search",
    )] = None
    reference_public: Annotated[bool, Setting(
        "The reference data are published: they may be shown and serve as prior mean.", "reference",
    )] = False
    prior_mean: Annotated[bool | None, Setting(
        "Use the map of the published reference data as prior mean.", "reference",
        otherwise="yes where the reference is published; mechanisms without sums try both",
    )] = None
    public_counts: Annotated[bool | None, Setting(
        "Use the published records per cell as prior of the private counts.", "reference",
        otherwise="true where published",
    )] = None
    limits: Annotated[str | None, Setting(
        "File of public limits by zone (GeoJSON with `value`, or a table of `h3`, `value`), to "
        "which the threshold is relative.", "set", shortest=1, metavar="FILE",
        otherwise="one threshold for all",
    )] = None
    change: Annotated[bool, Setting(
        "Ask for change: the threshold is relative to the public reference map; 1.05 is 5 % more "
        "on the log scale.", "set",
    )] = False
    covariates: Annotated[tuple[str, ...], Setting(
        "Public files of numbers that may explain the values, published with the map: tables of "
        "`h3` and a column, or layers.", "geography", longest=MOST_COLUMNS, flag="covariate", metavar="FILE",
        otherwise="none",
    )] = ()
    covariate_columns: Annotated[tuple[str, ...], Setting(
        "Columns with these numbers, one for each file or one for all; an empty text for the "
        "distance to a layer's shapes.", "geography", longest=MOST_COLUMNS, flag="covariate-column",
        metavar="COLUMN", otherwise="the distance to a layer's shapes; a table's only column",
    )] = ()
    region: Annotated[str | None, Setting(
        "GeoJSON file with the polygon of the region, in longitude and latitude.", "geography", shortest=1,
        metavar="FILE", otherwise="none: `bbox` names the area",
    )] = None
    features: Annotated[tuple[str, ...], Setting(
        "Names of the features of that file that make up the area, such as boroughs.", "geography",
        flag="feature", metavar="NAME", otherwise="all of the file",
    )] = ()
    feature_column: Annotated[str | None, Setting(
        "Column of that file with these names.", "geography", shortest=1, metavar="COLUMN",
        otherwise="the one that tells all apart",
    )] = None
    bbox: Annotated[tuple[float, float, float, float] | None, Setting(
        "Bounding box of the area: west, south, east and north.", "geography", measure="degrees",
        must_be="four numbers in degrees: west, south, east, north", metavar=("W", "S", "E", "N"),
        otherwise="none: `region` names the area",
    )] = None
    crosses_date_line: Annotated[bool | None, Setting(
        "The bounding box crosses the date line: west is a larger number than east.", "geography",
        otherwise="asked where it matters",
    )] = None
    land_only: Annotated[bool, Setting(
        "Leave out hexagons of a bounding box in the open sea.", "geography",
    )] = True
    resolution: Annotated[int, Setting(
        "H3 resolution; 8 has about 0.7 square kilometres a cell. Command line and app propose "
        "one.", "geography", minimum=0, maximum=15, remedy="try 8",
    )] = 8
    layers: Annotated[tuple[str, ...], Setting(
        "Public GeoJSON or GeoPackage files drawn over the map and published with it; naming one "
        "declares it public.", "geography", longest=MOST_LAYERS, metavar="FILE", otherwise="none",
    )] = ()
    label_columns: Annotated[tuple[str, ...], Setting(
        "Columns with the names that the layers show, one for each file or one for all; an empty "
        "text for no names.", "geography", longest=MOST_LAYERS, flag="label-column", metavar="COLUMN",
        otherwise="the likeliest one of each file",
    )] = ()
    layer_colours: Annotated[tuple[str, ...], Setting(
        "Colours of the layers, like #1f78b4, one for each file or one for all; an empty text for "
        "the ink of the map.", "geography", longest=MOST_LAYERS, flag="layer-colour", metavar="COLOUR",
        otherwise="the ink of the map",
    )] = ()
    layer_widths: Annotated[tuple[float, ...], Setting(
        "Widths of the layers' lines and dots, one for each file or one for all; 0 for what is "
        "usual.", "geography", longest=MOST_LAYERS, measure="pixels",
        flag="layer-width", metavar="PIXELS", otherwise="1.3 around areas, 1.8 for lines, 8 across dots",
    )] = ()
    basemap: Annotated[str | None, Setting(
        "PMTiles file of a public map that the app draws beneath the hexagons; it is not part of "
        "the bundle.", "geography", shortest=1, metavar="FILE",
        otherwise="coast, borders and place names",
    )] = None
    # fmt: on
