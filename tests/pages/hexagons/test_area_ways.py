"""Naming the area on its screen: around a place, by an outline, and public layers over the map."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from geo import DomainError, domain_from_bbox, region_from_geojson
from geo.context.surroundings import Place
from hexcursion.project import area
from pages.hexagons import layers, ways
from pages.hexagons.ways import outline_file, place_words, take_outline
from pages.shared.session.previews import Preview, proposal_of
from pages.shared.steps import DATA, HEXAGONS
from tests.hexcursion.bundle.exports.test_areas import square
from tests.pages.conftest import OpenApp, press, texts
from tests.pages.data_steps import uploaded_sensors, work_of


def at_hexagons(open_app: OpenApp) -> AppTest:
    app = press(open_app(DATA.path), "Use the generated example")
    app.switch_page(HEXAGONS.path).run()
    assert not app.exception
    return app


def test_a_place_and_its_reach_become_a_box(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    here = [Place("Northby", 2.2, 54.8, 9_000), Place("Northby", -80.0, 40.0, 70)]
    monkeypatch.setattr(ways, "find_places", lambda name: tuple(here) if name == "North" else ())
    monkeypatch.setattr(ways, "folder", Path)
    app = at_hexagons(open_app)
    mark = work_of(app).mark
    app.radio(key=f"region_way_{mark}").set_value("place").run()
    app.text_input(key=f"place_name_{mark}").set_value("Nowhere").run()
    assert "No place of the world" in texts(app)
    app.text_input(key=f"place_name_{mark}").set_value("North").run()
    assert not app.exception
    assert work_of(app).choices["bbox"] == (2.044, 54.7101, 2.356, 54.8899)
    assert work_of(app).choices["region"] is None
    app.number_input(key=f"place_reach_{mark}").set_value(5.0).run()
    assert work_of(app).choices["bbox"] == (2.122, 54.755, 2.278, 54.845)
    assert place_words(here[0]).replace("\\", "") == "Northby, 54.80° N, 2.20° E, about 9,000 people"


def test_an_outline_is_read_like_a_file_of_a_stranger() -> None:
    content = outline_file([[0.0, 51.0], [1.0, 51.0], [1.0, 52.0]])
    assert json.loads(content) == {
        "type": "Polygon",
        "coordinates": [[[0.0, 51.0], [1.0, 51.0], [1.0, 52.0], [0.0, 51.0]]],
    }
    assert region_from_geojson(outline_file([[179.5, 0], [179.9, 0], [179.7, 1]])).shape.area > 0
    assert json.loads(outline_file([[365.0, 1], [366.0, 1], [366.0, 2]]))["coordinates"][0][0] == [5.0, 1.0]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (None, "needs 3 to 500 corners"),
        ("text", "needs 3 to 500 corners"),
        ([[0, 51], [1, 51]], "needs 3 to 500 corners"),
        ([[0, 51]] * 501, "needs 3 to 500 corners"),
        ([[0, 51], [1, 51], [1, "52"]], "no corner"),
        ([[0, 51], [1, 51], [1, 52, 3]], "no corner"),
        ([[0, 51], [1, 51], {"x": 1}], "no corner"),
        ([[0, 51], [1, 51], [1, float("nan")]], "no corner"),
        ([[0, 51], [1, 51], [2, 51]], "encloses no area"),
        ([[0, 91], [1, 91], [1, 92]], "90 degrees|degrees"),
        ([[179, 0], [-179, 0], [-179, 1]], "antimeridian"),
    ],
)
def test_what_is_no_outline_is_refused(sent: object, said: str) -> None:
    with pytest.raises(DomainError, match=said):
        outline_file(sent)


def test_an_outline_becomes_the_area_and_a_bad_one_changes_nothing(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways.maps, "built", lambda: True)
    app = at_hexagons(open_app)
    work = work_of(app)
    west, south, east, north = work.domain.region.bounds
    ring = [[west, south], [east, south], [east, (south + north) / 2], [west, (south + north) / 2]]
    take_outline(work, ring)
    app.radio(key=f"region_way_{work.mark}").set_value("draw").run()
    assert work_of(app).choices["region"] == work.uploads["drawn"]
    assert work_of(app).domain.region.bounds == pytest.approx(
        (west, south, east, (south + north) / 2), abs=1e-5
    )
    before = work.uploads["drawn"]
    take_outline(work, [[0, 0]])
    assert work.uploads["drawn"] == before


def test_layers_are_drawn_named_and_taken_away(open_app: OpenApp) -> None:
    app = at_hexagons(open_app)
    work = work_of(app)
    west, south, east, north = work.domain.region.bounds
    boroughs = {
        "type": "FeatureCollection",
        "features": [
            square(west, south, (west + east) / 2, north, name="A-town", code="1"),
            square((west + east) / 2, south, east, north, name="B-town", code="2"),
        ],
    }
    path = str(work.folder.keep("boroughs.geojson", json.dumps(boroughs).encode()))
    layers._show(work, [layers.Wish(path, "name")])
    app.run()
    assert not app.exception
    assert work.choices["layers"] == (path,)
    assert {one.name for one in work.layers[0].labels} == {"A-town", "B-town"}
    [column] = [box for box in app.selectbox if box.label == "Names from its column"]
    assert column.options == ["name", "code", "no names"]
    column.set_value("code").run()
    assert [one.label for one in work_of(app).layers[0].features] == ["1", "2"]
    assert work_of(app).choices["label_columns"] == ("code",)
    assert "boroughs: 2 features, 2 names" in texts(app)
    assert work_of(app).choices["layer_colours"] == work_of(app).choices["layer_widths"] == ()
    [picker] = app.color_picker
    picker.set_value("#1f78b4").run()
    [width] = [one for one in app.slider if one.label == "Width (pixels, 0: usual)"]
    width.set_value(2.5).run()
    assert not app.exception
    assert work_of(app).choices["layer_colours"] == ("#1f78b4",)
    assert (work_of(app).layers[0].colour, work_of(app).layers[0].stroke) == ("#1f78b4", 2.5)
    press(app, "Remove the layers")
    assert work_of(app).layers == ()
    assert work_of(app).choices["layers"] == ()


def test_a_layer_of_elsewhere_is_left_out_with_a_reason(open_app: OpenApp) -> None:
    app = at_hexagons(open_app)
    work = work_of(app)
    far = {"type": "FeatureCollection", "features": [square(100.0, 0.0, 101.0, 1.0, name="far")]}
    path = str(work.folder.keep("far.geojson", json.dumps(far).encode()))
    layers._show(work, [layers.Wish(path, "name")])
    assert work.layers == ()
    assert work.choices["layers"] == ()


@pytest.mark.slow
def test_the_districts_of_the_example_are_a_layer(open_app: OpenApp) -> None:
    work = work_of(at_hexagons(open_app))
    assert len(work.layers[0].areas) == 12
    assert "North Deep" in [area.label for area in work.layers[0].areas]


def test_areas_by_name_become_region_and_layer(open_app: OpenApp) -> None:
    app = at_hexagons(open_app)
    mark = work_of(app).mark
    app.radio(key=f"region_way_{mark}").set_value("named").run()
    app.multiselect(key=f"areas_{mark}").set_value(["Utrecht, Netherlands", "Gelderland, Netherlands"]).run()
    assert not app.exception
    work = work_of(app)
    assert Path(work.choices["region"]).name == "chosen_areas.geojson"
    assert work.choices["layers"][-1] == work.choices["region"]
    assert [area.label for area in work.layers[-1].areas] == ["Utrecht", "Gelderland"]
    app.multiselect(key=f"areas_{mark}").set_value(["Utrecht, Netherlands"]).run()
    assert [area.label for area in work_of(app).layers[-1].areas] == ["Utrecht"]


def test_a_resolution_is_proposed_from_area_and_a_stated_number_alone() -> None:
    domain = domain_from_bbox(5.0, 47.0, 15.0, 55.0, 5)
    assert proposal_of(domain.region, 900).resolution == 4  # type: ignore[union-attr]
    assert proposal_of(domain.region, 15_000).resolution == 5  # type: ignore[union-attr]
    assert proposal_of(domain.region, None).resolution == 5  # type: ignore[union-attr]
    # Half of 2,000 public rows are in the area: as if a thousand were stated.
    places = ((10.0, 50.0), (30.0, 50.0))
    public = Preview((), 2_000, "", "reading", False, (), (), places)
    assert proposal_of(domain.region, None, public).resolution == 4  # type: ignore[union-attr]
    assert proposal_of(domain.region, 15_000, public).resolution == 5  # type: ignore[union-attr]
    assert (
        proposal_of(domain_from_bbox(-60.0, -30.0, 60.0, 60.0, 2).region, 600) is None
    )  # coarser than a screen offers


def test_the_resolution_is_proposed_before_any_hexagon_is_made(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A country at resolution 8 would be 400,000 hexagons, which take their time to be refused."""
    filled: list[int] = []
    own = area.fill_box

    def fill_box(box: Any, resolution: int, *rest: Any) -> Any:
        filled.append(resolution)
        return own(box, resolution, *rest)

    monkeypatch.setattr(area, "fill_box", fill_box)
    app = uploaded_sensors(open_app)
    app.switch_page(HEXAGONS.path).run()
    app.radio[0].set_value("box").run()
    app.number_input[4].set_value(900).run()
    for number, value in zip(app.number_input[:4], (5.0, 47.0, 15.0, 55.0), strict=True):
        number.set_value(value)
    app.run()
    assert not app.exception
    assert filled
    assert max(filled) <= 5


@pytest.mark.parametrize(("public", "resolution"), [(True, 4), (False, 5)])
def test_a_reference_proposes_a_resolution_only_where_it_is_public(
    open_app: OpenApp, public: bool, resolution: int
) -> None:
    """The resolution is public: rows of a reference that nobody else may see must not choose it."""
    app = uploaded_sensors(open_app)
    work = work_of(app)
    work.reference = Preview((), 2_000, "", "reading", False, (), (), ((10.0, 50.0), (30.0, 50.0)))
    work.choices["reference_public"] = public
    app.switch_page(HEXAGONS.path).run()
    app.radio[0].set_value("box").run()
    for number, value in zip(app.number_input[:4], (5.0, 47.0, 15.0, 55.0), strict=True):
        number.set_value(value)
    app.run()
    assert not app.exception
    assert work_of(app).choices["resolution"] == resolution
