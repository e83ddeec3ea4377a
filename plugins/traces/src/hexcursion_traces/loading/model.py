"""Traces: places of one mover in the order of their times, made from raw fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.coordinates import parse_degrees
from data_loaders.columns.numbers import NOTHING, parse_numbers
from data_loaders.observations import Tally
from hexcursion_traces.loading.instants import Instants

_LONGEST = 64  # letters of a coordinate
LONG_GAP = 600.0
"""Seconds without a record from which a report mentions a gap."""


@dataclass(frozen=True)
class Fix:
    """A raw record as text: time, longitude and latitude as written in a file; "" if missing."""

    time: str
    longitude: str
    latitude: str


@dataclass(frozen=True, eq=False)
class Trace:
    """The records of one trip of one mover.

    `name` is private, for the curator only. `time` (n,) in seconds since 1970 in UTC, ascending, no two
    equal; `longitude` and `latitude` (n,) in WGS 84 degrees, finite. Raise `ValueError` for arrays of
    unequal length, or times that do not ascend."""

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
        """Keep the first record of every slot of some seconds, counted from the first record; 0 keeps
        every record. The choice looks at times only, never at places."""
        if seconds <= 0.0 or not self.size:
            return self
        slot = np.floor((self.time - self.time[0]) / seconds)
        keep = np.concatenate([[True], np.diff(slot) > 0])
        return Trace(self.name, self.time[keep], self.longitude[keep], self.latitude[keep])


def trace_of(
    name: str, fixes: Sequence[Fix], times: Instants, tally: Tally, zone: ZoneInfo | None = None
) -> tuple[Trace, tuple[str, ...]]:
    """Make n raw records and their n times into a trace, possibly empty, and sentences about zones, order
    and gaps.

    `tally` counts every record and every dropped record; `zone` is that of the times without one, by
    default UTC. Raise `DataError` if times without a zone are ambiguous, since their clock goes back."""
    tally.read(len(fixes))
    time = times.in_utc(zone)
    lon = _degrees([fix.longitude for fix in fixes], of_latitude=False)
    lat = _degrees([fix.latitude for fix in fixes], of_latitude=True)
    alive = np.ones(time.size, dtype=np.bool_)
    alive = tally.drop_where("no time that can be read", np.isnan(time), alive)
    alive = tally.drop_where("no place that can be read", np.isnan(lon) | np.isnan(lat), alive)
    alive = tally.drop_where(
        "a place that is not on Earth", (np.abs(lon) > 180.0) | (np.abs(lat) > 90.0), alive
    )
    alive = tally.drop_where("0, 0, which receivers write without a fix", (lon == 0.0) & (lat == 0.0), alive)
    placed = np.flatnonzero(alive)
    order = placed[np.argsort(time[placed], kind="stable")]
    first = np.concatenate([[True], np.diff(time[order]) > 0.0]) if order.size else np.zeros(0, np.bool_)
    tally.drop("a second record of the same instant", int(np.count_nonzero(~first)))
    notes = []
    if np.any(alive & ~times.zoned):
        notes.append(f"Times without a zone were read {f'in {zone.key}' if zone else 'as UTC'}.")
    if np.any(np.diff(placed[np.argsort(time[placed], kind="stable")]) < 0):
        notes.append("Some records were not in the order of their times and were sorted.")
    order = order[first]
    gaps = int(np.count_nonzero(np.diff(time[order]) >= LONG_GAP))
    if gaps:
        notes.append(f"{gaps:,} gap{'s' if gaps > 1 else ''} of ten minutes or more without a record.")
    return Trace(name, time[order], lon[order], lat[order]), tuple(notes)


def _degrees(entries: list[str], *, of_latitude: bool) -> NDArray[np.float64]:
    """(n,) degrees in any notation of tables, NaN for an unreadable entry."""
    bare = [entry[:_LONGEST].encode("utf-8", "replace").decode() for entry in entries]
    column = pc.utf8_trim_whitespace(pa.array(bare, pa.string()))
    read = parse_numbers(column, ".", NOTHING, grouping=False)
    return parse_degrees(column, read, "", of_latitude=of_latitude)[0]
