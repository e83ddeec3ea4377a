"""Reads columns of dates and times as people write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_ISO = r"^(?P<a>[0-9]{4})[-/.](?P<b>[0-9]{1,2})[-/.](?P<c>[0-9]{1,2})"
_OTHER = r"^(?P<a>[0-9]{1,2})[-/.](?P<b>[0-9]{1,2})[-/.](?P<c>[0-9]{4})"
_COMPACT = r"^(?P<a>[0-9]{4})(?P<b>[0-9]{2})(?P<c>[0-9]{2})$"
_YEAR = r"^(?P<a>1[0-9]{3}|2[0-9]{3})$"
_CLOCK = r"[T ](?P<a>[0-9]{1,2}):(?P<b>[0-9]{2})(?::(?P<c>[0-9]{2}))?"


@dataclass(frozen=True)
class Times:
    """A column of times.

    Parameters
    ----------
    time : (n,) datetime64[s]
        As written, time zones ignored; NaT where an entry is blank or cannot be read.
    day_first : bool
        Some dates were written as 3/4/2018 and taken for the third of April.
    """

    time: NDArray[np.datetime64]
    day_first: bool


def parse_times(column: Any, *, day_first: bool = False) -> Times:
    """Parse a text column of dates, with or without a time of day.

    Parameters
    ----------
    column : Arrow array of n strings without nulls
        "2018-03-01", "2018/03/01 12:30", "2018-03-01T12:30:59Z", "1.3.2018", "20180301", "2018".
    day_first : bool
        That "3/4/2018" is known to be in April.

    Returns
    -------
    Times

    Notes
    -----
    Unless that is known, "3/4/2018" is read with the day first, or with the month first if the second
    number of some date of the column is above 12 and the first of none.
    """
    text = pc.utf8_trim_whitespace(column)
    year, month, day = _parts(text, _ISO)
    compact = _parts(text, _COMPACT)
    only_year = _parts(text, _YEAR, 1)[0]
    first, second, last = _parts(text, _OTHER)
    slashed = ~np.isnan(first)
    month_first = bool(np.any(second[slashed] > 12) and not np.any(first[slashed] > 12)) and not day_first
    ordered = (last, first, second) if month_first else (last, second, first)
    one = np.where(np.isnan(only_year), np.nan, 1.0)
    for found in (compact, ordered, (only_year, one, one)):
        year, month, day = (
            np.where(np.isnan(a), b, a) for a, b in zip((year, month, day), found, strict=True)
        )
    hour, minute, second_ = (np.nan_to_num(part) for part in _parts(text, _CLOCK))
    good = ~np.isnan(year) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    good &= (hour <= 23) & (minute <= 59) & (second_ <= 60)
    whole = [np.where(good, part, 0).astype(np.int64) for part in (year, month, day, hour, minute, second_)]
    months = (whole[0] - 1970) * 12 + whole[1] - 1
    date = months.astype("M8[M]").astype("M8[D]") + (whole[2] - 1).astype("m8[D]")
    good &= date.astype("M8[M]") == months.astype("M8[M]")  # no 31st of June
    clock = (whole[3] * 3600 + whole[4] * 60 + whole[5]).astype("m8[s]")
    time = np.where(good, date.astype("M8[s]") + clock, np.datetime64("NaT", "s"))
    return Times(time.astype("M8[s]"), bool(slashed.any()) and not month_first)


def _parts(text: Any, pattern: str, count: int = 3) -> tuple[NDArray[np.float64], ...]:
    """The groups a, b, c of a pattern as numbers, NaN where it does not match or a group is absent."""
    found = pc.extract_regex(text, pattern)
    parts = []
    for index in range(count):
        group = pc.struct_field(found, [index])
        group = pc.if_else(pc.equal(group, ""), pa.scalar(None, pa.string()), group)
        parts.append(
            np.asarray(pc.cast(group, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        )
    return tuple(parts)
