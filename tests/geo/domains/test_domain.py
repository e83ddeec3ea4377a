"""The domain: which cells, in which order, where, with which neighbours; all of it public."""

from __future__ import annotations

import pickle
from pathlib import Path

import h3
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgp_core.priors.lattice import Lattice
from geo import MAX_CELLS, Domain, DomainError, domain_from_bbox, domain_from_cells, domain_from_geojson
from geo.domains.domain import numbers_at

CITY = (-0.2, 51.45, 0.0, 51.55)
RING = [[-0.2, 51.45], [0.0, 51.45], [0.05, 51.55], [-0.1, 51.5], [-0.2, 51.55], [-0.2, 51.45]]
HOLE = [[-0.15, 51.46], [-0.1, 51.46], [-0.1, 51.48], [-0.15, 51.48], [-0.15, 51.46]]
PLACES = {
    "London": CITY,
    "Singapore, on the equator": (103.6, 1.2, 104.0, 1.5),
    "Fiji, across the antimeridian": (179.2, -17.5, -179.6, -16.2),
    "Tromsø": (18.6, 69.5, 19.2, 69.8),
}


@pytest.fixture(scope="module", params=PLACES, ids=str)
def domain(request: pytest.FixtureRequest) -> Domain:
    resolution = 5 if "Fiji" in request.param else 7
    box = PLACES[request.param]
    return domain_from_bbox(*box, resolution, crosses_date_line=box[0] > box[2])


def test_a_cell_belongs_exactly_if_its_centre_does() -> None:
    domain = domain_from_geojson({"type": "Polygon", "coordinates": [RING, HOLE]}, 8)
    wider = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 8)
    inside = shapely.contains_xy(shapely.Polygon(RING, [HOLE]), wider.centres_lonlat)
    assert 50 < domain.size < wider.size
    assert set(domain.cells) == {cell for cell, belongs in zip(wider.cells, inside, strict=True) if belongs}


def test_cells_are_sorted_unique_and_of_one_resolution(domain: Domain) -> None:
    assert list(domain.cells) == sorted(set(domain.cells))
    assert {h3.get_resolution(cell) for cell in domain.cells} == {domain.resolution}


def test_the_domain_does_not_depend_on_how_its_region_is_written() -> None:
    geometry = {"type": "Polygon", "coordinates": [RING]}
    clockwise = {"type": "Polygon", "coordinates": [RING[::-1]]}
    collection = {
        "type": "FeatureCollection",
        "features": [{"type": "Feature", "properties": None, "geometry": geometry}],
    }
    texts = [domain_from_geojson(form, 8).cells for form in (geometry, clockwise, collection)]
    assert texts[0] == texts[1] == texts[2]


def test_two_touching_halves_are_the_whole() -> None:
    west, south, east, north = CITY
    halves = [shapely.box(west, south, -0.1, north), shapely.box(-0.1, south, east, north)]
    split = {
        "type": "GeometryCollection",
        "geometries": [shapely.geometry.mapping(half) for half in halves],
    }
    assert domain_from_geojson(split, 8).cells == domain_from_bbox(*CITY, 8).cells


def test_projected_distances_are_those_on_the_ground(domain: Domain) -> None:
    """Against great-circle distances on the ellipsoid, within the distortion that `local_crs` states."""
    from pyproj import Geod

    chosen = np.linspace(0, domain.size - 1, 12).astype(int)
    for a in chosen:
        for b in chosen[chosen > a]:
            ground = Geod(ellps="WGS84").inv(*domain.centres_lonlat[a], *domain.centres_lonlat[b])[2]
            drawn = float(np.linalg.norm(domain.centres[a] - domain.centres[b]))
            assert drawn == pytest.approx(ground, rel=1e-3)


def test_the_projection_is_centred_on_the_cells(domain: Domain) -> None:
    # The origin is rounded to 1e-4 degrees, about 11 m; a mean on the sphere and one in the plane differ
    # by far less than a cell.
    assert np.linalg.norm(domain.centres.mean(axis=0)) < 0.05 * domain.spacing


def test_neighbours_are_those_that_share_an_edge(domain: Domain) -> None:
    graph = domain.adjacency
    assert (graph != graph.T).nnz == 0
    assert graph.diagonal().sum() == 0
    assert set(graph.data.tolist()) == {1.0}
    for index in np.linspace(0, domain.size - 1, 15).astype(int).tolist():
        naive = {j for j, cell in enumerate(domain.cells) if h3.are_neighbor_cells(domain.cells[index], cell)}
        assert set(graph[index].indices.tolist()) == naive


