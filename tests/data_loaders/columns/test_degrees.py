"""Places as people write them: letters, minutes, 0 to 360, times 10^7, and names in many languages."""

from __future__ import annotations

import numpy as np
import pytest

from data_loaders import guess_columns
from data_loaders.columns.coordinates import check_places, in_range
from data_loaders.observations import LoadReport, Observations
from tests.data_loaders.material import load_sensors, reasons, refused
from tests.data_loaders.workbooks import workbook


def load(data: str | bytes, **changes: object) -> tuple[Observations, LoadReport]:
    given: dict[str, object] = {"value": "value", "x": "lon", "y": "lat", "unit": "ug/m3"} | changes
    raw = data.encode() if isinstance(data, str) else data
    return load_sensors(raw, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["GPS_EW", "EW", "e/w", "lon_dir", "Longitude hemisphere", "East_West"])
def test_letters_in_a_column_of_their_own_say_the_side(name: str) -> None:
    rows = "0.25,W,51.5,1\n0.5,E,51.25,2\n-0.75,west,51.75,3\n0.125,,51.5,4\n0.125,X,51.5,5\n-0.25,,51,6\n"
    made, report = load(f"lon,{name},lat,value\n" + rows + "0.5,East,51.5,7\n" * 9, value="value")
    assert made.x.tolist()[:4] == [-0.25, 0.5, -0.75, -0.25]
    assert reasons(report)["hemisphere letter missing or unknown"] == 2
    assert f"Column {name!r} says on which side 'lon' lies." in report.notes


def test_letters_of_the_south_and_a_column_that_holds_no_letters() -> None:
    made, _ = load("lon,lat,NS,value\n10,33.5,S,1\n11,34.5,N,2\n")
    assert made.y.tolist() == [-33.5, 34.5]
    made, report = load("lon,lat,NS,value\n10,33.5,12.5,1\n11,34.5,13.5,2\n")
    assert made.y.tolist() == [33.5, 34.5]
    assert not any("on which side" in note for note in report.notes)


@pytest.mark.parametrize(
    ("lon", "lat", "x", "y"),
    [
        ("0.25W", "51.5N", -0.25, 51.5),
        ("E 0.25", "S51.5", 0.25, -51.5),
        ("0°15'0\"W", "51°30'36\"N", -0.25, 51.51),
        ("0° 15′ W", "51° 30′ 36″ N", -0.25, 51.51),
        ("-0 15 0", "51 30 36", -0.25, 51.51),
        ("0:15:00 W", "51:30:36.0 N", -0.25, 51.51),
        ("0d15m0sW", "51d30m36sN", -0.25, 51.51),
        ("W000°15.0'", "N51°30.6'", -0.25, 51.51),
        ("0,25 W", "51,5 N", -0.25, 51.5),
    ],
)
def test_degrees_minutes_and_seconds(lon: str, lat: str, x: float, y: float) -> None:
    quoted = f"lon;lat;value\n'{lon};{lat};5\n".replace("'" + lon, lon.replace('"', '""').join('""'))
    quoted = quoted.replace(lat, lat.replace('"', '""').join('""'))
    made, _ = load(quoted)
    assert made.x.tolist() == pytest.approx([x], abs=1e-12)
    assert made.y.tolist() == pytest.approx([y], abs=1e-12)
    guess = guess_columns((quoted + quoted.splitlines()[1] + "\n").encode())
    assert (guess.x, guess.y, guess.value) == ("lon", "lat", "value")


@pytest.mark.parametrize(
    "lat", ["51°75'N", "51°30'75\"N", "51.5W", "N51.5N", "51.5°30'N", "north", "51 30 10 5"]
)
def test_what_is_no_latitude(lat: str) -> None:
    entry = lat.replace('"', '""').join('""')
    made, report = load(f"lon,lat,value\n0.25,51.5,5\n0.5,{entry},6\n")
    assert (made.size, reasons(report)) == (1, {"coordinate is not a number": 1})


def test_longitudes_from_0_to_360() -> None:
    made, report = load("lon,lat,value\n359.75,51.5,1\n0.5,51.25,2\n180,51,3\n180.5,51,4\n360.5,51,5\n")
    assert made.x.tolist() == [-0.25, 0.5, 180.0, -179.5]
    assert "2 longitudes from 180 to 360 were read as west of Greenwich." in report.notes
    assert reasons(report) == {"coordinates outside the range of longitude and latitude": 1}
    guess = guess_columns(b"lon,lat,value\n359.75,51.5,1\n359.5,51.25,2\n")
    assert (guess.x, guess.y, guess.crs) == ("lon", "lat", "EPSG:4326")


def test_degrees_times_ten_millions_are_read_by_name_and_named_otherwise() -> None:
    rows = "-2500000,515000000,1\n-5000000,512500000,2\n"
    made, _ = load("longitudeE7,latitudeE7,value\n" + rows, x="longitudeE7", y="latitudeE7")
    assert (made.x.tolist(), made.y.tolist()) == ([-0.25, -0.5], [51.5, 51.25])
    guess = guess_columns(("longitudeE7,latitudeE7,value\n" + rows).encode())
    assert (guess.x, guess.y, guess.crs) == ("longitudeE7", "latitudeE7", "EPSG:4326")
    assert "degrees times 10,000,000" in refused(lambda: load("lon,lat,value\n" + rows))


