"""Names of coordinate systems: a clear one is found, an unclear one is asked about, none is guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo import CrsError, crs_by_name, crs_candidates, parse_crs
from geo.crs import _EVERYDAY


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Dutch grid", "EPSG:28992"),
        ("dutch  GRID", "EPSG:28992"),
        ("RD New", "EPSG:28992"),
        ("Amersfoort / RD New", "EPSG:28992"),
        ("British National Grid", "EPSG:27700"),
        ("the British national grid", "EPSG:27700"),
        ("OSGB36 / British National Grid", "EPSG:27700"),
        ("BNG", "EPSG:27700"),
        ("Lambert 93", "EPSG:2154"),
        ("Lambert-93", "EPSG:2154"),
        ("RGF93 / Lambert-93", "EPSG:2154"),
        ("ETRS89 / UTM zone 32N", "EPSG:25832"),
        ("WGS 84 / UTM zone 32N", "EPSG:32632"),
        ("NAD83 / UTM zone 18N", "EPSG:26918"),
        ("CH1903+ / LV95", "EPSG:2056"),
        ("LV95", "EPSG:2056"),
        ("SWEREF99 TM", "EPSG:3006"),
        ("Web Mercator", "EPSG:3857"),
        ("LAEA Europe", "EPSG:3035"),
        ("WGS84", "EPSG:4326"),
        ("longitude, latitude", "EPSG:4326"),
        ("27700", "EPSG:27700"),
        ("epsg:27700", "EPSG:27700"),
        ("EPSG 27700", "EPSG:27700"),
        ("OGC:CRS84", "OGC:CRS84"),
    ],
)
def test_clear_names_are_found(name: str, code: str) -> None:
    assert crs_by_name(name) == code


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("OSGB36", ["EPSG:27700", "EPSG:4277"]),
        ("UTM 32N", ["EPSG:32632", "EPSG:25832"]),
        ("utm zone 32 north", ["EPSG:32632", "EPSG:25832"]),
        ("UTM 18N", ["EPSG:32618", "EPSG:26918"]),
        ("UTM 32", ["EPSG:32632", "EPSG:25832", "EPSG:32732"]),
        ("UTM 55S", ["EPSG:32755", "EPSG:28355"]),
        ("Irish Grid", ["EPSG:29903", "EPSG:29902", "EPSG:29901"]),
        ("Swiss grid", ["EPSG:2056", "EPSG:21781"]),
        ("ITM", ["EPSG:2157", "EPSG:2039"]),
    ],
)
def test_unclear_names_are_asked_about_with_all_that_they_may_mean(name: str, codes: list[str]) -> None:
    assert [one.code for one in crs_candidates(name)] == codes
    with pytest.raises(CrsError, match="may mean several systems") as caught:
        crs_by_name(name)
    said = str(caught.value)
    assert all(code in said for code in codes)
    assert "\n" not in said


def test_many_candidates_are_cut_to_a_readable_number() -> None:
    found = crs_candidates("Gauss-Kruger zone 3")
    assert len(found) > 6
    with pytest.raises(CrsError, match="among others") as caught:
        crs_by_name("Gauss-Kruger zone 3")
    assert str(caught.value).count("EPSG:") == 6


def test_a_zone_of_utm_without_a_datum_elsewhere_is_clear() -> None:
    assert crs_by_name("UTM 42S") == "EPSG:32742"
    assert crs_by_name("UTM zone 42N") == "EPSG:32642"
    assert crs_candidates("UTM 61N") == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Duch grid", "did you mean 'dutch grid'"),
        ("British Nationl Grid", "did you mean 'OSGB36 / British National Grid'"),
        ("metres", "or its full name"),
        ("", "or its full name"),
        ("EPSG:99999", "not known"),
        ("EPSG:99999999999", "not known"),
        ("+proj=utm +zone=32", "not known"),
        ("file:/etc/passwd", "not known"),
    ],
)
def test_unknown_names_get_a_sentence(name: str, words: str) -> None:
    with pytest.raises(CrsError, match=words):
        crs_by_name(name)


def test_every_everyday_name_is_written_as_it_is_looked_up_and_leads_to_a_system() -> None:
    for name, codes in _EVERYDAY.items():
        found = crs_candidates(name)
        assert [one.code for one in found] == [f"EPSG:{code}" for code in codes], name
        assert all(one.name and one.area for one in found)


def test_names_of_the_database_lead_back_to_their_codes() -> None:
    for code in ("EPSG:3035", "EPSG:31370", "EPSG:2193", "EPSG:25833", "EPSG:5514", "EPSG:4258"):
        assert crs_by_name(parse_crs(code).name) == code


@given(st.text(max_size=120))
def test_any_text_gives_a_code_or_a_sentence(name: str) -> None:
    try:
        code = crs_by_name(name)
    except CrsError as error:
        said = str(error)
    else:
        said = ""
        parse_crs(code)
    assert len(said) < 700
