"""Numbers as people write them."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_loaders.columns.numbers import NOTHING, evidence_of, looks_numeric, parse_numbers


def parsed(entry: str, decimal: str = ".") -> float:
    return float(parse_numbers(pa.array([entry], pa.string()), decimal, NOTHING).value[0])


@pytest.mark.parametrize(
    ("entry", "decimal", "value"),
    [
        ("12", ".", 12.0), ("+12.5", ".", 12.5), ("-.5", ".", -0.5), ("1e3", ".", 1000.0), ("7.", ".", 7.0),
        ("1,234", ".", 1234.0), ("1,234,567.8", ".", 1234567.8), ("1 234", ".", 1234.0),
        ("1'234.5", ".", 1234.5), ("-1,234", ".", -1234.0),
        ("12,5", ",", 12.5), ("1.234,5", ",", 1234.5), ("1.234", ",", 1234.0), ("1 234,5", ",", 1234.5),
    ],
)  # fmt: skip
def test_what_is_a_number(entry: str, decimal: str, value: float) -> None:
    assert parsed(entry, decimal) == value


@pytest.mark.parametrize(
    ("entry", "decimal"),
    [
        ("12,5", "."), ("1,2,3456", "."), ("1,2345", "."), ("0x10", "."), ("1_000", "."), ("inf", "."),
        ("nan", "."), ("1e999", "."), ("--1", "."), ("1.2.3", "."), ("12.5", ","), ("1.2345", ","),
        ("true", "."), ("", "."), ("1 2", "."), ("٣", "."),
    ],
)  # fmt: skip
def test_what_is_not_a_number(entry: str, decimal: str) -> None:
    assert math.isnan(parsed(entry, decimal))


def test_codes_for_no_value_are_missing_and_other_words_are_not() -> None:
    numbers = parse_numbers(pa.array(["", "NA", "-999", "broken", "5"], pa.string()))
    assert numbers.missing.tolist() == [True, True, True, False, False]
    assert np.isnan(numbers.value).tolist() == [True, True, True, True, False]


@pytest.mark.slow
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([".", ","]))
def test_every_printed_float_reads_back(value: float, decimal: str) -> None:
    assert parsed(repr(value).replace(".", decimal), decimal) == value


@given(st.integers(-(10**15), 10**15), st.sampled_from([(",", "."), (".", ","), (" ", "."), ("'", ",")]))
def test_every_grouped_integer_reads_back(value: int, marks: tuple[str, str]) -> None:
    group, decimal = marks
    assert parsed(f"{value:,}".replace(",", group), decimal) == value


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5))
def test_any_text_becomes_a_finite_number_or_nan(entries: list[str]) -> None:
    value = parse_numbers(pa.array([entry.encode("utf-8", "ignore").decode() for entry in entries])).value
    assert not np.isinf(value).any()


@pytest.mark.parametrize(
    ("written", "mark"),
    [
        (["1.5", "2"], "."), (["1,5", "2"], ","), (["1", "2"], "."), (["1,234", "2"], None),
        (["1,234", "1.5"], None), (["1,234", "1.5", "2.25"], "."), (["1.234", "1,5"], None),
        (["1.234", "1,5", "2,25"], ","), (["1,234.5"], "."), (["1.234,5"], ","), (["1,234,567"], "."),
        (["1.234.567"], ","), (["1,5", "1.5"], None), (["1,5", *["1.5"] * 9], None), (["<0,5"], ","),
        (["1,5", *["1.5"] * 10], "."), (["0,682"], ","), (["-0,682", "12,345"], None), (["1234,567"], ","),
        (["0,682", "0,5", "12,345"], ","), (["1.234"], "."), ([], "."),
    ],
)  # fmt: skip
def test_the_decimal_mark_is_told_or_left_open(written: list[str], mark: str | None) -> None:
    assert evidence_of(written).mark() == mark


def test_what_looks_like_a_number() -> None:
    assert all(looks_numeric(entry) for entry in ("1", "-1.5", "1,234", "1e5", " 2 "))
    assert not any(looks_numeric(entry) for entry in ("", "E1 0AA", "no2", "1a", "-"))


def test_a_column_of_plain_numbers_reads_as_one_with_odd_entries_does() -> None:
    entries = ["12", "-999", "-0.25", "007", "442413", "3.5"]
    plain, odd = (parse_numbers(pa.array(more, pa.string())) for more in (entries, [*entries, "1,234", "x"]))
    assert plain.missing.tolist() == [False, True, False, False, False, False]
    assert plain.value[[0, 2, 3, 4, 5]].tolist() == [12.0, -0.25, 7.0, 442413.0, 3.5]
    assert np.isnan(plain.value[1])
    assert odd.missing[:6].tolist() == plain.missing.tolist()
    np.testing.assert_array_equal(odd.value[:6], plain.value)
    assert math.isnan(parsed("9" * 400))


def test_points_at_an_end_and_what_only_looks_plain() -> None:
    assert [parsed(entry) for entry in ("1.", "-.5", "-0")] == [1.0, -0.5, 0.0]
    for entry in ("1-2", "1.2.3", "--1", ".", "-.", "1e0001"):
        assert math.isnan(parsed(entry))
