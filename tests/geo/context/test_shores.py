"""The open sea of an area is left out: what touches land or lies near it stays."""

from __future__ import annotations

import numpy as np
import pytest

from geo import domain_from_bbox, region_from_bbox
from geo.context import shores
from geo.context.shores import FILE, Packed, without_sea
from geo.context.surroundings import all_places
from geo.domains.domain import domain_from_region
from studies.material.world import off_land

# Land west of the meridian of Greenwich and north of 50 degrees; an islet in the sea.
LAND = np.array([[-5.0, 50.0], [0.0, 50.0], [0.0, 56.0], [-5.0, 56.0]])
ISLET = np.array([[2.0, 52.0], [2.004, 52.0], [2.004, 52.004], [2.0, 52.004]])


@pytest.fixture
def land(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shores, "land_near", lambda box: (LAND, ISLET))


@pytest.mark.parametrize(
    ("box", "starts"),
    [
        ((1, 11, 3, 13), [0]),
        ((2, 12, 3, 13), [0]),
        ((3, 11, 4, 13), []),
        ((1, 61, 3, 63), []),
        ((361, 9, 363, 10), [360]),
    ],
)
def test_lines_near_a_box_are_those_that_touch_it_a_whole_turn_away_too(
    box: tuple[float, float, float, float], starts: list[int]
) -> None:
    lines = Packed.of([[0, 10, 2, 12], [20, 60, 22, 62]], 1.0)
    assert [line[0, 0] for line in lines.near(box)] == starts


@pytest.mark.usefixtures("land")
def test_sea_is_left_out_from_two_kilometres_on() -> None:
    found = without_sea(region_from_bbox(-1.0, 51.0, 1.0, 53.0))
    west, south, east, north = found.shape.bounds
    assert (west, south, north) == (-1.0, 51.0, 53.0)
    kilometres = east * 111.195 * np.cos(np.radians(52.0))
    assert kilometres == pytest.approx(2.1, abs=0.15)  # and a thousandth of the side
    assert found.notes == (
        "The open sea, more than 2 km from land, is left out unless asked for (land_only).",
    )


@pytest.mark.usefixtures("land")
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


@pytest.mark.usefixtures("land")
def test_a_box_without_sea_or_without_land_stays_as_it_is() -> None:
    for box in ((-2.0, 51.0, -1.0, 52.0), (10.0, 51.0, 11.0, 52.0)):
        region = region_from_bbox(*box)
        assert without_sea(region) is region


@pytest.mark.usefixtures("land")
def test_shores_are_not_widened_far_beyond_a_small_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of resolution 0 reaches 1,666 km, 14.98 degrees: nine tenths of it are 13.48."""
    widened = []
    real = shores.shapely.buffer
    monkeypatch.setattr(
        shores.shapely, "buffer", lambda *given, **how: widened.append(given) or real(*given, **how)
    )
    monkeypatch.setattr(shores, "land_near", lambda box: (LAND,))
    calls = {}
    for east in (20.5, 21.5):  # 12.61 or 13.22 degrees of latitude from land, and .56 across
        region = region_from_bbox(east, 52.0, east + 0.9, 52.1)
        assert without_sea(region, 0) is region
        calls[east] = len(widened)
    assert calls == {20.5: 0, 21.5: 1}


@pytest.mark.usefixtures("land")
def test_a_box_across_the_date_line_is_cut_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    islands = {-180.0: ISLET - np.array([181.5, 0.0]), 179.0: ISLET + np.array([177.5, 0.0])}
    monkeypatch.setattr(shores, "land_near", lambda box: (islands[179.0 if box[0] > 0 else -180.0],))
    found = without_sea(region_from_bbox(179.0, 51.0, -179.0, 53.0, crosses_date_line=True))
    assert len(found.shape.geoms) == 2
    assert found.shape.bounds[0] < -179.4
    assert found.shape.bounds[2] > 179.4


LAND_FILE = shores.shores(FILE).land.lines

# One place on land for every five degrees of latitude, towns on both sides of the date line among them.
ON_LAND = [
    (0, -85), (0, -80), (0, -75), (90, -70), (-69.5, -50), (-70, -45), (-70, -40), (149, -35),
    (140, -30), (140, -25), (140, -20), (-50, -15), (-50, -10), (-50, -5), (-60, 0), (-60, 5),
    (10, 10), (10, 15), (10, 20), (10, 25), (90, 30), (90, 35), (90, 40), (90, 45), (10, 50),
    (90, 55), (90, 60), (-35, 70), (-35, 75), (-35, 80), (177.5, 64.73), (-173.23, 64.43),
    (-179.13, 66.32), (-178, 67), (178.5, 66.5), (180, 67.5), (179.34, -16.43), (-179.97, -16.79),
    (-179, 71.2), (179.2, 71.1),
]  # fmt: skip
# And one or more on the open sea, the mistaken island of Natural Earth among them.
AT_SEA = [
    (180, -75), (180, -70), (-150, -65), (180, -60), (90, -55), (180, -50), (-175, -45),
    (-175, -40), (180, -35), (180, -30), (-35, -25), (179.9, -20), (-179.9, -15), (90, -10),
    (180, -5), (0, 0), (-35, 0), (180, 5), (-35, 10), (-179.9, 15), (180, 20), (-35, 25), (180, 30),
    (179.9, 35), (180, 40), (-35, 45), (180, 50), (-150, 55), (180, 60), (-35, 60), (0, 65),
    (180, 63), (-179, 64), (179, 62), (-177, 69), (177, 70.2), (0, 70), (-175, 70), (180, 75),
    (-150, 75), (0, 75), (5, 80), (180, 80), (0, 85), (180, 85), (-178.5, 65.2),
]  # fmt: skip


def test_land_is_land_at_every_latitude() -> None:
    away = off_land(np.array(ON_LAND, dtype=np.float64), LAND_FILE)
    assert [place for place, far in zip(ON_LAND, away, strict=True) if far > 3.0] == []


def test_open_sea_is_off_land_at_every_latitude() -> None:
    away = off_land(np.array(AT_SEA, dtype=np.float64), LAND_FILE)
    assert [place for place, far in zip(AT_SEA, away, strict=True) if far < 5.0] == []


def test_every_named_town_is_within_three_kilometres_of_land() -> None:
    where, _ = all_places()
    assert len(where) > 100_000
    away = off_land(where, LAND_FILE)
    assert where[away > 3.0].tolist() == []


def test_no_shore_jumps_around_the_globe() -> None:
    """The cut of Antarctica runs along the pole; every other ring is in one piece."""
    closed = [np.vstack([ring, ring[:1]]) for ring in LAND_FILE]
    widest = [float(np.abs(np.diff(ring[:, 0])).max()) for ring in closed if ring[:, 1].min() > -89.0]
    assert len(widest) == len(closed) - 1
    assert max(widest) < 10.0


@pytest.mark.parametrize("latitude", [65.2, 66.0, 67.0, 68.0, 68.9])
def test_towns_of_chukotka_are_on_the_land_that_a_survey_keeps(latitude: float) -> None:
    box = region_from_bbox(176.0, latitude - 0.1, -174.0, latitude + 0.1, crosses_date_line=True)
    kept = without_sea(box)
    assert kept.shape.area > 0.4 * box.shape.area
