"""Readings of a mobile sensor at the places of a released trip: a private table for a map."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data_loaders.errors import DataError
from geo.domains.domain import cell_shares, likeliest
from geo.domains.hexagons import check_resolution
from hexcursion.errors import WorkflowError
from hexcursion_traces.loading.instants import read_instants, time_zone

_MOST = 100_000
_NONE = "No reading was made during the trip: compare the times of both files, in UTC."


@dataclass(frozen=True, eq=False)
class Readings:
    """The m readings of a mobile sensor: the header of its values, `time` (m,) in seconds since 1970,
    and the values as written in the file; private."""

    name: str
    time: NDArray[np.float64]
    values: tuple[str, ...]


def checked_resolution(resolution: int) -> int:
    """An H3 resolution, 0 to 15; raise `WorkflowError` for another number."""
    try:
        return check_resolution(resolution)
    except ValueError as error:
        raise WorkflowError(f"{str(error)[0].upper()}{str(error)[1:]}") from None


def read_readings(source: str | Path, zone: str | None = None, day_first: bool | None = None) -> Readings:
    """Read a sensor's table, CSV with a column "time" and one of values: the first 100,000 rows that have
    both.

    `zone` is that of times that name none, without it UTC; `day_first` whether dates such as 3/4/2018
    have the day first, by default the dates decide. Raise `WorkflowError` for a file without these
    columns, for a clock that goes back without a named zone, and for dates with an open order or against
    the stated one."""
    path = Path(source)
    try:
        with path.open(encoding="utf-8-sig") as file:
            # line by line, since an open quote would swallow the rows after it
            rows = (row for line in file for row in csv.reader((line.rstrip("\n"),), strict=True))
            names = next(rows, [])
            header = [name for name in names if name]
            clock = next((name for name in header if name.strip().lower() == "time"), None)
            values = [name for name in header if name != clock]
            if clock is None or len(values) != 1:
                raise WorkflowError(f"{path.name} needs two columns: 'time', and the values of one sensor.")
            places = names.index(clock), names.index(values[0])
            texts = [
                (row[places[0]], row[places[1]]) for row in islice(rows, _MOST) if len(row) > max(places)
            ]
        read = read_instants([text for text, _ in texts], day_first)
        times = read.in_utc(None if zone is None else time_zone(zone))
    except WorkflowError:
        raise
    except DataError as error:
        raise WorkflowError(f"{path.name}: {str(error)[:1].lower()}{str(error)[1:]}") from None
    except csv.Error:
        raise WorkflowError(
            f"{path.name} has a quote that does not close on its line: mend that line."
        ) from None
    except (OSError, ValueError):  # ValueError: no UTF-8, or no name of a file
        raise WorkflowError(f"{path.name} cannot be read as CSV in UTF-8: choose another file.") from None
    pairs = [
        (time, value)
        for time, (_, value) in zip(times, texts, strict=True)
        if np.isfinite(time) and value.strip()
    ]
    return Readings(values[0], np.array([time for time, _ in pairs]), tuple(value for _, value in pairs))


def check_times(readings: Readings, times: NDArray[np.float64]) -> None:
    """Raise `WorkflowError` if no reading is between the first and the last record of a trip; `times`
    (n,) are those of the records, seconds since 1970, ascending."""
    if not np.any((readings.time >= times[0]) & (readings.time <= times[-1])):
        raise WorkflowError(_NONE)


def readings_at(
    times: NDArray[np.float64], axes: Sequence[NDArray[np.float64]], moments: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Estimates (m,) per axis between the records of a trip; NaN before the first and after the last
    record.

    `times` (n,) of the records and `moments` (m,) of the readings are in seconds since 1970; `axes` (n,)
    are values at the records, such as longitude, latitude and deviation."""
    outside = (moments < times[0]) | (moments > times[-1])
    return [np.where(outside, np.nan, np.interp(moments, times, axis)) for axis in axes]


def joined_table(places: str, readings: Readings, resolution: int) -> tuple[str, str]:
    """Put readings at the places of the released trip, the text of a release's `places.csv`.

    Return a CSV of lon, lat, sd_m, the values, the likeliest hexagon of the map's `resolution` and its
    probability, and a sentence of the number of readings with a place and the mean probability. The
    table contains the readings and is private. With the column sd_m as `place_sd`, a map counts each row
    in its likeliest hexagon. Raise `WorkflowError` for no reading during the trip."""
    records = list(csv.DictReader(io.StringIO(places)))
    times = read_instants([row["time"] for row in records]).seconds
    axes = [np.array([float(row[name]) for row in records]) for name in ("lon", "lat", "sd_m")]
    lon, lat, deviation = readings_at(times, axes, readings.time)
    inside = np.flatnonzero(np.isfinite(lon))
    if not inside.size:
        raise WorkflowError(_NONE)
    cells = likeliest(cell_shares(lon[inside], lat[inside], deviation[inside], resolution))
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["lon", "lat", "sd_m", readings.name, "h3", "probability"])
    for record, (cell, share) in zip(inside, cells, strict=True):
        value = readings.values[record]
        place = f"{lon[record]:.6f}", f"{lat[record]:.6f}", f"{deviation[record]:.1f}"
        rows.writerow([*place, value, cell, f"{share:.3f}"])
    mean = float(np.mean([share for _, share in cells]))
    summary = (
        f"{inside.size:,} of {readings.time.size:,} readings found a place; at resolution {resolution} the "
        f"likeliest hexagon of a reading is right with probability {mean:.0%} on average."
    )
    return text.getvalue(), summary
