"""Places: the public domain as a screen asks for it, and its facts in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from data_loaders import DataError
from geo import (
    Domain,
    DomainError,
    GeoError,
    domain_from_bbox,
    exchanged,
    looks_swapped,
    outside_reason,
    part_columns,
    part_names,
)
from geo.context.own_layers import OwnLayer
from pages.data.previews import Preview
from workflow.errors import WorkflowError
from workflow.project.area import document_of, fill_region, load_layers
from workflow.words import significant

Box = tuple[float, float, float, float]
LONLAT = "EPSG:4326"
MOST_COLUMNS = 12


@dataclass(frozen=True)
class DomainFacts:
    """A domain in words: the area of a cell, the distance between cells, rows inside, and of which rows."""

    area: str
    spacing: str
    inside: str
    basis: str


@dataclass(frozen=True)
class Stray:
    """No row lies inside the area: why, and whether longitude and latitude explain it."""

    reason: str
    swapped: bool


def is_doubtful(bbox: Box) -> bool:
    """Whether a person must say if a box crosses the date line: west lies east of east, or it is wide."""
    return bbox[0] > bbox[2] or bbox[2] - bbox[0] > 180.0


def domain_of(
    region: str | None,
    bbox: Box | None,
    resolution: int,
    crosses_date_line: bool | None = None,
    features: tuple[str, ...] = (),
    column: str | None = None,
) -> Domain:
    """The cells of a GeoJSON file or a box; `WorkflowError` with one sentence if there are none."""
    try:
        if bbox is not None:
            return domain_from_bbox(*bbox, resolution, crosses_date_line=crosses_date_line)
        return fill_region(str(region), resolution, features, column)
    except (DomainError, DataError, OSError) as error:
        raise WorkflowError(str(error)) from error


def domain_of_choices(asked: tuple[str | None, Box | None, int], choices: Mapping[str, Any]) -> Domain:
    """The cells of an area that is named by choices: file, features and date line with it."""
    return domain_of(
        *asked, choices.get("crosses_date_line"), choices.get("features", ()), choices.get("feature_column")
    )


def layers_of(choices: Mapping[str, Any], domain: Domain) -> tuple[OwnLayer, ...]:
    """The public layers that choices name; `WorkflowError` with one sentence where one cannot be drawn."""
    try:
        named = ("layers", "label_columns", "layer_colours", "layer_widths")
        paths, columns, colours, widths = (choices.get(name, ()) for name in named)
        return load_layers(paths, columns, domain, colours, widths)
    except (GeoError, DataError, OSError) as error:
        raise WorkflowError(str(error)) from error


def facts_of(domain: Domain, preview: Preview | None) -> DomainFacts:
    """What a screen says about a domain; the last fact is for the curator's eyes."""
    # Centres of a regular hexagonal lattice at distance d leave each cell the area d^2 sqrt(3)/2.
    area = domain.spacing**2 * np.sqrt(3.0) / 2.0
    inside, basis = "–", "Of the places of the private rows."
    if preview is not None and preview.places:
        lon, lat = np.array(preview.places).T
        found, looked = int((domain.locate(lon, lat) >= 0).sum()), len(preview.places)
        inside = f"{found:,} of {preview.size:,}"
        if looked < preview.size:
            inside = f"about {100 * found / looked:.0f} %"
            basis = (
                f"Of a sample of {looked:,} of the {preview.size:,} rows; the search and the release "
                "count all of them."
            )
    return DomainFacts(
        f"{significant(area / 1e6, 2)} km²" if area >= 1e4 else f"{significant(area, 2)} m²",
        f"{significant(domain.spacing, 2)} m",
        inside,
        basis,
    )


def stray(domain: Domain, preview: Preview | None) -> Stray | None:
    """Why no row lies inside, for the curator's eyes; None where one does, or where there are no rows."""
    if preview is None or not preview.places:
        return None
    lon, lat = np.array(preview.places).T
    if bool((domain.locate(lon, lat) >= 0).any()):
        return None
    return Stray(outside_reason(lon, lat, LONLAT, domain), looks_swapped(lon, lat, domain))


def columns_of(path: str) -> dict[str, tuple[str, ...]]:
    """The columns by which parts of an area file can be chosen, and the names in each."""
    try:
        document = document_of(path)
        return {column: part_names(document, column) for column in part_columns(document)[:MOST_COLUMNS]}
    except (DomainError, DataError):
        return {}  # said where the area is filled


def turned(path: str) -> bytes:
    """An area file with longitude and latitude exchanged; `WorkflowError` where it is none."""
    try:
        return json.dumps(exchanged(path)).encode()
    except DomainError as error:
        raise WorkflowError(str(error)) from error
