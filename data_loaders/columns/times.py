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
_PLAIN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?$"


@dataclass(frozen=True, eq=False)
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

    Notes
    -----
    Unless that is known, "3/4/2018" is read with the day first, or with the month first if the second
    number of some date of the column is above 12 and the first of none.
    """
    read = read_times(column)
    if read.order.month_comes_first() and not day_first:
        return Times(read.as_month_first, False)
    return Times(read.as_day_first, read.order.slashed)


@dataclass(frozen=True)
class DateOrder:
    """What is known of dates such as 3/4/2018, from a table or one block of it.

    Parameters
    ----------
    slashed : bool
        Whether any is written like that.
    first_high, second_high : bool
        Whether the first, or the second, number of any is above 12.
    """

    slashed: bool = False
    first_high: bool = False
    second_high: bool = False

    def month_comes_first(self) -> bool:
        """Whether the month stands first.

        Returns
        -------
        bool
            True if the second number of some date is above 12 and the first of none.
        """
        return self.second_high and not self.first_high

    def with_(self, other: DateOrder) -> DateOrder:
        """What two blocks of one table say together."""
        return DateOrder(
            self.slashed or other.slashed,
            self.first_high or other.first_high,
            self.second_high or other.second_high,
        )


@dataclass(frozen=True, eq=False)
class TimesRead:
    """A column of times read both ways, or one block of it.

    Parameters
    ----------
    as_day_first, as_month_first : (n,) datetime64[s]
        What "3/4/2018" is, read with the day first and with the month first; the same array where no entry
        is written like that.
    order : DateOrder
        What the column says of it.
    """

    as_day_first: NDArray[np.datetime64]
    as_month_first: NDArray[np.datetime64]
    order: DateOrder


def read_times(column: Any) -> TimesRead:
    """Read a text column of dates both ways: what is meant may be clear only from other rows of the table.

    Parameters
    ----------
    column : Arrow array of n strings without nulls
        As for `parse_times`.
    """
    text = pc.utf8_trim_whitespace(column)
    plain = _all_plain(text)
    if plain is not None:
        return TimesRead(plain, plain, DateOrder())
    iso, compact, year = _parts(text, _ISO), _parts(text, _COMPACT), _parts(text, _YEAR, 1)[0]
    first, second, last = _parts(text, _OTHER)
    clock = tuple(np.nan_to_num(part) for part in _parts(text, _CLOCK))
    one = np.where(np.isnan(year), np.nan, 1.0)
    slashed = ~np.isnan(first)

    def read(*ordered: NDArray[np.float64]) -> NDArray[np.datetime64]:
        found = iso
        for other in (compact, ordered, (year, one, one)):
            found = tuple(np.where(np.isnan(a), b, a) for a, b in zip(found, other, strict=True))
        return _moments(found, clock)

    as_day_first = read(last, second, first)
    return TimesRead(
        as_day_first,
        read(last, first, second) if slashed.any() else as_day_first,
        DateOrder(bool(slashed.any()), bool(np.any(first[slashed] > 12)), bool(np.any(second[slashed] > 12))),
    )


def _all_plain(text: Any) -> NDArray[np.datetime64] | None:
    """(n,) times where every entry is "2018-03-01", or with "12:30" or "12:30:59" behind it; else None."""
    width = pc.min_max(pc.binary_length(text)).as_py()
    # Of sixteen letters Arrow reads the wanted form alone: no time zone, which it would not leave out.
    minutes = width == {"min": 16, "max": 16}
    if not minutes and not pc.all(pc.match_substring_regex(text, _PLAIN)).as_py():
        return None
    try:
        whole = text if minutes else _with_clock(text)
        return np.asarray(pc.cast(whole, pa.timestamp("s")).to_numpy(zero_copy_only=False), dtype="M8[s]")
    except pa.ArrowInvalid:  # no 31st of June
        return None


def _with_clock(text: Any) -> Any:
    return pc.if_else(
        pc.greater(pc.binary_length(text), 10), text, pc.binary_join_element_wise(text, "00:00", " ")
    )


def _moments(
    date: tuple[NDArray[np.float64], ...], clock: tuple[NDArray[np.float64], ...]
) -> NDArray[np.datetime64]:
    """(n,) times of years, months, days, hours, minutes and seconds; NaT where there is no such time."""
    (year, month, day), (hour, minute, second) = date, clock
    good = ~np.isnan(year) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    good &= (hour <= 23) & (minute <= 59) & (second <= 60)
    whole = [np.where(good, part, 0).astype(np.int64) for part in (*date, *clock)]
    months = (whole[0] - 1970) * 12 + whole[1] - 1
    found = months.astype("M8[M]").astype("M8[D]") + (whole[2] - 1).astype("m8[D]")
    good &= found.astype("M8[M]") == months.astype("M8[M]")  # no 31st of June
    seconds = (whole[3] * 3600 + whole[4] * 60 + whole[5]).astype("m8[s]")
    time = np.where(good, found.astype("M8[s]") + seconds, np.datetime64("NaT", "s"))
    return np.asarray(time.astype("M8[s]"))


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
