"""A released trace as GPX, as GeoJSON and as a table of estimated places: texts that other programs read."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexcursion.version import NAME
from hexcursion_traces.loading.gpx import track_gpx

FILES = ("trace.gpx", "trace.geojson", "places.csv", "statement.json")
"""The files of a released trip."""


@dataclass(frozen=True, eq=False)
class ReleasedTrace:
    """What leaves the building: n places with noise, and how much noise each one has.

    `time` (n,) in seconds since 1970, UTC; `longitude` and `latitude` (n,) in degrees, rounded;
    `deviation` (n,) of the noise, metres per axis."""

    release_id: str
    time: NDArray[np.float64]
    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    deviation: NDArray[np.float64]

    @property
    def instants(self) -> list[str]:
        """Times as ISO 8601 in UTC."""
        return [
            datetime.fromtimestamp(float(seconds), UTC).isoformat().replace("+00:00", "Z")
            for seconds in self.time
        ]


def gpx_text(released: ReleasedTrace) -> str:
    """GPX 1.1 with one track."""
    records = zip(released.instants, released.longitude, released.latitude, strict=True)
    return track_gpx(NAME, f"Sanitised trace {released.release_id}", records)


def geojson_text(released: ReleasedTrace, statement: dict[str, Any]) -> str:
    """RFC 7946 with one line, its times as "coordTimes", and the deviation of each record's noise."""
    places = np.column_stack([released.longitude, released.latitude]).tolist()
    properties = {
        "name": f"Sanitised trace {released.release_id}",
        "coordTimes": released.instants,
        "noise_sd_m": np.round(released.deviation, 2).tolist(),
        "in_words": statement["in_words"],
    }
    feature = {
        "type": "Feature",
        "properties": properties,
        "geometry": {"type": "LineString", "coordinates": places},
    }
    return json.dumps({"type": "FeatureCollection", "features": [feature]}, separators=(",", ":")) + "\n"


def places_text(
    released: ReleasedTrace,
    longitude: NDArray[np.float64],
    latitude: NDArray[np.float64],
    deviation: NDArray[np.float64],
) -> str:
    """Estimated places as CSV, for joining with the readings of a mobile sensor by time.

    `longitude` and `latitude` (n,) are best estimates in degrees, `deviation` (n,) is theirs, metres per
    axis."""
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["time", "lon", "lat", "sd_m"])
    for instant, lon, lat, sd in zip(released.instants, longitude, latitude, deviation, strict=True):
        rows.writerow([instant, f"{lon:.6f}", f"{lat:.6f}", f"{sd:.1f}"])
    return text.getvalue()
