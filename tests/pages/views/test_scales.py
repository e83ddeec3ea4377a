"""The response scale in people's words, and back."""

from __future__ import annotations

import math

import pytest

from hexcursion.errors import WorkflowError
from hexcursion.settings.data_settings import SourceSettings
from pages.privacy.question_view import stated_scale, stated_values, uses_factors

SALES = SourceSettings("sales.csv", "postcodes.csv")
SENSORS = SourceSettings("sensors.csv", value="v", x="x", y="y", crs="EPSG:4326")


def test_prices_are_told_in_factors_and_other_values_in_their_unit() -> None:
    assert uses_factors({"data": SALES})
    assert not uses_factors({"data": SENSORS})
    assert uses_factors({"data": SENSORS, "transform": "log"})
    assert not uses_factors({"data": SALES, "transform": "identity"})
    assert not uses_factors({})


@pytest.mark.parametrize(("usual", "spread", "factors"), [(250_000.0, 3.0, True), (30.0, 12.5, False)])
def test_what_is_said_comes_back(usual: float, spread: float, factors: bool) -> None:
    centre, clip = stated_scale(usual, spread, factors)
    assert stated_values(centre, clip, factors) == (usual, spread)


def test_a_factor_of_three_is_its_logarithm() -> None:
    assert stated_scale(100.0, 3.0, True) == (pytest.approx(math.log(100.0)), pytest.approx(math.log(3.0)))


def test_nothing_said_is_nothing_known() -> None:
    for factors in (True, False):
        assert stated_scale(None, None, factors) == (None, None)
        assert stated_values(None, None, factors) == (None, None)


@pytest.mark.parametrize(
    ("usual", "spread", "factors", "word"),
    [
        (0.0, 3.0, True, "above 0"),
        (-5.0, None, True, "above 0"),
        (10.0, 1.0, True, "above 1"),
        (10.0, 0.0, False, "above 0"),
        (10.0, -2.0, False, "above 0"),
        (10.0, math.nan, False, "above 0"),
    ],
)
def test_impossible_scales_are_one_sentence(
    usual: float, spread: float | None, factors: bool, word: str
) -> None:
    with pytest.raises(WorkflowError, match=word):
        stated_scale(usual, spread, factors)
