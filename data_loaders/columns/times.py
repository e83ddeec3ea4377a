"""Columns of dates and times as people write them."""

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
# With a clock behind it: "20240501T0800", "20240501080000". Of other centuries it is a count of seconds.
_LONGER = (
    r"^(?P<a>(?:19|20)[0-9]{2})(?P<b>[0-9]{2})(?P<c>[0-9]{2})"
    r"[T ]?(?P<d>[0-9]{2})(?P<e>[0-9]{2})?(?P<f>[0-9]{2})?(?:[^0-9].*)?$"
)
_YEAR = r"^(?P<a>1[0-9]{3}|2[0-9]{3})$"
_HALF = r"[0-9][ \x{a0}\x{202f}]?(?P<a>[AaPp])\.?[Mm]"  # browsers write a narrow blank before it
_CLOCK = r"[T ](?P<a>[0-9]{1,2})(?::(?P<b>[0-9]{2})(?::(?P<c>[0-9]{2}))?|[ \x{a0}\x{202f}]?[AaPp]\.?[Mm])"
_PLAIN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?$"


def parse_times(column: Any, *, day_first: bool = False) -> NDArray[np.datetime64]:
    """Parse n Arrow strings such as "2018-03-01", "2018-03-01T12:30:59Z", "1.3.2018", "1/3/2018 8:30 PM",
    "20180301123059" and "2018" as (n,) datetime64[s], time zones ignored; NaT where blank or unreadable.
    Unless `day_first`, "3/4/2018" is read with the day first, or with the month first if the second number of
    some date of the column is above 12 and the first of none."""
    read = read_times(column)
    if read.order.month_comes_first() and not day_first:
        return read.as_month_first
    return read.as_day_first


@dataclass(frozen=True)
class DateOrder:
    """What is known of dates such as 3/4/2018, from a table or one block of it."""

    slashed: bool = False  # whether any is written like that
    first_high: bool = False  # whether the first number of any is above 12; `second_high` likewise
    second_high: bool = False

    def month_comes_first(self) -> bool:
        """Whether the second number of some date is above 12 and the first of none."""
        return self.second_high and not self.first_high

    @property
    def open(self) -> bool:
        """Whether no date tells which number is the day, or some dates tell one thing and some another."""
        return self.slashed and self.first_high == self.second_high

    def contradicts(self, day_first: bool) -> bool:
        """Whether what a person says leaves dates unread that the other order reads."""
        high, low = (self.second_high, self.first_high) if day_first else (self.first_high, self.second_high)
        return high and not low

    def with_(self, other: DateOrder) -> DateOrder:
        """What two blocks of one table say together."""
        return DateOrder(
            self.slashed or other.slashed,
            self.first_high or other.first_high,
            self.second_high or other.second_high,
        )


@dataclass(frozen=True, eq=False)
class TimesRead:
    """A column of n times, or one block of it, read with the day first and with the month first."""

    # (n,) what "3/4/2018" is; the same array in both where no entry is written like that
    as_day_first: NDArray[np.datetime64]
    as_month_first: NDArray[np.datetime64]
    order: DateOrder  # what the column says of the order


def read_times(column: Any) -> TimesRead:
    """Read n Arrow strings as `parse_times`, both ways: what is meant may be clear only from other rows."""
    text = pc.utf8_trim_whitespace(column)
    plain = _all_plain(text)
    if plain is not None:
        return TimesRead(plain, plain, DateOrder())
    iso, compact, year = _parts(text, _ISO), _parts(text, _COMPACT), _parts(text, _YEAR, 1)[0]
    first, second, last = _parts(text, _OTHER)
    *longer, hour, minute, past = _parts(text, _LONGER, 6)
    clocks = zip(_parts(text, _CLOCK), (hour, minute, past), strict=True)
    clock = [np.nan_to_num(np.where(np.isnan(a), b, a)) for a, b in clocks]
    half = matched(text, _HALF)
    clock[0] = np.where(half == "", clock[0], clock[0] % 12 + 12 * np.isin(half, ["p", "P"]))
    one = np.where(np.isnan(year), np.nan, 1.0)
    slashed = ~np.isnan(first)

    def read(*ordered: NDArray[np.float64]) -> NDArray[np.datetime64]:
        found = iso
        for other in (compact, tuple(longer), ordered, (year, one, one)):
            found = tuple(np.where(np.isnan(a), b, a) for a, b in zip(found, other, strict=True))
        return _moments(found, tuple(clock))

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


def matched(text: Any, pattern: str) -> NDArray[np.str_]:
    """(n,) what the group a of a pattern holds, "" where it does not match."""
    found = pc.fill_null(pc.struct_field(pc.extract_regex(text, pattern), [0]), "")
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.str_)
