"""Proposes a resolution from the public area and a stated number of records: the data are not looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shapely.geometry import MultiPolygon

from dpgp_core.numbers import significant
from geo.domains.hexagons import average_area, expected_cells
from hexcursion.project.area import region_of
from hexcursion.settings.model import ReleaseSettings
from hexcursion.words import plural

RECORDS_EACH = 3
"""Records for each hexagon that are aimed at: a rule of thumb, for resolutions seven times apart."""

FEWEST, MOST = 200, 20_000
"""Hexagons to aim at: at least, so that a map has a shape, and at most, so that a search ends soon."""

USUAL = 1_000
"""Hexagons to aim at where no number of records is stated."""

COARSEST, FINEST = 4, 10
"""Resolutions on offer; a settings file may name others."""


@dataclass(frozen=True)
class Proposal:
    """A resolution, about how many hexagons it gives, and the stated number of records, None for none."""

    resolution: int
    cells: float
    records: int | None

    @property
    def sentence(self) -> str:
        """The proposal in words."""
        area = significant(average_area(self.resolution) / 1e6, 2)
        number = "" if self.records is None else f" and about {plural(self.records, 'record')}"
        return (
            f"resolution {self.resolution}, about {significant(self.cells, 2)} hexagons of {area} km², suits "
            f"this area{number}"
        )


def propose(shape: MultiPolygon, records: int | None = None) -> Proposal:
    """Find the resolution whose number of hexagons is nearest, as a ratio, to what so many records fill.

    `shape` is in WGS 84 degrees, `records` known publicly; without them aim at USUAL hexagons. The records
    may not be counted: how many lie in an area of hexagons is public only once it is known which hexagons,
    and how many lie around it is never public.
    """
    wanted = USUAL if records is None else min(max(records / RECORDS_EACH, FEWEST), MOST)
    cells = [expected_cells(shape, resolution) for resolution in range(FINEST + 1)]
    best = min(range(FINEST + 1), key=lambda resolution: abs(math.log(cells[resolution] / wanted)))
    return Proposal(best, cells[best], records)


def propose_resolution(settings: ReleaseSettings, records: int | None) -> Proposal:
    """Propose a resolution by the area of the settings alone.

    Raise `WorkflowError`, `DataError` or `GeoError` for an area that cannot be read.
    """
    return propose(region_of(settings).shape, records)
