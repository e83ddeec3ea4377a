"""The errors of this room: each carries one sentence that names the remedy."""

from __future__ import annotations


class GeoError(ValueError):
    """Anything wrong with places: regions, cells, coordinates or GeoJSON."""


class DomainError(GeoError):
    """A region or a set of cells that cannot become a domain."""


class CrsError(GeoError):
    """A coordinate reference system that is unknown or cannot be converted."""


class GeoJsonError(GeoError):
    """Something that cannot be written as RFC 7946 GeoJSON."""
