"""Proposes a resolution from the public area and the public number of records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon

from data_loaders import Observations
from dpgp_core.numbers import significant
from geo import region_from_bbox, region_from_geojson, to_lonlat
from geo.domains.filling import expected_cells
from geo.domains.hexagons import average_area, average_spacing
from hexcursion.project.area import source_of
from hexcursion.project.load import load_source
from hexcursion.settings.model import ReleaseSettings
from hexcursion.words import plural

RECORDS_EACH = 3
"""Records for each hexagon that are aimed at: a rule of thumb, for resolutions seven times apart."""

FEWEST, MOST = 200, 20_000
"""Hexagons to aim at: at least, so that a map has a shape, and at most, so that a search ends soon."""

FINEST = 10
METRES_PER_DEGREE = 111_195.0
MANY_PARTS = 64  # islands up to which each has a box of its own


@dataclass(frozen=True)
class Proposal:
    """A resolution, about how many hexagons it gives, and the number of records that speaks for it."""

    resolution: int
    cells: float
    records: int

    @property
    def sentence(self) -> str:
        """The proposal in words."""
        area = significant(average_area(self.resolution) / 1e6, 2)
        return (
            f"resolution {self.resolution}, about {significant(self.cells, 2)} hexagons of {area} km², suits "
            f"this area and about {plural(self.records, 'record')}"
        )


def propose(shape: MultiPolygon, records: int) -> Proposal:
    """Find the resolution whose number of hexagons is nearest, as a ratio, to what so many records fill.

    Parameters
    ----------
    shape : MultiPolygon
        The public area, WGS 84 degrees.
    records : int
        A public number.

    Returns
    -------
    Proposal
        At most FINEST.
    """
    wanted = min(max(records / RECORDS_EACH, FEWEST), MOST)
    cells = [expected_cells(shape, resolution) for resolution in range(FINEST + 1)]
    best = min(range(FINEST + 1), key=lambda resolution: abs(math.log(cells[resolution] / wanted)))
    return Proposal(best, cells[best], records)


def around(shape: MultiPolygon, lon: NDArray[np.float64], lat: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether places lie in boxes around an area's parts, wide enough for every hexagon of it.

    Parameters
    ----------
    shape : MultiPolygon
        The public area, WGS 84 degrees.
    lon, lat : (n,) float64
        Degrees.

    Returns
    -------
    (n,) bool
        True for all places in the hexagons of any resolution that `propose` may give for the area.

    Notes
    -----
    Under "replace-one" a record is exchanged for another inside the released hexagons, whichever resolution
    they have. Both lie in these boxes, so the number in them stays, and what is chosen by it tells nothing.
    """
    metres = 1.5 * average_spacing(propose(shape, 0).resolution)  # no cell reaches so far from its centre
    parts = list(shape.geoms) if len(shape.geoms) <= MANY_PARTS else [shape]
    inside = np.zeros(lon.shape, dtype=bool)
    for part in parts:
        west, south, east, north = shapely.bounds(part)
        tall = metres / METRES_PER_DEGREE
        wide = tall / math.cos(math.radians(min(max(abs(south), abs(north)) + tall, 89.0)))
        rows = (lat >= south - tall) & (lat <= north + tall)
        for turn in (-360.0, 0.0, 360.0):
            inside |= rows & (lon + turn >= west - wide) & (lon + turn <= east + wide)
    return inside


def propose_resolution(settings: ReleaseSettings) -> Proposal | None:
    """Propose a resolution for a release.

    Parameters
    ----------
    settings : ReleaseSettings
        Their own resolution does not count.

    Returns
    -------
    Proposal or None
        None where the number of records is not public before there are hexagons: for records of unit "cell",
        and where places carry noise, so that a hexagon far from a place may hold its record.

    Raises
    ------
    WorkflowError, DataError, GeoError
        One sentence, for an area or data that cannot be read.
    """
    if settings.unit == "cell" or settings.data.place_sd is not None:
        return None
    if settings.bbox is not None:
        region = region_from_bbox(*settings.bbox, crosses_date_line=settings.crosses_date_line)
    else:
        region = region_from_geojson(
            source_of(str(settings.region), settings.features, settings.feature_column)
        )
    if settings.records_about is not None:
        return propose(region.shape, settings.records_about)
    found, _ = load_source(settings.data, settings.value_unit, settings.owner)
    return propose(region.shape, _records(found, region.shape))


def _records(found: Observations, shape: MultiPolygon) -> int:
    """How many records lie around the area; of owners each counts once, since another has other rows."""
    inside = around(shape, *to_lonlat(found.x, found.y, found.crs))
    return int(inside.sum() if found.owner is None else np.unique(found.owner[inside]).size)
