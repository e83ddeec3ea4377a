"""Outlines that would keep GEOS busy for minutes get a sentence instead."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import geo.region as ragged
from geo import DomainError, region_from_geojson
from geo.region import check_crossings, check_raggedness


def ring(points: np.ndarray) -> np.ndarray:
    return np.vstack([points, points[:1]])


def needles(count: int) -> list[np.ndarray]:
    """Long thin triangles across one another."""
    rng = np.random.default_rng(3)
    at, angle = rng.random((count, 1, 2)), rng.random(count) * np.pi
    along = np.stack([np.cos(angle), np.sin(angle)], axis=1)[:, None, :]
    return [ring(one) for one in np.concatenate([at - along, at + along, at + 0.9 * along + 0.002], axis=1)]


def naive_crossings(rings: list[np.ndarray]) -> int:
    """Pairs of edges that meet in one inner point of both, by shapely."""
    edges = [shapely.LineString(one[k : k + 2]) for one in rings for k in range(len(one) - 1)]
    return sum(edges[i].crosses(edges[j]) for i in range(len(edges)) for j in range(i))


@pytest.mark.parametrize("limit", [-1, 0, 1])
def test_crossings_are_counted_exactly_where_edges_are_few(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    outlines = needles(12)
    count = naive_crossings(outlines)
    assert count > 100
    monkeypatch.setattr(ragged, "MAX_CROSSINGS", count + limit)
    if limit < 0:
        with pytest.raises(DomainError, match="cross themselves or one another"):
            check_crossings(outlines)
    else:
        check_crossings(outlines)


def test_common_corners_and_common_edges_are_no_crossings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ragged, "MAX_CROSSINGS", 0)
    left, right = shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)
    check_crossings([np.asarray(box.exterior.coords) for box in (left, right)])


def test_a_sample_tells_the_number_within_a_fifth(monkeypatch: pytest.MonkeyPatch) -> None:
    outlines = needles(1_000)
    every = 0
    with monkeypatch.context() as patch:
        patch.setattr(ragged, "_SAMPLE", 10_000)
        patch.setattr(ragged, "MAX_CROSSINGS", 0)
        with pytest.raises(DomainError, match="about") as caught:
            check_crossings(outlines)
        every = int(str(caught.value).split("about ")[1].split(" places")[0].replace(",", ""))
    with pytest.raises(DomainError, match="about") as caught:
        check_crossings(outlines)
    sampled = int(str(caught.value).split("about ")[1].split(" places")[0].replace(",", ""))
    assert sampled == pytest.approx(every, rel=0.2)


def test_a_scribble_of_300_points_is_refused_and_a_bow_tie_is_repaired() -> None:
    """Ten thousand crossings of 300 edges took 6 s to repair, those of 1,000 edges minutes."""
    rng = np.random.default_rng(5)
    for points in (400, 3_000):
        scribble = {"type": "Polygon", "coordinates": [ring(rng.random((points, 2))).tolist()]}
        with pytest.raises(DomainError, match="repair the polygons first"):
            region_from_geojson(scribble)
    bow = region_from_geojson({"type": "Polygon", "coordinates": [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]]})
    assert bow.shape.area == pytest.approx(2.0)


def test_many_polygons_across_one_another_are_refused() -> None:
    crossed = {"type": "MultiPolygon", "coordinates": [[one.tolist()] for one in needles(500)]}
    with pytest.raises(DomainError, match="one another in about"):
        region_from_geojson(crossed)


@pytest.mark.parametrize("rise", [0.0, 1.0])
def test_an_outline_that_runs_to_and_fro_over_itself_is_refused(rise: float) -> None:
    """100,000 edges, each from one end to the other: nearly every pair of boxes overlaps."""
    x = np.tile([0.0, 1.0], 50_000)
    comb = ring(np.column_stack([x, x + rise * np.linspace(0.0, 0.1, x.size)]))
    with pytest.raises(DomainError, match="simplify the polygon"):
        check_raggedness([comb])
    with pytest.raises(DomainError, match="simplify the polygon"):
        region_from_geojson({"type": "Polygon", "coordinates": [comb.tolist()]})


def test_smooth_outlines_of_any_length_pass() -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 50_000, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    check_raggedness([ring(circle)])
    check_crossings([ring(circle), ring(circle * 0.5)])
