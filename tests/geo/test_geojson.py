"""GeoJSON on its way out: valid by an independent checker, read by GDAL, or refused."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely

from geo import (
    Domain,
    GeoJsonError,
    cells_collection,
    collection_bytes,
    decimals_for,
    dissolve,
    domain_from_bbox,
    regions_collection,
    rfc7946_findings,
)

FACTS = {"release_id": "r-1", "epsilon": 1.0, "delta": 1e-5, "unit": "sale", "threshold": "£442,413"}
PLACES = {
    "city": ((-0.2, 51.45, 0.0, 51.55), 8),
    "coarse": ((-10.0, 35.0, 20.0, 60.0), 3),
    "fine": ((0.0, 0.0, 0.002, 0.001), 13),
    "antimeridian": ((179.0, -17.5, -179.2, -16.2), 5),
}


@pytest.fixture(scope="module", params=PLACES)
def domain(request: pytest.FixtureRequest) -> Domain:
    box, resolution = PLACES[request.param]
    return domain_from_bbox(*box, resolution, crosses_date_line=box[0] > box[2])


@pytest.fixture(scope="module")
def cells(domain: Domain) -> dict[str, Any]:
    votes = np.linspace(0, 1, domain.size)
    return cells_collection(domain, {"vote_fraction": votes, "in_set": votes >= 0.5}, FACTS)


def halves(domain: Domain) -> list[tuple[shapely.MultiPolygon, dict[str, Any]]]:
    return [
        (dissolve(domain.cells[::2]), {"product": "path", "path": 1}),
        (dissolve(domain.cells), {"product": "all", "path": None}),
        (dissolve([]), {"product": "inner", "path": None}),
    ]


def test_cells_are_rfc_7946(cells: dict[str, Any]) -> None:
    assert rfc7946_findings(cells) == []
    assert "crs" not in cells
    assert len(cells["bbox"]) == 4


def test_regions_are_rfc_7946(domain: Domain) -> None:
    regions = regions_collection(halves(domain), FACTS)
    assert rfc7946_findings(regions) == []
    assert [feature["geometry"] is None for feature in regions["features"]] == [False, False, True]


def test_what_rounding_closes_is_left_out() -> None:
    """Areas that should touch leave slits: a hole and an island of 1e-8 degrees, and a hole that turns."""
    square = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    slit = [(0.2, 0.2), (0.2, 0.4), (0.2 + 1e-8, 0.3)]
    turned = [(0.5, 0.5), (0.5000004, 0.50000029), (0.50000023, 0.50000015)]  # clockwise until it is rounded
    hole = [(0.7, 0.7), (0.7, 0.8), (0.8, 0.8), (0.8, 0.7)]
    island = [(2.0, 0.0), (2.0 + 1e-8, 0.0), (2.0, 1.0)]
    shape = shapely.MultiPolygon([(square, [slit, turned, hole]), (island, [])])
    written = regions_collection([(shape, {}), (shapely.MultiPolygon([(island, [])]), {})], {})
    assert rfc7946_findings(written) == []
    first, second = (feature["geometry"] for feature in written["features"])
    assert (first["type"], len(first["coordinates"])) == ("Polygon", 2)
    assert sorted(map(tuple, first["coordinates"][1]))[0] == (0.7, 0.7)
    assert second is None
    assert written["bbox"] == [0.0, 0.0, 1.0, 1.0]


def test_the_facts_stand_once(domain: Domain, cells: dict[str, Any]) -> None:
    for collection in (cells, regions_collection(halves(domain), FACTS)):
        assert collection["release"] == FACTS
        assert all("epsilon" not in feature["properties"] for feature in collection["features"])


@pytest.mark.parametrize(("resolution", "decimals"), [(0, 1), (5, 4), (8, 5), (9, 5), (10, 6), (15, 7)])
def test_corners_are_as_fine_as_their_cells_need(resolution: int, decimals: int) -> None:
    assert decimals_for(resolution) == decimals


def test_coarser_corners_are_written_shorter(domain: Domain, cells: dict[str, Any]) -> None:
    short = cells_collection(domain, {}, {}, decimals=3)
    corners = [c for f in short["features"] for ring in _rings(f["geometry"]) for c in ring]
    assert all(round(value, 3) == value for corner in corners for value in corner)


def test_neighbours_share_their_corners_after_rounding() -> None:
    """No gap and no overlap: three hexagons meet in one written corner, as often as in one exact corner."""
    box, resolution = PLACES["city"]
    domain = domain_from_bbox(*box, resolution)

    def meetings(decimals: int) -> list[int]:
        cells = cells_collection(domain, {}, {}, decimals=decimals)
        rings = [ring for feature in cells["features"] for ring in _rings(feature["geometry"])]
        assert all(ring[0] == ring[-1] and len(ring) == 7 for ring in rings)
        return sorted(Counter(tuple(corner) for ring in rings for corner in ring[:-1]).values())

    assert meetings(decimals_for(domain.resolution)) == meetings(7)
    assert meetings(7).count(3) > domain.size


def _rings(geometry: dict[str, Any]) -> list[Any]:
    parts = [geometry["coordinates"]] if geometry["type"] == "Polygon" else geometry["coordinates"]
    return [ring for part in parts for ring in part]


def test_cells_keep_order_index_and_outline(domain: Domain, cells: dict[str, Any]) -> None:
    assert [feature["properties"]["h3"] for feature in cells["features"]] == list(domain.cells)
    area = sum(shapely.geometry.shape(feature["geometry"]).area for feature in cells["features"])
    assert area == pytest.approx(dissolve(domain.cells).area, rel=1e-3)


def test_geopandas_reads_back_what_was_written(domain: Domain, cells: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "cells.geojson").write_bytes(collection_bytes(cells))
    frame = geopandas.read_file(tmp_path / "cells.geojson")
    assert frame.crs == "EPSG:4326"
    assert frame["h3"].tolist() == list(domain.cells)
    assert frame["in_set"].tolist() == (np.linspace(0, 1, domain.size) >= 0.5).tolist()
    np.testing.assert_allclose(frame["vote_fraction"], np.linspace(0, 1, domain.size), rtol=0, atol=1e-15)
    assert frame.geometry.is_valid.all()
    (tmp_path / "regions.geojson").write_bytes(collection_bytes(regions_collection(halves(domain), FACTS)))
    regions = geopandas.read_file(tmp_path / "regions.geojson")
    assert len(regions) == 3
    exact = dissolve(domain.cells)
    assert regions.geometry.iloc[1].symmetric_difference(exact).area < 1e-7 * exact.length  # 7 decimals
    assert regions.geometry.iloc[2] is None


def test_gdal_in_rfc_mode_agrees_about_the_rings(cells: dict[str, Any], tmp_path: Path) -> None:
    """GDAL's own RFC 7946 writer is a third opinion on orientation and precision."""
    (tmp_path / "ours.geojson").write_bytes(collection_bytes(cells))
    frame = geopandas.read_file(tmp_path / "ours.geojson")
    frame.to_file(tmp_path / "gdal.geojson", driver="GeoJSON", RFC7946="YES")
    theirs = json.loads((tmp_path / "gdal.geojson").read_text())
    assert rfc7946_findings(theirs) == []
    for ours, other in zip(cells["features"], theirs["features"], strict=True):
        same = shapely.geometry.shape(ours["geometry"]).equals_exact(
            shapely.geometry.shape(other["geometry"]), tolerance=2e-7, normalize=True
        )
        assert same


