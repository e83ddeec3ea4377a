"""Readings of a mobile sensor at the places that a sanitised trip tells: a private table for a map."""

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
    """What a mobile sensor measured.

    Parameters
    ----------
    name : str
        The header of its values.
    time : (m,) float64
        Seconds since 1970.
    values : tuple of m str
        As they stand in the file; private.
    """

    name: str
    time: NDArray[np.float64]
    values: tuple[str, ...]


def checked_resolution(resolution: int) -> int:
    """An H3 resolution, 0 to 15.

    Raises
    ------
    WorkflowError
        For a number that is none.
    """
    try:
        return check_resolution(resolution)
    except ValueError as error:
        raise WorkflowError(f"{str(error)[0].upper()}{str(error)[1:]}") from None


def read_readings(source: str | Path, zone: str | None = None, day_first: bool | None = None) -> Readings:
    """Read a sensor's table.

    Parameters
    ----------
    source : str or Path
        CSV with a column "time" and one of values.
    zone : str, optional
        Of times that name none; without it UTC.
    day_first : bool, optional
        Whether dates such as 3/4/2018 have the day first; without it the dates tell.

    Returns
    -------
    Readings
        Those of the first 100,000 rows with a time and a value.

    Raises
    ------
    WorkflowError
        For a file without these columns, whose clock goes back where no zone is named, or whose dates do
        not tell their order or contradict the stated one.
    """
    path = Path(source)
    try:
        with path.open(encoding="utf-8-sig") as file:
            # line by line: an open quote would take in the rows behind it
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
    """Refuse readings none of which was made between the first and the last record of a trip.

    Parameters
    ----------
    readings : Readings
    times : (n,)
        Of the records, seconds since 1970, ascending.

    Raises
    ------
    WorkflowError
        Where that is so.
    """
    if not np.any((readings.time >= times[0]) & (readings.time <= times[-1])):
        raise WorkflowError(_NONE)


def readings_at(
    times: NDArray[np.float64], axes: Sequence[NDArray[np.float64]], wanted: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Estimates between the records of a trip.

    Parameters
    ----------
    times : (n,)
        Of the records, seconds since 1970.
    axes : sequence of (n,)
        What is known at them, such as longitude, latitude and deviation.
    wanted : (m,)
        Times of the readings.

    Returns
    -------
    list of (m,) float64
        One per axis; NaN before the first and after the last record.
    """
    outside = (wanted < times[0]) | (wanted > times[-1])
    return [np.where(outside, np.nan, np.interp(wanted, times, axis)) for axis in axes]


def joined_table(places: str, readings: Readings, resolution: int) -> tuple[str, str]:
    """Put readings where the released trip says that they were made.

    Parameters
    ----------
    places : str
        The text of a release's `places.csv`.
    readings : Readings
    resolution : int
        Of the hexagons that the map will have.

    Returns
    -------
    table : str
        CSV: lon, lat, sd_m, the values, the likeliest hexagon and its probability. It holds the readings:
        private. Named as `place_sd`, the column sd_m lets a map count each row in its likeliest hexagon.
    said : str
        How many readings found a place, and how sure their hexagons are.

    Raises
    ------
    WorkflowError
        For no reading during the trip.
    """
    known = list(csv.DictReader(io.StringIO(places)))
    times = read_instants([row["time"] for row in known]).seconds
    axes = [np.array([float(row[name]) for row in known]) for name in ("lon", "lat", "sd_m")]
    lon, lat, deviation = readings_at(times, axes, readings.time)
    found = np.flatnonzero(np.isfinite(lon))
    if not found.size:
        raise WorkflowError(_NONE)
    cells = likeliest(cell_shares(lon[found], lat[found], deviation[found], resolution))
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["lon", "lat", "sd_m", readings.name, "h3", "probability"])
    for record, (cell, share) in zip(found, cells, strict=True):
        value = readings.values[record]
        place = f"{lon[record]:.6f}", f"{lat[record]:.6f}", f"{deviation[record]:.1f}"
        rows.writerow([*place, value, cell, f"{share:.3f}"])
    mean = float(np.mean([share for _, share in cells]))
    said = (
        f"{found.size:,} of {readings.time.size:,} readings found a place; at resolution {resolution} the "
        f"likeliest hexagon of a reading is right with probability {mean:.0%} on average."
    )
    return text.getvalue(), said
