"""A generated trip through the invented city, as GPX: a ride with a stay of a quarter of an hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import numpy as np

from data_loaders.demo_data.city import Array, to_lonlat

GENERATED_TRIP = "generated-demo-trip.gpx"
"""What the file is called: whoever keeps it sees that it is nobody's."""

_SPACE = "http://www.topografix.com/GPX/1/1"
_START = datetime(2024, 5, 1, 12, tzinfo=UTC)
_STEP = 30.0  # seconds between records
_SPEED = 4.0  # metres a second, of a bicycle
_RECEIVER = 3.0  # metres, standard deviation of a record on each axis
_BENDS = 90.0  # metres by which the way leaves the straight line
_STAYS = (  # minutes of a stay, and its place about so many km east and north of the city's origin
    (4.0, 0.5, 1.0),
    (15.0, -3.5, 1.5),
    (4.0, -6.0, 5.5),
)
_NEAR = 0.4  # km, standard deviation of a place around the stated one


def generated_trip(seed: int) -> bytes:
    """A trip of about an hour, a record every 30 seconds, with a stay of a quarter of an hour in its middle.

    Parameters
    ----------
    seed : int
        Another seed is another trip between the same parts of the city.

    Returns
    -------
    bytes
        GPX 1.1 with one track, on the open sea, said to be generated.
    """
    rng = np.random.default_rng(seed)
    places = [1000.0 * (np.array([east, north]) + rng.normal(0.0, _NEAR, 2)) for _, east, north in _STAYS]
    parts = []
    for number, ((minutes, _, _), place) in enumerate(zip(_STAYS, places, strict=True)):
        if number:
            parts.append(_way(places[number - 1], place, rng))
        parts.append(np.tile(place, (round(60.0 * minutes / _STEP), 1)))
    track = np.concatenate(parts)
    track += rng.normal(0.0, _RECEIVER, track.shape)
    return _gpx(*to_lonlat(track[:, 0] / 1000.0, track[:, 1] / 1000.0))


def _way(start: Array, end: Array, rng: np.random.Generator) -> Array:
    """(n, 2) metres of a way between two places, at an even pace, with bends across the straight line."""
    along = end - start
    length = float(np.hypot(*along))
    steps = max(2, round(length / (_SPEED * _STEP)))
    share = np.arange(1, steps) / steps
    across = np.array([-along[1], along[0]]) / length
    waves = np.arange(1, 6)
    bends = np.sin(np.pi * np.outer(share, waves)) @ (rng.normal(0.0, _BENDS, waves.size) / waves)
    return np.asarray(start + share[:, None] * along + bends[:, None] * across)


def _gpx(longitude: Array, latitude: Array) -> bytes:
    ElementTree.register_namespace("", _SPACE)
    root = ElementTree.Element(
        f"{{{_SPACE}}}gpx", {"version": "1.1", "creator": "Hexcursion: generated data"}
    )
    track = ElementTree.SubElement(root, f"{{{_SPACE}}}trk")
    ElementTree.SubElement(track, f"{{{_SPACE}}}name").text = "Generated, nobody's trip"
    segment = ElementTree.SubElement(track, f"{{{_SPACE}}}trkseg")
    for number, (lon, lat) in enumerate(zip(longitude, latitude, strict=True)):
        point = ElementTree.SubElement(
            segment, f"{{{_SPACE}}}trkpt", {"lat": f"{lat:.6f}", "lon": f"{lon:.6f}"}
        )
        time = _START + timedelta(seconds=_STEP * number)
        ElementTree.SubElement(point, f"{{{_SPACE}}}time").text = time.isoformat()
    made: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return made