def test_neighbours_lie_a_spacing_apart(domain: Domain) -> None:
    """H3's hexagons are not regular, so one spacing stands for distances that differ by some per cent."""
    pairs = domain.adjacency.tocoo()
    apart = np.linalg.norm(domain.centres[pairs.row] - domain.centres[pairs.col], axis=1)
    assert apart.min() > 0.8 * domain.spacing
    assert apart.max() < 1.2 * domain.spacing


@pytest.mark.parametrize("padding", [0, 1, 3])
def test_the_lattice_is_the_domain_and_its_padding(domain: Domain, padding: int) -> None:
    lattice = Lattice(*domain.lattice_arrays(padding))
    np.testing.assert_array_equal(lattice.domain_centres, domain.centres)
    within = lattice.adjacency[lattice.inside][:, lattice.inside]
    assert (within != domain.adjacency).nnz == 0
    degrees = np.asarray(lattice.adjacency.sum(axis=1)).ravel()
    if padding:
        assert degrees[lattice.inside].min() >= 5  # every cell of the domain has all its neighbours
    expected = {near for cell in domain.cells for near in h3.grid_disk(cell, padding)}
    assert lattice.centres.shape[0] == len(expected)


def test_locate_finds_every_centre_and_nothing_else(domain: Domain) -> None:
    lon, lat = domain.centres_lonlat.T
    np.testing.assert_array_equal(domain.locate(lon, lat), np.arange(domain.size))
    outside = domain.locate([np.nan, np.inf, 0.0, 500.0, lon[0]], [lat[0], lat[0], 0.0, lat[0], 91.0])
    assert outside.tolist() == [-1] * 5
    assert domain.locate([], []).shape == (0,)


def test_locate_says_which_cell_holds_a_point_near_an_edge() -> None:
    domain = domain_from_bbox(*CITY, 8)
    rng = np.random.default_rng(7)
    lon, lat = rng.uniform(-0.25, 0.05, 400), rng.uniform(51.4, 51.6, 400)
    expected = [h3.latlng_to_cell(y, x, 8) for x, y in zip(lon, lat, strict=True)]
    found = domain.locate(lon, lat)
    assert 0 < (found >= 0).sum() < 400
    for index, cell in zip(found.tolist(), expected, strict=True):
        assert (domain.cells[index] == cell) if index >= 0 else (cell not in set(domain.cells))


def test_a_single_cell_is_a_domain() -> None:
    domain = domain_from_cells(["88194ad001fffff"])
    assert domain.size == 1
    assert domain.spacing == pytest.approx(h3.average_hexagon_edge_length(8, "m") * 3**0.5)
    assert domain.adjacency.nnz == 0
    Lattice(*domain.lattice_arrays(2))


def test_cells_of_a_bundle_give_the_same_domain(domain: Domain) -> None:
    again = domain_from_cells(reversed(domain.cells), domain.region)
    assert again.cells == domain.cells
    assert again.crs == domain.crs
    np.testing.assert_array_equal(again.centres, domain.centres)
    covered = domain_from_cells(domain.cells).region
    assert shapely.contains_xy(covered, domain.centres_lonlat).all()


def test_a_domain_travels_to_another_process(domain: Domain) -> None:
    _ = domain.centres, domain.adjacency
    there = pickle.loads(pickle.dumps(domain))
    assert there == domain
    np.testing.assert_array_equal(there.centres, domain.centres)


def test_centres_cannot_be_overwritten(domain: Domain) -> None:
    with pytest.raises(ValueError, match="read-only"):
        domain.centres[0, 0] = 0.0


@pytest.mark.parametrize(
    ("box", "resolution", "words"),
    [
        ((0, 0, 1, 1), 15, f"more than the {MAX_CELLS:,} this program handles: choose resolution 9 or"),
        ((0, 0, 0.001, 0.001), 5, "resolution 10 gives some"),
        ((0, 0, 1e-9, 1e-9), 5, "draw a larger region"),
        ((0, 0, 1, 1), 16, "whole number from 0 to 15"),
        ((0, 0, 1, 1), 7.5, "whole number from 0 to 15"),
        ((0, 0, 1, 1), "eight", "whole number from 0 to 15"),
        ((0, 0, 1, 1), float("nan"), "whole number from 0 to 15"),
    ],
)
def test_what_gives_no_domain_gets_a_sentence(
    box: tuple[float, float, float, float], resolution: int, words: str
) -> None:
    with pytest.raises(DomainError, match=words):
        domain_from_bbox(*box, resolution)


