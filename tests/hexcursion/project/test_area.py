"""The area and the public layers that settings name: parts of a file, GeoPackages, and no private places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geo import DomainError
from geo.errors import GeoError
from hexcursion.errors import WorkflowError
from hexcursion.project.area import build_domain, layer_name, load_layers, refuse_private_layers
from hexcursion.project.load import load_project, load_source
from tests.archives import archive, vector_tile
from tests.data_loaders.workbooks import geopackage
from tests.town import BOX, Town

WEST, SOUTH, EAST, NORTH = BOX
MIDDLE = (WEST + EAST) / 2


def box(west: float, east: float, **properties: object) -> dict[str, Any]:
    ring = [[west, SOUTH], [east, SOUTH], [east, NORTH], [west, NORTH], [west, SOUTH]]
    return {
        "type": "Feature",
        "properties": properties,
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }


def halves(folder: Path) -> str:
    path = folder / "two_halves.geojson"
    features = [box(WEST, MIDDLE, name="west", code="A"), box(MIDDLE, EAST, name="east", code="B")]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return str(path)


def points(folder: Path, places: np.ndarray[Any, Any], name: str = "stations.geojson") -> str:
    features = [
        {
            "type": "Feature",
            "properties": {"name": f"s{k}"},
            "geometry": {"type": "Point", "coordinates": place},
        }
        for k, place in enumerate(places.tolist())
    ]
    path = folder / name
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return str(path)


def test_named_features_make_up_the_area(town: Town, tmp_path: Path) -> None:
    region = halves(tmp_path)
    whole = build_domain(town.settings(bbox=None, region=region))
    west = build_domain(town.settings(bbox=None, region=region, features=("west",)))
    east = build_domain(town.settings(bbox=None, region=region, features=["B"], feature_column="code"))
    assert west.region.bounds == pytest.approx((WEST, SOUTH, MIDDLE, NORTH))
    assert sorted([*west.cells, *east.cells]) == sorted(whole.cells)
    with pytest.raises(DomainError, match="no feature 'wets': did you mean 'west'"):
        build_domain(town.settings(bbox=None, region=region, features=("wets",)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"features": ("west",)}, "Features are parts of a file"),
        ({"region": "a.geojson", "bbox": None, "feature_column": "name"}, "Name the features that are meant"),
        ({"layers": ("a.geojson",), "label_columns": ("a", "b")}, "2 label columns are given for 1 layers"),
        ({"label_columns": ("a",)}, "1 label columns are given for 0 layers"),
        ({"layers": tuple("abcdef")}, "layers must be"),
    ],
)
def test_what_does_not_fit_together_is_refused(town: Town, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(WorkflowError, match=said):
        town.settings(**changes)


def test_the_file_of_the_records_is_no_layer(town: Town) -> None:
    for path in (town.private, town.reference):
        with pytest.raises(WorkflowError, match="cannot be the file of the records"):
            town.settings(layers=(str(path),))


@pytest.mark.parametrize("name", ["layers", "covariates", "basemap"])
def test_nor_by_another_way_to_it(town: Town, tmp_path: Path, name: str) -> None:
    """With public places nothing else looks, and a layer's labels would be the private values."""
    link = tmp_path / "other.csv"
    link.symlink_to(town.private)
    for path in (link, town.private.parent / "x" / ".." / town.private.name):
        given = str(path) if name == "basemap" else (str(path),)
        with pytest.raises(WorkflowError, match="cannot be the file of the records"):
            town.settings(**{name: given}, places_public=True)


def test_a_project_carries_its_layers(town: Town, tmp_path: Path) -> None:
    settings = town.settings(layers=(halves(tmp_path),), label_columns=("code",))
    [layer] = load_project(settings).layers
    assert layer.name == "two halves" == layer_name("/somewhere/two_halves.geojson")
    assert [one.label for one in layer.features] == ["A", "B"]
    missing = town.settings(layers=(str(tmp_path / "missing.geojson"),))
    with pytest.raises(GeoError, match="cannot be read"):
        load_project(missing)


