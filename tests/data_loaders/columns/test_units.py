"""Units of measure: one thing in many spellings, factors with their source, and no guess."""

from __future__ import annotations

import pytest

from data_loaders.columns.units import conversion


@pytest.mark.parametrize(
    ("given", "wanted", "factor"),
    [
        ("mg/l", "ug/l", 1000.0), ("MG/L", "ug/l", 1000.0), ("mg/L", "µg/L", 1000.0),
        ("UG/M3", "µg/m³", 1.0), ("µg m⁻³", "mg/m3", 0.001), ("ug m-3", "ng/m3", 1000.0),
        ("ug.m-3", "ug/m3", 1.0),
        ("Micrograms/cubic meter", "ug/m3", 1.0), ("ppb", "ppm", 0.001), ("%", "ppm", 1e4),
        ("ug/kg", "mg/kg", 0.001), ("ug/g", "mg/kg", 1.0), ("pCi/L", "Bq/m3", 37.0), ("ft", "m", 0.3048),
        ("cfu/100ml", "cfu/l", 10.0), ("uS/cm", "mS/m", 0.1), ("MBq", "Bq", 1e6), ("mBq", "Bq", 1e-3),
        ("€", "EUR", 1.0), ("EUR/m2", "EUR/ha", 1e4), ("mbar", "hPa", 1.0), ("min", "h", 0.0166666666666667),
    ],
)  # fmt: skip
def test_a_unit_is_converted_by_its_factor(given: str, wanted: str, factor: float) -> None:
    assert conversion(given, wanted) == (pytest.approx(factor, rel=1e-12), 0.0)


def test_temperatures_have_a_shift() -> None:
    found = conversion("degF", "°C")
    assert found is not None
    assert 212.0 * found[0] + found[1] == pytest.approx(100.0)
    found = conversion("K", "degC")
    assert found is not None
    assert 273.15 * found[0] + found[1] == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("ppm", "mg/kg"), ("ppb", "ug/m3"), ("Mg/L", "ug/L"), ("mg/l as N", "mg/l"), ("EUR", "GBP"),
        ("US$", "EUR"), ("SEK", "NOK"), ("A$", "US$"),
        ("mg/kg dw", "ug/kg"), ("score", "points"), ("mg", "mg/l"), ("MBQ", "Bq"),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_not_converted(given: str, wanted: str) -> None:
    assert conversion(given, wanted) is None


def test_one_unit_in_other_capitals_is_the_same() -> None:
    assert conversion("US$", "usd") == conversion("$", "US dollars") == (1.0, 0.0)
    assert conversion("Mg/L as N", "mg/l as N") == (1.0, 0.0)
    assert conversion("mBq", "MBq") == (1e-9, 0.0), "where the table knows both, capitals tell"