def test_the_resolution_in_the_sentence_does_give_cells() -> None:
    with pytest.raises(DomainError, match="resolution 10 gives some"):
        domain_from_bbox(0, 0, 0.001, 0.001, 5)
    assert domain_from_bbox(0, 0, 0.001, 0.001, 10).size >= 1
    with pytest.raises(DomainError):
        domain_from_bbox(0, 0, 0.001, 0.001, 9)


def test_a_sliver_across_the_globe_does_not_exhaust_memory() -> None:
    """H3 sets memory aside for the bounding box of a polygon, however thin the polygon is."""
    sliver = {"type": "Polygon", "coordinates": [[[0, 0], [1e-6, 0], [100, 60], [0, 0]]]}
    with pytest.raises(DomainError, match="choose a coarser resolution"):
        domain_from_geojson(sliver, 12)


def test_a_region_wider_than_half_the_globe_is_filled() -> None:
    """H3 alone would take it for its complement."""
    domain = domain_from_bbox(-170, -60, 170, 60, 1, crosses_date_line=False)
    lon, lat = domain.centres_lonlat.T
    assert (np.abs(lon) < 170).all()
    assert (np.abs(lat) < 60).all()
    everywhere = [cell for base in h3.get_res0_cells() for cell in h3.cell_to_children(base, 1)]
    expected = {
        c for c in everywhere if abs(h3.cell_to_latlng(c)[1]) < 170 and abs(h3.cell_to_latlng(c)[0]) < 60
    }
    assert set(domain.cells) == expected


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([], "at least one cell"),
        (["nonsense"], "not an H3 cell"),
        (["88194AD001FFFFF"], "not an H3 cell"),
        (["88194ad001fffff", "87194ad00ffffff"], "same H3 resolution"),
        ([12], "not an H3 cell"),
    ],
)
def test_wrong_cells_get_a_sentence(cells: list[str], words: str) -> None:
    with pytest.raises(DomainError, match=words):
        domain_from_cells(cells)


def test_a_domain_cannot_be_built_unsorted() -> None:
    good = domain_from_bbox(*CITY, 7)
    with pytest.raises(DomainError, match="sorted and unique"):
        Domain(good.cells[::-1], good.region, "")
    with pytest.raises(DomainError, match="sorted and unique"):
        Domain((good.cells[0], good.cells[0]), good.region, "")


@settings(max_examples=40)
@given(
    lon=st.floats(-179.9, 179.9),
    lat=st.floats(-80, 80),
    size=st.floats(0.05, 3.0),
    resolution=st.integers(2, 5),
)
def test_any_box_on_earth_gives_a_consistent_domain_or_a_sentence(
    lon: float, lat: float, size: float, resolution: int
) -> None:
    east = lon + size if lon + size <= 180 else lon + size - 360
    try:
        domain = domain_from_bbox(lon, lat, east, lat + size, resolution, crosses_date_line=lon > east)
    except DomainError as error:
        reason = str(error)
    else:
        reason = ""
    if reason:
        assert "gives some" in reason or "larger" in reason
        return
    np.testing.assert_array_equal(domain.locate(*domain.centres_lonlat.T), np.arange(domain.size))
    assert np.isfinite(domain.centres).all()
    assert domain.region.is_valid


def test_greater_london(shared_data: Path) -> None:
    file = shared_data / "boundaries" / "greater_london_wgs84.geojson"
    domain = domain_from_geojson(file, 8)
    assert domain.size == 2375
    assert shapely.contains_xy(domain.region, domain.centres_lonlat).all()
    assert shapely.get_num_coordinates(domain.drawn_outline) <= 2000
    assert domain.spacing == pytest.approx(878, abs=5)
    boroughs = domain_from_geojson(shared_data / "boundaries" / "london_boroughs_wgs84.geojson", 8)
    # The boroughs' file follows a slightly different shore line.
    assert len(set(domain.cells) ^ set(boroughs.cells)) < 20


@pytest.mark.parametrize("resolution", [0, 1, 9, 15])
def test_every_point_of_the_world_lies_in_the_cell_that_h3_says(resolution: int) -> None:
    rng = np.random.default_rng(resolution)
    lat, lon = np.degrees(np.arcsin(rng.uniform(-1, 1, 300))), rng.uniform(-180, 180, 300)
    want = [int(h3.latlng_to_cell(y, x, resolution), 16) for y, x in zip(lat, lon, strict=True)]
    assert numbers_at(lon, lat, resolution).tolist() == want
