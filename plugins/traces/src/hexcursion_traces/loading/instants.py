"""Times to the fraction of a second, in UTC by their zone and the order of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.times import MONTH, WEEK, DateOrder, matched, read_times
from data_loaders.errors import DataError

_JITTER = 60.0  # seconds that a clock which is set by satellites may go back
_MOST_BACK = 7260.0  # seconds that the end of summer time sets a clock back, and a minute
_NO_ZONE = (
    "The clock goes back by {:.0f} minutes and the times name no zone, as where summer time ends: state the "
    "zone of the times, such as Europe/London (--time-zone on the command line)."
)
_FRACTION = r"(?:[0-9]:[0-9]{2}:|[0-9]{12})[0-9]{2}[.,](?P<a>[0-9]{1,9})"
_ZONE = (
    r"(?:[T ][0-9]{1,2}(?::?[0-9]{2})*|^[0-9]{10,14})(?:[.,][0-9]+)?"
    r"(?:[ \x{a0}\x{202f}]?[AaPp]\.?[Mm]\.?)? ?"
    r"(?P<a>[Zz]|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)$"
)
_LONGEST = 64  # letters of a time


class ZoneWanted(DataError):
    """Times without a zone whose clock goes back, so that durations are unknown."""


class OrderWanted(DataError):
    """Dates such as 3/4/2018 for which the order of day and month is unknown."""


@dataclass(frozen=True, eq=False)
class Instants:
    """n times to the fraction of a second, as trips and sensors need them."""

    # since 1970: in UTC if zoned, else by the recording clock; NaN if unreadable
    seconds: NDArray[np.float64]
    zoned: NDArray[np.bool_]  # whether the entry has a zone; a count of seconds has
    day_first: bool | None = None  # order in dates such as 3/4/2018; None without such dates

    def part(self, start: int, stop: int) -> Instants:
        """The times of the entries from `start` up to but without `stop`."""
        return Instants(self.seconds[start:stop], self.zoned[start:stop], self.day_first)

    def in_utc(self, zone: ZoneInfo | None) -> NDArray[np.float64]:
        """Return the (n,) times in UTC seconds since 1970.

        `zone` is that of entries without a zone, which are in the order of the file; by default
        UTC. Raise `ZoneWanted` without a zone if the clock goes back by a minute to two hours, and
        `DataError` for times that the zone skips or repeats in an unclear order.
        """
        bare = np.flatnonzero(~self.zoned & np.isfinite(self.seconds))
        clock = self.seconds[bare]
        newest_first = np.sum(np.diff(clock) < 0.0) > np.sum(np.diff(clock) > 0.0)
        step = -1 if newest_first else 1
        times = self.seconds.copy()
        if zone is None:
            refuse_back(clock[::step])
        else:
            times[bare[::step]] = to_utc(clock[::step], zone)
        return times


def read_instants(entries: Sequence[str], day_first: bool | None = None) -> Instants:
    """Read n times with their zones and fractions, as `parse_times` and as seconds or milliseconds
    since 1970.

    `day_first` says whether "3/4/2018" is in April. Raise `OrderWanted` without it if the entries
    leave the order open, and `DataError` if it contradicts the entries.
    """
    bare = [entry[:_LONGEST].encode("utf-8", "replace").decode() for entry in entries]
    text = pc.utf8_trim_whitespace(pa.array(bare, pa.string()))
    read = read_times(text)
    day = _day_comes_first(read.order, day_first)
    time = read.as_day_first if day else read.as_month_first
    seconds = time.astype(np.int64).astype(np.float64)
    seconds[np.isnat(time)] = np.nan
    fraction, zone = (matched(text, pattern) for pattern in (_FRACTION, _ZONE))
    seconds += np.char.add("0.", fraction).astype(np.float64)
    zones, offsets = np.unique(zone, return_inverse=True)
    seconds -= np.array([_offset(str(name)) for name in zones] or [0.0])[offsets]
    is_count = np.isfinite(read.counted)
    seconds[is_count] = read.counted[is_count]
    seconds[(read.stamp >= MONTH) & (read.stamp <= WEEK) & ~is_count] = np.nan  # a month is no moment
    return Instants(seconds, (zone != "") | is_count, day if read.order.slashed > 0 else None)


def _day_comes_first(order: DateOrder, stated: bool | None) -> bool:
    """Whether the day comes first, by `stated` or else by the dates.

    Raise `OrderWanted` without `stated` if the dates leave the order open, and `DataError` if
    `stated` leaves dates unread that the other order reads.
    """
    if stated is None and (order.open or order.month_comes_first() is None):
        raise OrderWanted(
            "Dates such as 3/4/2018 do not tell whether the day or the month comes first: say which "
            "(--day-first or --no-day-first on the command line), or write dates as 2024-05-01."
        )
    if stated is not None and order.contradicts(stated):
        raise DataError(
            f"Some dates have the {'month' if stated else 'day'} first, since their other number is above "
            f"12: leave {'--day-first' if stated else '--no-day-first'} out, say the opposite, or write "
            "dates as 2024-05-01."
        )
    return not order.month_comes_first() if stated is None else stated


def time_zone(name: str) -> ZoneInfo:
    """Return the time zone of a name such as "Europe/London"; raise `DataError` if there is
    none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise DataError(f"There is no time zone {name!r}: name one such as Europe/London or UTC.") from None


