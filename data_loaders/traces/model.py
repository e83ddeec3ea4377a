"""What a trace is: places of one mover in the order of their times; and how raw fixes become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from data_loaders.report import Tally

LONG_GAP = 600.0
"""Seconds without a record from which on a report speaks of a gap."""


@dataclass(frozen=True)
class Fix:
    """A raw record as text: time, longitude and latitude as they stand in a file; "" where one is missing."""

    time: str
    longitude: str
    latitude: str


@dataclass(frozen=True, eq=False)
class Trace:
    """The records of one trip of one mover.

    Parameters
    ----------
    name : str
        What the file calls it, or the file's own name: private, for the curator only.
    time : (n,) float64
        Seconds since 1970 in UTC, ascending, no two equal.
    longitude, latitude : (n,) float64
        WGS 84 degrees, finite.

    Raises
    ------
    ValueError
        For arrays of unequal length, or times that do not ascend.
    """

    name: str
    time: NDArray[np.float64]
    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not (self.time.shape == self.longitude.shape == self.latitude.shape) or self.time.ndim != 1:
            raise ValueError("a trace has as many times as places.")
        if np.any(np.diff(self.time) <= 0.0):
            raise ValueError("the times of a trace ascend.")

    @property
    def size(self) -> int:
        """Number of records."""
        return int(self.time.size)

    def thinned(self, seconds: float) -> Trace:
        """Keep the first record of every slot of some seconds, counted from the first record.

        Parameters
        ----------
        seconds : float
            0 keeps every record.

        Returns
        -------
        Trace
            The choice looks at times only, never at places.
        """
        if seconds <= 0.0 or not self.size:
            return self
        slot = np.floor((self.time - self.time[0]) / seconds)
        keep = np.concatenate([[True], np.diff(slot) > 0])
        return Trace(self.name, self.time[keep], self.longitude[keep], self.latitude[keep])


def instant(text: str) -> tuple[float, bool]:
    """Read a time.

    Parameters
    ----------
    text : str
        ISO 8601 with or without a zone, "2008/10/23 02:53:04", or seconds (or milliseconds) since 1970.

    Returns
    -------
    seconds : float
        Since 1970, UTC; NaN where it cannot be read.
    zoned : bool
        Whether the text said which zone it is in.
    """
    word = text.strip()
    try:
        number = float(word)
        if 1e8 <= number < 1e11:
            return number, True
        if 1e11 <= number < 1e14:
            return number / 1000.0, True
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(word.replace("/", "-"))
    except ValueError:
        return float("nan"), True
    if found.tzinfo is None:
        return found.replace(tzinfo=UTC).timestamp(), False
    return found.timestamp(), True


def trace_of(name: str, fixes: Sequence[Fix], tally: Tally) -> tuple[Trace, tuple[str, ...]]:
    """Make raw records into a trace, counting each that is left out.

    Parameters
    ----------
    name : str
    fixes : sequence of Fix
    tally : Tally
        Is told of every record met and of every one dropped.

    Returns
    -------
    trace : Trace
        Possibly empty.
    notes : tuple of str
        Sentences about zones, order and gaps.
    """
    tally.read(len(fixes))
    read = [instant(fix.time) for fix in fixes]
    time = np.array([seconds for seconds, _ in read], dtype=np.float64)
    lon = np.array([_number(fix.longitude) for fix in fixes], dtype=np.float64)
    lat = np.array([_number(fix.latitude) for fix in fixes], dtype=np.float64)
    alive = np.ones(time.size, dtype=np.bool_)
    alive = tally.drop_where("no time that can be read", np.isnan(time), alive)
    alive = tally.drop_where("no place that can be read", np.isnan(lon) | np.isnan(lat), alive)
    alive = tally.drop_where(
        "a place that is not on Earth", (np.abs(lon) > 180.0) | (np.abs(lat) > 90.0), alive
    )
    kept = np.flatnonzero(alive)
    order = kept[np.argsort(time[kept], kind="stable")]
    first = np.concatenate([[True], np.diff(time[order]) > 0.0]) if order.size else np.zeros(0, np.bool_)
    tally.drop("a second record of the same instant", int(np.count_nonzero(~first)))
    notes = []
    if any(not zoned for (_, zoned), good in zip(read, alive, strict=True) if good):
        notes.append("Times without a zone were read as UTC.")
    if np.any(np.diff(kept[np.argsort(time[kept], kind="stable")]) < 0):
        notes.append("Some records were not in the order of their times and were sorted.")
    order = order[first]
    gaps = int(np.count_nonzero(np.diff(time[order]) >= LONG_GAP))
    if gaps:
        notes.append(f"{gaps:,} gap{'s' if gaps > 1 else ''} of ten minutes or more without a record.")
    return Trace(name, time[order], lon[order], lat[order]), tuple(notes)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return float("nan")
    return value if np.isfinite(value) else float("nan")
