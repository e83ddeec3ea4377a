"""Whether reference data hold the private records: a guard before anything is tuned on them."""

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
"""Shares of the private rows: above the first a warning is due, above the second the data are refused. Of
answers of yes and no, which often agree at one place: share of the agreement that chance leaves open, from
which they are copies."""

SAME_PLACE = 10.0
"""Metres: conversions between coordinate systems without their grid files differ by up to about 5 m."""

SAME_VALUE = 1e-6
"""Relative difference up to which two values are taken for one that was written with fewer digits."""


def refuse_overlap(private: Observations, reference: Observations, *, answers: bool = False) -> str | None:
    """Refuse reference data that hold the private records: tuning on them would be unaccounted.

    Public reference data may even become the prior mean, which is published as it is. Raise `WorkflowError`
    where more than a fifth of the private rows are among them, or `answers` of 1 and 0 agree with those at
    their places far beyond chance; return a warning for the curator above 1 %.
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
    """Return the share, 0 to 1, of the private rows whose place and value stand in the reference data.

    A row counts if some row of the reference lies within `SAME_PLACE` and its value differs by at most
    `SAME_VALUE` of its size. Rows without a place on Earth agree with none. Places are compared as points of
    a sphere, in metres; values that are alike become one whole number, so that one nearest neighbour answers
    for place and value at once.
    """
    level = _levels(private.value, reference.value)
    # Two levels are further apart than a place can be away and still be the same.
    rows = np.vstack([_on_sphere(each) / SAME_PLACE for each in (private, reference)])
    rows = np.column_stack([rows, 10.0 * level])
    known = np.asarray(np.isfinite(rows).all(axis=1))
    mine, counts = np.unique(rows[: private.size][known[: private.size]], axis=0, return_counts=True)
    others = np.unique(rows[private.size :][known[private.size :]], axis=0)
    if not (mine.size and others.size):
        return 0.0
    distance, _ = cKDTree(others).query(mine, distance_upper_bound=1.0)
    return float(counts[np.isfinite(distance)].sum() / private.size)


def copied_answers(private: Observations, reference: Observations) -> bool:
    """Whether answers of 1 and 0 are copies: more than a fifth of the private rows lie at places of the
    reference, and they agree with an answer there far more often than with as many drawn from all of it; or
    always, where all of it says the same: then their places alone could tell a copy from another survey."""
    places = [_on_sphere(each) for each in (private, reference)]
    mine, others = (np.isfinite(each).all(axis=1) for each in places)
    found = there = by_chance = 0.0
    for answer in (0.0, 1.0):
        rows, same = places[0][mine & (private.value == answer)], others & (reference.value == answer)
        near, alike = (
            cKDTree(places[1][each]).query_ball_point(rows, SAME_PLACE, return_length=True)
            for each in (others, same)
        )
        found += np.count_nonzero(alike)
        there += np.count_nonzero(near)
        by_chance += float((1.0 - (1.0 - same.sum() / max(others.sum(), 1)) ** near[near > 0]).sum())
    return there > REFUSED * private.size and found - by_chance >= COPIED * (there - by_chance)


def _on_sphere(observations: Observations) -> NDArray[np.float64]:
    """(n, 3) metres from the middle of a spherical Earth; NaN for rows without a place."""
    lon, lat = np.radians(to_lonlat(observations.x, observations.y, observations.crs))
    unit = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    return np.asarray(EARTH_RADIUS * unit, dtype=np.float64)


def _levels(*values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole numbers that are equal for values alike and differ otherwise, for all values in a row."""
    every = np.concatenate(values)
    order = np.argsort(every)
    ordered = every[order]
    apart = np.diff(ordered) > SAME_VALUE * np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    level = np.empty(every.size)
    level[order] = np.concatenate([[0], np.cumsum(apart)])
    return level
