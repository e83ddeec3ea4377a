"""Times to the fraction of a second, in UTC where their zone, or the hour that occurs twice, can be told."""

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
    """Times without a zone whose clock goes back, so that nobody knows how long anything lasted."""


class OrderWanted(DataError):
    """Dates such as 3/4/2018 of which nothing tells whether the day or the month comes first."""


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
    1970. `day_first` says whether "3/4/2018" is in April; raise `OrderWanted` where nobody says it and the
    entries leave it open, `DataError` where what is said leaves dates unread."""
    bare = [entry[:_LONGEST].encode("utf-8", "replace").decode() for entry in entries]
    text = pc.utf8_trim_whitespace(pa.array(bare, pa.string()))
    read = read_times(text)
    day = _day_comes_first(read.order, day_first)
    time = read.as_day_first if day else read.as_month_first
    seconds = time.astype(np.int64).astype(np.float64)
    seconds[np.isnat(time)] = np.nan
    fraction, zone = (matched(text, pattern) for pattern in (_FRACTION, _ZONE))
    seconds += np.char.add("0.", fraction).astype(np.float64)
    named, offsets = np.unique(zone, return_inverse=True)
    seconds -= np.array([_offset(str(one)) for one in named] or [0.0])[offsets]
    counted = np.isfinite(read.counted)
    seconds[counted] = read.counted[counted]
    seconds[(read.stamp >= MONTH) & (read.stamp <= WEEK) & ~counted] = np.nan  # a month is no moment
    return Instants(seconds, (zone != "") | counted, day if read.order.slashed > 0 else None)


def _day_comes_first(order: DateOrder, said: bool | None) -> bool:
    """Whether the day comes first, as a person says or else as the dates tell. Raise `OrderWanted` where
    nobody says it and the dates leave it open, and `DataError` where what is said leaves dates unread
    that the other order reads."""
    if said is None and (order.open or order.month_comes_first() is None):
        raise OrderWanted(
            "Dates such as 3/4/2018 do not tell whether the day or the month comes first: say which "
            "(--day-first or --no-day-first on the command line), or write dates as 2024-05-01."
        )
    if said is not None and order.contradicts(said):
        raise DataError(
            f"Some dates have the {'month' if said else 'day'} first, since their other number is above "
            f"12: leave {'--day-first' if said else '--no-day-first'} out, say the opposite, or write "
            "dates as 2024-05-01."
        )
    return not order.month_comes_first() if said is None else said


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
        turn = _turn(clock, run)
        _refuse_told_by_one(clock, run, turn)
        ahead[run[turn:]] = late[run[turn:]]
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


def _refuse_told_by_one(clock: NDArray[np.float64], run: NDArray[np.intp], turn: int) -> None:
    """Refuse a run of which a single row, in it or beside it, tells where the clock went back: whatever that
    row holds, it would decide how the others are read."""
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
    """Seconds by which "+02:00" is ahead of UTC; 0 for "Z" and for none."""
    digits = zone[1:].replace(":", "")
    if not digits.isdigit():
        return 0.0
    ahead = 3600.0 * int(digits[:2]) + 60.0 * int(digits[2:] or 0)
    return -ahead if zone[0] == "-" else ahead
