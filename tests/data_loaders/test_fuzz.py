"""Whatever bytes come in, a loader gives accounted data or one sentence without a private value."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_loaders import (
    DataError,
    LoadReport,
    Observations,
    PostcodeTable,
    guess_columns,
    load_postcodes,
    load_sales,
)
from tests.data_loaders.material import (
    CANARY_POSTCODE,
    CANARY_PRICE,
    POSTCODES,
    load_sensors,
    packed_tar,
    packed_zip,
    sale,
)
from tests.mutation import damaged
from tests.patience import LONG

TABLE = load_postcodes(POSTCODES)[0]
EXAMPLES = 300 if LONG else 40  # of each of ten laws, each to every loader

WORDS = st.sampled_from(
    [
        CANARY_PRICE, CANARY_POSTCODE, "200000", "1,5", "1,234", "-1", "0", "1e308", "1e999", "nan", "inf",
        "NA", "", " ", "E1 0AA", "e10aa", "E1 9ZZ", "51.5", "-0.1", "180.1", "99.999999", "2018-03-01 00:00",
        "1/1/2018", "F", "N", "L", "A", "C", "D", "pcds", "lat", "long", "lon", "price_paid", "postcode",
        "unique_id", "value", "x", "oseast1m", "osnrth1m", "{GENERATED-1}", "http://a", "=1+1", "é", "\u00a0",
        "<0.5", "> 200", "ND", "<LOD", "0.5 U", "Not Detected", "-999.0", "1e31", "9999", "0,682", "1.234,5",
        "51°30'36\" N", "W", "181", "515000000", "3/4/2018", "31/12/2018 11:59 PM", "20240501080000", "5s",
        "#", "sep=;", "٣", '"', "'", "\\", "\t", ";", "|", "\r", "\n", "\0", "\ufeff", "𝟙", "9" * 400,
    ]
)  # fmt: skip
CELL = st.one_of(WORDS, st.text(max_size=6))
TABLES = st.builds(
    lambda rows, mark, end, code: end.join(mark.join(row) for row in rows).encode(code, "replace"),
    st.lists(st.lists(CELL, min_size=1, max_size=17), max_size=6),
    st.sampled_from([",", ";", "\t", "|", '","']),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16", "cp1252"]),
)
SALES = st.lists(
    st.builds(
        sale, st.integers(0, 5), WORDS, WORDS, date=WORDS, kind=WORDS, new=WORDS, tenure=WORDS, status=WORDS
    ),
    max_size=5,
).map(lambda lines: "".join(lines).encode())


def below(header: str) -> st.SearchStrategy[bytes]:
    """Tables whose header a loader knows, with rows of its width made of words."""
    row = st.lists(WORDS, min_size=header.count(",") + 1, max_size=header.count(",") + 1).map(",".join)
    return st.lists(row, max_size=6).map(lambda rows: "\n".join([header, *rows]).encode())


SEEDS = st.sampled_from(
    [
        "".join(sale(i, CANARY_PRICE, CANARY_POSTCODE) for i in range(4)).encode(),
        POSTCODES,
        b'"E1  0AA",10,535267,181084,"E92000001","","","","",""\n' * 3,
        b"site,lat,lon,value\nA,51.5,-0.1,3.5\nB,51.6,-0.2,4.5\n",
        b"site;x;y;value\nA;181072;333611;3,5\nB;181025;333558;4,5\n",
    ]
)


CORPUS = Path(__file__).parents[1] / "readers" / "corpus" / "table"
LAYERS = st.sampled_from(
    [(CORPUS / name).read_bytes() for name in ("book.xlsx", "points.gpkg", "points.geojson")]
)

PACKINGS: tuple[Callable[[bytes], bytes], ...] = (
    lambda data: gzip.compress(data, mtime=0),
    lambda data: packed_zip({"a.csv": data}),
    lambda data: packed_zip({"a.csv": data, "b/c.csv": POSTCODES}),
    lambda data: packed_tar({"a.csv": data}),
    lambda data: packed_tar({"a.csv": data, "b.csv": data}, "w"),
)


def outcome(call: Callable[[], tuple[Observations | PostcodeTable, LoadReport]]) -> None:
    """Run a loader; anything but accounted data or a clean sentence fails the test."""
    try:
        made, report = call()
    except DataError as error:
        clean(error)
        return
    assert made.size == report.kept
    assert report.kept + report.rows_dropped == report.rows_read
    assert np.isfinite(made.x).all()
    assert np.isfinite(made.y).all()
    if isinstance(made, Observations):
        assert np.isfinite(made.value).all()
        assert made.kind != "sale" or (made.value > 0).all()


def clean(error: DataError) -> None:
    """One sentence of bearable length, without a private value, and nothing attached to it."""
    said = str(error)
    assert 0 < len(said) < 1_500
    assert "\n" not in said
    assert CANARY_PRICE not in said
    assert CANARY_POSTCODE not in said
    assert error.__cause__ is None


def try_all(data: bytes) -> None:
    """One input to every loader."""
    outcome(lambda: load_sales(data, TABLE))
    outcome(lambda: load_sales(data, TABLE, segment="existing-leasehold-flats", years=2018))
    outcome(lambda: load_postcodes(data))
    for settings_ in (
        {"value": "value", "x": "lon", "y": "lat"},
        {"value": "value", "x": "x", "y": "y", "crs": 28992, "where": {"site": ["A", 1]}, "decimal": ","},
    ):
        outcome(lambda settings_=settings_: load_sensors(data, unit="u", **settings_))  # type: ignore[misc]
    outcome(
        lambda: load_sensors(
            data, value="value", x="lon", y="lat", unit="u", sensor="site + code", time="time",
            condition="said", limit_column="limit", detection_limit=0.5, censored="half",
            missing=("9999",), day_first=False,
        )
    )  # fmt: skip
    try:
        guess = guess_columns(data)
    except DataError as error:
        clean(error)
        return
    if guess.known is not None and guess.known.place is not None and guess.known.values:
        place, column = guess.known.place, guess.known.values[0].column
        outcome(
            lambda: load_sensors(
                data,
                value=column,
                unit="u",
                x=place.x,
                y=place.y,
                crs=place.crs or 4326,
                sensor=guess.known.owner,
                time=guess.known.time,
            )  # type: ignore[union-attr]
        )
    chosen = {"value": guess.value or "?", "x": guess.x or "?", "y": guess.y or "?"}
    outcome(lambda: load_sensors(data, unit="u", crs=guess.crs or 27700, **chosen))


LAWS: dict[str, st.SearchStrategy[bytes]] = {
    "any bytes": st.binary(max_size=400),
    "any table": TABLES,
    "sales of any words": SALES,
    "sensors of any words": st.sampled_from(["site,lat,lon,value", "x,y,value,site"]).flatmap(below),
    "every question of any words": st.just("site,code,lon,lat,time,value,said,limit").flatmap(below),
    "agencies' tables of any words": st.sampled_from(
        [
            "agency_cd,site_no,dec_lat_va,dec_long_va,lev_dt,lev_va",
            "sensor_index,latitude,longitude,pm2.5_a",
            "site,code,date,latitude,longitude,source,no2",
            "ID,XCOO,YCOO,As,Pb",
        ]
    ).flatmap(below),
    "postcodes of any words": st.sampled_from(
        ["pcds,lat,long", "pcd,oseast1m,osnrth1m,osgrdind,doterm", "pcd7,east1m,north1m,gridind,lat,long"]
    ).flatmap(below),
    "damaged files": damaged(SEEDS),
    "damaged workbooks and layers": damaged(LAYERS),
    "packed tables": st.builds(lambda pack, data: pack(data), st.sampled_from(PACKINGS), TABLES),
    "damaged archives": damaged(st.builds(lambda pack, data: pack(data), st.sampled_from(PACKINGS), SEEDS)),
}


@pytest.mark.parametrize("law", LAWS)
def test_every_input_ends_well(law: str) -> None:
    settings(max_examples=EXAMPLES)(given(LAWS[law])(try_all))()


@pytest.mark.slow
@given(SALES, SALES)
@settings(max_examples=1_000)
def test_loading_twice_is_loading_once(first: bytes, second: bytes) -> None:
    """A file given twice in a row adds no record (identifiers protect from double counting)."""

    def size(*parts: bytes) -> int:
        try:
            return load_sales([part for part in parts if part], TABLE)[0].size
        except DataError:
            return 0

    assert size(first, second) == size(first, first, second, second)
