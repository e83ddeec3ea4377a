"""Bounds the work that an outline would cause, before GEOS is given it: that work cannot be interrupted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon

from geo.errors import DomainError

Floats = NDArray[np.float64]

MAX_PAIRS = 150_000_000
"""Pairs of edges with overlapping boxes; GEOS looks at each of them to see whether an outline is valid (about
3 s in all). A star of 40,000 spikes a third of its radius long has 36 million, a coast far fewer."""

MAX_CROSSINGS = 10_000
"""Points at which edges cross one another; repairing or uniting such outlines takes about 1 s."""

_FEW_EDGES = 5_000  # below, even every pair overlapping is few
_SAMPLE = 512  # edges that are compared with all others


def check_raggedness(rings: Sequence[Floats]) -> None:
    """Refuse closed (K, 2) rings in degrees whose edges lie over one another so much that testing them would
    take minutes: raise `DomainError` where an estimate from a sample of edges exceeds `MAX_PAIRS`."""
    edges = _edges(rings)
    if len(edges) <= _FEW_EDGES:
        return
    boxes, sample = _boxes(edges), _sample(edges)
    overlaps = sum(int(np.count_nonzero(_overlapping(boxes, boxes[:, one]))) - 1 for one in sample)
    if overlaps * len(edges) / (2 * len(sample)) > MAX_PAIRS:
        raise DomainError(
            f"the region's outline of {len(edges):,} edges runs to and fro over itself too often to be "
            "checked: simplify the polygon, for example with mapshaper or QGIS."
        )


def check_crossings(rings: Sequence[Floats]) -> None:
    """Refuse closed (K, 2) rings in degrees that cross themselves or one another too often to be repaired or
    united: raise `DomainError` where an estimate from a sample of edges (all of them, where there are few)
    exceeds `MAX_CROSSINGS`."""
    edges = _edges(rings)
    boxes, sample = _boxes(edges), _sample(edges)
    crossings = 0
    for one in sample:
        near = np.flatnonzero(_overlapping(boxes, boxes[:, one]))
        crossings += int(np.count_nonzero(_cross(edges[one], edges[near])))
    estimate = crossings * len(edges) / (2 * len(sample))
    if estimate > MAX_CROSSINGS:
        raise DomainError(
            f"the region's outlines cross themselves or one another in about {round(estimate, -3):,.0f} "
            "places: repair the polygons first, for example with QGIS (Fix geometries, Dissolve)."
        )


def check_outline(shape: MultiPolygon) -> None:
    """Refuse polygons in degrees, valid or not, that would take minutes to test or to repair; `DomainError`
    as `check_raggedness` and, where they cross themselves, `check_crossings`."""
    rings = [shapely.get_coordinates(ring) for ring in shapely.get_rings(shapely.get_parts(shape))]
    if rings:
        check_raggedness(rings)
        if not shape.is_valid:
            check_crossings(rings)


def _edges(rings: Sequence[Floats]) -> Floats:
    """(E, 4) x, y of the beginning and x, y of the end of every edge."""
    return np.vstack([np.column_stack([ring[:-1, :2], ring[1:, :2]]) for ring in rings])


def _boxes(edges: Floats) -> Floats:
    """(4, E) west, south, east, north."""
    first, last = edges[:, :2].T, edges[:, 2:].T
    return np.vstack([np.minimum(first, last), np.maximum(first, last)])


def _sample(edges: Floats) -> NDArray[np.int64]:
    """Positions of at most `_SAMPLE` edges, the same in every run; all of them where there are few."""
    if len(edges) <= 4 * _SAMPLE:
        return np.arange(len(edges))
    # Multiples of an irrational step: no regular pattern of an outline can hide between them.
    return np.unique((np.arange(_SAMPLE) * 0.6180339887498949 % 1.0 * len(edges)).astype(np.int64))


def _overlapping(boxes: Floats, one: Floats) -> NDArray[np.bool_]:
    west, south, east, north = boxes
    return np.asarray((west <= one[2]) & (east >= one[0]) & (south <= one[3]) & (north >= one[1]))


def _cross(one: Floats, others: Floats) -> NDArray[np.bool_]:
    """Which edges cross one edge between the ends of both; common ends are no crossing."""

    def side(edge: Floats, x: Floats, y: Floats) -> Floats:
        x0, y0, x1, y1 = edge.T
        return np.asarray((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0))

    ends = side(one, others[:, 0], others[:, 1]) * side(one, others[:, 2], others[:, 3])
    own = side(others, one[0], one[1]) * side(others, one[2], one[3])
    return np.asarray((ends < 0) & (own < 0))
