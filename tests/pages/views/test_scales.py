"""The response scale in people's words, and back."""

from __future__ import annotations

import math

import pytest

from hexcursion.errors import WorkflowError
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.names import Transform
from pages.privacy import question
from pages.privacy.question_view import (
    named_factors,
    stated_scale,
    stated_values,
    suits_factors,
    uses_factors,
)
from pages.shared.session.previews import Preview
from pages.shared.session.workspace import Workspace
from tests.pages.recorded import Recorded

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


def test_factors_are_proposed_for_skewed_public_values() -> None:
    """A tenth above and a tenth below the middle: 1.6 as far above is skewed, 1.4 is not, nor is 0."""
    assert suits_factors((1.0, 2.0, 3.6))
    assert not suits_factors((1.0, 2.0, 3.4))
    assert not suits_factors((0.0, 2.0, 9.0))
    assert not suits_factors(())


@pytest.mark.parametrize(
    ("name", "unit", "proposed"),
    [
        ("price", "", True),
        ("flat", "USD", True),
        ("flat", "1000 EUR", True),
        ("flat", "SEK", True),
        ("zinc", "mg/kg", True),
        ("NO2", "ug/m3", True),
        ("radon", "Bq/m3", True),
        ("ozone", "ppb", True),
        ("clay", "%", False),
        ("temperature", "degC", False),
        ("noise", "dB", False),
        ("level", "m", False),
        ("pH", "", False),
    ],
)
def test_factors_are_proposed_for_prices_and_concentrations(name: str, unit: str, proposed: bool) -> None:
    assert named_factors(name, unit) is proposed


@pytest.mark.parametrize(
    ("source", "stands", "says", "chosen"),
    [
        (SENSORS, None, True, "log"),
        (SENSORS, "log", False, None),
        (SALES, None, False, "identity"),
        (SALES, "identity", True, None),
        (SENSORS, "log", True, "log"),
    ],
)
def test_how_values_differ_is_chosen_on_the_screen(
    monkeypatch: pytest.MonkeyPatch,
    source: SourceSettings,
    stands: Transform | None,
    says: bool,
    chosen: Transform | None,
) -> None:
    """Against what the kind of data has by itself, and back; a usual value is kept by its own widget."""
    screen = Recorded({"Values differ by": says})
    monkeypatch.setattr(question, "st", screen)
    work = Workspace()
    work.choose(data=source, transform=stands, centre=11.0, clip=1.2, threshold=1.1)
    question._ask_factors(work, "change")
    assert work.choices["transform"] == chosen
    (_, _, named), *_ = screen.calls
    assert named["index"] == int(uses_factors({"data": source, "transform": stands}))
    named["on_change"]()
    assert not {"centre", "clip", "threshold"} & set(work.choices)
    work.choose(threshold=9.0)
    question._other_scale(work, "value")
    assert work.choices["threshold"] == 9.0


@pytest.mark.parametrize(
    ("name", "settled", "kept"),
    [
        ("v", None, {"transform": "log", "centre": 2.5, "clip": 1.2}),
        ("v", "identity", {"transform": "identity"}),
        ("v", "log", {"transform": "log", "centre": 2.5, "clip": 1.2}),
        ("w", None, {}),
    ],
)
def test_a_scale_is_kept_for_the_same_values_read_alike(
    name: str, settled: Transform | None, kept: dict[str, object]
) -> None:
    """Other values, and an earlier release that reads these ones otherwise, leave nothing of it."""
    before, after = Workspace(), Workspace()
    looked = Preview((), 9, "", "sensor", False, (), (), ())
    before.private = after.private = looked
    before.choose(data=SENSORS, value_name="v", transform="log", centre=2.5, clip=1.2)
    after.choose(data=SENSORS, value_name=name, **({} if settled is None else {"transform": settled}))
    after.keep_public_choices(before)
    assert {
        each: after.choices[each] for each in ("transform", "centre", "clip") if each in after.choices
    } == kept
