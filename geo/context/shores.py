"""The open sea is cut out of an area, by the shores that are built at set-up."""

from __future__ import annotations

import math

import numpy as np
import shapely
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geo.context.surroundings import folder, land_near
from geo.domains.hexagons import EARTH_RADIUS, average_spacing
from geo.regions.region import Region

NEAR_KM = 2.0
"""Water so near to land is kept: the shores are right to about a kilometre, and sensors stand on piers."""

WIDEST = 1.3  # of a cell's own reach to that of an average one
_CORNERS = 2_000  # of a side of the area: finer bends of a shore do not matter
_LEAST = 1e-3  # share of an area that must be sea for anything to be cut


def without_sea(region: Region, resolution: int | None = None) -> Region:
    """Cut the open sea out of a region: keep what lies on land or within `NEAR_KM` of it, and with a
    `resolution` each such cell's centre that touches land, with a note. Return the region as it is where it
    has no land or no open sea, and where the shores were not built (`make maps`)."""
    if folder() is None:
        return region
    reach = 0.0 if resolution is None else WIDEST * average_spacing(resolution) / math.sqrt(3.0) / 1000.0
    kilometres = max(NEAR_KM, reach)
    parts = [_dry(part, kilometres) for part in region.shape.geoms]
    dry = MultiPolygon([one for part in parts for one in shapely.get_parts(part) if isinstance(one, Polygon)])
    if dry.is_empty or dry.area > (1.0 - _LEAST) * region.shape.area:
        return region
    said = f"The open sea, more than {kilometres:.0f} km from land, is left out unless asked for (land_only)."
    return Region(dry, (*region.notes, said))


def _dry(part: Polygon, kilometres: float) -> BaseGeometry:
    """What of a polygon lies on or near land."""
    west, south, east, north = part.bounds
    stretch = math.cos(math.radians((south + north) / 2.0))
    fine = max(east - west, north - south) / _CORNERS
    near = math.degrees(1000.0 * kilometres / EARTH_RADIUS) + fine
    pad = 2.0 * near  # where shores are cut, beyond what is kept
    rings = land_near((west - pad / stretch, south - pad, east + pad / stretch, north + pad))
    land = shapely.simplify([_wide(Polygon(ring), stretch) for ring in rings], fine)
    reach = _wide(shapely.union_all(shapely.buffer(land, near, quad_segs=2)), 1.0 / stretch)
    return shapely.intersection(part, reach)


def _wide(shape: BaseGeometry, times: float) -> BaseGeometry:
    """A shape with its longitudes times a number."""
    return shapely.transform(shape, lambda corners: corners * np.array([times, 1.0]))
