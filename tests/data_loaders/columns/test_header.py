"""The row that names the columns: below titles, comments and Excel's order, above units of measure."""

from __future__ import annotations

import pytest

from data_loaders import guess_columns
from data_loaders.observations import LoadReport, Observations
from tests.data_loaders.material import load_sensors, packed, refused
from tests.data_loaders.workbooks import workbook

ROWS = "0.25,51.5,3.5\n0.5,51.25,4\n0.75,51.75,5.25\n"
HEADER = "lon,lat,value\n"


def load(data: str | bytes, **changes: object) -> tuple[Observations, LoadReport]:
    given: dict[str, object] = {"value": "value", "x": "lon", "y": "lat", "unit": "ug/m3"} | changes
    raw = data.encode() if isinstance(data, str) else data
    return load_sensors(raw, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (HEADER + ROWS, ""),
        ("Annual means,,\nSource: council,,\n" + HEADER + ROWS, "row 3"),
        ("Annual means\n\n" + HEADER + ROWS, "row 3"),
        ("# made by a logger\n# at 10:30, 2 May\n" + HEADER + ROWS, "row 3"),
        ("# made by a logger\n# lon,lat,value\n" + ROWS, "row 2"),
        ("#lon,lat,value\n" + ROWS, ""),
        ("sep=;\n" + (HEADER + ROWS).replace(",", ";"), "row 2"),
        ('"sep=;"\n' + (HEADER + ROWS).replace(",", ";"), "row 2"),
        ("\ufeffsep=;\r\n" + (HEADER + ROWS).replace(",", ";").replace("\n", "\r\n"), "row 2"),
        (HEADER + "deg,deg,ug/m3\n" + ROWS, "Row 2 holds units"),
        ("# USGS\n" + (HEADER + "15s,15s,12n\n" + ROWS).replace(",", "\t"), "Row 3 holds units"),
        (HEADER + ROWS.replace("\n", ",\n"), ""),
        (HEADER.replace("\n", ",\n") + ROWS, ""),
        (HEADER.replace("\n", ",\n") + ROWS.replace("\n", ",\n"), ""),
        ("index," + HEADER + "".join(f"{i},{row}\n" for i, row in enumerate(ROWS.split())), ""),
        ("," + HEADER + "".join(f"{i},{row}\n" for i, row in enumerate(ROWS.split())), ""),
    ],
)
def test_the_header_is_found(data: str, said: str) -> None:
    for raw in (data.encode(), packed(data.encode())):
        made, report = load(raw)
        assert made.x.tolist() == [0.25, 0.5, 0.75]
        assert made.y.tolist() == [51.5, 51.25, 51.75]
        assert made.value.tolist() == [3.5, 4.0, 5.25]
        units = "units" in said
        lost = (("coordinate is not a number", 1),) if units else ()
        assert (report.rows_read, report.dropped) == (3 + units, lost)
        assert said in " ".join(report.notes)
        assert ("row" in " ".join(report.notes).lower().split()) == bool(said)


def test_two_rows_that_may_name_the_columns_are_asked_about() -> None:
    """The second may be a record whose words outnumber the names of a header with a blank one."""
    data = "Annual means 2023,council,\n" + HEADER + ROWS
    assert "(--header-row)" in refused(lambda: load(data))
    assert load(data, header_row=2)[0].value.tolist() == [3.5, 4.0, 5.25]


def test_a_person_says_which_row_names_the_columns() -> None:
    two = "x,y,z\n\n" + HEADER + ROWS
    assert "no column 'value': name one of its header" in refused(lambda: load(two))
    assert "(--header-row)" in refused(lambda: load(two))
    assert load(two, header_row=3)[0].value.tolist() == [3.5, 4.0, 5.25]
    for row in (2, 9):
        assert f"has nothing in row {row}:" in refused(lambda row=row: load(two, header_row=row))  # type: ignore[misc]
    assert "counted from 1" in refused(lambda: load(two, header_row=0))


