"""Public numbers per hexagon: their sums, means, distances and units, and every refusal at its limit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from geo import DomainError, domain_from_bbox
from geo.context import covariates
from geo.context.covariates import (
    distances,
    layer_numbers,
    public_values,
    table_columns,
    table_totals,
    totals,
)
from geo.context.own_layers import Feature, OwnLayer
from geo.crs import project, to_lonlat

DOMAIN = domain_from_bbox(-0.06, 51.49, -0.04, 51.505, 8)
FIRST, SECOND = (tuple(float(each) for each in DOMAIN.centres_lonlat[k]) for k in (0, 1))
BESIDE = DOMAIN.centres_lonlat.min(axis=0) - 1.0  # a degree away from every hexagon


def geojson(*features: tuple[dict[str, Any], object], **more: object) -> bytes:
    made = [{"type": "Feature", "properties": {"n": n}, "geometry": shape} for shape, n in features]
    return json.dumps({"type": "FeatureCollection", "features": made, **more}).encode()


def point(place: Any) -> dict[str, Any]:
    return {"type": "Point", "coordinates": [float(place[0]), float(place[1])]}


def shaped(shape: dict[str, Any]) -> Any:
    return shapely.from_geojson(json.dumps(shape))


def around(place: Any, half: float) -> dict[str, Any]:
    west, south, east, north = (float(place[k]) + side for side in (-half, half) for k in (0, 1))
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}


def test_totals_add_up_where_points_lie_and_pass_over_those_beside_the_domain() -> None:
    two = {"type": "MultiPoint", "coordinates": [FIRST, SECOND]}
    found = totals(
        geojson((point(FIRST), 3), (point(FIRST), 0), (two, 10), (point(BESIDE), 99)), DOMAIN, "p", "n"
    )
    assert found[:2].tolist() == [8.0, 5.0]
    assert found.sum() == 13.0


def test_an_area_too_small_for_a_centre_counts_once_and_a_large_one_keeps_what_lies_outside() -> None:
    small = around((FIRST[0] + 0.0005, FIRST[1]), 0.0002)
    assert totals(geojson((small, 7)), DOMAIN, "p", "n")[0] == 7.0
    large = around(DOMAIN.centres_lonlat.mean(axis=0), 0.2)
    found = totals(geojson((large, 100.0)), DOMAIN, "p", "n")
    square = shapely.transform(
        shapely.from_geojson(json.dumps(large)), lambda at: project(at, DOMAIN.crs)
    ).area
    np.testing.assert_allclose(found, 100.0 * DOMAIN.areas * 1e6 / square, rtol=1e-9)


def test_an_area_whose_centres_are_few_shares_its_whole_number() -> None:
    """An outline smaller than its hexagon gives it no more than it has."""
    found = totals(geojson((around(FIRST, 0.0005), 12.0)), DOMAIN, "p", "n")
    assert found[0] == 12.0
    assert found.sum() == 12.0


@pytest.mark.parametrize(
    ("shape", "n", "said"),
    [
        (point(FIRST), -1, "the layer 'p' has a negative number in 'n': correct it."),
        (point(FIRST), -0.001, "a negative number"),
        (point(FIRST), "many", "a feature without a number in that column"),
        (point(FIRST), "inf", "a feature without a number in that column"),
        (point(FIRST), None, "no entries in a column 'n'"),
        ({"type": "LineString", "coordinates": [FIRST, SECOND]}, 1, "has lines, which hold no numbers"),
        (
            {"type": "MultiLineString", "coordinates": [[FIRST, SECOND]]},
            1,
            "has lines, which hold no numbers",
        ),
    ],
)
def test_what_cannot_be_a_total_is_refused(shape: dict[str, Any], n: object, said: str) -> None:
    with pytest.raises(DomainError, match=re.escape(said)):
        totals(geojson((shape, n)), DOMAIN, "p", "n")


def test_a_layer_in_metres_of_the_grid_gives_the_totals_of_the_same_layer_in_degrees() -> None:
    """The same point in metres of the British grid, as the older `crs` member names it."""
    grid = project(np.array([FIRST]), "EPSG:27700")[0]
    assert to_lonlat(grid[:1], grid[1:], "EPSG:27700")[0][0] == pytest.approx(FIRST[0], abs=1e-6)
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::27700"}}
    assert totals(geojson((point(grid), 4), crs=crs), DOMAIN, "p", "n")[0] == 4.0


def table(folder: Path, text: str) -> Path:
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_of_places_adds_up_and_may_name_its_columns_in_capitals(tmp_path: Path) -> None:
    rows = f"{FIRST[0]},{FIRST[1]},2\n{FIRST[0]},{FIRST[1]},0\n{BESIDE[0]},{BESIDE[1]},50\n"
    for header in ("lon,lat,n", " Longitude ,LATITUDE,n", "x,y,n", "lng,lat,n", "long,lat,n"):
        found = table_totals(table(tmp_path, f"{header}\n{rows}"), DOMAIN, "n")
        assert found[0] == found.sum() == 2.0
        assert found.shape == (DOMAIN.size,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t.csv must have rows, and the columns lon, lat and 'n' or h3 and 'n'"),
        ("lon,lat,n\n", "must have rows"),
        ("lon,lat,m\n0,51,1\n", "must have rows, and the columns"),
        ("lon,n\n0,1\n", "must have rows, and the columns"),
        ("lat,n\n0,1\n", "must have rows, and the columns"),
        ("lon,lat,n\n0,51,-0.5\n", "t.csv has a negative number in 'n': correct it."),
        ("lon,lat,n\n0,51,\n", "a feature without a number"),
        ("lon,lat,n\n0,north,1\n", "a feature without a number"),
    ],
)
def test_a_table_of_places_that_cannot_be_added_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DomainError, match=re.escape(said)):
        table_totals(table(tmp_path, text), DOMAIN, "n")


def test_a_file_that_is_missing_or_no_text_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_bytes(b"h3,n\n\xff\xfe\n")
    readers = (
        lambda path: table_totals(path, DOMAIN, "n"),
        lambda path: public_values(path, DOMAIN, "n"),
        table_columns,
    )
    for reads in readers:
        with pytest.raises(DomainError, match=r"there is no file gone\.csv: correct its name"):
            reads(tmp_path / "gone.csv")
    for reads in readers[:2]:
        with pytest.raises(DomainError, match=r"raw\.csv cannot be read as a table: save it as CSV in UTF-8"):
            reads(tmp_path / "raw.csv")
    (tmp_path / "head.csv").write_bytes(b"h3,\xff\xfe\n")
    with pytest.raises(DomainError, match=r"head\.csv cannot be read as a table"):
        table_columns(tmp_path / "head.csv")


def test_the_columns_of_a_table_are_those_beside_its_hexagons(tmp_path: Path) -> None:
    assert table_columns(table(tmp_path, "a,h3,b\n")) == ("a", "b")
    assert table_columns(table(tmp_path, "\ufeffh3,n\n")) == ("n",), "with the mark of its encoding"
    for text in ("h3\n", "a,b\n", ""):
        with pytest.raises(DomainError, match=r"must have a column h3 and one of numbers"):
            table_columns(table(tmp_path, text))


def test_a_table_of_the_largest_size_is_read_and_a_larger_one_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "h3,n\n" + "".join(f"{cell},1\n" for cell in DOMAIN.cells)
    monkeypatch.setattr(covariates, "MAX_BYTES", len(text))
    assert public_values(table(tmp_path, text), DOMAIN, "n").tolist() == [1.0] * DOMAIN.size
    monkeypatch.setattr(covariates, "MAX_BYTES", len(text) - 1)
    with pytest.raises(DomainError, match="is larger than 0 MiB"):
        public_values(table(tmp_path, text), DOMAIN, "n")


def test_a_hexagon_may_repeat_its_value_but_not_change_it(tmp_path: Path) -> None:
    rows = [f"{cell},{k}" for k, cell in enumerate(DOMAIN.cells)]
    text = "\n".join(["h3,value", *rows, f" {DOMAIN.cells[1].upper()} ,1"])
    assert public_values(table(tmp_path, text), DOMAIN).tolist() == list(range(DOMAIN.size))
    text = "\n".join(["h3,value", *rows, f"{DOMAIN.cells[1]},2"])
    with pytest.raises(DomainError, match=f"row {DOMAIN.size + 1} of t.csv gives a hexagon a second value"):
        public_values(table(tmp_path, text), DOMAIN)
    text = "\n".join(["h3,value", *rows[:-1], f"{DOMAIN.cells[-1]},"])
    with pytest.raises(DomainError, match=rf"row {DOMAIN.size} of t\.csv has no number 'value'"):
        public_values(table(tmp_path, text), DOMAIN)
    with pytest.raises(DomainError, match=f"1 of {DOMAIN.size} hexagons have no value in t.csv"):
        public_values(table(tmp_path, "\n".join(["h3,value", *rows[:-1]])), DOMAIN)


def layer(*features: tuple[dict[str, Any], str]) -> OwnLayer:
    return OwnLayer(
        "p", tuple(Feature(label, shapely.from_geojson(json.dumps(shape))) for shape, label in features)
    )


EVERYWHERE = around(DOMAIN.centres_lonlat.mean(axis=0), 0.5)


def test_a_layers_numbers_are_the_first_areas_or_the_mean_of_points_where_no_area_is() -> None:
    others = [(point(each), "9") for each in DOMAIN.centres_lonlat[2:]]
    points = [(point(FIRST), "1"), (point(FIRST), "4"), *others, (point(BESIDE), "99")]
    found = layer_numbers(layer((around(SECOND, 0.0005), "7"), *points), DOMAIN)
    assert found[:3].tolist() == [2.5, 7.0, 9.0]
    first = layer_numbers(layer((EVERYWHERE, "-3"), (EVERYWHERE, "5")), DOMAIN)
    assert first.tolist() == [-3.0] * DOMAIN.size
    assert layer_numbers(layer((EVERYWHERE, "5"), (point(FIRST), "8")), DOMAIN)[0] == 5.0, "areas go first"


def test_a_layer_that_leaves_hexagons_without_a_number_or_has_lines_is_refused() -> None:
    with pytest.raises(DomainError, match=rf"{DOMAIN.size - 1:,} of {DOMAIN.size:,} hexagons have no number"):
        layer_numbers(layer((point(FIRST), "1")), DOMAIN)
    line = {"type": "LineString", "coordinates": [FIRST, SECOND]}
    with pytest.raises(DomainError, match="the layer 'p' has lines, which belong to no single hexagon"):
        layer_numbers(layer((EVERYWHERE, "1"), (line, "2")), DOMAIN)


def test_distances_are_metres_on_the_map_and_nothing_inside_an_area() -> None:
    found = distances(layer((point(FIRST), "")), DOMAIN)
    apart = np.hypot(*(DOMAIN.centres - DOMAIN.centres[0]).T)
    np.testing.assert_allclose(found, apart, atol=0.01)
    assert distances(layer((EVERYWHERE, "")), DOMAIN).tolist() == [0.0] * DOMAIN.size
    both = distances(layer((point(FIRST), ""), (point(SECOND), "")), DOMAIN)
    assert both[:2].tolist() == pytest.approx([0.0, 0.0], abs=0.01), "to the nearest of them"


def test_a_number_without_a_place_is_refused() -> None:
    nowhere = {"type": "MultiPoint", "coordinates": []}
    assert totals(geojson((point(FIRST), 1)), DOMAIN, "p", "n").sum() == 1.0
    with pytest.raises(DomainError, match="without a place"):
        totals(geojson((nowhere, 5)), DOMAIN, "p", "n")