def test_the_box_is_the_smallest_also_across_the_antimeridian() -> None:
    box, resolution = PLACES["antimeridian"]
    domain = domain_from_bbox(*box, resolution, crosses_date_line=True)
    west, south, east, north = cells_collection(domain, {}, {})["bbox"]
    assert 178.5 < west < 179.5
    assert -179.7 < east < -178.7
    assert -18 < south < north < -15.9


def test_the_file_is_utf_8_with_a_feature_a_line(cells: dict[str, Any]) -> None:
    content = collection_bytes(cells)
    assert json.loads(content) == cells
    assert "£442,413".encode() in content
    assert content.count(b"\n") == len(cells["features"]) + 2


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_cannot_hold_is_refused(value: float) -> None:
    domain = domain_from_bbox(*PLACES["city"][0], 6)
    with pytest.raises(GeoJsonError, match="use null"):
        collection_bytes(cells_collection(domain, {"vote": [value] * domain.size}, {}))


def test_wrong_properties_are_refused() -> None:
    domain = domain_from_bbox(*PLACES["city"][0], 6)
    ones = [1] * domain.size
    with pytest.raises(GeoJsonError, match="values for"):
        cells_collection(domain, {"vote": ones[1:]}, {})
    with pytest.raises(GeoJsonError, match="given twice"):
        cells_collection(domain, {"h3": ones}, {})
    with pytest.raises(GeoJsonError, match="cannot be a GeoJSON property"):
        cells_collection(domain, {}, {"when": object()})


def test_what_is_not_rfc_7946_is_refused() -> None:
    with pytest.raises(GeoJsonError, match="not RFC 7946"):
        collection_bytes({"type": "FeatureCollection", "features": [{"type": "Feature"}]})
    with pytest.raises(GeoJsonError, match="not RFC 7946: feature 0: needs a properties member"):
        collection_bytes({"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": None}]})
