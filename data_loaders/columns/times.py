"""Dates and times as people write them; in UTC where the zone, or the hour that occurs twice, can be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.errors import DataError

_JITTER = 60.0  # seconds that a clock which is set by satellites may go back
_MOST_BACK = 7260.0  # seconds that the end of summer time sets a clock back, and a minute

_NO_ZONE = (
    "The clock goes back by {:.0f} minutes and the times name no zone, as where summer time ends: state the "
    "zone of the times, such as Europe/London (--time-zone on the command line)."
)
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
_FRACTION = r"(?:[0-9]:[0-9]{2}:|[0-9]{12})[0-9]{2}[.,](?P<a>[0-9]{1,9})"
_ZONE = (
    r"(?:[T ][0-9]{1,2}(?::?[0-9]{2})*|^[0-9]{10,14})(?:[.,][0-9]+)?"
    r"(?:[ \x{a0}\x{202f}]?[AaPp]\.?[Mm]\.?)? ?"
    r"(?P<a>[Zz]|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)$"
)
_NUMBER = r"^(?P<a>[0-9]{9,13}(?:\.[0-9]*)?|[0-9]\.[0-9]+[eE]\+?[0-9]{1,2})$"
_LONGEST = 64  # letters of a time


class ZoneWanted(DataError):
    """Times without a zone whose clock goes back, so that nobody knows how long anything lasted."""


def time_zone(name: str) -> ZoneInfo:
    """Return the time zone of a name such as "Europe/London"; raise `DataError` if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise DataError(f"There is no time zone {name!r}: name one such as Europe/London or UTC.") from None


def refuse_back(clock: NDArray[np.float64], sentence: str = _NO_ZONE) -> None:
    """Raise `ZoneWanted` where a clock, (n,) seconds in the order of the records, goes back by a minute to
    two hours. `sentence` has a place for the minutes."""
    if not clock.size:
        return
    back = np.maximum.accumulate(clock) - clock
    first = np.flatnonzero((back > _JITTER) & (back <= _MOST_BACK))
    if first.size:
        raise ZoneWanted(sentence.format(back[first[0]] / 60.0))


def to_utc(clock: NDArray[np.float64], zone: ZoneInfo) -> NDArray[np.float64]:
    """Convert what a clock showed, (n,) seconds in the order of the records, to UTC: of two equal hours the
    order tells which. Raise `ZoneWanted` where the clock goes back in that zone too, `DataError` for times
    that the zone skips or whose order does not tell which of two they are."""
    minutes, which = np.unique(np.floor(clock / 60.0), return_inverse=True)
    early, late = _ahead(minutes, zone, 0)[which], _ahead(minutes, zone, 1)[which]
    if np.any(early < late):
        raise DataError(
            f"{np.sum(early < late):,} times fall into the hour that {zone.key} skips when summer time "
            "begins: state the zone that the clock kept, such as UTC."
        )
    ahead = early.copy()
    twice = np.flatnonzero(early > late)
    for run in np.split(twice, np.flatnonzero(np.diff(twice) > 1) + 1) if twice.size else ():
        ahead[run[_turn(clock, run) :]] = late[run[_turn(clock, run) :]]
    made = np.asarray(clock - ahead)
    refuse_back(
        made,
        f"The clock goes back by {{:.0f}} minutes in the zone {zone.key} too: state the zone that "
        "it kept, which repeats an hour then.",
    )
    return made


def _ahead(minutes: NDArray[np.float64], zone: ZoneInfo, fold: int) -> NDArray[np.float64]:
    start = datetime(1970, 1, 1, fold=fold, tzinfo=zone)
    moments = ((start + timedelta(minutes=float(minute))).replace(fold=fold) for minute in minutes)
    return np.array([(moment.utcoffset() or timedelta()).total_seconds() for moment in moments])


def _turn(clock: NDArray[np.float64], run: NDArray[np.intp]) -> int:
    """How many of a run of times that occur twice belong to summer: up to where the clock goes back. Where it
    never does, the hour is in the longest pause, outside of the file if the run begins or ends it."""
    first, last = int(run[0]), int(run[-1])
    steps = np.diff(clock[run])
    back = np.flatnonzero(steps < -_JITTER)
    if back.size > 1:
        raise DataError(
            "Rows in the hour that occurs twice when summer time ends are not in the order of their times: "
            "sort the file as it was recorded, or export it with times in UTC."
        )
    if back.size:
        return int(back[0]) + 1
    before = clock[first] - clock[first - 1] if first else np.inf
    after = clock[last + 1] - clock[last] if last + 1 < clock.size else np.inf
    pauses = np.concatenate([[after], [before], steps])  # of two equal ones the first counts
    longest = int(np.argmax(pauses))
    return len(run) if longest == 0 else longest - 1


