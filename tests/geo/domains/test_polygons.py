"""Outlines: dissolving is the union of cells, also across the antimeridian; simplifying keeps the shape."""

from __future__ import annotations

from functools import reduce

import h3
import numpy as np
import pytest
import shapely

from geo import cell_polygon, dissolve, domain_from_bbox, geometry_dict
from geo.domains import areas
from geo.domains.hexagons import boundary, cell_polygons, interface, multipolygon, rings, simplified

DISK = sorted(h3.grid_disk("88194ad001fffff", 4))
RING = sorted(set(h3.grid_ring("88194ad001fffff", 3)))
ACROSS = sorted(h3.grid_disk(h3.latlng_to_cell(-17.0, 180.0, 5), 2))


@pytest.mark.parametrize("cells", [DISK, RING, DISK[::2], DISK[:1]], ids=["disk", "ring", "scattered", "one"])
def test_dissolving_is_the_union(cells: list[str]) -> None:
    naive = shapely.union_all([cell_polygon(cell) for cell in cells])
    fast = dissolve(cells)
    assert fast.is_valid
    assert fast.symmetric_difference(naive).area < 1e-9 * naive.area
    for part in fast.geoms:
        assert part.exterior.is_ccw
        assert not any(hole.is_ccw for hole in part.interiors)


def test_many_outlines_at_once_are_those_of_each_cell() -> None:
    """Also of a pentagon, of a cell with more than six corners, and across the antimeridian."""
    cells = [*DISK[:3], *ACROSS, "851c0003fffffff", sorted(h3.grid_disk("851c0003fffffff", 1))[1]]
    found = cell_polygons(cells)
    assert [
        shape.equals_exact(cell_polygon(cell), 0.0) for shape, cell in zip(found, cells, strict=True)
    ] == [True] * len(cells)
    assert {len(shape.geoms) for shape in found} == {1, 2}
    assert all(part.exterior.is_ccw for shape in found for part in shape.geoms)
    assert cell_polygons([]) == []


def test_an_outline_is_kept_for_the_next_who_asks_and_written_by_nobody() -> None:
    ring = boundary("881e2040b5fffff")
    assert ring is boundary("881e2040b5fffff")
    assert not ring.flags.writeable


def test_a_ring_of_cells_has_a_hole() -> None:
    (whole,) = dissolve(RING).geoms
    assert len(whole.interiors) == 1


def test_nothing_dissolves_to_nothing() -> None:
    assert dissolve([]).is_empty


def test_cells_across_the_antimeridian_are_cut_there() -> None:
    shape = dissolve(ACROSS)
    assert shape.is_valid
    assert shape.bounds[0] == -180.0
    assert shape.bounds[2] == 180.0
    widest = max(float(np.abs(np.diff(ring[:, 0])).max()) for ring in rings(shape))
    assert widest < 1.0
    parts = [cell_polygon(cell) for cell in ACROSS]
    assert shape.area == pytest.approx(sum(part.area for part in parts), rel=1e-9)
    assert shape.symmetric_difference(shapely.union_all(parts)).area < 1e-9


def test_a_geometry_dict_reads_back() -> None:
    shape = dissolve(DISK[::2])
    again = shapely.geometry.shape(geometry_dict(shape))
    assert again.equals(shape)


def test_lines_and_points_are_dropped() -> None:
    mixed = shapely.GeometryCollection(
        [
            shapely.Point(0, 0),
            shapely.LineString([(0, 0), (1, 1)]),
            shapely.MultiPolygon([shapely.box(0, 0, 1, 1)]),
        ]
    )
    assert multipolygon(mixed).equals(shapely.box(0, 0, 1, 1))


def test_simplifying_keeps_the_shape_and_the_limit() -> None:
    angle = np.linspace(0, 2 * np.pi, 20_001)
    wobble = 1 + 0.001 * np.sin(500 * angle)
    coast = multipolygon(shapely.Polygon(np.column_stack([wobble * np.cos(angle), wobble * np.sin(angle)])))
    for limit in (1000, 100):
        drawn = simplified(coast, limit, 1e-5)
        assert shapely.get_num_coordinates(drawn) <= limit
        assert drawn.is_valid
        assert drawn.symmetric_difference(coast).area < 0.02 * coast.area


def test_simplifying_a_thousand_islands_keeps_the_large_ones() -> None:
    islands = [shapely.Point(i % 40, i // 40).buffer(0.1 + 0.0002 * i) for i in range(1000)]
    drawn = simplified(shapely.MultiPolygon(islands), 400, 1e-4)
    assert shapely.get_num_coordinates(drawn) <= 400
    assert not drawn.is_empty
    assert drawn.intersects(islands[-1])


def test_the_interface_is_where_in_meets_out() -> None:
    domain = domain_from_bbox(-0.2, 51.45, 0.0, 51.55, 8)
    mask = domain.centres[:, 0] > 0
    lines = shapely.union_all([shapely.LineString(line) for line in interface(domain.cells, mask)])
    inner = dissolve([cell for cell, chosen in zip(domain.cells, mask, strict=True) if chosen])
    outer = dissolve([cell for cell, chosen in zip(domain.cells, mask, strict=True) if not chosen])
    edge = dissolve(domain.cells).boundary
    assert lines.intersection(edge.buffer(1e-7)).length < 1e-4
    # Length by Euler: the two outlines together are the domain's edge plus the interface twice.
    assert 2 * lines.length == pytest.approx(
        inner.boundary.length + outer.boundary.length - edge.length, rel=1e-4
    )


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_set_that_is_all_or_nothing_has_no_interface(everywhere: bool) -> None:
    assert interface(DISK, np.full(len(DISK), everywhere)) == []


def test_the_interface_survives_the_antimeridian() -> None:
    mask = np.array([cell_polygon(cell).centroid.y > -17 for cell in ACROSS])
    lines = interface(ACROSS, mask)
    assert lines
    assert max(float(np.ptp(line[:, 0])) for line in lines) < 180
    assert reduce(max, (len(line) for line in lines)) > 3


def test_pairs_of_edges_and_cells_are_counted_until_there_are_too_many() -> None:
    tree = shapely.STRtree([shapely.box(0, 0, 1, 1), shapely.box(2, 0, 3, 1), shapely.box(9, 9, 10, 10)])
    around = shapely.box(0.5, 0.5, 2.5, 2.0)  # one edge over both lower cells, two over one each
    assert areas._meetings(tree, around, 10) == 4
    assert areas._meetings(tree, shapely.MultiPolygon([around, shapely.box(5, 5, 6, 6)]), 10) == 4
    assert areas._meetings(tree, shapely.box(5, 5, 6, 6), 10) == 0


def test_a_line_is_open_where_a_region_is_cut_at_the_antimeridian() -> None:
    """Two boxes beside the date line: three sides each; one elsewhere has all four."""
    west, east, apart = (shapely.box(x, 64.0, x + 5.0, 69.0) for x in (175.0, -180.0, 20.0))
    assert [len(line) for line in rings(shapely.MultiPolygon([west, east, apart]))] == [4, 4, 5]
    twice = shapely.Polygon([(180, 0), (180, 1), (170, 2), (180, 3), (180, 4), (160, 2)])
    assert [line.tolist() for line in rings(shapely.MultiPolygon([twice]))] == [
        [[180.0, 1.0], [170.0, 2.0], [180.0, 3.0]],
        [[180.0, 4.0], [160.0, 2.0], [180.0, 0.0]],
    ]
