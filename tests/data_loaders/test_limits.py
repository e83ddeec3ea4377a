"""Limits of the readers, on both sides: years, columns, rows that are looked at, and codes for nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from data_loaders import DataError, guess_columns
from data_loaders.columns.numbers import Evidence, repeated, suspects
from data_loaders.columns.specification import find_header
from data_loaders.files.blocks import Line
from data_loaders.house_prices.segments import SEGMENTS, sales_filter


@pytest.mark.parametrize("year", [1995, "2100", " 2018 "])
def test_the_first_and_the_last_year_are_taken(year: int | str) -> None:
    assert sales_filter("all", year).years == frozenset({int(year)})


@pytest.mark.parametrize(
    ("year", "shown"),
    [(1994, "'1994'"), (2101, "'2101'"), ("MMXX", "'MMXX'"), ("²018", "'²018'"), ("x" * 21, f"'{'x' * 20}'")],
)
def test_another_year_is_shown_in_the_refusal_cut_to_twenty_letters(year: int | str, shown: str) -> None:
    with pytest.raises(DataError) as refused:
        sales_filter("all", [2018, year])
    assert str(refused.value) == (
        f"A year of Price Paid Data has four digits and is 1995 or later, which {shown} is not."
    )


@pytest.mark.parametrize(
    ("years", "title"),
    [
        (None, "all sales"),
        ([], "all sales"),
        (2018, "all sales, 2018"),
        ([2018, 2019, 2020], "all sales, 2018 to 2020"),
        ([2018, 2020], "all sales, 2018, 2020"),
    ],
)
def test_a_filter_says_its_years(years: object, title: str) -> None:
    assert sales_filter("all", years).title == title  # type: ignore[arg-type]


def test_a_filter_reads_the_fields_that_it_needs() -> None:
    assert sales_filter().reads == frozenset()
    assert sales_filter("standard", 2018).reads == {"date", "category"}
    assert sales_filter("new-homes").reads == {"property_type", "new_build"}
    assert sales_filter("existing-leasehold-flats").reads == {"property_type", "tenure", "new_build"}


def test_the_segments_are_the_published_ones() -> None:
    """Codes of property, tenure, whether newly built, and category, by name."""
    asked = {name: (one.property_types, one.tenures, one.categories) for name, one in SEGMENTS.items()}
    codes = {name: tuple("".join(sorted(each or "")) for each in of) for name, of in asked.items()}
    assert codes == {
        "all": ("", "", ""),
        "existing-leasehold-flats": ("F", "L", ""),
        "existing-flats": ("F", "", ""),
        "existing-freehold-houses": ("DST", "F", ""),
        "existing-homes": ("DFST", "", ""),
        "new-homes": ("DFST", "", ""),
        "standard": ("", "", "A"),
    }
    built = {name: one.new_build for name, one in SEGMENTS.items()}
    assert [name for name, new in built.items() if new is False] == [
        "existing-leasehold-flats",
        "existing-flats",
        "existing-freehold-houses",
        "existing-homes",
    ]
    assert [name for name, new in built.items() if new] == ["new-homes"]


@pytest.mark.parametrize("columns", [1000, 1001])
def test_a_thousand_columns_are_read_and_no_more(columns: int) -> None:
    text = "\n".join([",".join(f"c{i}x" for i in range(columns)), ",".join(["1.5"] * columns)] * 1)
    if columns == 1000:
        assert len(guess_columns(text.encode()).columns) == 1000
    else:
        with pytest.raises(DataError, match="has more than 1000 columns: keep the columns that are needed"):
            guess_columns(text.encode())


def lines(rows: list[str]) -> list[Line]:
    return [Line(tuple(row.split(",")), at, at + 1, at + 1) for at, row in enumerate(rows)]


def test_a_header_is_looked_for_in_two_hundred_rows() -> None:
    rows = [*["# note,of,nobody"] * 199, "lon,lat,no2", *["1.5,2.5,3"] * 300]
    assert find_header("t", lines(rows)).number == 200
    assert find_header("t", lines(["# note,of,nobody", *rows])).number != 201


def test_the_first_eight_rows_are_shown_as_they_are() -> None:
    text = "lon,lat,no2\n" + "1.5,2.5,3\n" * 20
    assert guess_columns(text.encode()).top == (
        (1, ("lon", "lat", "no2")),
        *[(at, ("1.5", "2.5", "3")) for at in range(2, 9)],
    )


def mark(*entries: str) -> str | None:
    found = Evidence()
    found.add(pa.array(entries))
    return found.mark()


def test_ten_numbers_for_one_mark_outweigh_one_for_the_other() -> None:
    assert mark(*["1.25"] * 10, "3,5") == "."
    assert mark(*["1.25"] * 9, "3,5") is None
    assert mark(*["1,25"] * 10, "3.5") == ","
    assert mark("1,234") is None
    assert mark("1.5", "2.5", "1,234") == "."


def test_codes_for_nothing_are_suspected_when_far_from_all_other_numbers() -> None:
    usual = [*np.linspace(10.0, 12.0, 30)]
    assert suspects(np.array([*usual, -999.0, -999.0])) == (-999.0,)
    assert suspects(np.array([*usual, -1.0, -1.0])) == (-1.0,)
    assert suspects(np.array([*usual, -1.0, -1.0, -3.0, -4.0])) == ()
    assert suspects(np.array(usual)) == ()


@pytest.mark.parametrize(
    ("extreme", "often", "suspected"),
    [(8.1, 2, True), (8.0, 2, False), (202.1, 1, True), (202.0, 1, False), (-6.1, 2, True), (-6.0, 2, False)],
)
def test_the_extreme_is_suspected_three_or_a_hundred_spreads_away(
    extreme: float, often: int, suspected: bool
) -> None:
    """All others lie from 0 to 2."""
    found = suspects(np.array([0.0, 0.5, 1.0, 1.5, 2.0, *[extreme] * often]))
    assert found == ((extreme,) if suspected else ())


def test_nothing_is_suspected_among_fewer_than_five_others() -> None:
    assert suspects(np.array([1.0, 1.1, 1.2, 1.3, 9999.0, 9999.0])) == ()
    assert suspects(np.array([1.0, 1.1, 1.2, 1.3, 1.4, 9999.0, 9999.0])) == (9999.0,)


@pytest.mark.parametrize(
    ("often", "of", "is_code"), [(10, 20, True), (9, 20, False), (20, 2000, True), (19, 2000, False)]
)
def test_ten_and_one_in_a_hundred_are_a_code_by_their_number(often: int, of: int, is_code: bool) -> None:
    values = np.array([-9.0] * often + [1.0] * (of - often))
    assert repeated(values, (-9.0,)) == ((-9.0,) if is_code else ())