class OrderWanted(DataError):
    """Dates such as 3/4/2018 of which nothing tells whether the day or the month comes first."""


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

    def decided(self, said: bool | None) -> bool:
        """Whether the day comes first, as a person says or else as the dates tell. Raise `OrderWanted` where
        nobody says it and the dates leave it open, and `DataError` where what is said leaves dates unread
        that the other order reads."""
        if said is None and self.open:
            raise OrderWanted(
                "Dates such as 3/4/2018 do not tell whether the day or the month comes first: say which "
                "(--day-first or --no-day-first on the command line), or write dates as 2024-05-01."
            )
        if said is not None and self.contradicts(said):
            raise DataError(
                f"Some dates have the {'month' if said else 'day'} first, since their other number is above "
                f"12: leave {'--day-first' if said else '--no-day-first'} out, say the opposite, or write "
                "dates as 2024-05-01."
            )
        return not self.month_comes_first() if said is None else said

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

    # what "3/4/2018" is; the same array in both where no entry is written like that
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
    half = _group(text, _HALF)
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


def _group(text: Any, pattern: str) -> NDArray[np.str_]:
    """(n,) what the group a of a pattern holds, "" where it does not match."""
    found = pc.fill_null(pc.struct_field(pc.extract_regex(text, pattern), [0]), "")
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.str_)


@dataclass(frozen=True, eq=False)
class Instants:
    """n times to the fraction of a second, as trips and sensors need them."""

    # since 1970: in UTC where zoned, else as the clock showed; NaN where unreadable
    seconds: NDArray[np.float64]
    zoned: NDArray[np.bool_]  # whether the entry says its zone; a count of seconds does
    day_first: bool | None = None  # how dates such as 3/4/2018 were read; None where there are none

    def part(self, start: int, stop: int) -> Instants:
        """The times of the entries from `start` up to `stop`, which is left out."""
        return Instants(self.seconds[start:stop], self.zoned[start:stop], self.day_first)

    def in_utc(self, zone: ZoneInfo | None) -> NDArray[np.float64]:
        """Return the (n,) times in UTC seconds since 1970; `zone` is that of the entries that name none, in
        the order of the file, UTC without it. Raise `ZoneWanted` where there is none and the clock goes back
        by a minute to two hours, `DataError` for times that the zone skips or whose order does not tell which
        of two they are."""
        bare = np.flatnonzero(~self.zoned & np.isfinite(self.seconds))
        clock = self.seconds[bare]
        turned = -1 if np.sum(np.diff(clock) < 0.0) > np.sum(np.diff(clock) > 0.0) else 1  # newest first
        found = self.seconds.copy()
        if zone is None:
            refuse_back(clock[::turned])
        else:
            found[bare[::turned]] = to_utc(clock[::turned], zone)
        return found


def read_instants(entries: Sequence[str], day_first: bool | None = None) -> Instants:
    """Read n times with their zones and fractions, as `parse_times` and as seconds or milliseconds since
    1970. `day_first` says whether "3/4/2018" is in April; errors as `DateOrder.decided`."""
    bare = [entry[:_LONGEST].encode("utf-8", "replace").decode() for entry in entries]
    text = pc.utf8_trim_whitespace(pa.array(bare, pa.string()))
    read = read_times(text)
    day = read.order.decided(day_first)
    time = read.as_day_first if day else read.as_month_first
    seconds = time.astype(np.int64).astype(np.float64)
    seconds[np.isnat(time)] = np.nan
    fraction, zone, number = (_group(text, pattern) for pattern in (_FRACTION, _ZONE, _NUMBER))
    seconds += np.char.add("0.", fraction).astype(np.float64)
    named, offsets = np.unique(zone, return_inverse=True)
    seconds -= np.array([_offset(str(one)) for one in named] or [0.0])[offsets]
    counted = (number != "") & np.isnan(seconds)
    count = np.where(counted, number, "0").astype(np.float64)
    count = np.where(count < 1e11, count, count / 1000.0)
    seconds[counted] = np.where((count >= 1e8) & (count < 1e11), count, np.nan)[counted]
    return Instants(seconds, (zone != "") | counted, day if read.order.slashed else None)


def _offset(zone: str) -> float:
    """Seconds by which "+02:00" is ahead of UTC; 0 for "Z" and for none."""
    digits = zone[1:].replace(":", "")
    if not digits.isdigit():
        return 0.0
    ahead = 3600.0 * int(digits[:2]) + 60.0 * int(digits[2:] or 0)
    return -ahead if zone[0] == "-" else ahead
