"""The open sea of an area is left out: what touches land or lies near it stays."""

from __future__ import annotations

import numpy as np
import pytest

from geo import domain_from_bbox, region_from_bbox
from geo.context import surroundings
from geo.context.surroundings import without_sea
from geo.domains.domain import domain_from_region

# Land west of the meridian of Greenwich and north of 50 degrees; an islet in the sea.
LAND = np.array([[-5.0, 50.0], [0.0, 50.0], [0.0, 56.0], [-5.0, 56.0]])
ISLET = np.array([[2.0, 52.0], [2.004, 52.0], [2.004, 52.004], [2.0, 52.004]])


@pytest.fixture(autouse=True)
def land(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "folder", lambda: "built")
    monkeypatch.setattr(surroundings, "land_near", lambda box: (LAND, ISLET))


def test_sea_is_left_out_from_two_kilometres_on() -> None:
    found = without_sea(region_from_bbox(-1.0, 51.0, 1.0, 53.0))
    west, south, east, north = found.shape.bounds
    assert (west, south, north) == (-1.0, 51.0, 53.0)
    kilometres = east * 111.195 * np.cos(np.radians(52.0))
    assert kilometres == pytest.approx(2.1, abs=0.15)  # and a thousandth of the side
    assert found.notes == (
        "The open sea, more than 2 km from land, is left out unless asked for (land_only).",
    )


@pytest.mark.parametrize("resolution", [4, 6, 8])
def test_every_cell_that_touches_land_stays(resolution: int) -> None:
    region = region_from_bbox(-1.0, 51.0, 3.0, 53.0)
    domain = domain_from_region(without_sea(region, resolution), resolution, "a box")
    whole = domain_from_bbox(-1.0, 51.0, 3.0, 53.0, resolution)
    at = np.random.default_rng(3)
    lon, lat = at.uniform(-1.0, 0.0, 4000), at.uniform(51.0, 53.0, 4000)
    lon[:2000], lat[2000:2010], lon[2000:2010] = -1e-6, 52.002, 2.002
    inside = whole.locate(lon, lat) >= 0
    assert (domain.locate(lon, lat)[inside] >= 0).all()
    assert domain.size < 0.75 * whole.size


def test_a_box_without_sea_or_without_land_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for box in ((-2.0, 51.0, -1.0, 52.0), (10.0, 51.0, 11.0, 52.0)):
        region = region_from_bbox(*box)
        assert without_sea(region) is region
    monkeypatch.setattr(surroundings, "folder", lambda: None)
    region = region_from_bbox(-1.0, 51.0, 1.0, 53.0)
    assert without_sea(region) is region


def test_shores_are_not_widened_far_beyond_a_small_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of resolution 0 reaches 1,666 km, 14.98 degrees: nine tenths of it are 13.48."""
    widened = []
    real = surroundings.shapely.buffer
    monkeypatch.setattr(
        surroundings.shapely, "buffer", lambda *given, **how: widened.append(given) or real(*given, **how)
    )
    monkeypatch.setattr(surroundings, "land_near", lambda box: (LAND,))
    calls = {}
    for east in (20.5, 21.5):  # 12.61 or 13.22 degrees of latitude from land, and .56 across
        region = region_from_bbox(east, 52.0, east + 0.9, 52.1)
        assert without_sea(region, 0) is region
        calls[east] = len(widened)
    assert calls == {20.5: 0, 21.5: 1}


def test_a_box_across_the_date_line_is_cut_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    islands = {-180.0: ISLET - np.array([181.5, 0.0]), 179.0: ISLET + np.array([177.5, 0.0])}
    monkeypatch.setattr(surroundings, "land_near", lambda box: (islands[179.0 if box[0] > 0 else -180.0],))
    found = without_sea(region_from_bbox(179.0, 51.0, -179.0, 53.0, crosses_date_line=True))
    assert len(found.shape.geoms) == 2
    assert found.shape.bounds[0] < -179.4
    assert found.shape.bounds[2] > 179.4
