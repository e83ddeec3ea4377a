"""Hundreds of damaged inputs for each reader of geography: a valid region or one sentence."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from geo import (
    Domain,
    GeoError,
    Region,
    crs_by_name,
    domain_from_bbox,
    domain_from_geojson,
    parse_crs,
    region_from_bbox,
    region_from_geojson,
    rfc7946_findings,
)
from tests.mutation import mutants
from tests.patience import LONG

COUNT = 500 if LONG else 100
RING = [[-0.2, 51.45], [0.0, 51.45], [0.02, 51.55], [-0.1, 51.6], [-0.2, 51.45]]
HOLE = [[-0.12, 51.48], [-0.1, 51.48], [-0.1, 51.5], [-0.12, 51.48]]
GRID = [[530000, 180000], [540000, 180000], [540000, 190000], [530000, 190000], [530000, 180000]]
NAMED = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::27700"}}
POLYGON = {"type": "Polygon", "coordinates": [RING, HOLE]}
MULTI = {"type": "MultiPolygon", "coordinates": [[RING], [[[x + 0.5, y] for x, y in RING]]]}
FEATURES = [
    {"type": "Feature", "properties": {"name": "é"}, "geometry": shape} for shape in (POLYGON, MULTI, None)
]
SEEDS = [
    json.dumps(one).encode()
    for one in (
        POLYGON,
        MULTI,
        FEATURES[0],
        {"type": "FeatureCollection", "features": FEATURES},
        {"type": "GeometryCollection", "geometries": [POLYGON, MULTI]},
        {"type": "Polygon", "coordinates": [GRID], "crs": NAMED},
    )
]
NAMES = [
    name.encode()
    for name in (
        "EPSG:27700",
        "27700",
        "Dutch grid",
        "UTM 32N",
        "OSGB36 / British National Grid",
        "OGC:CRS84",
        "urn:ogc:def:crs:EPSG::27700",
        "+proj=laea +lat_0=51.0000 +lon_0=0.0000 +datum=WGS84",
    )
]


def said(error: GeoError) -> None:
    assert 0 < len(str(error)) < 800
    assert "\n" not in str(error)


def region(data: bytes) -> None:
    try:
        made = region_from_geojson(data)
    except GeoError as error:
        said(error)
    else:
        assert isinstance(made, Region)
        assert made.shape.is_valid
        assert made.shape.area > 0


def domain(data: bytes) -> None:
    try:
        made = domain_from_geojson(data, 6)
    except GeoError as error:
        said(error)
    else:
        assert isinstance(made, Domain)
        assert made.size >= 1


def findings(data: bytes) -> None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return
    found = rfc7946_findings(document)
    assert len(found) <= 20
    assert all(isinstance(one, str) and one for one in found)


def name(data: bytes) -> None:
    text = data.decode("latin-1")
    for call in (crs_by_name, parse_crs):
        try:
            call(text)
        except GeoError as error:
            said(error)


READERS: dict[str, tuple[Callable[[bytes], None], Sequence[bytes]]] = {
    "region": (region, SEEDS),
    "domain": (domain, SEEDS),
    "findings": (findings, SEEDS),
    "names of systems": (name, NAMES),
}


@pytest.mark.parametrize("kind", READERS)
def test_damaged_inputs_end_well(kind: str) -> None:
    call, seeds = READERS[kind]
    for data in mutants(seeds, COUNT):
        call(data)


def boxes(count: int) -> list[tuple[float, float, float, float]]:
    chance = random.Random(7)
    odd = (
        0.0,
        -0.0,
        180.0,
        -180.0,
        85.0,
        -85.0,
        90.0,
        1e-300,
        1e308,
        float("inf"),
        float("nan"),
        360.0,
        -1e-9,
    )

    def number(low: float, high: float) -> float:
        return chance.choice(odd) if chance.random() < 0.3 else chance.uniform(low, high)

    return [(number(-200, 200), number(-95, 95), number(-200, 200), number(-95, 95)) for _ in range(count)]


def test_boxes_of_any_numbers_end_well() -> None:
    for index, box in enumerate(boxes(COUNT)):
        crosses = (None, True, False)[index % 3]
        try:
            made = region_from_bbox(*box, crosses_date_line=crosses)
            assert made.shape.is_valid
            domain_from_bbox(*box, index % 3, crosses_date_line=crosses)
        except GeoError as error:
            said(error)


def test_a_path_that_is_none_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.geojson", "a\0b", "x" * 5_000):
        with pytest.raises(GeoError):
            region_from_geojson(path)
