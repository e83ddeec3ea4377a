"""Tells when it was in UTC from what a clock showed: time zones, and the hour that occurs twice."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from data_loaders.errors import DataError

_JITTER = 60.0  # seconds that a clock which is set by satellites may go back
_MOST_BACK = 7260.0  # seconds that the end of summer time sets a clock back, and a minute


class ZoneWanted(DataError):
    """Times without a zone whose clock goes back, so that nobody knows how long anything lasted."""


def time_zone(name: str) -> ZoneInfo:
    """Return the time zone of a name such as "Europe/London"; raise `DataError` if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise DataError(f"There is no time zone {name!r}: name one such as Europe/London or UTC.") from None


_NO_ZONE = (
    "The clock goes back by {:.0f} minutes and the times name no zone, as where summer time ends: state the "
    "zone of the times, such as Europe/London (--time-zone on the command line)."
)


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
