"""The public area and the public layers of a release, from the files that its settings name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from shapely import MultiPolygon, contains_xy

from data_loaders import Observations, is_geopackage, shapes_of
from geo import (
    Domain,
    Region,
    chosen_parts,
    domain_from_geojson,
    region_from_bbox,
    region_from_geojson,
    to_lonlat,
)
from geo.context.own_layers import OwnLayer, fitted, own_layer
from geo.context.shores import without_sea
from geo.domains.domain import domain_from_region
from geo.domains.view import Box
from geo.errors import Progress, silent
from hexcursion.errors import WorkflowError
from hexcursion.settings.model import ReleaseSettings

REFUSED = 0.2
"""The largest allowed share of a layer's points at places of private records."""

SAME_PLACE = 1e-5
"""Degrees, about a metre: nearer points are one place."""

FEWEST = 3
"""Fewer common points than this are chance: a station may be at the place of a sensor."""


def document_of(path: str | Path) -> str | dict[str, Any]:
    """Return the input for readers of areas: a GeoPackage as parsed GeoJSON, other files as
    paths."""
    return shapes_of(path) if is_geopackage(path) else str(path)


@dataclass(frozen=True)
class NamedArea:
    """A public area as settings name it: a box, or a file and its features."""

    region: str | None = None  # the file
    bbox: Box | None = None
    features: tuple[str, ...] = ()
    column: str | None = None  # that names the features
    crosses: bool | None = None  # whether the box crosses the date line
    land_only: bool = True

    @classmethod
    def of(cls, settings: ReleaseSettings) -> NamedArea:
        """The area of settings."""
        return cls(
            settings.region,
            settings.bbox,
            settings.features,
            settings.feature_column,
            settings.crosses_date_line,
            settings.land_only,
        )

    def outline(self) -> Region:
        """The area before it is filled with hexagons; raise `GeoError` or `DataError`."""
        if self.bbox is None:
            return region_from_geojson(source_of(str(self.region), self.features, self.column))
        filled = region_from_bbox(*self.bbox, crosses_date_line=self.crosses)
        return without_sea(filled) if self.land_only else filled

    def filled(self, resolution: int, progress: Progress = silent) -> Domain:
        """The area filled with hexagons; raise `GeoError` or `DataError`."""
        if self.bbox is not None:
            return fill_box(self.bbox, resolution, self.crosses, self.land_only, progress)
        return fill_region(str(self.region), resolution, self.features, self.column, progress)


def build_domain(settings: ReleaseSettings, progress: Progress = silent) -> Domain:
    """Fill the settings' region with hexagons."""
    return NamedArea.of(settings).filled(settings.resolution, progress)


def share_inside(shape: MultiPolygon, lon: NDArray[np.float64], lat: NDArray[np.float64]) -> float:
    """Return the share of (n,) places, WGS 84 degrees, inside an outline."""
    return float(contains_xy(shape, lon, lat).mean())


def fill_box(
    box: Box,
    resolution: int,
    crosses_date_line: bool | None = None,
    land_only: bool = True,
    progress: Progress = silent,
) -> Domain:
    """Fill a box with hexagons, by default without the open sea."""
    what = "the bounding box {:g}, {:g}, {:g}, {:g} (west, south, east, north in degrees)".format(*box)
    region = region_from_bbox(*box, crosses_date_line=crosses_date_line)
    if land_only:
        region = without_sea(region, resolution)
    return domain_from_region(
        region, resolution, f"{what}{', without the open sea' if region.notes else ''}", progress
    )


def fill_region(
    path: str,
    resolution: int,
    features: tuple[str, ...] = (),
    column: str | None = None,
    progress: Progress = silent,
) -> Domain:
    """Fill the polygons of a file, or those of its named features, with hexagons."""
    return domain_from_geojson(source_of(path, features, column), resolution, progress)


def source_of(path: str, features: tuple[str, ...] = (), column: str | None = None) -> Any:
    """Return the polygons of a file, or those of its named features, for readers of regions."""
    source: Any = document_of(path)
    return chosen_parts(source, features, column or "") if features else source


def load_layers(
    paths: Sequence[str],
    columns: Sequence[str],
    domain: Domain,
    colours: Sequence[str] = (),
    widths: Sequence[float] = (),
) -> tuple[OwnLayer, ...]:
    """Read public layers (see the settings of these names), and keep the parts near the area.

    Raise `GeoError` or `DataError` for a layer that cannot be drawn.
    """
    choices: tuple[Sequence[Any], ...] = (columns or (None,), colours or ("",), widths or (0.0,))
    # once for all
    repeated = ([*choice] * len(paths) if len(choice) == 1 else choice for choice in choices)
    read = [
        replace(own_layer(document_of(path), domain, layer_name(path), column), colour=colour, width=width)
        for path, column, colour, width in zip(paths, *repeated, strict=True)
    ]
    return fitted(read, domain) if read else ()


def layer_name(path: str | Path) -> str:
    """Return the name of a layer: the name of its file without the suffix."""
    return Path(path).stem.replace("_", " ").strip() or "layer"


def refuse_private_layers(
    layers: tuple[OwnLayer, ...], observations: Observations, *, places_public: bool
) -> None:
    """Refuse layers of points at the places of the private records, since layers are published
    unchanged.

    Raise `WorkflowError` if more than a fifth of a layer's points are at places of records, unless
    the places were declared public.
    """
    if places_public or not any(layer.points.size for layer in layers):
        return
    places = np.column_stack(to_lonlat(observations.x, observations.y, observations.crs))
    places = places[np.isfinite(places).all(axis=1)]
    if not places.size:
        return
    tree = cKDTree(places)
    for layer in layers:
        if not layer.points.size:
            continue
        far, _ = tree.query(layer.points, distance_upper_bound=SAME_PLACE)
        shared = int(np.isfinite(far).sum())
        if shared >= FEWEST and shared > REFUSED * len(layer.points):
            raise WorkflowError(
                f"The layer {layer.name!r} marks the places of private records, and layers are published as "
                "they are: leave it out, or declare the places public with `places_public`."
            )
