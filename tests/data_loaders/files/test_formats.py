"""Every format of the table of drivers: the same places and values, within bounds, and never a network."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import geopandas as gpd
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pytest
import shapely

from data_loaders import LoadReport, Observations, guess_columns
from data_loaders.files.guarded import Limits
from data_loaders.files.sources import open_tables
from tests.data_loaders.material import load_sensors, refused
from tests.data_loaders.workbooks import workbook

LONGITUDES, LATITUDES, VALUES = (-0.1, -0.2, -0.3), (51.5, 51.6, 51.7), (1.5, 2.25, 10.0)


def load(data: object, **changes: object) -> tuple[Observations, LoadReport]:
    given: dict[str, object] = {"value": "value", "unit": "mg/kg"} | changes
    return load_sensors(data, **given)  # type: ignore[arg-type]


def frame(epsg: int = 4326) -> gpd.GeoDataFrame:
    points = gpd.points_from_xy(LONGITUDES, LATITUDES, crs=4326)
    return gpd.GeoDataFrame({"site": ["a", "b", "c"], "value": VALUES}, geometry=points).to_crs(epsg)


def packed(folder: Path, pattern: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in sorted(folder.glob(pattern)):
            archive.write(part, f"inner/{part.name}")
    return held.getvalue()


DRIVERS = {
    "soil.shp": "ESRI Shapefile", "soil.kml": "LIBKML", "soil.fgb": "FlatGeobuf", "soil.gml": "GML",
    "soil.geojsonl": "GeoJSONSeq", "soil.geojson": "GeoJSON", "soil.gpkg": "GPKG",
}  # fmt: skip


@pytest.mark.parametrize("name", DRIVERS)
def test_a_format_of_gdal_gives_places_and_values(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    frame().to_file(path, driver=DRIVERS[name], **({"SPATIAL_INDEX": "NO"} if name.endswith("fgb") else {}))
    before = sorted(tmp_path.iterdir())
    made, _ = load(path)
    assert (made.crs, made.value.tolist()) == ("EPSG:4326", list(VALUES))
    np.testing.assert_allclose(made.x, LONGITUDES, atol=1e-9)
    np.testing.assert_allclose(made.y, LATITUDES, atol=1e-9)
    assert sorted(tmp_path.iterdir()) == before, "nothing is written beside the file"
    assert guess_columns(path).points
    if name != "soil.shp":
        np.testing.assert_array_equal(load(path.read_bytes())[0].x, made.x)
        np.testing.assert_array_equal(load(gzip.compress(path.read_bytes()))[0].x, made.x)


def test_a_shapefile_comes_packed_or_with_its_parts(tmp_path: Path) -> None:
    frame(27700).to_file(tmp_path / "soil.shp")
    made, _ = load(packed(tmp_path, "soil.*"))
    assert (made.crs, made.size) == ("EPSG:27700", 3)
    np.testing.assert_allclose(made.x[0], 531979.3, atol=0.5)
    assert "pack its .shp, .shx, .dbf and .prj" in refused(lambda: load((tmp_path / "soil.shp").read_bytes()))
    assert "lacks the .dbf" in refused(lambda: load(packed(tmp_path, "soil.s*")))
    frame().to_file(tmp_path / "rock.shp")
    both = packed(tmp_path, "*.*")
    assert "2 layers: name the one that is meant, 'rock', 'soil'" in refused(lambda: load(both))
    assert load(both, layer="soil")[0].crs == "EPSG:27700"


def test_a_kmz_file_is_a_packed_kml_file(tmp_path: Path) -> None:
    frame().to_file(tmp_path / "doc.kml", driver="LIBKML")
    assert load(packed(tmp_path, "doc.kml"))[0].value.tolist() == list(VALUES)


def test_any_single_layer_in_a_zip_file_is_opened(tmp_path: Path) -> None:
    frame().to_file(tmp_path / "soil.fgb", driver="FlatGeobuf")
    assert load(packed(tmp_path, "soil.fgb"))[0].size == 3


@pytest.mark.parametrize("epsg", [4326, 27700])
def test_geoparquet_is_read_in_its_own_system(tmp_path: Path, epsg: int) -> None:
    path = tmp_path / "soil.parquet"
    frame(epsg).to_parquet(path)
    for source in (path, path.read_bytes()):
        made, _ = load(source)
        assert (made.crs, made.value.tolist()) == (f"EPSG:{epsg}", list(VALUES))
    assert load(path)[0].x[0] == pytest.approx(-0.1 if epsg == 4326 else 531979.3, abs=0.5)
    if epsg == 27700:
        assert "states EPSG:27700" in refused(lambda: load(path, crs=28992))


def table() -> pa.Table:
    return pa.table({"lon": LONGITUDES, "lat": LATITUDES, "value": VALUES, "picture": [b"\0"] * 3})


def test_tables_of_pyarrow_are_typed_tables() -> None:
    held = io.BytesIO(), io.BytesIO(), io.BytesIO()
    pa.parquet.write_table(table(), held[0])
    pa.feather.write_feather(table(), held[1], compression="uncompressed")
    pa.orc.write_table(table(), held[2])
    for content in held:
        made, _ = load(content.getvalue(), x="lon", y="lat")
        assert (made.x.tolist(), made.value.tolist()) == (list(LONGITUDES), list(VALUES))
        assert "damaged" in refused(partial(load, content.getvalue()[:-40], x="lon", y="lat"))


@pytest.mark.parametrize(("listed", "size"), [(True, "packed size"), (False, "size")])
def test_a_parquet_file_that_unfolds_without_end_is_refused(listed: bool, size: str) -> None:
    """Where each text is listed once, the file itself does not say how large its table is."""
    held = io.BytesIO()
    table = pa.table({"lon": ["x" * 9999] * 2_000, "lat": [1] * 2_000, "value": [1] * 2_000})
    pa.parquet.write_table(table, held, use_dictionary=listed, compression="zstd")
    few = Limits(free_bytes=1 << 16)
    data = held.getvalue()
    assert len(data) < 30_000
    assert f"unpacks to more than 200 times its {size} and" in refused(
        lambda: load_sensors(data, value="value", unit="u", x="lon", y="lat", limits=few)
    )


def test_areas_count_at_their_centre_and_lines_nowhere(tmp_path: Path) -> None:
    shapes = [shapely.box(0, 50, 1, 51), shapely.LineString([(0, 50), (1, 51)]), shapely.Point(2, 52)]
    path = tmp_path / "areas.gpkg"
    gpd.GeoDataFrame({"value": [1.0, 2.0, 3.0]}, geometry=shapes, crs=4326).to_file(path)
    made, report = load(path)
    assert (made.x.tolist(), made.y.tolist(), made.value.tolist()) == ([0.5, 2.0], [50.5, 52.0], [1.0, 3.0])
    assert "1 areas count at their centre." in report.notes


OSM = (
    '<?xml version="1.0"?><osm version="0.6"><node id="1" lat="51.5" lon="-0.1"/>'
    '<node id="2" lat="51.5" lon="-0.3"/><node id="3" lat="51.7" lon="-0.3"/>'
    '<node id="4" lat="51.7" lon="-0.1"/><way id="9"><nd ref="1"/><nd ref="2"/><nd ref="3"/><nd ref="4"/>'
    '<nd ref="1"/><tag k="building" v="yes"/><tag k="name" v="7"/></way></osm>'
)


def test_areas_of_openstreetmap_count_at_their_centre() -> None:
    data = OSM.encode()
    assert "'points', 'multipolygons'" in refused(lambda: load(data, value="name"))
    made, _ = load(data, value="name", layer="multipolygons")
    assert made.value.tolist() == [7.0]
    np.testing.assert_allclose((made.x[0], made.y[0]), (-0.2, 51.6), atol=1e-9)


DOCTYPE = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]>'


@pytest.mark.parametrize(
    "content",
    [
        DOCTYPE + b'<kml xmlns="http://www.opengis.net/kml/2.2"><Document/></kml>',
        DOCTYPE + OSM.encode().partition(b"?>")[2],
        DOCTYPE + b'<gml:FeatureCollection xmlns:gml="http://www.opengis.net/gml"/>',
    ],
)
def test_a_document_type_is_refused(content: bytes) -> None:
    assert "DOCTYPE" in refused(lambda: load(content))


def test_a_document_type_in_a_workbook_is_refused() -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook(SITES))) as whole, zipfile.ZipFile(held, "w") as changed:
        for member in whole.namelist():
            content = whole.read(member)
            if member.endswith("sheet1.xml"):
                content = DOCTYPE + content.partition(b"?>")[2]
            changed.writestr(member, content)
    assert "DOCTYPE" in refused(lambda: load(held.getvalue(), x="lon", y="lat"))


SITES = (
    ("site", "lon", "lat", "value"), ("a", 1.0, 51.0, 1.5), (None, 1.1, 51.1, 2.5), ("b", 1.2, 51.2, 3.5),
)  # fmt: skip


def merged(*ranges: str, hidden: int | None = None) -> bytes:
    """A workbook of SITES with merged cells, and a hidden row."""
    held = io.BytesIO()
    listed = "".join(f'<mergeCell ref="{one}"/>' for one in ranges)
    with zipfile.ZipFile(io.BytesIO(workbook(SITES))) as whole, zipfile.ZipFile(held, "w") as changed:
        for member in whole.namelist():
            text = whole.read(member).decode()
            if member.endswith("sheet1.xml"):
                text = text.replace("</sheetData>", f"</sheetData><mergeCells>{listed}</mergeCells>")
                text = text.replace(f'<row r="{hidden}">', f'<row r="{hidden}" hidden="1">')
            changed.writestr(member, text)
    return held.getvalue()


def test_merged_cells_of_a_workbook_fill_down_and_hidden_rows_are_counted() -> None:
    columns = {"x": "lon", "y": "lat", "sensor": "site"}
    assert load(workbook(SITES), **columns)[0].size == 2, "without merged cells the second row has no site"
    made, report = load(merged("A2:A3", hidden=4), **columns)
    assert made.owner is not None
    assert made.owner.tolist() == [0, 0, 1]
    assert "1 merged cells were filled with the entry that stands in the first of them." in report.notes
    assert any(note.startswith("1 row is hidden") for note in report.notes)
    _, report = load(merged("B1:C1"), **columns)
    assert any("(B1:C1) count for the first" in note for note in report.notes)


def spreadsheet(rows: str) -> bytes:
    """An OpenDocument spreadsheet of one sheet."""
    names = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<?xml version="1.0"?><office:document-content xmlns:office="{names}:office:1.0" '
        f'xmlns:table="{names}:table:1.0" xmlns:text="{names}:text:1.0" office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="S">{rows}</table:table></office:spreadsheet>'
        "</office:body></office:document-content>"
    )
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
    return held.getvalue()


def line(*cells: str | float | None, **changes: str) -> str:
    def cell(entry: str | float | None) -> str:
        if entry is None:
            return "<table:covered-table-cell/>"
        kind = "string" if isinstance(entry, str) else f'float" office:value="{entry}'
        spans = changes.get("spans", "") if entry == cells[0] else ""
        return (
            f'<table:table-cell office:value-type="{kind}"{spans}><text:p>{entry}</text:p></table:table-cell>'
        )

    return f"<table:table-row{changes.get('row', '')}>{''.join(map(cell, cells))}</table:table-row>"


def rows(names: Sequence[str] = ("site", "lon", "lat", "value")) -> str:
    return (
        line(*names)
        + line("a", 1.0, 51.0, 1.5, spans=' table:number-rows-spanned="2"')
        + line(None, 1.1, 51.1, 2.5)
        + line("b", 1.2, 51.2, 3.5, row=' table:visibility="collapse"')
    )


def test_an_opendocument_spreadsheet_is_read_as_a_workbook_is() -> None:
    made, report = load(spreadsheet(rows()), x="lon", y="lat", sensor="site")
    assert made.value.tolist() == [1.5, 2.5, 3.5]
    assert made.owner is not None
    assert made.owner.tolist() == [0, 0, 1]
    assert any(note.startswith("1 row is hidden") for note in report.notes)
    many = line("x" * 500, 1.0, row=' table:number-rows-repeated="9999999"')
    assert "too many rows" in refused(lambda: load(spreadsheet(rows() + many), x="lon", y="lat"))


def test_a_layer_of_a_file_without_layers_is_refused() -> None:
    held = io.BytesIO()
    pa.parquet.write_table(table(), held)
    assert "no layer 'x'" in refused(lambda: load(held.getvalue(), x="lon", y="lat", layer="x"))
    assert next(open_tables(held.getvalue())).typed
