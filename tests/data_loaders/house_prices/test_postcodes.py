"""Postcode tables in their several real formats agree with one another and refuse what they cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_loaders import LoadReport, PostcodeTable, load_postcodes, registry
from data_loaders.house_prices.postcodes import UNKNOWN, UNLOCATED, postcode_keys
from tests.data_loaders.material import POSTCODES, packed_tar, packed_zip, reasons, refused

CODE_POINT = (
    b'"E1  0AA",10,535267,181084,"E92000001","E19000003","E18000007","","E09000030","E05009332"\n'
    b'"SW1A1AA",10,529090,179645,"E92000001","E19000003","E18000007","","E09000033","E05000649"\n'
    b'"E1  9ZZ",90,0,0,"E92000001","","","","",""\n'
)


def keys(*postcodes: str) -> list[int]:
    return postcode_keys(pa.array(postcodes, pa.string())).tolist()


def place(table: PostcodeTable, postcode: str) -> tuple[float, float]:
    at = int(table.locate(np.array(keys(postcode)))[0])
    assert at >= 0
    return float(table.x[at]), float(table.y[at])


def test_spellings_of_one_postcode_agree_and_others_do_not() -> None:
    assert len(set(keys("E1 0AA", "E1  0AA", "e1 0aa", "E10AA", " e1\t0aa ", "E1\u00a00AA"))) == 1
    assert keys("", "E1", "nonsense", "E1 0A", "E1 000AA", "12 3AB", "E1 0AAA") == [-1] * 7


AREA = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=1, max_size=2)
UNIT = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=2, max_size=2)
DIGIT = st.sampled_from("0123456789")
POSTCODE = st.builds(
    "{}{}{} {}{}".format,
    AREA,
    DIGIT,
    st.one_of(st.just(""), DIGIT, st.sampled_from("ABCMPRVWXY")),
    DIGIT,
    UNIT,
)


@given(POSTCODE, POSTCODE)
def test_keys_are_exact(first: str, second: str) -> None:
    one, two = keys(first, second)
    assert one >= 0
    assert (one == two) == (first.replace(" ", "") == second.replace(" ", ""))


def test_nspl_style_prefers_latitude_and_longitude() -> None:
    table, report = load_postcodes(POSTCODES)
    assert table.crs == "EPSG:4326"
    assert (report.rows_read, report.kept) == (4, 3)
    assert reasons(report) == {"postcode without usable coordinates": 1}
    assert place(table, "sw1a1aa") == (-0.141588, 51.501009)
    assert table.locate(np.array(keys("E1 9ZZ", "N1 1AA", "x"))).tolist() == [UNLOCATED, UNKNOWN, UNKNOWN]


def test_eastings_and_northings_where_there_is_nothing_else() -> None:
    table, _ = load_postcodes(b"pcds,oseast1m,osnrth1m\nE1 0AA,535267,181084\nBT1 1AA,333500,374500\n")
    assert table.crs == "EPSG:27700"
    assert place(table, "E1 0AA") == (535267.0, 181084.0)
    at = table.locate(np.array(keys("BT1 1AA")))
    assert at.tolist() == [UNLOCATED], "Northern Ireland is on the Irish Grid in these columns"


def test_zero_eastings_and_northings_are_no_place() -> None:
    rows = b"pcds,oseast1m,osnrth1m\nE1 0AA,535267,181084\nE1 0AB,0,0\nE1 0AD,0,181084\nE1 0AE,535267,0\n"
    table, report = load_postcodes(rows)
    assert reasons(report) == {"postcode without usable coordinates": 1}
    assert table.locate(np.array(keys("E1 0AB"))).tolist() == [UNLOCATED]
    assert place(table, "E1 0AD") == (0.0, 181084.0)


@pytest.mark.parametrize(
    "header",
    [
        "pcd,pcd2,pcds,dointr,doterm,oseast1m,osnrth1m,osgrdind,lat,long",
        "pcd7,pcd8,pcds,dointr,doterm,east1m,north1m,gridind,lat,long",
        "PCD7,PCD8,PCDS,DOINTR,DOTERM,EAST1M,NORTH1M,GRIDIND,LAT,LONG",
    ],
)
def test_editions_of_onspd_and_nspl(header: str) -> None:
    rows = (
        "E1  0AA,E1   0AA,E1 0AA,198001,,535267,181084,1,51.512497,-0.052098\n"
        "E1  0AB,E1   0AB,E1 0AB,198001,199606,535260,181080,1,51.512490,-0.052090\n"
        "E1  9ZZ,E1   9ZZ,E1 9ZZ,198001,,,,9,99.999999,0.000000\n"
    )
    table, report = load_postcodes(f"{header}\n{rows}".encode())
    assert table.size == 2
    assert any("1 terminated" in note for note in report.notes)
    grid = header.lower().replace(",lat,long", ",a,b")
    table, _ = load_postcodes(f"{grid}\n{rows}".encode())
    assert place(table, "E1 0AA") == (535267.0, 181084.0)


@pytest.mark.parametrize("name", ["pcd", "pcd2", "pcd7", "pcd8", "Postcode"])
def test_any_one_postcode_column_will_do(name: str) -> None:
    table, _ = load_postcodes(f"{name},latitude,longitude\nE1  0AA,51.5,-0.05\n".encode())
    assert place(table, "E1 0AA") == (-0.05, 51.5)


def test_code_point_open_alone_and_in_archives(tmp_path: Path) -> None:
    first, second = CODE_POINT.splitlines(keepends=True)[:2]
    column_headers = b"PC,PQ,EA,NO,CY,RH,LH,CC,DC,WC\nPostcode,PQ,Eastings,Northings,a,b,c,d,e,f\n"
    archive = packed_zip(
        {
            "Data/CSV/e.csv": first,
            "Data/CSV/sw.csv": second,
            "Doc/Code-Point_Open_Column_Headers.csv": column_headers,
            "Doc/licence.txt": b"Licence, in words.\n",
        }
    )
    (tmp_path / "CSV").mkdir()
    (tmp_path / "CSV" / "e.csv").write_bytes(first)
    (tmp_path / "CSV" / "sw.csv").write_bytes(second)
    for source in (CODE_POINT, archive, packed_tar({"2017/e.csv": first, "2017/sw.csv": second}), tmp_path):
        table, report = load_postcodes(source)
        assert table.crs == "EPSG:27700"
        assert place(table, "SW1A 1AA") == (529090.0, 179645.0)
        assert table.size == report.kept == 2
    assert any("2 files" in note for note in load_postcodes(archive)[1].notes)


def test_per_area_copies_inside_an_onspd_archive_are_passed_over() -> None:
    archive = packed_zip(
        {
            "Data/ONSPD_FEB_2024_UK.csv": POSTCODES,
            "Data/multi_csv/ONSPD_FEB_2024_UK_E.csv": POSTCODES,
            "Documents/names.csv": b"CODE,NAME\nE1,East\n",
        }
    )
    assert load_postcodes(archive)[1].rows_read == 4


def test_a_postcode_listed_twice_counts_once_and_the_first_wins() -> None:
    table, report = load_postcodes([POSTCODES, b"pcds,lat,long\nE1 0AA,52.0,0.1\nN1 1AA,51.5,-0.1\n"])
    assert place(table, "E1 0AA") == (-0.052098, 51.512497)
    assert reasons(report)["the postcode was listed before, or as terminated"] == 1
    assert table.size == 4


def test_of_a_postcode_listed_as_terminated_and_as_live_the_live_place_counts() -> None:
    joined = (
        b"pcds,doterm,lat,long\nE1 0AA,201001,52.0,0.1\nE1 0AA,,51.5,-0.1\nE1 0AA,,51.6,-0.2\n"
        b"E1 0AD,201001,51.25,-0.3\nE1 0AD,199901,51.75,-0.4\n"
    )
    table, report = load_postcodes(joined)
    assert place(table, "E1 0AA") == (-0.1, 51.5)
    assert place(table, "E1 0AD") == (-0.3, 51.25)
    assert reasons(report) == {"the postcode was listed before, or as terminated": 3}
    assert "1 terminated postcodes were kept, since past sales refer to them." in report.notes


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"pcds,lad\nE1 0AA,x\n", "no coordinates"),
        (b"name,lat,long\nx,51.5,-0.1\n", "no postcode table"),
        (b"a,b,c\n1,2,3\n", "no postcode table"),
        (b"pcds,lat,long\n", "no postcode"),
        (b"pcds,lat,long\nE1 0AA,99.999999,0\n", "without usable coordinates"),
        (b"pcds,lat,long\nnowhere,51,0\n", "malformed"),
        (b"pcds,lat,long\nE1 0AA,-0.05,51.5\nE1 0AD,-0.06,51.4\n", "swapped"),
        (b"pcds,lat,long\nE1 0AA,51.5,535267\n", "no degrees"),
        (b"pcds,oseast1m,osnrth1m\nE1 0AA,-0.05,51.5\n", "degrees"),
        (packed_zip({"a.csv": POSTCODES, "b.csv": CODE_POINT}), "mixes"),
        (b"", "empty"),
        (b"%PDF-1.4", "PDF"),
    ],
)
def test_what_is_no_postcode_table_is_refused(data: bytes, word: str) -> None:
    assert word in refused(lambda: load_postcodes(data))


def test_a_table_without_order_cannot_exist() -> None:
    one = np.array([1.0, 2.0])
    with pytest.raises(ValueError, match="increasing"):
        PostcodeTable(np.array([5, 4]), one, one, "EPSG:4326", np.empty(0, dtype=np.int64))


def test_the_lookup_of_two_sources_is_read_once_and_a_changed_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    whole = registry.load_postcodes

    def counted(path: Path) -> tuple[PostcodeTable, LoadReport]:
        read.append(path)
        return whole(path)

    monkeypatch.setattr(registry, "load_postcodes", counted)
    path = tmp_path / "postcodes.csv"
    path.write_text("pcds,lat,long\nE1 0AA,51.5,-0.1\n")
    first = registry._postcodes(path)
    assert registry._postcodes(path) is first
    path.write_text("pcds,lat,long\nE1 0AA,51.25,-0.1\n")
    os.utime(path, ns=(1, 1))
    assert place(registry._postcodes(path), "E1 0AA") == (-0.1, 51.25)
    assert read == [path, path]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part.csv").write_text("pcds,lat,long\nE1 0AA,51.0,-0.1\n")
    for _ in range(2):  # what changes inside a folder does not show in the folder itself
        assert place(registry._postcodes(tmp_path / "folder"), "E1 0AA") == (-0.1, 51.0)
    assert read == [path, path, tmp_path / "folder", tmp_path / "folder"]