def test_data_are_never_taken_for_a_header() -> None:
    """Its names would be quoted in messages."""
    for data in (ROWS, "Annual means,,\n" + ROWS, "# a comment\n" + ROWS):
        assert "numbers in its first row" in refused(lambda data=data: load(data))  # type: ignore[misc]


def test_a_first_row_without_numbers_is_no_row_of_units_where_it_is_missing() -> None:
    made, report = load(HEADER + "NA,,-\n" + ROWS)
    assert (made.size, report.rows_read, dict(report.dropped)) == (3, 4, {"coordinate missing": 1})


def test_titles_of_a_sheet_are_passed_over_and_a_sheet_with_a_table_is_proposed() -> None:
    rows = [["lon", "lat", "value"], [0.25, 51.5, 3.5], [0.5, 51.25, 4.0]]
    about = [["About these data"], ["Made in 2024"]]
    book = workbook(about, [["Annual means"], [], *rows], names=("Read me", "Data"))
    assert load(book, layer="Data")[0].value.tolist() == [3.5, 4.0]
    guess = guess_columns(book)
    assert (guess.layer, guess.header_row, guess.x, guess.value) == ("Data", 3, "lon", "value")
    assert guess.top[:2] == ((1, ("Annual means", "", "")), (3, ("lon", "lat", "value")))


def test_the_first_rows_are_shown_even_below_many_blank_ones() -> None:
    rows = [*[[]] * 30, ["lon", "lat", "value"], [0.25, 51.5, 3.5], [0.5, 51.25, 4.0]]
    lines = "\n".join(",".join(map(str, row)) for row in rows)
    for source in (workbook(rows), lines.encode(), lines.replace("\n\n", "\n,,\n").encode()):
        guess = guess_columns(source)
        assert guess.header_row == 31
        assert [(at, row[2]) for at, row in guess.top] == [(31, "value"), (32, "3.5"), (33, "4.0")]


def test_blank_rows_count_in_the_numbers_of_rows_but_are_no_records() -> None:
    units = ["degrees", "degrees", "ug/m3"]
    data = [[0.25, 51.5, 3.5], [], [0.5, 51.25, 4.0]]
    rows = [[], ["Means"], [], [], ["lon", "lat", "value"], [], units, [], *data]
    lines = "\n".join(",".join(map(str, row)) for row in rows)
    for source in (workbook(rows), lines.encode()):
        made, report = load(source)
        assert made.value.tolist() == [3.5, 4.0]
        assert (report.rows_read, report.dropped) == (3, (("coordinate is not a number", 1),))
        assert "The names of the columns stand in row 5." in report.notes
        assert "Row 7 holds units of measure, and so no record." in report.notes
        assert load(source, header_row=5)[0].value.tolist() == [3.5, 4.0]
        assert "has nothing in row 4:" in refused(lambda source=source: load(source, header_row=4))  # type: ignore[misc]


def test_columns_whose_names_repeat_are_told_apart_by_the_one_they_follow() -> None:
    table = (
        b"lat,lon,Nitrogen dioxide,status,unit,Ozone,status,unit\n"
        b"51.5,-0.1,21,V,ugm-3,60,P,ugm-3\n51.6,-0.2,22,P,ugm-3,61,V,ugm-3\n51.7,-0.3,23,V,ugm-3,62,V,ugm-3\n"
    )
    assert guess_columns(table).columns[3:] == (
        "Nitrogen dioxide status",
        "Nitrogen dioxide unit",
        "Ozone",
        "Ozone status",
        "Ozone unit",
    )
    made, report = load_sensors(table, value="Ozone", unit="u", x="lon", y="lat", where={"Ozone status": "V"})
    assert made.value.tolist() == [61.0, 62.0]
    assert report.dropped == (("Ozone status is not V", 1),)
    said = refused(lambda: load(table, value="Ozone", where={"status": "V"}))
    assert "more than one column 'status': rename them" in said
