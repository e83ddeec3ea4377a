"""Places: an area as the Hexagons screen describes it: its facts in words, and the parts of its file."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from data_loaders import DataError
from dpgp_core.numbers import significant
from geo import Domain, DomainError, exchanged, part_columns, part_names
from hexcursion.errors import WorkflowError
from hexcursion.estimates.resolution import COARSEST, FINEST, Proposal, propose
from hexcursion.project.area import document_of
from pages.shared.session.areas import Box
from pages.shared.session.previews import Preview

MOST_COLUMNS = 12


@dataclass(frozen=True)
class DomainFacts:
    """A domain in words: the area of a cell, the distance between cells, rows inside, and of which rows."""

    area: str
    spacing: str
    inside: str
    basis: str


def is_doubtful(bbox: Box) -> bool:
    """Whether a person must say if a box crosses the date line: west lies east of east, or it is wide."""
    return bbox[0] > bbox[2] or bbox[2] - bbox[0] > 180.0


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


def proposal_of(domain: Domain, records: int | None) -> Proposal | None:
    """The resolution that suits an area and a stated number of records; None where no screen offers it."""
    found = propose(domain.region, records)
    return found if COARSEST <= found.resolution <= FINEST else None


def columns_of(path: str) -> dict[str, tuple[str, ...]]:
    """The columns by which parts of an area file can be chosen, and the names in each."""
    try:
        document = document_of(path)
        return {column: part_names(document, column) for column in part_columns(document)[:MOST_COLUMNS]}
    except (DomainError, DataError):
        return {}  # said where the area is filled


def turned(path: str) -> bytes:
    """An area file with longitude and latitude exchanged.

    Raises
    ------
    WorkflowError
        If it is none.
    """
    try:
        return json.dumps(exchanged(path)).encode()
    except DomainError as error:
        raise WorkflowError(str(error)) from error
