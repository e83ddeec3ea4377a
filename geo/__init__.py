"""Public geography: domains of H3 cells, projections, polygons, GeoJSON and maps."""

from __future__ import annotations

from geo.domain import MAX_CELLS, Domain, domain_from_bbox, domain_from_cells, domain_from_geojson
from geo.errors import CrsError, DomainError, GeoError, GeoJsonError
from geo.polygons import cell_polygon, dissolve, geometry_dict
from geo.projection import accuracy_note, is_lonlat, parse_crs, project, to_lonlat
from geo.region import MAX_VERTICES, Region, region_from_bbox, region_from_geojson

__all__ = [
    "MAX_CELLS",
    "MAX_VERTICES",
    "CrsError",
    "Domain",
    "DomainError",
    "GeoError",
    "GeoJsonError",
    "Region",
    "accuracy_note",
    "cell_polygon",
    "dissolve",
    "domain_from_bbox",
    "domain_from_cells",
    "domain_from_geojson",
    "geometry_dict",
    "is_lonlat",
    "parse_crs",
    "project",
    "region_from_bbox",
    "region_from_geojson",
    "to_lonlat",
]
