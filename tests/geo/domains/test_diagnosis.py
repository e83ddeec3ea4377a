"""Why points miss a domain: the sentence names the mistake and its remedy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from geo import (
    domain_from_bbox,
    looks_like_degrees,
    looks_projected,
    looks_swapped,
    outside_reason,
    project,
)

LONDON = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 7)
RNG = np.random.default_rng(3)
LON, LAT = RNG.uniform(-0.25, 0.05, 500), RNG.uniform(51.42, 51.58, 500)
EAST, NORTH = project(np.column_stack([LON, LAT]), "EPSG:27700").T
DUTCH = RNG.uniform(178000, 182000, 50), RNG.uniform(330000, 333000, 50)


def test_swapped_columns_are_recognised_and_right_ones_are_not() -> None:
    assert looks_swapped(LAT, LON, LONDON)
    assert not looks_swapped(LON, LAT, LONDON)
    assert not looks_swapped(LON + 90, LAT, LONDON)
    assert not looks_swapped([], [], LONDON)


def test_projected_coordinates_are_told_from_degrees() -> None:
    assert looks_projected(EAST, NORTH)
    assert not looks_projected(LON, LAT)
    assert not looks_projected(LAT, LON)
    assert looks_like_degrees(LON, LAT)
    assert not looks_like_degrees(EAST, NORTH)
    assert not looks_projected([np.nan], [np.nan])
    assert not looks_like_degrees([], [])


@pytest.mark.parametrize(
    ("x", "y", "crs", "words"),
    [
        (LAT, LON, "EPSG:4326", "look swapped: exchange the two columns, or give the area as west, south,"),
        (EAST, NORTH, "EPSG:4326", "they fit EPSG:27700 instead of EPSG:4326"),
        (LON, LAT, "EPSG:27700", "look like degrees"),
        (NORTH, EAST, "EPSG:27700", "Easting and northing look swapped"),
        (EAST, NORTH, "EPSG:28992", "they fit EPSG:27700"),
        (*DUTCH, "EPSG:28992", "The points are around longitude 5.7"),
        (*DUTCH, "EPSG:4326", "name their EPSG code instead"),
        (LON + 90, LAT, "EPSG:4326", "The points are around longitude 89.9"),
        ([np.nan], [1.0], "EPSG:4326", "No row has finite coordinates"),
        ([1e12], [1e12], "EPSG:27700", "no place on Earth|No point has a place"),
    ],
)
def test_the_reason_is_named(x: np.ndarray, y: np.ndarray, crs: str, words: str) -> None:
    reason = outside_reason(x, y, crs, LONDON)
    assert re.search(words, reason), reason
    assert reason.endswith(".")
    assert "\n" not in reason
