"""Every reason that is given for a guess, and where one guess turns into another: shares, ranges and rows."""

from __future__ import annotations

import pytest

from data_loaders import DataError, guess_columns, split_unit
from data_loaders.columns import sensortable
from data_loaders.columns.profiles import profile_from
from data_loaders.columns.sensortable import count_entries
from data_loaders.columns.specification import find_header
from data_loaders.files.blocks import Line

DEGREES = "Columns 'lon' and 'lat' are named as longitude and latitude and hold degrees."
NO_UNIT = "The unit of the value is not in its name: state it."


NONE = (
    "No column looks like measured numbers: leave empty, in the file, what was not measured, and write "
    "answers as 1 for yes and 0 for no; rows without values can be counted."
)
ANSWERS = "It holds 1 and 0, so the map asks for a share of yes unless you ask otherwise."
MARKS = "decimals or thousands: state the decimal mark."


def numeric(name: str) -> str:
    return f"Column {name!r} is numeric and no coordinate."


def said(text: str) -> tuple[str, ...]:
    return guess_columns(text.encode()).reasons


def table(header: str, *rows: str) -> str:
    return "\n".join([header, *rows]) + "\n"


@pytest.mark.parametrize(
    ("header", "rows", "place"),
    [
        ("a,b", ["x,y"], "No pair of columns looks like coordinates: choose them."),
        ("lon,lat", ["13.4,52.5"], DEGREES),
        (
            "x,y",
            ["12.5,41.9"],
            "Columns 'x' and 'y' are in the range of degrees: confirm EPSG:4326 or choose a system.",
        ),
        (
            "easting,northing",
            ["530000,180000"],
            "Columns 'easting' and 'northing' fit the British National Grid: confirm EPSG:27700.",
        ),
        (
            "x rd,y rd",
            ["121000,487000"],
            "Columns 'x rd' and 'y rd' fit the Dutch grid: confirm EPSG:28992.",
        ),
        (
            "x,y",
            ["530000,180000"],
            "Columns 'x' and 'y' are projected coordinates: state their EPSG code.",
        ),
    ],
)
def test_how_places_are_read_is_said(header: str, rows: list[str], place: str) -> None:
    assert said(table(f"{header},no2 (ppb)", *(f"{row},7.5" for row in rows))) == (
        place,
        numeric("no2 (ppb)"),
    )


@pytest.mark.parametrize(
    ("name", "entries", "reasons"),
    [
        ("no2", ["7.5"], (numeric("no2"), NO_UNIT)),
        ("no2 (ppb)", ["1", "0"], (numeric("no2 (ppb)"),)),
        ("mean", ["1", "0"], (numeric("mean"), ANSWERS)),
        ("mean", ["1", "2"], (numeric("mean"), NO_UNIT)),
        ("no2 (ppb)", ['"1,234"'], (numeric("no2 (ppb)"), "Commas may mark " + MARKS)),
        ("share", ["1 %"], (numeric("share"), "Its numbers have a percent sign, so they are per cent.")),
        ("share", ["high"], (NONE,)),
        ("", ["1", "2"], (NONE,)),  # rows counted by the program that wrote the table
    ],
)
def test_how_the_value_is_read_is_said(name: str, entries: list[str], reasons: tuple[str, ...]) -> None:
    assert said(table(f"lon;lat;{name}", *(f"13.4;52.5;{one}" for one in entries))) == (DEGREES, *reasons)


@pytest.mark.parametrize(
    ("header", "low", "beyond", "crs"),
    [
        ("easting,northing", "0,1300000", "-1,1300000", "EPSG:27700"),
        ("easting,northing", "700000,1300000", "700001,1300000", "EPSG:27700"),
        ("easting,northing", "700000,1300000", "700000,1300001", "EPSG:27700"),
        ("easting,northing", "530000,0", "530000,-1", "EPSG:27700"),
        ("x_rd,y_rd", "-7000,289000", "-7001,289000", "EPSG:28992"),
        ("x_rd,y_rd", "-7000,289000", "-7000,288999", "EPSG:28992"),
        ("x_rd,y_rd", "300000,629000", "300001,629000", "EPSG:28992"),
        ("x_rd,y_rd", "300000,629000", "300000,629001", "EPSG:28992"),
        ("lon,lat", "-180,-90", "-180.1,-90", "EPSG:4326"),
        ("lon,lat", "360,90", "360.1,90", "EPSG:4326"),
        ("lon,lat", "360,90", "360,90.1", "EPSG:4326"),
        ("lon,lat", "-180,-90", "-180,-90.1", "EPSG:4326"),
    ],
)
def test_a_grid_ends_where_its_country_does(header: str, low: str, beyond: str, crs: str) -> None:
    home = {"EPSG:27700": "530000,180000", "EPSG:28992": "121000,487000", "EPSG:4326": "13.4,52.5"}[crs]
    assert guess_columns(table(f"{header},no2", f"{home},5", *[f"{low},5"] * 9).encode()).crs == crs
    assert guess_columns(table(f"{header},no2", f"{home},5", *[f"{beyond},5"] * 9).encode()).crs != crs


