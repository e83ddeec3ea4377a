"""Hundreds of damaged files for each loader: accounted data or one sentence, never another error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from data_loaders import DataError, PostcodeTable, guess_columns, load_postcodes, load_sales
from tests.data_loaders.material import (
    CANARY_POSTCODE,
    CANARY_PRICE,
    POSTCODES,
    load_sensors,
    packed,
    packed_zip,
    sale,
)
from tests.data_loaders.test_fuzz import clean, outcome
from tests.data_loaders.workbooks import geojson, geopackage, workbook
from tests.mutation import mutants
from tests.patience import LONG

TABLE = load_postcodes(POSTCODES)[0]
SALES = "".join(
    sale(k, price, postcode, status=status)
    for k, (price, postcode, status) in enumerate(
        [
            ("200000", "E1 0AA", "A"),
            (CANARY_PRICE, CANARY_POSTCODE, "A"),
            ("1,234", "SW1A 1AA", "C"),
            ("5", "", "D"),
        ]
    )
).encode()
REPORT = (
    b"unique_id,price_paid,deed_date,postcode,property_type,new_build,estate_type,saon,paon,street,locality,"
    b"town,district,county,transaction_category,linked_data_uri\n"
    b'"F887","200000","2018-03-01","E1 0AA","F","N","L","","1","S","","L","D","C","A","http://x"\n' * 2
)
READINGS = (
    b"sample,station,when,lat,lon,value\n1,A,2023-01-01 06:30,51.5,-0.1,3.5\n2,B,3/4/2023,51.6,-0.2,4.5\n"
    b"3,A,2023,51.7,-0.3,1e3\n"
)
GERMAN = b"Station;x;y;Wert (mg/kg)\nA;181072;333611;3,5\nB;181025;333558;1.234,5\n"
CODE_POINT = b'"E1  0AA",10,535267,181084,"E92000001","","","","",""\n' * 3
ROWS = (
    ("station", "lon", "lat", "value", "when"),
    ("A", -0.1, 51.5, 3.25, "=44927.5"),
    ("B", -0.2, 51.6, 1.5, 7),
)
POINTS = geojson(
    ((-0.1, 51.5), (-0.2, 51.6)), [{"value": 1.5, "station": "A"}, {"value": "2", "station": None}]
)


def sales(data: bytes) -> None:
    outcome(lambda: load_sales(data, TABLE))
    outcome(lambda: load_sales(data, TABLE, segment="existing-leasehold-flats", years=2018))


def postcodes(data: bytes) -> None:
    outcome(lambda: load_postcodes(data))


def sensors(data: bytes) -> None:
    """As columns are named, and as they are guessed."""
    outcome(
        lambda: load_sensors(
            data,
            value="value",
            x="lon",
            y="lat",
            unit="u",
            sensor="station",
            time="when",
            identifier="sample",
        )
    )
    guessed(data)


def points(data: bytes) -> None:
    outcome(lambda: load_sensors(data, value="value", unit="u", sensor="station"))
    guessed(data)


def guessed(data: bytes) -> None:
    try:
        guess = guess_columns(data)
    except DataError as error:
        clean(error)
        return
    chosen = {"value": guess.value or "?", "x": guess.x or "?", "y": guess.y or "?"}
    named = {"identifier": guess.identifier, "time": guess.time, guess.owner_word or "sensor": guess.owner}
    layer = guess.layers[0] if guess.layers else None
    outcome(lambda: load_sensors(data, unit="u", crs=guess.crs or 27700, layer=layer, **chosen, **named))  # type: ignore[arg-type]


def inputs(kind: str, count: int, folder: Path) -> Iterator[bytes]:
    if kind == "geopackage":
        values, sites = (299.0, 277.5, 1.0), ("A", "B", "C")
        places = ((181072.0, 333611.0), (181025.0, 333558.0), None)
        one = geopackage(folder / "one.gpkg", places, values, sites, layers=("soil",)).read_bytes()
        two = geopackage(folder / "two.gpkg", places, values, sites, layers=("a", "b")).read_bytes()
        return mutants([one, two], count)
    if kind == "workbook":
        return mutants([workbook(ROWS), workbook(ROWS, ROWS[:2])], count, inside_zip=True)
    seeds = {
        "sales": [SALES, REPORT, packed(SALES), packed_zip({"pp.csv": SALES})],
        "postcodes": [POSTCODES, CODE_POINT, packed(POSTCODES)],
        "sensors": [READINGS, GERMAN, packed(READINGS), packed_zip({"t.csv": READINGS})],
        "geojson": [POINTS],
    }
    return mutants(seeds[kind], count)


LOADERS: dict[str, Callable[[bytes], None]] = {
    "sales": sales,
    "postcodes": postcodes,
    "sensors": sensors,
    "workbook": sensors,
    "geopackage": points,
    "geojson": points,
}


@pytest.mark.parametrize("kind", LOADERS)
def test_damaged_files_end_well(kind: str, tmp_path: Path) -> None:
    for data in inputs(kind, 500 if LONG else 100, tmp_path):
        LOADERS[kind](data)


@pytest.mark.parametrize("kind", LOADERS)
def test_the_damage_leaves_some_files_readable_and_breaks_others(kind: str, tmp_path: Path) -> None:
    """Otherwise the laws above would test one path only."""
    ends = set()
    for data in inputs(kind, 100, tmp_path):
        try:
            if kind == "sales":
                made: object = load_sales(data, TABLE)[0]
            elif kind == "postcodes":
                made = load_postcodes(data)[0]
            elif kind in ("sensors", "workbook"):
                made = load_sensors(data, value="value", x="lon", y="lat", unit="u")[0]
            else:
                made = load_sensors(data, value="value", unit="u")[0]
        except DataError as error:
            ends.add(str(error))
        else:
            ends.add("read")
            assert isinstance(made, PostcodeTable) or made.size  # type: ignore[attr-defined]
    assert "read" in ends
    assert len(ends) >= 4
