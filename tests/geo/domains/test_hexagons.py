"""Filling: the same cells as H3's own rule, whatever the outline, with progress and a way to stop."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Polygon

from geo import DomainError, domain_from_bbox, domain_from_geojson
from geo.domains import hexagons
from geo.domains.hexagons import box_cells, cells_inside, multipolygon


def star(spikes: int, depth: float = 0.35, seed: int = 1) -> NDArray[np.float64]:
    """A ring of random spikes around Westminster: hardly any edge can be left out by simplifying."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0.0, 2.0 * np.pi, spikes, endpoint=False)
    radius = 0.3 * (1.0 - depth * rng.random(spikes))
    ring = np.column_stack([-0.1 + radius * np.cos(angle), 51.5 + 0.62 * radius * np.sin(angle)])
    return np.vstack([ring, ring[:1]])


def plainly(shape: MultiPolygon, resolution: int) -> set[str]:
    """H3's own fill, polygon by polygon."""
    found: set[str] = set()
    for part in shape.geoms:
        found |= hexagons.fill(
            [np.asarray(ring.coords) for ring in (part.exterior, *part.interiors)], resolution
        )
    return found


@pytest.mark.parametrize("name", ["8" * 17, "1" + "f" * 16, "9" * 400, "", "8", 8, None, "86195da4fffffff\0"])
def test_a_name_of_any_length_is_a_cell_or_none(name: object) -> None:
    """H3 itself raises OverflowError beyond 16 digits."""
    assert not hexagons.is_cell(name)
    assert hexagons.invalid_cells(["86195da4fffffff", name]) == [name]  # type: ignore[list-item]
    assert not isinstance(name, str) or hexagons.ancestor(name, 5) is None
    assert hexagons.ancestor("86195da4fffffff", 5) == "85195da7fffffff"
    assert hexagons.is_cell("086195da4fffffff")


@pytest.mark.parametrize(("spikes", "resolution"), [(200, 9), (5_000, 8), (20_000, 8)])
def test_a_star_has_the_cells_of_the_plain_rule(spikes: int, resolution: int) -> None:
    shape = MultiPolygon([Polygon(star(spikes))])
    cells = cells_inside(shape, resolution)
    assert len(cells) > 1_000
    assert cells == plainly(shape, resolution)


@pytest.mark.slow
def test_stars_of_any_size_become_domains() -> None:
    """40,000 vertices at a resolution where each was held against some 20,000 cells: 45 s before."""
    ring = star(40_000)
    domain = domain_from_geojson({"type": "Polygon", "coordinates": [ring.tolist()]}, 9)
    assert domain.size == 9_834
    inside = shapely.contains_xy(Polygon(ring), domain.centres_lonlat[::50])
    assert inside.all()
    assert shapely.get_num_coordinates(domain.drawn_outline) <= 2_000


@given(seed=st.integers(0, 10_000), spikes=st.integers(3, 60), depth=st.floats(0.0, 0.95))
@settings(max_examples=40)
def test_tiles_change_nothing(seed: int, spikes: int, depth: float) -> None:
    """Every outline, also one with holes and islands, tile by tile and as H3 does it."""
    ring = star(spikes, depth, seed)
    hole = shapely.affinity.scale(Polygon(star(12, 0.5, seed + 1)), 0.3, 0.3)
    island = shapely.affinity.translate(Polygon(star(8, 0.2, seed + 2)), 0.9, 0.1)
    shape = multipolygon(shapely.union_all([Polygon(ring).difference(hole), island]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hexagons, "FEW", 0)
        patch.setattr(hexagons, "_IN_A_TILE", 60)
        tiled = cells_inside(shape, 7)
    assert tiled == plainly(shape, 7)


def test_tiles_work_on_either_side_of_the_date_line(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = domain_from_bbox(178.0, -18.0, -178.0, -16.0, 5, crosses_date_line=True)
    monkeypatch.setattr(hexagons, "FEW", 0)
    monkeypatch.setattr(hexagons, "_IN_A_TILE", 50)
    assert domain_from_bbox(178.0, -18.0, -178.0, -16.0, 5, crosses_date_line=True).cells == plain.cells


def test_a_long_thin_outline_is_searched_where_it_runs() -> None:
    """A line 200 km long and 1 km wide, aslant: its box holds forty times its cells."""
    line = shapely.LineString([(0.0, 50.0), (2.0, 51.4)]).buffer(0.006)
    shape = multipolygon(line)
    assert box_cells(shape, 9) > 40 * len(cells_inside(shape, 9))
    assert cells_inside(shape, 9) == plainly(shape, 9)


def test_progress_rises_to_one_and_names_the_work() -> None:
    said: list[tuple[float, str]] = []
    ring = star(8_000).tolist()
    domain_from_geojson({"type": "Polygon", "coordinates": [ring]}, 9, lambda *news: said.append(news))
    shares = [share for share, _ in said]
    assert len(said) > 5
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert {"Reading the outline", "Filling the outline with hexagons"} <= {text for _, text in said}


def test_what_progress_raises_ends_the_work() -> None:
    class Stopped(Exception):
        pass

    calls = 0

    def stop(share: float, text: str) -> None:
        nonlocal calls
        calls += 1
        if share > 0.5:
            raise Stopped

    with pytest.raises(Stopped):
        domain_from_geojson({"type": "Polygon", "coordinates": [star(8_000).tolist()]}, 9, stop)
    assert calls < 20


def test_a_box_of_too_many_cells_is_called_so() -> None:
    line = shapely.LineString([(0.0, 0.0), (60.0, 60.0)]).buffer(1e-7)
    with pytest.raises(DomainError, match=r"bounding box holds about [0-9,]+ cells of resolution 9"):
        domain_from_geojson(shapely.geometry.mapping(line), 9)


@pytest.mark.parametrize(
    ("box", "resolution", "crosses"),
    [((-1e-9, 28.0, -0.0, 52.0), 2, False), ((34.3, -85.0, -180.0, -33.2), 1, True)],
)
def test_where_h3_gives_up_a_sentence_says_so(
    box: tuple[float, float, float, float], resolution: int, crosses: bool
) -> None:
    """Found by boxes of any numbers: no width, and a large part of the globe."""
    with pytest.raises(DomainError, match=r"too thin or too large|no H3 cell"):
        domain_from_bbox(*box, resolution, crosses_date_line=crosses)


def test_the_estimate_of_a_box_is_about_right() -> None:
    domain = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 9)
    assert box_cells(domain.region, 9) == pytest.approx(domain.size, rel=0.15)