def test_a_basemap_is_of_the_same_place_and_never_the_file_of_the_records(town: Town, tmp_path: Path) -> None:
    here = archive(tmp_path / "here.pmtiles", vector_tile(), (9.9, 49.9, 10.2, 50.1))
    away = archive(tmp_path / "away.pmtiles", vector_tile(), (0.0, 49.9, 0.2, 50.1))
    assert load_project(town.settings(basemap=str(here))).settings.basemap == str(here)
    with pytest.raises(GeoError, match=r"^away\.pmtiles has no tiles of this area"):
        load_project(town.settings(basemap=str(away)))
    with pytest.raises(WorkflowError, match="cannot be the file of the records"):
        town.settings(basemap=str(town.private))


def test_one_column_stands_for_all_files_and_an_empty_one_for_none(town: Town, tmp_path: Path) -> None:
    domain = build_domain(town.settings())
    path = halves(tmp_path)
    for columns, found in (((), "west"), (("code",), "A"), (("",), ""), (("code", "name"), "A")):
        first, second = load_layers((path, path), columns, domain)
        assert first.features[0].label == found
        assert second.features[0].label == ("west" if columns == ("code", "name") else found)


def test_each_layer_has_its_look_or_all_have_one(town: Town, tmp_path: Path) -> None:
    domain = build_domain(town.settings())
    path = halves(tmp_path)
    first, second = load_layers((path, path), (), domain, ("#1f78b4", ""), (0.0, 2.5))
    assert [(one.colour, one.width, one.stroke) for one in (first, second)] == [
        ("#1f78b4", 0.0, 1.3),
        ("", 2.5, 2.5),
    ]
    for one in load_layers((path, path), (), domain, ("#ff0000",), (4.0,)):
        assert (one.colour, one.width) == ("#ff0000", 4.0)
    with pytest.raises(GeoError, match="a layer's colour is written like #1f78b4, not 'blue'"):
        load_layers((path,), (), domain, ("blue",))
    with pytest.raises(
        GeoError, match=r"a layer's width is 0.5 to 12 pixels, or 0 for the usual one, not 0\.1"
    ):
        load_layers((path,), (), domain, (), (0.1,))
    settings = town.settings(layers=(path,), layer_colours=("#1f78b4",), layer_widths=(2.0,))
    assert load_project(settings).layers[0].colour == "#1f78b4"
    with pytest.raises(WorkflowError, match="2 layer colours are given for 1 layers"):
        town.settings(layers=(path,), layer_colours=("", ""))


def test_a_geopackage_is_a_layer_too(town: Town, tmp_path: Path) -> None:
    path = geopackage(
        tmp_path / "stations.gpkg", ((10.05, 50.04), (10.06, 50.05)), (1.0, 2.0), ("x", "y"), 4326
    )
    domain = build_domain(town.settings())
    [layer] = load_layers((str(path),), ("site",), domain)
    assert layer.points.tolist() == [[10.05, 50.04], [10.06, 50.05]]
    assert [one.name for one in layer.labels] == ["x", "y"]
    assert (layer.colour, layer.width) == ("", 0.0)  # what is usual


def test_places_of_private_records_are_no_layer(town: Town, tmp_path: Path) -> None:
    """A layer is published as it is: points where the records lie would tell where they lie."""
    settings = town.settings()
    domain = build_domain(settings)
    rows = np.loadtxt(town.private, delimiter=",", skiprows=1)[:10, :2]
    apart = np.column_stack([np.linspace(10.01, 10.11, 40), np.full(40, 50.04)])
    observations, _ = load_source(settings.data, "ug/m3")
    for name, places, refused in (
        ("all.geojson", rows, True),
        ("moved.geojson", rows + 2e-5, False),
        ("some.geojson", np.vstack([rows, apart[:38]]), True),  # 10 of 48 are more than a fifth
        ("few.geojson", np.vstack([rows, apart]), False),  # 10 of 50 are not
        ("two.geojson", rows[:2], False),
    ):
        layers = load_layers((points(tmp_path, places, name),), (), domain)
        if refused:
            with pytest.raises(WorkflowError, match="marks the places of private records"):
                refuse_private_layers(layers, observations, places_public=False)
        else:
            refuse_private_layers(layers, observations, places_public=False)
        refuse_private_layers(layers, observations, places_public=True)


def test_nothing_is_loaded_with_a_layer_of_private_places(town: Town, tmp_path: Path) -> None:
    rows = np.loadtxt(town.private, delimiter=",", skiprows=1)[:10, :2]
    with pytest.raises(WorkflowError, match="marks the places of private records"):
        load_project(town.settings(layers=(points(tmp_path, rows),)))
