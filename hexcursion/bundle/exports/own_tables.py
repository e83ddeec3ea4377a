"""The curator's own layers as tables of release.gpkg: one for each kind of shape that a layer has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from geo.context.own_layers import Kind, OwnLayer

Geometry = Literal["MultiPolygon", "MultiLineString", "MultiPoint"]
SHAPES: Mapping[Kind, Geometry] = {"area": "MultiPolygon", "line": "MultiLineString", "point": "MultiPoint"}
_LONGEST = 40  # letters of a table's name


@dataclass(frozen=True)
class OwnTable:
    """What of a layer has one kind of shape.

    Parameters
    ----------
    table
        its name in the GeoPackage: `own_` and the layer's name in harmless letters
    says
        its title, which no other table has
    layer
        the whole layer
    kind
        the kind of shape
    """

    table: str
    says: str
    layer: OwnLayer
    kind: Kind

    def frame(self) -> Any:
        """Labels and shapes, WGS 84."""
        import geopandas

        features = [one for one in self.layer.features if one.kind == self.kind]
        return geopandas.GeoDataFrame(
            {"label": [one.label for one in features]},
            geometry=[one.shape for one in features],
            crs="EPSG:4326",
        )


def own_tables(layers: Sequence[OwnLayer]) -> tuple[OwnTable, ...]:
    """Tables for all layers, in their order; names that would be the same are numbered."""
    found: list[OwnTable] = []
    taken: set[str] = set()
    for layer in layers:
        kinds = [kind for kind in SHAPES if any(one.kind == kind for one in layer.features)]
        for kind in kinds:
            word = f" ({kind}s)" if len(kinds) > 1 else ""
            stem = "own_" + re.sub(r"\W+", "_", layer.name + word).strip("_").lower()[:_LONGEST]
            table = next(name for name in _numbered(stem) if name not in taken)
            taken.add(table)
            found.append(OwnTable(table, f"{layer.name}{word} [{table}]", layer, kind))
    return tuple(found)


def _numbered(stem: str) -> list[str]:
    return [stem, *(f"{stem}_{number}" for number in range(2, 20))]
