"""Public shapes of a GeoPackage: read as GeoJSON in their own system, with texts and numbers."""

from __future__ import annotations

from pathlib import Path

import geopandas
import pytest
import shapely

from data_loaders import DataError, is_geopackage, shapes_of
from tests.data_loaders.workbooks import geopackage


def test_shapes_and_columns_are_read_with_their_system(tmp_path: Path) -> None:
    path = geopackage(tmp_path / "soil.gpkg", ((181072.0, 333611.0), None), (299.0, 277.5), ("a", "b"))
    found = shapes_of(path)
    assert is_geopackage(path)
    assert found["crs"]["properties"]["name"] == "EPSG:28992"
    assert found["features"][0] == {
        "type": "Feature",
        "properties": {"site": "a", "value": 299.0},
        "geometry": {"type": "Point", "coordinates": [181072.0, 333611.0]},
    }
    assert found["features"][1]["geometry"] is None


def test_other_files_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.geojson"
    path.write_text("{}")
    assert not is_geopackage(path)
    assert not is_geopackage(tmp_path / "missing.gpkg")
    path.write_bytes(b"SQLite format 3\0 and then nothing")
    assert is_geopackage(path)
    with pytest.raises(DataError, match="damaged or no GeoPackage"):
        shapes_of(path)
    with pytest.raises(DataError, match=r"^missing\.gpkg cannot be opened: check that the file exists"):
        shapes_of(tmp_path / "missing.gpkg")


def test_of_several_layers_one_must_be_named(tmp_path: Path) -> None:
    path = geopackage(tmp_path / "two.gpkg", ((5.0, 52.0),), (1.0,), ("a",), 4326, ("roads", "rivers"))
    with pytest.raises(DataError, match="2 layers: name the one that is meant"):
        shapes_of(path)
    assert len(shapes_of(path, "rivers")["features"]) == 1


def test_an_empty_point_is_a_row_without_a_shape(tmp_path: Path) -> None:
    """GeoJSON has no form for it; as a record it is a row without a place."""
    path = tmp_path / "empty.gpkg"
    shapes = [shapely.Point(), shapely.Point(-0.1, 51.5), shapely.Polygon(), None]
    frame = geopandas.GeoDataFrame({"name": list("abcd")}, geometry=shapes, crs="EPSG:4326")
    frame.to_file(path, driver="GPKG", engine="pyogrio")
    found = [one["geometry"] for one in shapes_of(path)["features"]]
    assert found == [None, {"type": "Point", "coordinates": [-0.1, 51.5]}, None, None]
