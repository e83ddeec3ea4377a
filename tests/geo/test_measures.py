"""Tests of values and units of measure as people write them."""

from __future__ import annotations

import pytest

from geo import format_value, never_negative, with_unit


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (442413.39, "pounds", "£442,413"),
        (442413, "GBP", "£442,413"),
        (20, "µg/m3", "20 µg/m3"),
        (20.04, "µg/m3", "20.0 µg/m3"),
        (0.12345, "mg/kg", "0.123 mg/kg"),
        (-3.5, "°C", "-3.50 °C"),
        (0, "m", "0 m"),
        (0.0, "", "0"),
        (1e-9, "m", "0.000000 m"),
        (1234567, "$", "$1,234,567"),
        (-3, "GBP", "-£3"),
        (99.96, "m", "100.0 m"),
        (-99.5, "m", "-99.5 m"),
        (100.4, "m", "100 m"),
        (-100.4, "m", "-100 m"),
        (1.5e-7, "m", "0.000000 m"),
        (float("nan"), "m", "no value"),
        (float("inf"), "", "no value"),
    ],
)
def test_values_are_written_as_people_write_them(value: float, unit: str, text: str) -> None:
    assert format_value(value, unit) == text


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        ("442,413.5", " Pounds ", "£442,413.5"),
        ("-3.5", "eur", "-€3.5"),
        ("-3", "°C", "-3 °C"),
        ("7", "", "7"),
    ],
)
def test_a_unit_stands_behind_its_number_and_a_currency_before_it(number: str, unit: str, text: str) -> None:
    assert with_unit(number, unit) == text


@pytest.mark.parametrize("unit", ["GBP", "£", "mg/kg", "ug/m3", "µg/m³", "g m-3", "ppm", "Bq/kg", "uSv/h"])
def test_amounts_have_a_floor(unit: str) -> None:
    assert never_negative(unit)


@pytest.mark.parametrize("unit", ["°C", "C", "m", "", "dB(A) difference", "log10(mg/kg)", "m/s", "points"])
def test_other_units_have_none(unit: str) -> None:
    assert not never_negative(unit)