def test_a_place_at_0_0_is_no_fix() -> None:
    made, report = load("lon,lat,value\n0,0,1\n0,51.5,2\n0.5,0,3\n")
    assert made.value.tolist() == [2.0, 3.0]
    assert reasons(report) == {"place at 0, 0, which devices write without a fix": 1}
    metres = load("x,y,value\n0,0,1\n535267,181084,2\n", x="x", y="y", crs="EPSG:27700")
    assert metres[0].size == 2


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("Länge", "Breite"), ("Geogr. Länge", "Geogr. Breite"), ("longitud", "latitud"),
        ("longitudine", "latitudine"), ("Längengrad", "Breitengrad"), ("długość", "szerokość"),
        ("længdegrad", "breddegrad"), ("hosszúság", "szélesség"), ("долгота", "широта"), ("经度", "纬度"),
        ("boylam", "enlem"), ("dec_long_va", "dec_lat_va"), ("LongitudeMeasure", "LatitudeMeasure"),
        ("GPS_LONG", "GPS_LAT"), ("TH_LONG", "TH_LAT"), ("decimalLongitude", "decimalLatitude"),
    ],
)  # fmt: skip
def test_degrees_are_known_by_name(x: str, y: str) -> None:
    guess = guess_columns(f"sample_nr,{y},{x},lead\n1,51.5,0.25,7.5\n2,51.25,0.5,8.5\n".encode())
    assert (guess.x, guess.y, guess.crs, guess.value) == (x, y, "EPSG:4326", "lead")
    if x.isascii():
        exchanged = f"{y},{x},value\n51.5,0.25,7\n"
        assert "exchange the columns" in refused(lambda: load(exchanged, x=y, y=x))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("Rechtswert", "Hochwert"),
        ("XCOO", "YCOO"),
        ("Este", "Norte"),
        ("Ostwert", "Nordwert"),
        ("X_LAEA", "Y_LAEA"),
        ("E_Koord", "N_Koord"),
        ("UTM Easting", "UTM Northing"),
    ],
)
def test_metres_are_known_by_name(x: str, y: str) -> None:
    guess = guess_columns(f"id,{x},{y},lead\n1,4300000,3200000,7.5\n2,4300500,3200500,8.5\n".encode())
    assert (guess.x, guess.y, guess.crs, guess.value) == (x, y, None, "lead")


@pytest.mark.parametrize(
    "other", ["POINTID", "siteid", "sample_no", "Messstellennummer", "zip", "GPS_ALT_EPSG"]
)
def test_the_value_proposed_is_no_identifier_and_no_place(other: str) -> None:
    data = f"{other},lon,lat,Easting,lead\n101,0.25,51.5,535267,7.5\n102,0.5,51.25,535268,8.5\n"
    assert guess_columns(data.encode()).value == "lead"


def test_degrees_written_as_text_in_a_workbook() -> None:
    made, _ = load(workbook([["lon", "lat", "value"], ["0°15'W", "51°30'N", 4], [359.75, 51.25, 5]]))
    assert (made.x.tolist(), made.y.tolist()) == ([-0.25, -0.25], [51.5, 51.25])


@pytest.mark.parametrize(
    ("system", "x", "y", "said"),
    [
        ("EPSG:4326", [200.0, 200.0], [1.2e7, 1.2e7], "not degrees but projected coordinates"),
        ("EPSG:4326", [200.0, 200.0], [-1.3e7, 1.3e7], "degrees times 10,000,000"),
        ("EPSG:4326", [51.0, 52.0], [91.0, 180.0], "exchange the columns"),
        ("EPSG:4326", [51.0, 52.0], [91.0, 181.0], "not degrees but projected coordinates"),
        ("EPSG:4326", [181.0, 0.0], [0.0, 90.0], ""),
        ("EPSG:4326", [181.0, 181.0, 0.0], [0.0, 0.0, 0.0], "not degrees but projected coordinates"),
        ("EPSG:27700", [180.0, 9e5], [90.0, 9e5], ""),
        ("EPSG:27700", [180.0, 179.0, 9e5], [90.0, 90.0, 9e5], "look like degrees, not like EPSG:27700"),
        ("EPSG:4326", [], [], ""),
    ],
)
def test_places_that_contradict_their_system_are_refused(
    system: str, x: list[float], y: list[float], said: str
) -> None:
    def check() -> None:
        check_places("t.csv", system, ("x", "y"), (np.array(x), np.array(y)))

    assert (said in refused(check)) if said else check() is None


def test_degrees_have_a_range_and_metres_have_none() -> None:
    x, y = np.array([180.0, 181.0, -180.0, 0.0]), np.array([90.0, 0.0, -90.0, 91.0])
    assert in_range("EPSG:4326", x, y).tolist() == [True, False, True, False]
    assert in_range("EPSG:27700", x, y).all()
