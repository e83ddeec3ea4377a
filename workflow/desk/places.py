"""Places: the public domain as a screen asks for it, and its facts in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geo import Domain, DomainError, domain_from_bbox, domain_from_geojson
from workflow.desk.previews import Preview
from workflow.errors import WorkflowError
from workflow.words import significant

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class DomainFacts:
    """A domain in words: the area of a cell, the distance between cells, and previewed rows inside."""

    area: str
    spacing: str
    inside: str


def domain_of(region: str | None, bbox: Box | None, resolution: int) -> Domain:
    """The cells of a GeoJSON file or a box; `WorkflowError` with one sentence if there are none."""
    try:
        if bbox is not None:
            return domain_from_bbox(*bbox, resolution)
        return domain_from_geojson(str(region), resolution)
    except (DomainError, OSError) as error:
        raise WorkflowError(str(error)) from error


def facts_of(domain: Domain, preview: Preview | None) -> DomainFacts:
    """What a screen says about a domain; the last fact is for the curator's eyes."""
    # Centres of a regular hexagonal lattice at distance d leave each cell the area d^2 sqrt(3)/2.
    area = domain.spacing**2 * np.sqrt(3.0) / 2.0
    inside = "–"
    if preview is not None and preview.places:
        lon, lat = np.array(preview.places).T
        found = int((domain.locate(lon, lat) >= 0).sum())
        inside = f"{found:,} of {len(preview.places):,}"
    return DomainFacts(
        f"{significant(area / 1e6, 2)} km²" if area >= 1e4 else f"{significant(area, 2)} m²",
        f"{significant(domain.spacing, 2)} m",
        inside,
    )
