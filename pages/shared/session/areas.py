"""Areas: the public cells and layers that choices name, and why no row lies inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from data_loaders import DataError
from geo import Domain, DomainError, GeoError, looks_swapped, outside_reason
from geo.context.own_layers import OwnLayer
from hexcursion.errors import WorkflowError
from hexcursion.project.area import fill_box, fill_region, load_layers
from pages.shared.session.previews import Preview

Box = tuple[float, float, float, float]
LONLAT = "EPSG:4326"


@dataclass(frozen=True)
class Stray:
    """No row lies inside the area: why, and whether longitude and latitude explain it."""

    reason: str
    swapped: bool


def domain_of(
    region: str | None,
    bbox: Box | None,
    resolution: int,
    crosses_date_line: bool | None = None,
    features: tuple[str, ...] = (),
    column: str | None = None,
    land_only: bool = True,
) -> Domain:
    """The cells of a GeoJSON file or a box.

    Raises
    ------
    WorkflowError
        One sentence, if there are none.
    """
    try:
        if bbox is not None:
            return fill_box(bbox, resolution, crosses_date_line, land_only)
        return fill_region(str(region), resolution, features, column)
    except (DomainError, DataError, OSError) as error:
        raise WorkflowError(str(error)) from error


def domain_of_choices(asked: tuple[str | None, Box | None, int], choices: Mapping[str, Any]) -> Domain:
    """The cells of an area that is named by choices: file, features and date line with it."""
    return domain_of(
        *asked, choices.get("crosses_date_line"), choices.get("features", ()), choices.get("feature_column"),
        choices.get("land_only", True),
    )  # fmt: skip


def layers_of(choices: Mapping[str, Any], domain: Domain) -> tuple[OwnLayer, ...]:
    """The public layers that choices name.

    Raises
    ------
    WorkflowError
        One sentence, if one cannot be drawn.
    """
    try:
        named = ("layers", "label_columns", "layer_colours", "layer_widths")
        paths, columns, colours, widths = (choices.get(name, ()) for name in named)
        return load_layers(paths, columns, domain, colours, widths)
    except (GeoError, DataError, OSError) as error:
        raise WorkflowError(str(error)) from error


def stray(domain: Domain, preview: Preview | None) -> Stray | None:
    """Why no row lies inside, for the curator's eyes; None where one does, or where there are no rows."""
    if preview is None or not preview.places:
        return None
    lon, lat = np.array(preview.places).T
    if bool((domain.locate(lon, lat) >= 0).any()):
        return None
    return Stray(outside_reason(lon, lat, LONLAT, domain), looks_swapped(lon, lat, domain))
