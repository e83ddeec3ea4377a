"""Zoomed-out maps of very many cells: dissolved regions, or means over the next coarser cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray

from geo.domains import hexagons
from geo.domains.domain import Domain
from geo.domains.hexagons import multipolygon
from geo.maps.painting import Painting

FEWEST = 5_000  # cells of a map with another zoomed-out form
_CORNERS_PER_CELL = 1.0  # more ragged regions are not quicker to draw than cells
_STEPS = 1e6  # of a degree in the tables: a tenth of a metre


@dataclass(frozen=True, eq=False)
class Parents:
    """The P next coarser cells of N cells of a domain."""

    cells: tuple[str, ...]  # sorted parents of at least one cell of the domain
    of: NDArray[np.int64]  # (N,) position of each cell's parent in `cells`
    # by position, the parts in the domain of parents that reach out of it, degrees, longitudes
    # unbroken across the antimeridian
    edge: dict[int, shapely.MultiPolygon]


@lru_cache(maxsize=2)  # of public areas alone
def parents_of(cells: tuple[str, ...]) -> Parents:
    """Find the next coarser cells of N unique cells of one resolution, from 1 on."""
    names, of = np.unique(np.array(hexagons.parents(cells)), return_inverse=True)
    inside = set(cells)
    edge = {}
    for position, parent in enumerate(names.tolist()):
        below = hexagons.children(parent)
        if not inside.issuperset(below):
            absent = [cell for cell in (*below, *hexagons.ring_around(below, 1)) if cell not in inside]
            hexagon = shapely.Polygon(_one_piece(hexagons.boundary(parent)))
            middle = float(hexagon.centroid.x)
            beyond = [shapely.Polygon(_one_piece(hexagons.boundary(cell), middle)) for cell in absent]
            edge[position] = multipolygon(hexagon.difference(shapely.union_all(beyond)))
    return Parents(tuple(names.tolist()), of.astype(np.int64), edge)


def means_over(
    parents: Parents, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the (P,) means of (N,) values over the next coarser cells, NaN without a value, and
    the (P,) numbers of averaged cells. Cells outside the domain and NaN do not count. Raise
    `ValueError` if there is not one value for each cell."""
    if values.shape != parents.of.shape:
        raise ValueError(f"there are {values.size} values for {parents.of.size} cells.")
    finite = np.isfinite(values)
    size = len(parents.cells)
    counts = np.bincount(parents.of[finite], minlength=size)
    sums = np.bincount(parents.of[finite], weights=values[finite], minlength=size)
    means = np.full(size, np.nan)
    return np.divide(sums, counts, out=means, where=counts > 0), counts.astype(np.int64)


def averaged(painting: Painting, parents: Parents) -> Painting | None:
    """Paint the means of a continuous painting over the next coarser cells in the same classes;
    tooltips give the number of averaged cells. None for a painting without means."""
    if painting.values is None or painting.again is None:
        return None
    means, counts = means_over(parents, painting.values)
    painted = painting.again(means)
    parts = (note.partition(": ") for note in painted.notes)
    notes = (
        f"{word}: mean of {count} hexagons: {rest}" if count > 1 else f"{word}: {rest}"
        for (word, _, rest), count in zip(parts, counts.tolist(), strict=True)
    )
    return replace(painted, notes=tuple(notes))


def regions(domain: Domain, painting: Painting) -> list[tuple[int, list[NDArray[np.float64]]]] | None:
    """Dissolve the cells of each class into (class, rings): (K, 2) rings, the outer one first, then
    holes, closed, degrees, longitudes unbroken across the antimeridian. None if they would take as
    long to draw as the cells."""
    cells = np.array(domain.cells)
    polygons = [
        (number, [_one_piece(ring, float(polygon[0][0, 0])) for ring in polygon])
        for number in np.unique(painting.classes).tolist()
        for polygon in hexagons.outlines(cells[painting.classes == number].tolist())
    ]
    corners = sum(len(ring) for _, polygon in polygons for ring in polygon)
    return polygons if corners <= _CORNERS_PER_CELL * domain.size else None


def zoomed_out(
    domain: Domain, paintings: Sequence[Painting | None]
) -> tuple[list[dict[str, Any] | None], dict[str, pd.DataFrame]]:
    """Make the form of a scene's panes at zooms where cells are about as small as pixels.

    A pane gets its `kind` "regions" or "means", and the `notes` of means, or None if its form does
    not change. The table `parents` has the cells, and classes and notes by pane number; `rings` and
    `corners` have polygons, those of regions with the number of their pane in the name. A map of
    few cells has none of these.
    """
    panes: list[dict[str, Any] | None] = [None] * len(paintings)
    tables: dict[str, pd.DataFrame] = {}
    if domain.size < FEWEST:
        return panes, tables
    columns: dict[str, NDArray[Any]] = {}
    for number, painting in enumerate(paintings):
        if painting is None:
            continue
        some = painting.again is not None and domain.resolution > 0
        means = averaged(painting, parents_of(domain.cells)) if some else None
        if means is not None:
            codes, notes = pd.factorize(np.asarray(means.notes, dtype=object))
            columns[f"class{number}"] = means.classes.astype(np.uint8)
            columns[f"note{number}"] = codes.astype(np.uint32)
            panes[number] = {"kind": "means", "notes": notes.tolist()}
        elif (drawn := regions(domain, painting)) is not None:
            panes[number] = {"kind": "regions"}
            tables |= _packed(str(number), drawn)
    if columns:
        parents = parents_of(domain.cells)
        tables["parents"] = pd.DataFrame({"cell": hexagons.as_integers(parents.cells), **columns})
        edge = [(at, _rings(part)) for at, whole in parents.edge.items() for part in whole.geoms]
        tables |= _packed("", edge)
    return panes, tables


def _packed(name: str, polygons: Iterable[tuple[int, list[NDArray[np.float64]]]]) -> dict[str, pd.DataFrame]:
    """Rings, each with its owner and whether it is a hole; all corners in millionths of a
    degree."""
    rings = [(owner, at > 0, ring) for owner, polygon in polygons for at, ring in enumerate(polygon)]
    corners = np.concatenate([np.empty((0, 2)), *(ring for *_, ring in rings)])
    whole = np.rint(corners * _STEPS).astype(np.int32)
    return {
        f"rings{name}": pd.DataFrame(
            {
                "owner": np.array([owner for owner, *_ in rings], dtype=np.uint32),
                "hole": np.array([hole for _, hole, _ in rings], dtype=np.uint8),
                "corners": np.array([len(ring) for *_, ring in rings], dtype=np.uint32),
            }
        ),
        f"corners{name}": pd.DataFrame({"x": whole[:, 0], "y": whole[:, 1]}),
    }


def _rings(polygon: shapely.Polygon) -> list[NDArray[np.float64]]:
    return [np.asarray(ring.coords) for ring in (polygon.exterior, *polygon.interiors)]


def _one_piece(ring: NDArray[np.float64], near: float | None = None) -> NDArray[np.float64]:
    """A ring without jumps of longitude, its first corner less than half around the globe from
    `near`."""
    start = float(ring[0, 0]) if near is None else near
    first = ring[0, 0] - 360.0 * np.round((ring[0, 0] - start) / 360.0)
    unrolled = np.unwrap(ring[:, 0], period=360.0)
    return np.column_stack([unrolled + (first - ring[0, 0]), ring[:, 1]])
