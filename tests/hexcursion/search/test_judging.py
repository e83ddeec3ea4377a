"""Simulated records on the right side of a design's map, and of maps beside it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.yardstick import Sides
from hexcursion.search import judging
from hexcursion.search.judging import Shown, judged_utility
from hexcursion.search.task import Utility

BLANK = Utility(0.5, 0.0)
ALL = np.ones(3, dtype=bool)
# Hexagons with 4 of 4, 1 of 4 and 0 of 2 records inside: one colour shows 5 of 10 on their right side.
SIDES = Sides(np.array([4.0, 1.0, 0.0]), np.array([0.0, 3.0, 2.0]))

TRUTH = np.array([True, True, True])  # the map to be reached, of which the last hexagon is not judged


def scene(
    monkeypatch: pytest.MonkeyPatch,
    shown: list[bool],
    public: list[bool] | None,
    chance: list[float] | None = None,
    *,
    told: bool = True,
) -> Any:
    """Two worlds, of which each release shows the same; the last hexagon is not judged."""
    judged = np.array([True, True, False])
    side = np.array(shown) & judged
    free = None if public is None else np.array(public)
    facts = SimpleNamespace(field=free)
    world = SimpleNamespace(sides_of_records=SIDES, public_side=free, facts=facts, baseline=TRUTH)
    release = Shown(side, judged, side.astype(float) if chance is None else np.array(chance), told=told)
    monkeypatch.setattr(judging, "_of_seed", lambda world, design, count: iter([release] * count))
    response = SimpleNamespace(origin="given")
    return SimpleNamespace(worlds=(world, world), world=world, controls=(world,), response=response)


@pytest.mark.parametrize(
    ("public", "free", "gain"),
    [(None, None, 7 / 8 - 5 / 8), ([True, False, True], 7 / 8, 0.0), ([False, True, False], 1 / 8, 2 / 8)],
)
def test_the_gain_is_over_the_better_of_one_colour_and_the_public_map(
    monkeypatch: pytest.MonkeyPatch, public: list[bool] | None, free: float | None, gain: float
) -> None:
    """Over the two judged hexagons: the map shows 7 of 8 right, one colour 5."""
    made = judged_utility(scene(monkeypatch, [True, False, True], public), None, BLANK)  # type: ignore[arg-type]
    assert made.records == 7 / 8
    assert made.colour_records == 5 / 8
    assert made.records_gain == pytest.approx(gain)
    assert made.mixed_records == 7 / 8
    assert made.judged_iou == 1 / 2, "one of both judged hexagons of the map to be reached"
    assert (made.area_error, made.right) == (1 / 2, 1.0), "one of two is shown, and it is right"
    assert made.aim_records == 5 / 8, "the map to be reached, where it is judged, shows all as inside"
    assert made.records_sd == 0.0
    assert (made.low, made.high) == (1 / 2, 1 / 2), "of two worlds alike"
    assert np.isnan(made.public_records) if free is None else made.public_records == free
    assert replace(made, agreement=0.5).agreement == 0.5


def test_a_worse_map_than_one_colour_gains_less_than_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = judged_utility(scene(monkeypatch, [False, True, False], None), None, BLANK)  # type: ignore[arg-type]
    assert made.records_gain == 1 / 8 - 5 / 8


@pytest.mark.parametrize(
    ("public", "told", "orange", "finds"),
    [
        (None, True, 0.9, 0.9 / 1.5),
        ([True, False, True], True, 0.80662, 0.80662 / (0.80662 + 0.56551)),
        (None, False, np.nan, np.nan),
    ],
)
def test_what_a_release_would_tell_of_itself_is_about_likely_judged_hexagons(
    monkeypatch: pytest.MonkeyPatch, public: list[bool] | None, told: bool, orange: float, finds: float
) -> None:
    """Chances of .9 and .6 where it judges, .95 where not: the first alone is orange."""
    shown = scene(monkeypatch, [True, True, True], public, [0.9, 0.6, 0.95], told=told)
    made = judged_utility(shown, None, BLANK)  # type: ignore[arg-type]
    assert made.orange == pytest.approx(orange, abs=1e-5, nan_ok=True)
    assert made.finds == pytest.approx(finds, abs=1e-5, nan_ok=True)
