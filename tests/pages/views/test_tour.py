"""The guided tour: its figures are those of its maps as shipped, and the release beats the public map."""

from __future__ import annotations

import json

import numpy as np
import pytest

from data_loaders import DEMO_SEED, DEMO_YEARS, DemoField
from dpgp_core.excursion.scores import iou
from pages.shared.shipped import BUNDLE
from pages.tour import view
from pages.tour.view import Tour, tour


@pytest.fixture(scope="module")
def told() -> Tour:
    return tour()


def test_the_truth_is_the_generated_field(told: Tour) -> None:
    lon, lat = told.viewer.domain.centres_lonlat.T
    field = DemoField(DEMO_SEED, DEMO_YEARS[1], changed=True)
    assert np.array_equal(told.cells("truth"), field.log_price(lon, lat) > np.log(450_000))
    assert told.viewer.bundle.threshold == 450_000
    assert told.years == DEMO_YEARS


@pytest.mark.parametrize("shown", ["public", "released"])
def test_the_figures_are_those_of_the_maps(told: Tour, shown: view.Shown) -> None:
    assert told.measured[shown] == pytest.approx(iou(told.cells(shown), told.cells("truth")), abs=5e-5)


def test_the_release_clearly_beats_the_public_map_and_more_budget_buys_more(told: Tour) -> None:
    assert told.measured["released"] > told.measured["public"] + 0.2
    assert told.measured["unprotected"] > told.measured["public"] + 0.3
    bought = [one.agreement for one in told.frontier]
    assert len(bought) == 6
    assert bought == sorted(bought)
    assert bought[-1] - bought[0] > 0.08
    assert 0.9999 <= told.epsilon <= 1.0


def test_the_districts_that_changed_are_named(told: Tour) -> None:
    assert (told.gained(), told.lost()) == ("North Deep", "Amber Reach")
    assert [one.name for one in told.districts] == sorted(one.name for one in told.districts)
    for shown, counts in (
        ("public", [one.public for one in told.districts]),
        ("released", [one.released for one in told.districts]),
        ("truth", [one.truth for one in told.districts]),
    ):
        assert sum(counts) == told.cells(shown).sum()
    assert all(abs(one.released - one.public) >= 5 for one in told.changes())


def test_what_is_shipped_is_small_and_names_no_machine() -> None:
    assert BUNDLE.stat().st_size + view.STORY.stat().st_size < 2_000_000
    story = json.loads(view.STORY.read_text(encoding="utf-8"))
    assert story["command"] == "python -m studies.screens.tour"
    assert story["draws"] == tour().draws == 40
