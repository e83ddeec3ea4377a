"""Workbooks and point layers: read like a CSV table, refused in one sentence, never run."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import pytest

from data_loaders import (
    POINT_X,
    POINT_Y,
    LoadReport,
    Observations,
    guess_columns,
    load_postcodes,
    load_sales,
)
from data_loaders.files import bombs
from data_loaders.files.guarded import Limits
from data_loaders.files.sources import open_tables
from tests.data_loaders.material import POSTCODES, load_sensors, packed_zip, reasons, refused
from tests.data_loaders.workbooks import geojson, geopackage, workbook

ROWS = (
    ("site", "lon", "lat", "value", "when"),
    ("007", -0.1, 51.5, 3.25, "=44927.5"),
    ("008", -0.2, 51.6, 1.234, "=44928"),
)
POINTS = ((181072.0, 333611.0), (181025.0, 333558.0), None)


def load(data: object, **changes: object) -> tuple[Observations, LoadReport]:
    given: dict[str, object] = {"value": "value", "unit": "mg/kg"} | changes
    return load_sensors(data, **given)  # type: ignore[arg-type]


def soil(folder: Path, **changes: object) -> Path:
    return geopackage(folder / "soil.gpkg", POINTS, (299.0, 277.5, 1.0), ("a", "b", "c"), **changes)  # type: ignore[arg-type]


def test_a_sheet_is_read_as_typed(tmp_path: Path) -> None:
    made, report = load(workbook(ROWS), x="lon", y="lat", sensor="site", time="when")
    assert made.x.tolist() == [-0.1, -0.2]
    assert made.value.tolist() == [3.25, 1.234], "typed numbers are never taken for grouped ones"
    assert made.time is not None
    assert made.time.astype(str).tolist() == ["2023-01-01T12:00:00", "2023-01-02T00:00:00"]
    assert (made.owners, made.owner_word) == (2, "sensor")
    assert report.lines()[0] == "the table: 2 rows read, 2 kept."
    path = tmp_path / "what: is?this!.zip"
    path.write_bytes(workbook(ROWS))
    np.testing.assert_array_equal(load(path, x="lon", y="lat")[0].value, made.value)


def test_the_sheet_is_asked_for_where_several_hold_rows() -> None:
    other = (("site", "lon", "lat", "value", "depth"), ("007", -0.1, 51.5, 3.25, 2.5))
    data = workbook(ROWS, other, names=("2023", "notes & more"))
    said = refused(lambda: load(data, x="lon", y="lat"))
    assert "2 sheets" in said
    assert "'notes & more'" in said
    assert load(data, x="lon", y="lat", layer="2023")[0].size == 2
    assert load(data, x="lon", y="lat", layer="notes & more")[0].size == 1
    assert "did you mean '2023'" in refused(lambda: load(data, x="lon", y="lat", layer="2032"))
    guess = guess_columns(data)
    assert guess.layers == ("2023", "notes & more")
    assert (guess.x, guess.y, guess.value, guess.owner) == ("lon", "lat", "value", "site")
    assert guess.columns[-1] == "when"
    assert guess_columns(data, layer="notes & more").columns[-1] == "depth"


def test_numbers_written_as_text_with_commas_are_not_guessed_at() -> None:
    book = workbook((*ROWS, ("009", -0.3, 51.7, "1,234")))
    assert "state the decimal mark" in refused(lambda: load(book, x="lon", y="lat"))
    assert load(book, x="lon", y="lat", decimal=",")[0].value.tolist() == [3.25, 1.234, 1.234]
    assert load(book, x="lon", y="lat", decimal=".")[0].value.tolist() == [3.25, 1.234, 1234.0]


def test_numbers_written_as_text_with_a_decimal_comma_are_read() -> None:
    book = workbook((*ROWS, ("009", "-0,3", "51,75", "0,682")))
    made, report = load(book, x="lon", y="lat")
    assert made.value.tolist() == [3.25, 1.234, 0.682]
    assert (made.x[2], made.y[2]) == (-0.3, 51.75)
    assert "Read with a sheet's own numbers, decimal comma in texts." in report.notes


def test_texts_of_a_sheet_that_tell_their_marks_are_read_each_by_itself() -> None:
    texts = ("1,234.5", "1.234,5", "1 234,5", "1\u202f234", "1'234.5", "<1,234,567.5", "€ 2.345,00")
    book = workbook((ROWS[0], *((f"{at}", -0.1, 51.5 + at / 100, one) for at, one in enumerate(texts))))
    made = load_sensors(book, value="value", unit="EUR", x="lon", y="lat", decimal=".")[0]
    assert made.value.tolist() == [1234.5, 1234.5, 1234.5, 1234.0, 1234.5, 1234567.5, 2345.0]


def test_ten_cells_of_three_decimals_alone_are_asked_about() -> None:
    def book(*cells: object) -> bytes:
        return workbook((ROWS[0], *((f"{at}", -0.1, 51.5 + at / 100, one) for at, one in enumerate(cells))))

    texts = [f"{245 + at}.000" for at in range(10)]
    assert "state the decimal mark" in refused(lambda: load(book(*texts), x="lon", y="lat"))
    assert "let the sheet hold numbers" in refused(lambda: load(book(*texts), x="lon", y="lat", decimal=","))
    assert load(book(*texts), x="lon", y="lat", decimal=".")[0].value.tolist()[0] == 245.0
    assert load(book(*texts[:9], 1.5), x="lon", y="lat")[0].value.tolist()[0] == 245.0


def test_blank_rows_and_columns_of_a_sheet_are_none() -> None:
    blank = '<row r="9"><c r="A9" t="inlineStr"><is><t></t></is></c></row>'
    far = '<row r="10"><c r="XFD10"><v>1</v></c></row>'
    made, report = load(workbook(ROWS, extra=blank + far), x="lon", y="lat")
    assert (made.size, report.rows_read) == (2, 2)


@pytest.mark.parametrize("last", [1_048_576, 99_999_999])
def test_a_stray_entry_far_away_fills_no_sheet(last: int) -> None:
    """One entry in the last row and column would be 17 thousand million cells if the sheet were filled."""
    stray = f'<row r="{last}"><c r="A{last}"><v>1</v></c><c r="XFD{last}"><v>1</v></c></row>'
    table = next(open_tables(workbook(ROWS, extra=stray)))
    assert len(table.stream.read()) < 1_000


def test_a_workbook_that_unpacks_to_too_much_is_stopped() -> None:
    data = workbook((*ROWS, ("x" * 2_000_000, 0, 0, 0)))
    said = refused(
        lambda: load_sensors(
            data, value="value", unit="u", x="lon", y="lat", limits=Limits(free_bytes=1 << 18)
        )
    )
    assert "zip bomb" in said
    assert "more than 1,000,000 bytes" in refused(
        lambda: load_sensors(data, value="value", unit="u", x="lon", y="lat", limits=Limits(max_bytes=10**6))
    )


def test_sales_and_postcodes_may_be_sheets() -> None:
    sale = ("{A-1}", 200000, "=43160", "E1 0AA", "F", "N", "L", "1", "2", "S", "", "L", "D", "C", "A", "A")
    table = workbook([row.split(",") for row in POSTCODES.decode().splitlines()])
    made, _ = load_sales(workbook([sale]), load_postcodes(table)[0], years=2018)
    assert made.value.tolist() == [200000.0]
    assert made.identifier is not None
    assert made.identifier.tolist() == [b"A-1"]


def test_points_of_a_geopackage_come_with_their_system(tmp_path: Path) -> None:
    path = soil(tmp_path)
    before = sorted(tmp_path.iterdir())
    for source in (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes())):
        made, report = load(source, sensor="site")
        assert made.crs == "EPSG:28992"
        assert (made.x.tolist(), made.y.tolist()) == ([181072.0, 181025.0], [333611.0, 333558.0])
        assert made.value.tolist() == [299.0, 277.5]
        assert made.owner is not None
        assert made.owner.tolist() == [0, 1]
        assert reasons(report) == {"coordinate missing": 1}
    assert sorted(tmp_path.iterdir()) == before, "nothing is written beside the file"
    guess = guess_columns(path)
    assert (guess.x, guess.y, guess.crs, guess.value) == (POINT_X, POINT_Y, "EPSG:28992", "value")
    assert load(path, x=guess.x, y=guess.y, crs=guess.crs)[0].size == 2


def test_a_stated_system_is_not_overruled_but_a_silent_one_is_supplied(tmp_path: Path) -> None:
    assert "states EPSG:28992" in refused(lambda: load(soil(tmp_path), crs=27700))
    silent = geopackage(tmp_path / "silent.gpkg", POINTS[:2], (1.0, 2.0), ("a", "b"), epsg=-1)
    assert load(silent, crs=28992)[0].crs == "EPSG:28992"
    assert "set the EPSG code" in refused(lambda: load(silent))
    metres = geojson(POINTS, [{"value": 1.5}] * 3)
    assert load(metres, crs=28992)[0].crs == "EPSG:28992"
    assert "set the EPSG code" in refused(lambda: load(metres))


def test_the_layer_is_asked_for_where_there_are_several(tmp_path: Path) -> None:
    path = soil(tmp_path, layers=("2022", "2023"))
    assert "2 layers: name the one that is meant, '2022', '2023'." in refused(lambda: load(path))
    assert load(path, layer="2023")[0].size == 2
    assert guess_columns(path).layers == ("2022", "2023")


def test_points_of_geojson() -> None:
    rows: list[dict[str, object]] = [{"value": 1.5, "site": "a"}, {"value": "2.5", "site": None}]
    made, _ = load(geojson(((-0.1, 51.5), (-0.2, 51.6)), rows))
    assert (made.crs, made.x.tolist(), made.value.tolist()) == ("EPSG:4326", [-0.1, -0.2], [1.5, 2.5])
    made, report = load(geojson(((-0.1, 51.5), (-0.2, 51.6)), rows), sensor="site")
    assert made.size == 1
    assert reasons(report) == {"sensor not named": 1}


def test_a_multipoint_of_one_is_a_point_and_other_shapes_are_none() -> None:
    shapes = (
        '{"type":"MultiPoint","coordinates":[[1,2]]}',
        '{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}',
        '{"type":"LineString","coordinates":[[1,2],[3,4]]}',
        '{"type":"Point","coordinates":[]}',
    )
    features = [
        f'{{"type":"Feature","properties":{{"value":{k}}},"geometry":{s}}}' for k, s in enumerate(shapes)
    ]
    made, report = load(('{"type":"FeatureCollection","features":[' + ",".join(features) + "]}").encode())
    assert (made.x.tolist(), made.y.tolist(), made.value.tolist()) == ([1.0], [2.0], [0.0])
    assert reasons(report) == {"coordinate missing": 3}


def test_properties_called_like_the_points_do_not_hide_them() -> None:
    made, _ = load(geojson(((1.0, 2.0),), [{POINT_X: 9.0, "value": 1}]))
    assert made.x.tolist() == [1.0]


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b'{"type": "LineString", "coordinates": [[0,0],[1,0],[1,1],[0,0]]}', "no points"),
        (b'{"type": "FeatureCollection", "features": []}', "no points"),
        (b'{"type": "FeatureCollection", "features": [', "damaged"),
        (b'{"type": "gdal_streamed_alg", "command_line": "gdal vector pipeline ! read x"}', "JSON document"),
        (b"SQLite format 3\0" + b"\0" * 100, "damaged"),
        (packed_zip({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"}), "damaged"),
        (packed_zip({"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"}), "Word"),
        (workbook([]), "empty"),
    ],
)
def test_what_holds_no_points_is_refused(data: bytes, word: str) -> None:
    assert word in refused(lambda: load(data))


def test_tables_without_points_need_their_columns() -> None:
    assert "no points of its own" in refused(lambda: load(b"a,b,value\n1,2,3\n"))
    assert "no points of its own" in refused(lambda: load(workbook(ROWS)))
    assert "both coordinate columns" in refused(lambda: load(workbook(ROWS), x="lon"))
    assert "neither sheets nor layers" in refused(
        lambda: load(b"a,b,value\n1,2,3\n", layer="x", x="a", y="b")
    )


# What SQLite would do for as long as it is let: count to a million million.
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000000)"


@pytest.mark.parametrize(
    "statement",
    [
        f"ALTER TABLE soil RENAME TO s; CREATE VIEW soil AS {ENDLESS} SELECT s.* FROM s, n",
        f"ALTER TABLE gpkg_contents RENAME TO c; CREATE VIEW gpkg_contents AS {ENDLESS} SELECT c.* FROM c, n",
        f"CREATE VIEW gpkg_extensions AS {ENDLESS} SELECT i AS table_name FROM n",
        "ALTER TABLE soil ADD COLUMN big AS (hex(zeroblob(900000000)))",
    ],
    ids=["layer", "contents", "extensions", "computed"],
)
def test_a_geopackage_that_computes_is_refused_before_it_is_read(tmp_path: Path, statement: str) -> None:
    path = soil(tmp_path)
    with sqlite3.connect(path) as database:
        database.executescript(statement)
    database.close()
    assert "computed columns" in refused(lambda: load(path))


def test_other_databases_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "any.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (x)")
    database.close()
    assert "no GeoPackage" in refused(lambda: load(path))


def test_values_of_points_keep_every_digit(tmp_path: Path) -> None:
    values = (0.1 + 0.2, 1e-300, 123456789.12345679)
    path = geopackage(tmp_path / "p.gpkg", ((1 / 3, 2 / 3),) * 3, values, ("a", "b", "c"), epsg=4326)
    made, _ = load(path)
    assert made.value.tolist() == list(values)
    assert made.x.tolist() == [1 / 3] * 3


def test_a_sheet_goes_through_the_same_bounded_stream() -> None:
    table = next(open_tables(workbook(ROWS)))
    assert table.typed
    assert table.stream.read().decode().splitlines()[1] == '"007","-0.1","51.5","3.25","2023/01/01 12:00:00"'


@pytest.mark.parametrize(
    ("letters", "number"), [("A", 1), ("Z", 26), ("AA", 27), ("aZ", 52), ("BA", 53), ("XFD", 16384)]
)
def test_columns_of_a_sheet_are_numbered_by_their_letters(letters: str, number: int) -> None:
    assert bombs.column_number(letters) == number


SHARED = (
    b'<sst xmlns="m"><si><t>abc</t></si><si><r><t>de</t></r><r><t>fgh</t></r></si></sst>',
    b'<worksheet xmlns="m"><sheetData><row r="1"><c r="A1" t="s"><v>1</v></c><c r="B1" t="s"><v> 1 </v></c>'
    b'<c r="C1"><v>1</v></c><c r="D1" t="s"><v>0</v></c><c r="E1" t="s"><v>7</v></c></row></sheetData>'
    b"</worksheet>",
)


def test_shared_texts_count_as_often_as_cells_mean_them() -> None:
    """Three letters once, five twice; a cell may come before its text, and one of no text counts nothing."""
    for parts in (SHARED, SHARED[::-1]):
        found = bombs.Unfolded()
        for part in parts:
            found.add(io.BytesIO(part))
        assert found.unfolded() == 13
    again = bombs.Unfolded()
    for part in (*SHARED, b"<sst><si><t>abcdefgh</t></si></sst>", b"no XML"):
        again.add(io.BytesIO(part))
    assert again.unfolded() == 18, "of two tables of texts the longer one is meant"


def test_what_lies_in_a_workbook_beside_its_sheets_is_unpacked_and_counted() -> None:
    held = io.BytesIO(workbook(SHEET))
    with zipfile.ZipFile(held, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/image1.png", b"0" * (2 << 20))
    data = held.getvalue()
    columns = {"value": "value", "unit": "u", "x": "lon", "y": "lat"}
    assert load_sensors(data, **columns)[0].size == 1
    assert "zip bomb" in refused(lambda: load_sensors(data, **columns, limits=Limits(free_bytes=1 << 18)))


SHEET = [["lon", "lat", "value"], [4.5, 52.0, 7.0]]
