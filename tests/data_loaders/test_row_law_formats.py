"""The law of raw rows (`test_row_law.py`) where the columns come from the rows themselves, where the
first rows tell a layout, and beyond the first thousand rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from data_loaders import DataError, load_postcodes, load_sales, profile_of
from tests.data_loaders.files.test_formats import merged
from tests.data_loaders.material import POSTCODES, load_sensors, sale
from tests.data_loaders.test_row_law import ROWS, Records, everyday, law, records
from tests.data_loaders.workbooks import geojson, workbook

TOWN = load_postcodes(POSTCODES)[0]


def in_lines(rows: Sequence[dict[str, Any]]) -> bytes:
    """Features with one point each, one a line."""
    return b"\n".join(
        json.dumps(
            {"type": "Feature", "properties": row, "geometry": {"type": "Point", "coordinates": [2, 51]}}
        ).encode()
        for row in rows
    )


def in_kml(rows: Sequence[dict[str, Any]]) -> bytes:
    """Placemarks with one point each."""
    marks = "".join(
        "<Placemark><ExtendedData>"
        + "".join(f'<Data name="{name}"><value>{entry}</value></Data>' for name, entry in row.items())
        + "</ExtendedData><Point><coordinates>2,51</coordinates></Point></Placemark>"
        for row in rows
    )
    return f'<kml xmlns="http://www.opengis.net/kml/2.2"><Document>{marks}</Document></kml>'.encode()


def in_gml(rows: Sequence[dict[str, Any]]) -> bytes:
    """Members with one point each."""
    members = "".join(
        f'<gml:featureMember><t:s gml:id="f{k}"><t:p><gml:Point srsName="EPSG:4326"><gml:pos>51 2</gml:pos>'
        f"</gml:Point></t:p>{''.join(f'<t:{n}>{entry}</t:{n}>' for n, entry in row.items())}</t:s>"
        "</gml:featureMember>"
        for k, row in enumerate(rows)
    )
    return (
        '<gml:FeatureCollection xmlns:gml="http://www.opengis.net/gml/3.2" xmlns:t="http://t.example">'
        f"{members}</gml:FeatureCollection>"
    ).encode()


def in_collection(rows: Sequence[dict[str, Any]]) -> bytes:
    return geojson([(2, 51)] * len(rows), list(rows))


WRITERS = {"GeoJSON": in_collection, "lines": in_lines, "KML": in_kml, "GML": in_gml}


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize(
    ("row", "odd", "said", "read"),
    [
        ({"v": 1.25}, {"v": 1.5, "V": 2.5}, {"value": "V"}, 0),
        ({"v": 1.25, "scale": "mg/kg"}, {"v": 1.5, "unit": "ug/kg"}, {"unit": "ug/kg"}, 0),
        ({"v": 1.25, "unit": "mg/kg"}, {"v": 1.5, "v unit": "ug/kg"}, {"unit": "ug/kg"}, 2),
        ({"v": 1.25}, {"V": 1.5}, {}, 3),
        ({"v": 1.25, "scale": "mg/kg"}, {"v": 1.5, "name": "x"}, {"unit": "ug/kg"}, 3),
        ({"v": 1.25}, {"v": 1.5, "unit": "ug/kg"}, {"unit_column": "none"}, 3),
    ],
)
def test_a_property_of_one_feature(
    write: str, row: dict[str, Any], odd: dict[str, Any], said: dict[str, Any], read: int
) -> None:
    base = [row | {"k": f"n{k}"} for k in range(ROWS)]

    def records_of(rows: Sequence[Any]) -> Records:
        given = {"unit": "u", "identifier": "k", "value": "v"} | said
        return records(WRITERS[write](rows), **given, x=None, y=None)

    assert sum(records_of(base).values()) == ROWS
    accepted = law(base, odd | {"k": "odd"}, records_of)
    assert accepted == read or write in ("KML", "GML"), "GDAL joins or renames what differs in capitals"


@pytest.mark.parametrize("write", ["GeoJSON", "lines"])
@pytest.mark.parametrize(
    ("entry", "odd"),
    [
        ("2023-05-01T12:00:00Z", "2023-05-01T12:00:00+02:00"),
        ("2023-05-01T12:00:00+02:00", "2023-05-01T12:00:00"),
        ("2023-05-01T12:00:00+02:00", "2023-05-01"),
        ("2023/05/01 12:00:00+02", "never"),
        (True, 5),
        (1, 2.5),
        (1, "one"),
    ],
)
def test_an_entry_of_another_type(write: str, entry: Any, odd: Any) -> None:
    """As time, as identifier, as a filter: the others stay what they are."""
    base = [{"v": k + 0.25, "k": 9007199254740993 + 2 * k, "t": entry} for k in range(ROWS)]

    def read(**said: Any) -> Any:
        given = {"x": None, "y": None, "identifier": "k"} | said
        return lambda rows: records(WRITERS[write](rows), **given)

    filtered, timed = read(where={"t": [json.dumps(entry).strip('"')]}), read(time="t")
    assert sum(filtered(base).values()) == sum(timed(base).values()) == ROWS
    assert law(base, {"v": 1.5, "k": odd, "t": odd}, filtered) == 3
    assert law(base, {"v": 1.5, "k": odd, "t": odd}, timed) == 3


def test_a_profile_that_one_feature_names() -> None:
    rows = [{"unique_id": f"{k}", "deed_date": "2018-03-01", "postcode": "E1 0AA"} for k in range(ROWS)]
    assert profile_of(in_collection(rows)) is None
    with pytest.raises(DataError, match="in one row alone, 'price_paid'"):
        profile_of(in_collection([*rows, {**rows[0], "price_paid": 7}]))


MARKED = [
    ("530123;181000;1", "530123.5;181000.5;1"),
    ("530123;181000;1", "530123,5;181000,5;1"),
    ("530123;181000;1", "530,123;181,000;1"),
    ("530123;181000;1", "530.123;181.000;1"),
    ("530123.5;181000.5;1", "530.123;181.000;1"),
    ("530123,5;181000,5;1", "530.123;181.000;1"),
    ("530,123;181,000;1", "530,123;181,000;1"),
]
STATED: list[dict[str, str]] = [{}, {"decimal": "."}, {"decimal": ","}]
ODD_MARKS = ["530123,5;181000,5;7", "530123.5;181000.5;7", "530,123;181,000;7", "?;?;7"]


@pytest.mark.parametrize(("rows", "stated", "odd"), everyday(product(MARKED, STATED, ODD_MARKS)))
def test_marks_of_projected_coordinates(rows: tuple[str, str], stated: dict[str, str], odd: str) -> None:
    row, later = rows
    base = [f"{row}{k:04d}" for k in range(1000)] + [f"{later}{k:04d}" for k in range(1000, 1040)]
    said: dict[str, Any] = {"crs": "EPSG:27700", **stated}

    def read(rows: Sequence[str]) -> Records:
        return records("\n".join(["lon;lat;v", *rows]), **said)

    if not stated and "," in later and later[:6] in (row[:6], "530,12"):
        with pytest.raises(DataError, match="state the decimal mark"):
            read(base)
        return
    before = read(base)
    assert sum(before.values()) == 1040
    law(base, odd, read, before)


@pytest.mark.parametrize("place", ["51.5", "51,5"])
def test_each_degree_tells_its_mark(place: str) -> None:
    base = [f"0.{k + 10};{place};{k}" for k in range(ROWS)]

    def read(rows: Sequence[str]) -> Records:
        return records("\n".join(["lon;lat;v", *rows]))

    for odd in ("1,234;51,25;7", "1.234;51.25;7"):
        assert law(base, odd, read) == 3
        assert read([odd]) == Counter({(1.234, 51.25, 7.0, "", b""): 1})


@pytest.mark.parametrize("share", [47, 48, 49])
def test_a_row_below_the_header_that_may_hold_units(share: int) -> None:
    """It is read as any other row, whatever share of the others holds numbers."""
    head = "lon,lat,v,depth,width"
    first = "1°E,51°30'N,5 J,deep,wide"
    base = [first, *(f"1°{k}'E,51°30'N,{k} J,{k if k < share else 'x'},3" for k in range(ROWS))]

    def read(rows: Sequence[str]) -> Records:
        return records("\n".join([head, *rows]))

    assert sum(read(base).values()) == ROWS + 1
    for odd in ("9.75,51.5,1.5 J,x,3", "9.75,51.5,1.5 J,7,3"):
        assert law(base, odd, read) == 3


def sales(lines: Sequence[str]) -> Records:
    made, _ = load_sales("".join(lines).encode(), TOWN)
    assert made.identifier is not None
    return Counter(zip(made.x.tolist(), made.value.tolist(), made.identifier.tolist(), strict=True))


def test_a_first_row_decides_no_layout_of_sales() -> None:
    base = [sale(k, f"{200_000 + k}", status="D" if k % 9 == 8 else "A") for k in range(ROWS)]
    assert law(base, sale(99, status="http://landregistry.data.gov.uk/x"), sales) == 3
    names = "unique_id,price,date,postcode,property_type,old/new,duration,a,b,c,d,e,district,county,{},{}\n"
    assert law(base, names.format("category", "record_status"), sales) == 3
    assert law(base, names.format("record_status", "category"), sales) == 2, "not first, where it names"
    reports = [line.replace('"A"\n', '"https://x"\n') for line in base[:2]]
    with pytest.raises(DataError, match="correct the last cell of that row"):
        sales([*reports, base[2]])


def test_a_first_row_decides_no_layout_of_postcodes() -> None:
    base = [
        f'"E{1 + k % 9} {k % 9}A{chr(65 + k % 20)}",10,{535_000 + k},{181_000 + k},a,,b,,c,d\n'
        for k in range(50)
    ]
    base = list({line.split(",")[0]: line for line in base}.values())

    def read(lines: Sequence[str]) -> Records:
        made, _ = load_postcodes("".join(lines).encode())
        return Counter(zip(made.keys.tolist(), made.x.tolist(), made.y.tolist(), strict=True))

    assert law(base, "x\n", read) == 3
    assert law(base, "?,10,1,2,a,,b,,c,d\n", read) == 3
    assert law(base, "postcode,quality,eastings,northings,a,b,c,d,e,f\n", read) == 3
    assert law(base, "postcode,quality,northings,eastings,a,b,c,d,e,f\n", read) == 2
    assert law(base, "postcode,lat,long,northings,a,b,c,d,e,f\n", read) == 2
    with pytest.raises(DataError, match="one row alone decides it"):
        read([*base[:2], "x\n"])


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("odd", [b"9.75,51.5,1.5,b\n", b"9.75,51.5,1.5,bb\n", b"\n", b"x\n", b"5\r\n", b"x"])
def test_a_row_of_single_bytes_in_a_wide_text(coding: str, odd: bytes) -> None:
    mark = b"\xff\xfe" if coding.endswith("le") else b"\xfe\xff"
    base = [f"{k / 100},51.5,{k},a{k}\n".encode(coding) for k in range(ROWS)]

    def read(rows: Sequence[bytes]) -> Records:
        return records(mark + b"".join(["lon,lat,v,name\n".encode(coding), *rows]), identifier="name")

    assert sum(read(base).values()) == ROWS
    assert law(base, odd, read) == 0


def test_line_breaks_within_cells_need_a_delimiter() -> None:
    base = [f"{k / 100};51.5;{k};a{k}" for k in range(ROWS)]
    text = "\n".join(["lon;lat;v;name", *base, '9.75;51.5;1.5;"a\n""b"'])
    with pytest.raises(DataError, match="--delimiter"):
        records(text, quoting="lines")
    assert sum(records(text, quoting="lines", delimiter=";").values()) == ROWS + 1


@pytest.mark.parametrize("kind", ["line", "lines", "sheet", "points"])
def test_a_row_of_many_letters_or_lines_moves_no_other_out_of_the_sample(kind: str) -> None:
    """Letters of the East stand in rows 900 to 980 alone, so the first thousand rows decide on them."""
    base = [
        [f"{1 + k / 10_000}", "51.5", f"{k}.25", "E" if 900 <= k < 980 else "", "z" * 60] for k in range(1100)
    ]
    tall = kind != "line"
    long = ["9.75", "51.5", "1.5", "", "\n".join(["y"] * 2_000) if tall else "y" * 130_000]

    def read(rows: Sequence[Any]) -> Records:
        if kind == "sheet":
            return records(workbook([["lon", "lat", "v", "ew", "n"], *rows]))
        if kind == "points":
            return records(
                in_collection([dict(zip(("lon", "lat", "v", "ew", "n"), row, strict=True)) for row in rows])
            )
        text = "\n".join(["lon,lat,v,ew,n", *(f'{",".join(row[:4])},"{row[4]}"' for row in map(list, rows))])
        return records(text, **({"quoting": "lines", "delimiter": ","} if tall else {}))

    assert sum(read(base).values()) == 80, "the others name no side"
    assert law(base, long, read) == 3


def test_rows_that_are_too_long_for_a_sample() -> None:
    row = ",".join(["x" * 40_000])
    with pytest.raises(DataError, match="leave out columns that are not needed"):
        records("lon,lat,v,name\n" + f"1,2,3,{row}\n" * 1100)


SITES = (("site", "lon", "lat", "value"), *((f"s{k}", f"{k / 100}", "51.5", k) for k in range(4)))


def test_merged_cells_bring_no_entry_into_another_row() -> None:
    said: dict[str, Any] = {"value": "value", "unit": "u", "x": "lon", "y": "lat"}
    for place in ("B2:B3", "D2:D3"):
        with pytest.raises(DataError, match="cells merged over several rows"):
            load_sensors(merged(place), **said)
        with pytest.raises(DataError, match="cells merged over several rows"):
            load_sensors(merged(place), sensor="site", **said)
    assert load_sensors(merged("A2:A3"), **said)[0].size == 3, "no column that is read"
    assert load_sensors(merged("A2:A3", "B2:B3"), sensor="site", **said)[0].size == 3
    with pytest.raises(DataError, match="cells merged over several rows"):
        load_sensors(merged("A2:A3", "B3:B4"), sensor="site", **said)
    assert load_sensors(merged("B1:B2"), **said)[0].size == 2, "the header fills a row, which has no place"