@pytest.mark.parametrize(("mark", "separator"), [(".", ","), (",", ";")])
def test_coordinates_of_three_decimals_are_degrees_and_no_thousands(mark: str, separator: str) -> None:
    """5.723 groups digits nowhere among coordinates; as a value it stays open and is asked about."""
    rows = [f"5{mark}{700 + i};50{mark}{900 + i};{i}{mark}5".replace(";", separator) for i in range(9)]
    written = "\n".join([separator.join(("lon", "lat", "lead")), *rows]) + "\n"
    chosen = guess_columns(written.encode())
    assert (chosen.x, chosen.y, chosen.crs, chosen.value) == ("lon", "lat", "EPSG:4326", "lead")


@pytest.mark.parametrize(("stray", "crs"), [(2, "EPSG:4326"), (3, None)])
def test_one_row_in_five_may_lie_anywhere(stray: int, crs: str | None) -> None:
    rows = ["13.4,52.5,5"] * (10 - stray) + ["9999,9999,5"] * stray
    assert guess_columns(table("lon,lat,no2", *rows).encode()).crs == crs


@pytest.mark.parametrize(("words", "value"), [(2, "no2"), (3, None)])
def test_four_in_five_entries_of_a_value_are_numbers(words: int, value: str | None) -> None:
    rows = ["13.4,52.5,5.5"] * (10 - words) + ["13.4,52.5,high"] * words
    assert guess_columns(table("lon,lat,no2", *rows).encode()).value == value


@pytest.mark.parametrize(("many", "chosen"), [(5, True), (6, False)])
def test_a_column_may_filter_with_at_most_one_entry_in_four_rows(many: int, chosen: bool) -> None:
    rows = [f"13.4,52.5,5.5,k{i % many}" for i in range(20)]
    assert bool(dict(guess_columns(table("lon,lat,no2,kind", *rows).encode()).choices)) == chosen


@pytest.mark.parametrize(("many", "chosen"), [(30, True), (31, False)])
def test_a_column_may_filter_with_at_most_thirty_entries(many: int, chosen: bool) -> None:
    rows = [f"13.4,52.5,5.5,k{i % many}" for i in range(130)]
    assert bool(dict(guess_columns(table("lon,lat,no2,kind", *rows).encode()).choices)) == chosen


@pytest.mark.parametrize(
    ("header", "value", "unit"),
    [
        ("No.,Pb [mg/kg]", "Pb [mg/kg]", "mg/kg"),
        ("Sample No.,Pb", "Pb", None),
        ("depth (cm),As (µg/L)", "As (µg/L)", "µg/L"),
        ("weight kg/m,As", "weight kg/m", None),
        (",pb", "pb", None),
        ("no,pb", "no", None),  # nitric oxide
        ("NO2,pb", "NO2", None),
        ("zimmer,preis", "preis", None),
        ("pièces,prix €", "prix €", None),
        ("piso,precio_m2", "precio_m2", None),
        ("zimmer,preisklasse", "zimmer", None),
    ],
)
def test_a_running_number_is_no_value_and_a_concentration_is(
    header: str, value: str, unit: str | None
) -> None:
    guess = guess_columns(table(f"lon,lat,{header}", "13.4,52.5,1,7.5", "13.4,52.5,2,8.5").encode())
    assert (guess.value, guess.unit) == (value, unit)


