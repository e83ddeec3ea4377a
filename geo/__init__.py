"""Public geography: domains of H3 cells, projections, polygons, GeoJSON and maps.

Maps are imported from their own modules, since their libraries are slow to load: `geo.maps.layers`
for the screen, `geo.maps.static_map` for paper.
"""

from __future__ import annotations

from geo.corrections import (
    chosen_parts,
    exchanged,
    looks_like_degrees,
    looks_projected,
    looks_swapped,
    outside_reason,
    part_columns,
    part_names,
)
from geo.crs import (
    CrsCandidate,
    accuracy_note,
    crs_by_name,
    crs_candidates,
    is_lonlat,
    parse_crs,
    project,
    to_lonlat,
)
from geo.domains.domain import MAX_CELLS, Domain, domain_from_bbox, domain_from_cells, domain_from_geojson
from geo.domains.hexagons import cell_polygon, dissolve, geometry_dict
from geo.errors import CrsError, DomainError, GeoError, GeoJsonError, Progress
from geo.geojson import cells_collection, collection_bytes, decimals_for, regions_collection
from geo.measures import format_value, never_negative, with_unit
from geo.region import MAX_VERTICES, Region, region_from_bbox, region_from_geojson
from geo.rfc7946 import rfc7946_findings

__all__ = [
    "MAX_CELLS",
    "MAX_VERTICES",
    "CrsCandidate",
    "CrsError",
    "Domain",
    "DomainError",
    "GeoError",
    "GeoJsonError",
    "Progress",
    "Region",
    "accuracy_note",
    "cell_polygon",
    "cells_collection",
    "chosen_parts",
    "collection_bytes",
    "crs_by_name",
    "crs_candidates",
    "decimals_for",
    "dissolve",
    "domain_from_bbox",
    "domain_from_cells",
    "domain_from_geojson",
    "exchanged",
    "format_value",
    "geometry_dict",
    "is_lonlat",
    "looks_like_degrees",
    "looks_projected",
    "looks_swapped",
    "never_negative",
    "outside_reason",
    "parse_crs",
    "part_columns",
    "part_names",
    "project",
    "region_from_bbox",
    "region_from_geojson",
    "regions_collection",
    "rfc7946_findings",
    "to_lonlat",
    "with_unit",
]
