"""The map of a trip: recorded and released line, the noise of the records, and the position."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pydeck
from numpy.typing import NDArray
from pydeck.bindings.json_tools import default_serialize

from geo.colours import Role, Theme, rgb
from geo.domains.hexagons import METRES_PER_DEGREE

_DECIMALS = 5
_WORLD = 512
_MOST = 2000  # places per layer: enough for a trip, few enough to send at every rerun


@dataclass(frozen=True, eq=False)
class TripLine:
    """A line on the map: the layer's id, its colour in `geo.colours`, longitude and latitude (n,) in
    degrees, and the width in pixels."""

    name: str
    role: Role
    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    width: float = 3.0


@dataclass(frozen=True, eq=False)
class Rings:
    """Circles on the map: places with a radius, such as one standard deviation of noise.

    `name` is the layer's id, `longitude` and `latitude` (n,) are in degrees, `radius` (n,) in metres;
    `pick` says whether a click chooses circles: a circle then has its index as "i"."""

    name: str
    role: Role
    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    radius: NDArray[np.float64]
    filled: bool = False
    pick: bool = False


class _Compact(pydeck.Deck):  # type: ignore[misc]  # pydeck has no types
    """A deck whose JSON has no white space."""

    def to_json(self) -> str:
        return json.dumps(
            self, sort_keys=True, default=default_serialize, separators=(",", ":"), allow_nan=False
        )


def trip_deck(
    lines: Sequence[TripLine],
    rings: Sequence[Rings] = (),
    *,
    theme: Theme = "light",
    width: int = 700,
    height: int = 500,
) -> pydeck.Deck:
    """Draw a trip without a background map: no server of tiles learns where it was.

    There is at least one line, with at least one place. Width and height, in pixels, only place the
    first view; layer ids are the names of lines and rings."""
    layers = [_circles(ring, theme) for ring in rings if ring.filled]
    layers += [_path(line, theme) for line in lines]
    layers += [_circles(ring, theme) for ring in rings if not ring.filled]
    lon, lat = [line.longitude for line in lines], [line.latitude for line in lines]
    for ring in rings:  # the view shows whole circles
        reach = ring.radius / METRES_PER_DEGREE
        wide = reach / np.maximum(np.cos(np.radians(ring.latitude)), 0.01)
        lon += [ring.longitude - wide, ring.longitude + wide]
        lat += [np.maximum(ring.latitude - reach, -90.0), np.minimum(ring.latitude + reach, 90.0)]
    longitude, latitude, zoom = _view(np.concatenate(lon), np.concatenate(lat), width, height)
    return _Compact(
        layers=layers,
        initial_view_state=pydeck.ViewState(
            longitude=longitude, latitude=latitude, zoom=zoom, pitch=0, bearing=0
        ),
        map_provider=None,
    )


def _path(line: TripLine, theme: Theme) -> pydeck.Layer:
    path = _thin(np.column_stack([line.longitude, line.latitude]))
    return pydeck.Layer(
        "PathLayer",
        [{"p": path.tolist()}],
        id=line.name,
        get_path="p",
        get_color=rgb(line.role, theme),
        get_width=line.width,
        width_units=pydeck.types.String("pixels"),
        cap_rounded=True,
        joint_rounded=True,
    )


def _thin(places: NDArray[np.float64]) -> NDArray[np.float64]:
    step = max(1, -(-len(places) // _MOST))
    return np.round(places[::step], _DECIMALS)


def _circles(rings: Rings, theme: Theme) -> pydeck.Layer:
    places = _thin(np.column_stack([rings.longitude, rings.latitude]))
    step = max(1, -(-len(rings.radius) // _MOST))
    records: list[dict[str, Any]] = [
        {"p": place, "r": float(radius)}
        for place, radius in zip(places.tolist(), np.round(rings.radius[::step], 1), strict=True)
    ]
    if rings.pick:
        records = [{**record, "i": at * step} for at, record in enumerate(records)]
    return pydeck.Layer(
        "ScatterplotLayer",
        records,
        id=rings.name,
        get_position="p",
        get_radius="r",
        radius_units=pydeck.types.String("meters"),
        radius_min_pixels=5 if rings.pick else 3,
        pickable=rings.pick,
        filled=rings.filled,
        stroked=not rings.filled,
        get_fill_color=rgb(rings.role, theme),
        get_line_color=rgb(rings.role, theme),
        line_width_min_pixels=1,
        opacity=1.0 if rings.filled else 0.35,
    )


def _view(
    lon: NDArray[np.float64], lat: NDArray[np.float64], width: int, height: int
) -> tuple[float, float, float]:
    """Middle and zoom that show all places, by Mercator's map with 512-pixel tiles."""
    turned = (lon - lon[0] + 180.0) % 360.0 - 180.0
    west, east = math.radians(float(turned.min())), math.radians(float(turned.max()))
    south, north = (math.asinh(math.tan(math.radians(float(edge)))) for edge in (lat.min(), lat.max()))
    across, up = max(east - west, 1e-5), max(north - south, 1e-5)
    scale = 0.85 * min(width / across, height / up) * 2.0 * math.pi / _WORLD
    longitude = (float(lon[0]) + math.degrees((west + east) / 2.0) + 180.0) % 360.0 - 180.0
    latitude = math.degrees(math.atan(math.sinh((south + north) / 2.0)))
    return round(longitude, 5), round(latitude, 5), round(min(max(0.0, math.log2(scale)), 18.0), 3)
