"""The registry of exports: one line for each format."""

from __future__ import annotations

from workflow.bundle.exports.base import Export
from workflow.bundle.exports.geopackage import GEOPACKAGE
from workflow.bundle.exports.geoparquet import GEOPARQUET
from workflow.bundle.exports.kml import KML
from workflow.bundle.exports.table import TABLE

EXPORTS: dict[str, Export] = {export.file: export for export in (TABLE, GEOPARQUET, GEOPACKAGE, KML)}