@pytest.mark.parametrize(
    ("name", "words", "unit"),
    [
        ("Pb [mg/kg]", "Pb", "mg/kg"),
        ("Pb (mg/kg) dry", "Pb dry", "mg/kg"),
        ("[ppb]", "[ppb]", "ppb"),
        ("no2_ug_m3", "no2_ug_m3", "ug/m3"),
        ("no2 ug/m3", "no2 ug/m3", "ug/m3"),
        ("o3 ppb", "o3 ppb", "ppb"),
        ("lead", "lead", None),
        ("value (2019)", "value (2019)", None),
        ("PM10 (TEOM)", "PM10 (TEOM)", None),
        ("PM10 (TEOM) [µg/m³]", "PM10 (TEOM)", "µg/m³"),
        ("answer (y/n)", "answer (y/n)", None),
        ("Value(s)", "Value(s)", None),
        ("noise level (min)", "noise level (min)", None),
        ("Duration (min)", "Duration", "min"),
        ("travel time (s)", "travel time", "s"),
        ("time(s)", "time(s)", None),
        ("price over time and place (min)", "price over time and place (min)", None),
        ("time [s]", "time", "s"),
        ("time [min]", "time", "min"),
        ("flow (m/s)", "flow", "m/s"),
        ("Pb (µg L\N{MINUS SIGN}1)", "Pb", "µg L\N{MINUS SIGN}1"),
        ("temperature (deg C)", "temperature", "deg C"),
        ("temperature (degrees C)", "temperature", "degrees C"),
        ("depth (ft)", "depth", "ft"),
        ("floor (sq ft)", "floor", "sq ft"),
        ("distance (mi)", "distance", "mi"),
        ("coliforms (MPN/100ml)", "coliforms", "MPN/100ml"),
        ("price (asking)", "price (asking)", None),
        ("Temperature (°C)", "Temperature", "°C"),
        ("radon (Bq m-3)", "radon", "Bq m-3"),
        ("noise (dB(A))", "noise", "dB(A)"),
        ("tritium (pCi/L)", "tritium", "pCi/L"),
        ("pollen (grains/m3)", "pollen", "grains/m3"),
        ("rent [€/m²]", "rent", "€/m²"),
        ("moisture (%)", "moisture", "%"),
        ("income (thousand euros)", "income", "thousand euros"),
        ("Price (US$)", "Price", "US$"),
        ("Sale price [SEK]", "Sale price", "SEK"),
    ],
)
def test_a_name_is_split_into_words_and_unit(name: str, words: str, unit: str | None) -> None:
    assert split_unit(name) == (words, unit)


def lines(*rows: str) -> list[Line]:
    return [Line(tuple(row.split(",")), at, at + 1, at + 1) for at, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("units", "rest", "passed"),
    [
        ("deg,deg,ppb", ["1.5,2.5,3"] * 5, True),
        ("deg,deg,ppb", ["1.5,2.5,3"] * 4 + ["1.5,2.5,no"], True),
        ("deg,deg,x", ["1.5,a,3"] * 3 + ["1.5,2.5,no"] * 2, False),
        ("deg,x,x", ["1.5,a,b"] * 5, False),
        ("deg,,", ["1.5,2.5,3"] * 5, False),
        ("deg,ppb,", ["1.5,2.5,3"] * 5, True),
        ("deg,ppb,7", ["1.5,2.5,3"] * 5, False),
        ("deg,ppb,<7", ["1.5,2.5,3"] * 5, False),
        ("n/a,n/a,ppb", ["1.5,2.5,3"] * 5, False),
        ("deg,deg,ppb", [], False),
        ("deg,deg,ppb", ["1.5,2.5,3"], True),
        ("deg,deg,ppb", ["n/a,n/a,n/a"], False),
    ],
)
def test_a_row_of_words_over_numbers_holds_units(units: str, rest: list[str], passed: bool) -> None:
    """Two columns at least are numbers in four of five rows, and none has a number in its place."""
    header = find_header("t", lines("lon,lat,no2", units, *rest))
    assert header.names == ("lon", "lat", "no2")
    assert header.first == 1, "it is read as all rows"
    assert header.notes == (("Row 2 holds units of measure, and so no record.",) if passed else ())


def test_a_header_below_titles_is_said_and_a_row_that_is_not_there_refused() -> None:
    rows = lines("Air quality", "of a town", "lon,lat,no2", "1.5,2.5,3", "1.5,2.5,3")
    assert find_header("t", rows).notes == ("The names of the columns stand in row 3.",)
    assert find_header("t", rows).number == 3
    assert find_header("t", rows, 5).number == 5
    with pytest.raises(DataError, match="t has nothing in row 6: say which row names its columns"):
        find_header("t", rows, 6)


