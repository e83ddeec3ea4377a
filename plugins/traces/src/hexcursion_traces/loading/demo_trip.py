"""A generated trip through the invented city, as GPX: a ride with a stay of a quarter of an
hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from data_loaders.demo_data import Array, to_lonlat
from hexcursion_traces.loading.gpx import track_gpx

GENERATED_TRIP = "generated-demo-trip.gpx"
"""The name of the file, which shows that the trip is invented."""

_START = datetime(2024, 5, 1, 12, tzinfo=UTC)
_STEP = 30.0  # seconds between records
_SPEED = 4.0  # metres a second, of a bicycle
_RECEIVER = 3.0  # metres, standard deviation of a record on each axis
_BENDS = 90.0  # metres of the way off the straight line
_STAYS = (  # minutes of a stay, and its place in km east and north of the city's origin
    (4.0, 0.5, 1.0),
    (15.0, -3.5, 1.5),
    (4.0, -6.0, 5.5),
)
_NEAR = 0.4  # km, standard deviation of a place around the stated one


def generated_trip(seed: int) -> bytes:
    """A trip of about an hour, a record every 30 seconds, with a stay of a quarter of an hour in its
    middle: GPX 1.1 with one track, on the open sea, with a note that it is generated. Another seed is
    another trip between the same parts of the city."""
    rng = np.random.default_rng(seed)
    places = [1000.0 * (np.array([east, north]) + rng.normal(0.0, _NEAR, 2)) for _, east, north in _STAYS]
    parts = []
    for number, ((minutes, _, _), place) in enumerate(zip(_STAYS, places, strict=True)):
        if number:
            parts.append(_way(places[number - 1], place, rng))
        parts.append(np.tile(place, (round(60.0 * minutes / _STEP), 1)))
    track = np.concatenate(parts)
    track += rng.normal(0.0, _RECEIVER, track.shape)
    longitude, latitude = to_lonlat(track[:, 0] / 1000.0, track[:, 1] / 1000.0)
    times = [(_START + timedelta(seconds=_STEP * number)).isoformat() for number in range(len(track))]
    records = zip(times, longitude, latitude, strict=True)
    return track_gpx("Hexcursion: generated data", "Generated, nobody's trip", records).encode()


def _way(start: Array, end: Array, rng: np.random.Generator) -> Array:
    """(n, 2) metres of a way between two places, at an even pace, with bends across the straight
    line."""
    along = end - start
    length = float(np.hypot(*along))
    steps = max(2, round(length / (_SPEED * _STEP)))
    share = np.arange(1, steps) / steps
    across = np.array([-along[1], along[0]]) / length
    waves = np.arange(1, 6)
    bends = np.sin(np.pi * np.outer(share, waves)) @ (rng.normal(0.0, _BENDS, waves.size) / waves)
    return np.asarray(start + share[:, None] * along + bends[:, None] * across)
