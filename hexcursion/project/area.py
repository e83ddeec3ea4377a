"""The public area and the public layers of a release, from the files that its settings name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

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
"""Share of a layer's points that may lie where private records lie."""

SAME_PLACE = 1e-5
"""Degrees, about a metre: what is nearer than that is one place."""

FEWEST = 3
"""Fewer points than these that agree are chance: a station may stand where a sensor stands."""


def document_of(path: str | Path) -> str | dict[str, Any]:
    """What the readers of areas take: a GeoPackage as parsed GeoJSON, any other file as its path."""
    return shapes_of(path) if is_geopackage(path) else str(path)


def build_domain(settings: ReleaseSettings, progress: Progress = silent) -> Domain:
    """Fill the settings' region with hexagons."""
    if settings.bbox is not None:
        return fill_box(
            settings.bbox, settings.resolution, settings.crosses_date_line, settings.land_only, progress
        )
    return fill_region(
        str(settings.region), settings.resolution, settings.features, settings.feature_column, progress
    )


def region_of(settings: ReleaseSettings) -> Region:
    """The public area of settings, before there are hexagons."""
    if settings.bbox is not None:
        region = region_from_bbox(*settings.bbox, crosses_date_line=settings.crosses_date_line)
        return without_sea(region) if settings.land_only else region
    return region_from_geojson(source_of(str(settings.region), settings.features, settings.feature_column))


def fill_box(
    box: Box,
    resolution: int,
    crosses_date_line: bool | None = None,
    land_only: bool = True,
    progress: Progress = silent,
) -> Domain:
    """Fill a box with hexagons, without the open sea unless it is wanted."""
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
    """Fill a file's polygons, or those of its features that are named, with hexagons."""
    return domain_from_geojson(source_of(path, features, column), resolution, progress)


def source_of(path: str, features: tuple[str, ...] = (), column: str | None = None) -> Any:
    """A file's polygons, or those of its features that are named, as the readers of regions take them."""
    source: Any = document_of(path)
    return chosen_parts(source, features, column or "") if features else source


def load_layers(
    paths: Sequence[str],
    columns: Sequence[str],
    domain: Domain,
    colours: Sequence[str] = (),
    widths: Sequence[float] = (),
) -> tuple[OwnLayer, ...]:
    """Read public layers (see the settings of these names), and keep what lies around the area.

    Raise `GeoError` or `DataError` for what cannot be drawn.
    """
    choices: tuple[Sequence[Any], ...] = (columns or (None,), colours or ("",), widths or (0.0,))
    each = ([*given] * len(paths) if len(given) == 1 else given for given in choices)  # once for all
    read = [
        replace(own_layer(document_of(path), domain, layer_name(path), column), colour=colour, width=width)
        for path, column, colour, width in zip(paths, *each, strict=True)
    ]
    return fitted(read, domain) if read else ()


def layer_name(path: str | Path) -> str:
    """What a layer is called: its file's name without the suffix."""
    return Path(path).stem.replace("_", " ").strip() or "layer"


def refuse_private_layers(
    layers: tuple[OwnLayer, ...], observations: Observations, *, places_public: bool
) -> None:
    """Refuse layers of points that are the places of the private records: layers are published as they are.

    Raise `WorkflowError` where more than a fifth of a layer's points lie where records lie, unless the
    records' places were declared public.
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
