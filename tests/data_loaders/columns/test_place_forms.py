"""Whole places in one column, zones in a column, and the causes of numbers that are no degrees."""

from __future__ import annotations

import numpy as np
import pytest

from data_loaders import LoadReport, Observations, guess_columns
from data_loaders.columns.place_forms import _british, form_of
from tests.data_loaders.material import load_sensors, refused


def load(data: str, **changes: object) -> tuple[Observations, LoadReport]:
    given: dict[str, object] = {"value": "value", "unit": "u"} | changes
    return load_sensors(data.encode(), **given)  # type: ignore[arg-type]


def table(*places: str) -> str:
    return "\n".join(["value|where", *(f"{at + 1}|{place}" for at, place in enumerate(places))])


@pytest.mark.parametrize(
    ("place", "crs", "x", "y"),
    [
        ("POINT (-0.125 51.5)", "EPSG:4326", -0.125, 51.5),
        ("SRID=4326;POINT Z (-0.125 51.5 3)", "EPSG:4326", -0.125, 51.5),
        ("0101000000000000000000F03F0000000000004940", "EPSG:4326", 1.0, 50.0),
        ("0101000020E6100000000000000000F03F0000000000004940", "EPSG:4326", 1.0, 50.0),
        ("(51.5, -0.125)", "EPSG:4326", -0.125, 51.5), ("51.5,-0.125", "EPSG:4326", -0.125, 51.5),
        ("8928308280fffff", "EPSG:4326", -122.418459, 37.776702),
        ("gcpvj0du", "EPSG:4326", -0.127888, 51.507425), ("9C3XGV5C+2V", "EPSG:4326", -0.1278125, 51.5075625),
        ("9C3XGV5C+2VX", "EPSG:4326", -0.12776563, 51.5076125),
        ("30UXC9931610163", "EPSG:4326", -0.1277963, 51.5073976),
        ("30U XC 99316 10163", "EPSG:4326", -0.1277963, 51.5073976),
        ("56HLH3490152290", "EPSG:4326", 151.2153104, -33.8567838),
        ("TQ 30 80", "EPSG:27700", 530500.0, 180500.0), ("TQ300804", "EPSG:27700", 530050.0, 180450.0),
        ("O 15904 34671", "EPSG:29903", 315904.5, 234671.5), ("53394611", "EPSG:4326", 139.76875, 35.6791667),
        ("5339461113", "EPSG:4326", 139.7640625, 35.678125),
    ],
)  # fmt: skip
def test_a_place_in_one_column_is_read(place: str, crs: str, x: float, y: float) -> None:
    made, report = load(table(place, place, place), place_column="where")
    assert made.crs == crs
    np.testing.assert_allclose((made.x[0], made.y[0]), (x, y), atol=2e-6)
    assert any(note.startswith("Places in 'where' were read as ") for note in report.notes)
    assert guess_columns(table(place, place, place).encode()).place == "where"


def test_each_row_is_read_by_itself_in_the_form_of_nearly_all() -> None:
    rows = [f"POINT ({at / 100} 51.5)" for at in range(20)]
    alone = load(table(*rows), place_column="where")[0]
    for at in (0, 10, 19):
        odd = [*rows[:at], "51.5, 0.3", *rows[at:]]
        made, report = load(table(*odd), place_column="where")
        assert made.x.tolist() == alone.x.tolist()
        assert report.dropped == (("coordinate is not a number", 1),)
    mixed = [*rows[:2], "51.5, 0.3"]
    assert "no places of one known form in 'where'" in refused(
        lambda: load(table(*mixed), place_column="where")
    )


def test_cells_are_said_to_count_at_their_centre() -> None:
    _, report = load(table(*["TQ 30 80"] * 3), place_column="where")
    assert (
        "Places in 'where' were read as letters of the British National Grid, at the centre of cells up to "
        "1,000 m across, a standard deviation of 289 m: `place_sd` (--place-sd 289) says so." in report.notes
    )


def test_a_table_without_named_places_is_opened_and_its_columns_are_proposed() -> None:
    said = refused(lambda: load(table(*["POINT (-0.1 51.5)"] * 3)))
    assert "'where' holds places, written as POINT (x y), well-known text (--place-column where)" in said
    said = refused(lambda: load("lon,lat,value\n0.1,51.5,1\n0.2,51.6,2\n"))
    assert "(--lon lon --lat lat)" in said
    assert form_of(["S0", "S1", "S2"]) is None
    assert form_of(["2023", "2024", "2025"]) is None


@pytest.mark.parametrize(
    ("zone", "longitude", "latitude"),
    [
        ("30", -3.0, 45.101375), ("30N", -3.0, 45.101375), ("30T", -3.0, 45.101375),
        ("EPSG:32630", -3.0, 45.101375),
        ("UTM zone 31N", 3.0, 45.101375), ("32730", -3.0, -45.101375), ("30G", -3.0, -45.101375),
    ],
)  # fmt: skip
def test_each_row_has_its_own_zone(zone: str, longitude: float, latitude: float) -> None:
    north = 4994212.0 if latitude > 0 else 1e7 - 4994212.0
    data = f"e,n,zone,value\n500000,{north},{zone},1\n500000,4994212,31,2\n500000,4994212,99,3\n"
    made, report = load(data, x="e", y="n", zone_column="zone")
    assert made.crs == "EPSG:4326"
    np.testing.assert_allclose(made.x, (longitude, 3.0), atol=1e-6)
    np.testing.assert_allclose(made.y[0], latitude, atol=1e-3)
    assert report.dropped == (("coordinate is not a number", 1),)


def test_the_letter_s_is_a_band_where_the_northing_lies_in_it() -> None:
    rows = ("500000,4000000,30S,1", "500000,6250000,56S,2", "500000,4000000,19S,3")
    made, report = load("\n".join(["e,n,zone,value", *rows]), x="e", y="n", zone_column="zone")
    np.testing.assert_allclose(made.y, (36.1447, -33.8906), atol=1e-3)
    assert report.dropped == (("coordinate is not a number", 1),), "19S is in Chile or in the Caribbean"


def test_numbers_that_are_no_degrees_are_called_by_their_cause() -> None:
    packed = "\n".join(["lon,lat,value", "-72000,513030,1", "-72100,513159,2", "-71955,512901,3"])
    assert "degrees, minutes and seconds in one number" in refused(lambda: load(packed, x="lon", y="lat"))
    lost = "\n".join(["lon,lat,value", "-12781,5150798,1", "-12699,5150612,2"])
    assert "where decimal marks were lost" in refused(lambda: load(lost, x="lon", y="lat"))
    metres = lost.replace("lon,lat", "e,n")
    assert "marks were lost" not in refused(lambda: load(metres, x="e", y="n"))


def test_a_square_north_of_the_british_grid_is_no_place() -> None:
    assert _british("HL 00 00") == (500.0, 1_200_500.0, 1000.0)
    with pytest.raises(ValueError):  # noqa: PT011 - it says no more
        _british("HF 00 00")
