"""The curator's public layers in a bundle: written, read within limits, drawn everywhere, told apart."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyogrio
import pytest

from geo import Domain, rfc7946_findings
from geo.context.own_layers import OwnLayer, own_layer
from geo.context.surroundings import Surroundings
from hexcursion.bundle import BundleError, areas
from hexcursion.bundle.areas import AreaAnswer, borough_table, layers_bytes, read_layers
from hexcursion.bundle.geopackage import own_tables
from hexcursion.bundle.page.drawn import Released, drawing
from hexcursion.bundle.page.papers import map_pdf, map_png, picture_html
from hexcursion.bundle.products import MapValues
from hexcursion.bundle.read import Bundle, bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from hexcursion.lint.bundle import lint_bundle
from tests.browser.harness import count_colour
from tests.hexcursion.bundle.bundle_samples import make_release
from tests.hexcursion.bundle.exports.test_areas import square
from tests.hexcursion.bundle.exports.test_exports import sealed
from tests.hexcursion.bundle.page.test_map_page import Page
from tests.hexcursion.lint.test_lint_bundles import zipped

Contents = dict[str, bytes]
EVIL = "<b>West</b>"
LAYER = {
    "type": "FeatureCollection",
    "features": [
        square(-0.20, 51.47, -0.14, 51.54, name=EVIL),
        square(-0.14, 51.47, -0.05, 51.54, name="East & more"),
        {
            "type": "Feature",
            "properties": {"name": "Road"},
            "geometry": {"type": "LineString", "coordinates": [[-0.2, 51.5], [-0.05, 51.52]]},
        },
        {
            "type": "Feature",
            "properties": {"name": "Station"},
            "geometry": {"type": "Point", "coordinates": [-0.1, 51.5]},
        },
    ],
}


@pytest.fixture(scope="module")
def layers(domain: Domain) -> tuple[OwnLayer, ...]:
    return (own_layer(LAYER, domain, "boroughs"),)


@pytest.fixture(scope="module")
def contents(domain: Domain, layers: tuple[OwnLayer, ...]) -> Contents:
    return bundle_contents(make_release(domain, layers=layers))


@pytest.fixture(scope="module")
def bundle(contents: Contents) -> Bundle:
    return bundle_from_contents(contents)


def test_layers_come_back_as_they_went(contents: Contents, bundle: Bundle) -> None:
    written = json.loads(contents["layers.geojson"])
    assert rfc7946_findings(written) == []
    assert written["declared"].startswith("Public layers that the curator declared to be public.")
    assert [one["properties"] for one in written["features"]] == [
        {"layer": "boroughs", "label": label} for label in (EVIL, "East & more", "Road", "Station")
    ]
    assert read_layers(layers_bytes(bundle.layers)) == bundle.layers
    [layer] = bundle.layers
    assert [one.kind for one in layer.features] == ["area", "area", "line", "point"]


def test_a_bundle_without_layers_has_no_such_file(release: Any) -> None:
    assert "layers.geojson" not in bundle_contents(release)


def edited(contents: Contents, edit: Callable[[Any], None]) -> Contents:
    value = json.loads(contents["layers.geojson"])
    edit(value)
    return sealed({**contents, "layers.geojson": json.dumps(value).encode()})


def _repeat(value: Any) -> None:
    value["features"] *= 501


def _point(coordinates: Any) -> Callable[[Any], None]:
    def edit(value: Any) -> None:
        value["features"][3]["geometry"]["coordinates"] = coordinates

    return edit


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_repeat, "1 to 2,000 features"),
        (lambda value: value["features"].clear(), "1 to 2,000 features"),
        (lambda value: value["features"][0]["properties"].update(price=7), "a layer and a label"),
        (lambda value: value["features"][0]["properties"].update(label=7), "are texts"),
        (lambda value: value["features"][0]["properties"].update(label="x" * 101), "too long"),
        (lambda value: value["features"][0]["properties"].update(label="a\u202eb"), "cannot be shown"),
        (lambda value: value["features"][0]["properties"].update(layer=""), "no name"),
        (lambda value: value["features"][0].update(geometry=None), "without a shape"),
        (_point([[1000.0, 51.5]]), "not degrees"),
        (_point([["a", 51.5]]), "not GeoJSON"),
        (_point([[-0.1 + k * 1e-6, 51.5] for k in range(20_001)]), "more than 20,000 corners"),
        (
            lambda value: (
                [one["properties"].update(layer=f"layer {k}") for k, one in enumerate(value["features"] * 2)]
                and value.update(
                    features=[
                        {**value["features"][3], "properties": {"layer": str(k), "label": ""}}
                        for k in range(6)
                    ]
                )
            ),
            "6 layers are too many",
        ),
    ],
)
def test_what_no_release_writes_is_refused(
    contents: Contents, edit: Callable[[Any], None], said: str
) -> None:
    with pytest.raises(BundleError, match=said):
        bundle_from_contents(edited(contents, edit))


def test_layers_are_checked_against_their_sum(contents: Contents) -> None:
    with pytest.raises(BundleError, match=r"layers.geojson was changed"):
        bundle_from_contents({**contents, "layers.geojson": contents["layers.geojson"] + b"\n"})


def test_picture_label_and_page_show_lines_dots_and_names(contents: Contents, bundle: Bundle) -> None:
    for name in ("label.html", "map.html"):
        assert EVIL not in contents[name].decode()
    assert bundle.label_html == contents["label.html"].decode()
    statement = dict(bundle.statement)
    plain = map_png(statement, bundle.domain, bundle.published)
    assert map_png(statement, bundle.domain, bundle.published, bundle.layers) == contents["map.png"] != plain
    bare = picture_html(statement, bundle.domain, bundle.published)
    shown = picture_html(statement, bundle.domain, bundle.published, bundle.layers)
    assert shown != bare
    for name in ("label.html", "map.html"):
        assert shown in contents[name].decode()


def test_the_page_draws_the_layers_in_its_own_numbers(bundle: Bundle) -> None:
    near = Surroundings(own=bundle.layers, middle=bundle.domain.middle[0])
    data = drawing(
        Released(bundle.statement, bundle.domain, bundle.paths, bundle.field, near), bundle.published
    )
    [own] = data["own"]
    assert [len(line) for line in own["lines"]] == [10, 10, 4]
    assert (own["colour"], own["width"], own["dot"]) == ("", 1.3, 8.0)
    x, y = own["points"]
    assert 0.6 < x / data["width"] < 0.75
    assert 0.5 < y / data["height"] < 0.7
    assert [name for name, _, _ in data["names"]] == ["Road", "East & more", EVIL, "Station"]


def test_the_page_has_a_table_of_its_areas(contents: Contents, bundle: Bundle) -> None:
    page = Page(contents["map.html"])
    assert "Areas: share above £442,413" in page.text
    assert "The interval holds it with 90 % confidence, given the release." in page.text
    heads = [attrs for tag, attrs in page.tags if tag == "th" and attrs.get("scope") == "row"]
    assert len(heads) >= 2
    table = borough_table(bundle.domain, bundle.layers, bundle.published, MapValues(bundle.paths))
    assert table is not None
    assert [row[0] for row in table.rows] == ["East & more", EVIL]
    assert all(re.fullmatch(r"\d+ %", row[1]) for row in table.rows)
    assert all(re.fullmatch(r"\d+ % to \d+ %", row[2]) for row in table.rows)
    assert table.left_out == 0


def test_shares_of_a_half_are_a_half(domain: Domain, layers: tuple[OwnLayer, ...], bundle: Bundle) -> None:
    """Everything east of the border lies above: so does all of the one area, and nothing of the other."""
    east = domain.centres_lonlat[:, 0] > -0.14
    paths = np.where(east, 1.0, -1.0)[None, :]
    products = replace(bundle.published, votes=east.astype(float), vote_set=east, level=0.0)
    few = borough_table(domain, layers, products, MapValues(paths))
    many = borough_table(domain, layers, products, MapValues(np.repeat(paths, 10, axis=0)))
    assert few is not None
    assert many is not None
    assert few.intervals is False
    assert "too few draws of its field for intervals: that takes 10" in few.note
    assert [row[2] for row in few.rows] == ["–", "–"]
    assert [row[0] for row in few.rows] == ["East & more", EVIL]
    shares = [int(row[1].removesuffix(" %")) for row in few.rows]
    assert shares[0] >= 97
    assert shares[1] <= 4
    assert [row[1] for row in many.rows] == [row[1] for row in few.rows]
    for row in many.rows:  # every draw says the same, and the interval is rounded outwards
        low, high = (int(end) for end in re.findall(r"\d+", row[2]))
        assert low <= int(row[1].removesuffix(" %")) <= high <= low + 1


def test_an_interval_is_rounded_outwards() -> None:
    assert areas._row(AreaAnswer("a", 0.5, 0.296, 0.704, 0.9, 0.994)) == ("a", "50 %", "29 % to 71 %", "99 %")
    assert areas._row(AreaAnswer("a", 1.0, 0.29, 1.0, 0.9, 0.996))[2:] == ("29 % to 100 %", "all")


def test_without_named_areas_there_is_no_table(domain: Domain, bundle: Bundle) -> None:
    roads = own_layer({**LAYER, "features": LAYER["features"][2:]}, domain, "roads")  # type: ignore[index]
    unnamed = own_layer(LAYER, domain, "boroughs", "")
    for layer in (roads, unnamed):
        assert borough_table(domain, (layer,), bundle.published, bundle.values) is None


def test_the_lint_finds_the_papers_as_they_were_written(contents: Contents) -> None:
    assert "paper-changed" not in {finding.code for finding in lint_bundle(zipped(contents))}
    changed = {**contents, "map.html": contents["map.html"].replace(b"East &amp; more", b"East &amp; less")}
    assert "paper-changed" in {finding.code for finding in lint_bundle(zipped(changed))}


def test_what_the_file_is_stands_in_the_readme(contents: Contents, root: Path) -> None:
    assert "layers.geojson" in contents["README.txt"].decode()
    assert "`layers.geojson`" in (root / "docs" / "bundle.md").read_text()


@pytest.fixture(scope="module")
def styled(domain: Domain, layers: tuple[OwnLayer, ...]) -> Contents:
    river = {"type": "FeatureCollection", "features": LAYER["features"][2:3]}
    looks = (
        replace(layers[0], colour="#1f78b4", width=3.0),
        own_layer(river, domain, "River & co"),
    )
    return bundle_contents(make_release(domain, layers=looks))


def test_looks_are_in_the_bundle_and_in_every_picture(styled: Contents) -> None:
    read = bundle_from_contents(styled)
    assert [(one.name, one.colour, one.width) for one in read.layers] == [
        ("boroughs", "#1f78b4", 3.0),
        ("River & co", "", 0.0),
    ]
    written = json.loads(styled["layers.geojson"])
    assert written["styles"] == {"boroughs": {"colour": "#1f78b4", "width": 3.0}}
    near = Surroundings(own=read.layers, middle=read.domain.middle[0])
    shown = Released(read.statement, read.domain, read.paths, read.field, near)
    first, second = drawing(shown, read.published)["own"]
    assert (first["colour"], first["width"], first["dot"]) == ("#1f78b4", 3.0, 3.0)
    assert (second["colour"], second["width"], len(second["lines"])) == ("", 1.8, 1)
    first, second = near.packed()["own"]
    assert (first["colour"], first["width"]) == ([31, 120, 180], 3.0)
    assert (second["colour"], second["dot"]) == (None, 8.0)


def test_the_printed_map_has_their_colour(bundle: Bundle) -> None:
    pink = tuple(replace(one, colour="#ff00ff", width=4.0) for one in bundle.layers)
    counts = [
        count_colour(map_png(dict(bundle.statement), bundle.domain, bundle.published, layers), (255, 0, 255))
        for layers in (bundle.layers, pink)
    ]
    assert counts[0] == 0
    assert counts[1] > 2000


@pytest.mark.parametrize(
    ("styles", "said"),
    [
        ({"nobody": {"colour": "", "width": 2.0}}, "of layers that it does not hold"),
        ([], "of layers that it does not hold"),
        ({"boroughs": {"colour": "#1f78b4"}}, "is a colour and a width, and nothing else"),
        ({"boroughs": {"colour": "#1f78b4", "width": True}}, "is a colour and a width, and nothing else"),
        (
            {"boroughs": {"colour": "red;}", "width": 0}},
            "a layer's colour is written like #1f78b4, not 'red;}'",
        ),
        ({"boroughs": {"colour": "", "width": 99}}, "a layer's width is 0.5 to 12 pixels"),
        ({"boroughs": {"colour": "", "width": -1}}, "a layer's width is 0.5 to 12 pixels"),
    ],
)
def test_looks_that_no_release_writes_are_refused(contents: Contents, styles: object, said: str) -> None:
    def edit(value: Any) -> None:
        value["styles"] = styles

    with pytest.raises(BundleError, match=re.escape(said)):
        bundle_from_contents(edited(contents, edit))


def test_other_programs_find_the_layers_in_the_geopackage_with_their_looks(
    styled: Contents, tmp_path: Path
) -> None:
    path = tmp_path / "release.gpkg"
    path.write_bytes(styled["release.gpkg"])
    found = dict(pyogrio.list_layers(path).tolist())
    assert found == {
        "cells": "MultiPolygon",
        "regions": "MultiPolygon",
        "boundary": "MultiPolygon",
        "own_boroughs_areas": "MultiPolygon",
        "own_boroughs_lines": "MultiLineString",
        "own_boroughs_points": "MultiPoint",
        "own_river_co": "MultiLineString",
        "layer_styles": None,
    }
    areas = pyogrio.read_dataframe(path, layer="own_boroughs_areas")
    assert areas["label"].tolist() == [EVIL, "East & more"]
    assert areas.crs.to_epsg() == 4326
    assert areas.total_bounds.tolist() == pytest.approx([-0.20, 51.47, -0.05, 51.54])
    assert pyogrio.read_dataframe(path, layer="own_boroughs_points").geometry[0].geoms[0].x == -0.1
    assert len(pyogrio.read_dataframe(path, layer="cells")) == len(
        json.loads(styled["cells.geojson"])["features"]
    )
    with closing(sqlite3.connect(path)) as database:
        said = dict(database.execute("SELECT table_name, description FROM gpkg_contents").fetchall())
        looks = dict(database.execute("SELECT f_table_name, styleQML FROM layer_styles").fetchall())
        title = database.execute("SELECT identifier FROM gpkg_contents WHERE table_name = 'own_river_co'")
        assert title.fetchall() == [("River & co [own_river_co]",)]
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert said["own_boroughs_areas"].startswith("Public layers that the curator declared to be public.")
    assert said["cells"].startswith("Where do properties sell for more than")
    drawn = {}
    for table, text in looks.items():
        [symbol] = ElementTree.fromstring(text).iter("symbol") if table.startswith("own_") else [None]
        if symbol is not None:
            drawn[table] = (
                symbol.attrib["type"],
                {one.attrib["k"]: one.attrib["v"] for one in symbol.iter("prop")},
            )
    assert drawn["own_boroughs_areas"][0] == "fill"
    assert drawn["own_boroughs_areas"][1]["outline_color"] == "31,120,180,255"
    assert drawn["own_boroughs_areas"][1]["outline_width"] == "0.78"  # 3 pixels of 0.26 mm
    assert drawn["own_boroughs_lines"][1]["line_color"] == "31,120,180,255"
    assert drawn["own_boroughs_points"] == (
        "marker",
        {
            "name": "circle",
            "color": "31,120,180,255",
            "outline_style": "no",
            "size": "0.78",
            "size_unit": "MM",
        },
    )
    assert drawn["own_river_co"][1] == {
        "line_color": "23,38,43,255",
        "line_width": "0.468",
        "line_width_unit": "MM",
    }


def test_tables_of_one_name_are_numbered(layers: tuple[OwnLayer, ...]) -> None:
    one = OwnLayer("Ünder_ground!", layers[0].features[2:3])
    other = replace(one, name="ünder ground")
    assert [table.table for table in own_tables((one, other))] == ["own_ünder_ground", "own_ünder_ground_2"]


@pytest.mark.parametrize("draw", [map_png, map_pdf])
def test_the_printed_map_names_its_sources(
    draw: Callable[..., bytes], bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every licence asks for it: all credits of the statement stand on the sheet, as PNG and as PDF."""
    drawn: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "hexcursion.bundle.page.papers.draw_map", lambda *_, **keywords: drawn.append(keywords) or b"picture"
    )
    statement = {**bundle.statement, "attribution": ["Office of Maps, 2024", "Register of Sales"]}
    assert draw(statement, bundle.domain, bundle.published, bundle.layers) == b"picture"
    (sheet,) = drawn
    assert sheet["attribution"] == ["Office of Maps, 2024", "Register of Sales"]
    assert sheet["around"].own == bundle.layers
    assert bundle.statement["release"]["id"] in sheet["subtitle"]
    assert sheet.get("kind", "png") == ("png" if draw is map_png else "pdf")
