"""The registry of exports: one line for each format of ours, and those of installed packages."""

from __future__ import annotations

from dpgp_core.plugins import Registry
from hexcursion.bundle.exports.base import Export
from hexcursion.bundle.exports.geopackage import GEOPACKAGE
from hexcursion.bundle.exports.geoparquet import GEOPARQUET
from hexcursion.bundle.exports.table import TABLE

_OWN = (TABLE, GEOPARQUET, GEOPACKAGE)
EXPORTS = Registry("hexcursion.exports", {export.file: export for export in _OWN}, Export, "file")
