"""The settings of one source of rows."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data_loaders.columns.numbers import RULES, Censored, Decimal, Rule, missing_of
from data_loaders.columns.specification import Written
from data_loaders.errors import DataError
from data_loaders.files.blocks import DELIMITERS, Delimiter, Quoting
from data_loaders.files.codings import ENCODINGS, Encoding
from data_loaders.repeats import EqualRows

_METRES = re.compile(r"[0-9]+(\.[0-9]+)?")
_MOST_METRES = 1_000_000


def is_metres(text: str) -> bool:
    """Whether `place_sd` is a number of metres; otherwise it names a column."""
    return _METRES.fullmatch(text.strip()) is not None


@dataclass(frozen=True)
class Wanted:
    """The settings of one source of rows; each loader reads the fields that it needs."""

    path: str
    postcodes: str | None = None
    segment: str = "all"
    years: tuple[int, ...] = ()
    value: str | None = None
    x: str | None = None
    y: str | None = None
    # column with whole places, such as POINT (x y), in place of x and y
    place_column: str | None = None
    zone_column: str | None = None  # column with the UTM zone of each row's x and y
    crs: str = "EPSG:4326"
    where: tuple[tuple[str, str], ...] = ()
    identifier: str | None = None
    time: str | None = None
    layer: str | None = None  # sheet of a workbook, or layer of a GeoPackage
    header_row: int | None = None  # the row that names the columns, from 1 as in a spreadsheet
    decimal: Decimal | None = None  # None: detected, like every setting below
    # further codes for "no value", or "none" alone for no codes at all
    missing: tuple[str, ...] = ()
    # measurements beyond a limit count as the limit, those below as half of it, or are dropped
    censored: Rule = "limit"
    # for measurements below a limit that the cell does not name
    detection_limit: float | None = None
    condition: str | None = None  # column that marks measurements below or above a limit
    limit_column: str | None = None  # column of limits for cells that do not name theirs
    day_first: bool | None = None  # whether 3/4/2018 is in April
    # default "once"; must be stated where all values are 0 and 1
    equal_rows: EqualRows | None = None
    # column with the unit of each value; "none" if the column with such a name means something else
    unit_column: str | None = None
    # column of a place's standard deviation in metres per axis, or a number of metres
    place_sd: str | None = None
    trip: str | None = None
    # the text format, as far as a person states it: `specification.Written`
    encoding: Encoding | None = None
    delimiter: Delimiter | None = None
    quoting: Quoting | None = None
    # columns with the letters E and W, and N and S, of the coordinates; ("none",) for no columns
    sides: tuple[str, ...] = ()
    # letters allowed after a number of the value; () for those of laboratories, ("none",) for no
    # letters
    behind: tuple[str, ...] = ()
    loader: str | None = None  # a name in LOADERS; None: inferred from the other fields

    @property
    def written(self) -> Written:
        """The stated part of the text format."""
        return Written(self.header_row, self.encoding, self.delimiter, self.quoting)

    @property
    def place_metres(self) -> float | None:
        """The standard deviation of all places in metres per axis; None unless stated as a
        number."""
        return float(self.place_sd) if self.place_sd is not None and is_metres(self.place_sd) else None

    def check_table(self) -> None:
        """Raise `DataError` if a field about the format of a table has an impossible value."""
        missing_of(self.missing)
        if self.censored not in RULES:
            raise DataError(f"What becomes of measurements beyond a limit is one of {', '.join(RULES)}.")
        if self.detection_limit is not None and not np.isfinite(self.detection_limit):
            raise DataError("A detection limit is a finite number in the unit of the values.")
        if self.decimal not in (None, ".", ","):
            raise DataError("The decimal mark is '.' or ','.")
        if self.encoding not in (None, *ENCODINGS):
            raise DataError(f"The encoding of a text is one of {', '.join(ENCODINGS)}.")
        if self.delimiter not in (None, *DELIMITERS) or self.quoting not in (None, "line", "lines"):
            raise DataError("The delimiter is a comma, semicolon, tab or bar, and quoting is line or lines.")
        if self.place_metres is not None and not 0 < self.place_metres <= _MOST_METRES:
            raise DataError(f"Places are known to metres above 0 and up to {_MOST_METRES:,}: see `place_sd`.")
        if self.header_row is not None and self.header_row < 1:
            raise DataError("Rows are counted from 1: state the one that names the columns.")


def ruled(
    value: Censored,
    request: Wanted,
    alive: NDArray[np.bool_],
    where: str,
    column: str,
) -> NDArray[np.float64]:
    """Return (n,) values with the public rule applied to those beyond a limit. Raise `DataError` if
    the rule needs a limit that neither the cells nor the settings state."""
    numbers = value.value
    unnamed = value.below & np.isnan(numbers)
    if unnamed.any():
        if request.detection_limit is None and request.censored != "drop" and np.any(unnamed & alive):
            raise DataError(
                f"{where} has readings in {column!r} below a detection limit that they do not name (such as "
                "ND, BDL or <LOD): they are low, not unknown. State the limit with `detection_limit` "
                "(--detection-limit), name the column that holds it with `limit_column` (--limit-column), or "
                "leave all readings beyond a limit out with `censored` (--censored drop)."
            )
        limit = np.nan if request.detection_limit is None else request.detection_limit
        numbers = np.where(unnamed, limit, numbers)
    return np.where(value.below, numbers / 2.0, numbers) if request.censored == "half" else numbers
