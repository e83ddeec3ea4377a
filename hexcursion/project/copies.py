"""A guard against tuning on reference data that contain the private records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from data_loaders import Observations
from geo import to_lonlat
from geo.domains.hexagons import EARTH_RADIUS
from hexcursion.errors import WorkflowError
from hexcursion.words import plural

WARNED, REFUSED, COPIED = 0.01, 0.2, 0.95
"""Shares of the private rows in the reference data: above the first the curator gets a warning,
above the second the data are refused. For answers of yes and no, which often agree at one place,
the third is the share of the agreement beyond chance from which they are copies."""

SAME_PLACE = 10.0
"""Metres: conversions between coordinate systems without their grid files differ by up to about 5
m."""

SAME_VALUE = 1e-6
"""Relative difference up to which two values count as one, written with different numbers of
digits."""


def refuse_overlap(private: Observations, reference: Observations, *, answers: bool = False) -> str | None:
    """Refuse reference data that contain the private records, since tuning on them would not be
    accounted.

    Public reference data may even become the prior mean, which is published unchanged. Raise
    `WorkflowError` if they contain more than a fifth of the private rows, or if `answers` of 1 and
    0 agree with those at their places far beyond chance; return a warning for the curator above 1
    %.
    """
    share = shared_rows(private, reference)
    if copied_answers(private, reference) if answers else share > REFUSED:
        raise WorkflowError(
            "The reference data hold the private records themselves, so tuning on them would not be private: "
            "name another file, or other years."
        )
    if share <= WARNED:
        return None
    shared = round(share * private.size)
    return (
        f"{plural(shared, f'private {private.kind}')} of {private.size:,} agree with the reference data in "
        "place and value: make sure that the two are not copies of one another."
    )


def shared_rows(private: Observations, reference: Observations) -> float:
    """Return the share, 0 to 1, of the private rows whose place and value occur in the reference
    data.

    A row counts if a row of the reference is within `SAME_PLACE` and its value differs by at most
    `SAME_VALUE` of its size. Rows without a place on Earth never count. Compare places as points of
    a sphere, in metres, and map equal values to one whole number, so that one search for the
    nearest neighbour covers place and value.
    """
    level = _levels(private.value, reference.value)
    # Different levels are further apart than two points of one place.
    rows = np.vstack([_on_sphere(source) / SAME_PLACE for source in (private, reference)])
    rows = np.column_stack([rows, 10.0 * level])
    located = np.asarray(np.isfinite(rows).all(axis=1))
    mine, counts = np.unique(rows[: private.size][located[: private.size]], axis=0, return_counts=True)
    theirs = np.unique(rows[private.size :][located[private.size :]], axis=0)
    if not (mine.size and theirs.size):
        return 0.0
    distance, _ = cKDTree(theirs).query(mine, distance_upper_bound=1.0)
    return float(counts[np.isfinite(distance)].sum() / private.size)


def copied_answers(private: Observations, reference: Observations) -> bool:
    """Whether answers of 1 and 0 are copies: more than a fifth of the private rows are at places of
    the reference, and they agree with an answer there far more often than with as many answers
    drawn from the whole reference. If all answers of the reference are equal they always count as
    copies, because only places could then tell a copy from another survey."""
    places = [_on_sphere(source) for source in (private, reference)]
    mine, theirs = (np.isfinite(source).all(axis=1) for source in places)
    agreeing = neighbours = by_chance = 0.0
    for answer in (0.0, 1.0):
        rows, same = places[0][mine & (private.value == answer)], theirs & (reference.value == answer)
        near, alike = (
            cKDTree(places[1][source]).query_ball_point(rows, SAME_PLACE, return_length=True)
            for source in (theirs, same)
        )
        agreeing += np.count_nonzero(alike)
        neighbours += np.count_nonzero(near)
        by_chance += float((1.0 - (1.0 - same.sum() / max(theirs.sum(), 1)) ** near[near > 0]).sum())
    return neighbours > REFUSED * private.size and agreeing - by_chance >= COPIED * (neighbours - by_chance)


def _on_sphere(observations: Observations) -> NDArray[np.float64]:
    """Return (n, 3) metres from the centre of a spherical Earth; NaN for rows without a place."""
    lon, lat = np.radians(to_lonlat(observations.x, observations.y, observations.crs))
    unit = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    return np.asarray(EARTH_RADIUS * unit, dtype=np.float64)


def _levels(*values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return whole numbers for all values, equal exactly for values that count as one."""
    every = np.concatenate(values)
    order = np.argsort(every)
    ordered = every[order]
    apart = np.diff(ordered) > SAME_VALUE * np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    level = np.empty(every.size)
    level[order] = np.concatenate([[0], np.cumsum(apart)])
    return level
