"""The registry of exports: one line for each format."""

from __future__ import annotations

from hexcursion.bundle.exports.base import Export
from hexcursion.bundle.exports.geopackage import GEOPACKAGE
from hexcursion.bundle.exports.geoparquet import GEOPARQUET
from hexcursion.bundle.exports.kml import KML
from hexcursion.bundle.exports.table import TABLE

EXPORTS: dict[str, Export] = {export.file: export for export in (TABLE, GEOPARQUET, GEOPACKAGE, KML)}