def test_entries_are_counted_to_a_limit_in_number_and_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensortable, "MOST", 2)
    monkeypatch.setattr(sensortable, "LONGEST", 3)
    text = table("kind,town,long,v", "b,x,abc,1", "a,x,abcd,1", "a,y,abc,2", "b,z,,2", "b,y,abc,2")
    found = count_entries(text.encode(), ("kind", "town", "long"), {})
    assert found.counts == {"kind": (("b", 3), ("a", 2)), "town": (("x", 2), ("y", 2)), "long": (("abc", 3),)}
    assert (found.rows, found.kept, found.crowded) == (5, 5, ("town",))
    kept = count_entries(text.encode(), ("kind", "town"), {"v": "2.0", "kind": "b"})
    assert kept.counts == {"kind": (("b", 2), ("a", 1)), "town": (("y", 1), ("z", 1))}
    assert (kept.rows, kept.kept, kept.crowded) == (5, 2, ())


def test_a_profile_that_cannot_be_read_is_named() -> None:
    for text in ("title", "kind = 'table'", "title = 'T'\nunknown = 1", "title = 'T'\nplaces = 3"):
        with pytest.raises(DataError, match=r"The profile 'mine' cannot be read: "):
            profile_from("mine", text)


@pytest.mark.parametrize(
    "name",
    [
        "elevation",
        "altitude_m",
        "ele",
        "hdop",
        "PDOP",
        "individual-identifier",
        "serial",
        "fips",
        "h3",
        "satellites",
        "height_m",
        "Höhe",
        "elevación (m)",
        "dem",
        "rownames",
        "Unnamed: 0",
    ],
)
def test_a_height_a_code_and_a_dilution_of_precision_are_no_value(name: str) -> None:
    rows = "\n".join(f"{at / 100},51.{at:02d},{at * 3 + 100},{at / 8}" for at in range(12))
    assert guess_columns(f"lon,lat,{name},no2\n{rows}".encode()).value == "no2"
    assert guess_columns(f"lon,lat,{name},soil\n{rows}".encode()).value == "soil"


def test_numbers_that_count_the_rows_are_no_value() -> None:
    rows = [f"{at / 100},51.{at:02d},{at + 7},{at % 5}" for at in range(12)]
    assert guess_columns("\n".join(["lon,lat,tag,soil", *rows]).encode()).value == "soil"
    rows[6] = "0.06,51.06,14,1"  # one row twice: they are measurements
    assert guess_columns("\n".join(["lon,lat,tag,soil", *rows]).encode()).value == "tag"


def test_dates_that_leave_their_order_open_are_guessed_as_times_and_asked_about_when_they_are_read() -> None:
    rows = [
        f"13.{at},52.5,{at}.5,{'3/14' if at == 5 else f'{1 + at % 12}/{1 + at % 9}'}/2023" for at in range(24)
    ]
    assert guess_columns("\n".join(["lon,lat,value,when", *rows]).encode()).time == "when"


@pytest.mark.parametrize(
    ("owner", "word", "time"),
    [
        ("station", "sensor", "sampled"),
        ("Messstelle", "sensor", "Datum"),
        ("Estación", "sensor", "fecha"),
        ("Ménage no", "person", "Année"),
        ("Paciente_ID", "person", "año"),
        ("meetpunt", "sensor", "Tijdstip"),
        ("pozzo", "sensor", "Data prelievo"),
    ],
)
def test_owners_and_times_are_named_in_several_languages(owner: str, word: str, time: str) -> None:
    rows = [f"13.{at:02d},52.5,{at}.5,S{at % 4},2023-01-{1 + at:02d}" for at in range(24)]
    guess = guess_columns("\n".join([f"lon,lat,value,{owner},{time}", *rows]).encode())
    assert (guess.owner, guess.owner_word, guess.time) == (owner, word, time)


@pytest.mark.parametrize("name", ["tag", "diameter", "update", "Putin"])
def test_other_words_name_neither_owner_nor_time(name: str) -> None:
    rows = [f"13.{at:02d},52.5,{at}.5,2023-01-{1 + at:02d}" for at in range(24)]
    guess = guess_columns("\n".join([f"lon,lat,value,{name}", *rows]).encode())
    assert (guess.owner, guess.time) == (None, None)