def refuse_back(clock: NDArray[np.float64], sentence: str = _NO_ZONE) -> None:
    """Raise `ZoneWanted` for a clock, (n,) seconds in the order of the records, that goes back by a
    minute to two hours. `sentence` has a place for the minutes."""
    if not clock.size:
        return
    back = np.maximum.accumulate(clock) - clock
    first = np.flatnonzero((back > _JITTER) & (back <= _MOST_BACK))
    if first.size:
        raise ZoneWanted(sentence.format(back[first[0]] / 60.0))


def to_utc(clock: NDArray[np.float64], zone: ZoneInfo) -> NDArray[np.float64]:
    """Convert clock times, (n,) seconds in the order of the records, to UTC.

    The order distinguishes the two equal hours at the end of summer time. Raise `ZoneWanted` if
    the clock goes back in this zone as well, and `DataError` for times that the zone skips or
    repeats in an unclear order.
    """
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
        turn = _turn(clock, run)
        _refuse_single_witness(clock, run, turn)
        ahead[run[turn:]] = late[run[turn:]]
    utc = np.asarray(clock - ahead)
    refuse_back(
        utc,
        f"The clock goes back by {{:.0f}} minutes in the zone {zone.key} too: state the zone that "
        "it kept, which repeats an hour then.",
    )
    return utc


def _ahead(minutes: NDArray[np.float64], zone: ZoneInfo, fold: int) -> NDArray[np.float64]:
    start = datetime(1970, 1, 1, fold=fold, tzinfo=zone)
    moments = ((start + timedelta(minutes=float(minute))).replace(fold=fold) for minute in minutes)
    return np.array([(moment.utcoffset() or timedelta()).total_seconds() for moment in moments])


def _turn(clock: NDArray[np.float64], run: NDArray[np.intp]) -> int:
    """The number of times in summer of a run of times that occur twice.

    These are the times before the clock goes back. If it never does, the repeated hour is in the
    longest pause, which is outside of the file for a run at its begin or end.
    """
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
    pause_before = clock[first] - clock[first - 1] if first else np.inf
    pause_after = clock[last + 1] - clock[last] if last + 1 < clock.size else np.inf
    pauses = np.concatenate([[pause_after], [pause_before], steps])  # argmax takes the first of equal pauses
    longest = int(np.argmax(pauses))
    return len(run) if longest == 0 else longest - 1


def _refuse_single_witness(clock: NDArray[np.float64], run: NDArray[np.intp], turn: int) -> None:
    """Refuse a run in which a single row, of the run or next to it, decides where the clock went
    back: this row would decide the times of all others."""
    first, last = int(run[0]), int(run[-1])
    start = max(first - 2, 0)
    near = clock[start : last + 3]
    for row in range(max(first - 1, 0) - start, min(last + 2, clock.size) - start):
        inside = first - start <= row <= last - start
        begin = first - start - (row < first - start)
        left = np.arange(begin, begin + len(run) - inside)
        summer = turn - (inside and row < first - start + turn)
        if left.size and _turn(np.delete(near, row), left) != summer:
            raise DataError(
                "A single row tells where the clock went back in the hour that occurs twice when summer time "
                "ends: sort the file as it was recorded, or export it with times in UTC."
            )


def _offset(zone: str) -> float:
    """Seconds by which "+02:00" is ahead of UTC; 0 for "Z" and for ""."""
    digits = zone[1:].replace(":", "")
    if not digits.isdigit():
        return 0.0
    ahead = 3600.0 * int(digits[:2]) + 60.0 * int(digits[2:] or 0)
    return -ahead if zone[0] == "-" else ahead
