"""The guided tour: its figures are those of its maps and of the sales that ship, and of the other screens."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas
import pytest

from data_loaders.lucas_county import SALES
from dpgp_core.excursion import iou
from hexcursion.comparing.attacks import changes, two_editions
from hexcursion.comparing.practice import Records, Rule, minimum
from pages.compare.view import lines_of, release_sentence, rules_of
from pages.shared.session.outcome import SearchOutcome
from pages.shared.shipped import BUNDLE
from pages.start.finished import finished_example
from pages.tour import view
from pages.tour.view import Tour, tour


@pytest.fixture(scope="module")
def told() -> Tour:
    return tour()


@pytest.fixture(scope="module")
def records() -> Records:
    return Records.of(finished_example().project)


@pytest.mark.parametrize("shown", ["public", "released"])
def test_the_figures_are_those_of_the_maps(told: Tour, shown: view.Shown) -> None:
    assert told.measured[shown] == pytest.approx(iou(told.cells(shown), told.cells("truth")), abs=5e-5)


def test_the_table_and_its_figures_are_those_of_the_sales(told: Tour, records: Records) -> None:
    table = minimum(records, told.least)
    assert told.least == 5
    assert np.array_equal(told.cells("shown"), table.shown)
    assert np.array_equal(told.cells("inside"), table.inside)
    assert told.measured["table"] == pytest.approx(
        iou(table.inside & ~told.empty, told.cells("truth")), abs=5e-5
    )
    assert told.exact == pytest.approx(two_editions(records, Rule("minimum", 5.0)), abs=5e-5)
    assert told.changed == pytest.approx(changes(records, Rule("minimum", 5.0, numbers=False)), abs=5e-5)
    assert told.sales == (3_108, records.cell.size)


def test_the_screen_compare_says_the_same_of_the_finished_example(told: Tour, records: Records) -> None:
    opened = finished_example()
    found = SearchOutcome(opened.project, opened.tuned, opened.tuned.choice)
    applied = {name: (rule, rule.apply(records)) for name, rule in rules_of(5, records.size).items()}
    lines = lines_of(found, opened.viewer, applied, records, opened.baseline.inside)
    table, classes, smooth, _, ours = lines
    said = [table.agreement, table.careful, smooth.careful, ours.agreement, table.exact, classes.changed]
    names = ("table", "filled", "smoothed", "released")
    assert said == pytest.approx(
        [*(told.measured[name] for name in names), told.exact, told.changed], abs=5e-5
    )
    assert 1.0 - table.shown == told.blank


def test_the_house_is_the_sale_that_the_seed_takes(told: Tour, records: Records) -> None:
    taken = int(np.random.default_rng(2024).integers(4_206))
    house, without = told.house, np.delete(np.arange(4_206), taken)
    before = minimum(replace(records, cell=records.cell[without], value=records.value[without]), 5)
    table = minimum(records, 5)
    assert (house.cell, house.price) == (records.cell[taken], records.value[taken])
    for edition, each in zip(house.editions, (before, table), strict=True):
        assert each.count is not None
        assert each.mean is not None
        assert edition == pytest.approx((each.count[house.cell], each.mean[house.cell]), abs=0.005)
    assert house.same_class == (before.inside[house.cell] == table.inside[house.cell])
    assert house.found == pytest.approx(house.price, abs=0.5)
    assert replace(house, editions=(None, house.editions[1])).found is None


def test_the_interval_of_its_price_follows_from_the_release(told: Tour) -> None:
    mu = told.viewer.bundle.statement["design"]["mu"]
    assert f"at least {told.house.times} times as wide" in str(release_sentence(told.viewer))
    assert told.house.times <= 2.0 * 1.96 * 2.0**0.5 / mu < told.house.times + 1
    low, high = told.prices
    assert low < 80_000 < high
    prices = pandas.read_csv(SALES).query("year == 1998")["price"]
    assert ((prices > low) & (prices < high)).mean() == pytest.approx(0.854, abs=0.001)


def test_the_release_clearly_beats_the_public_map_and_the_table_as_published(told: Tour) -> None:
    assert told.measured["released"] > max(told.measured["public"], told.measured["table"]) + 0.15
    assert told.measured["filled"] > told.measured["smoothed"] > told.measured["released"]
    year, alone, from_it = told.later
    assert year == 1997
    assert abs(alone - from_it) < 0.05, "a map of the year before is as good"
    low, high, least, most = told.bought
    assert (low, high) == (0.25, 10.0)
    assert told.measured["public"] + 0.1 < least < most < 1.0
    assert 0.9999 <= told.epsilon <= 1.0


def test_the_towns_that_changed_are_named(told: Tour) -> None:
    assert [one.name for one in told.changes()][:3] == ["Ottawa Hills", "Toledo", "Maumee"]
    assert len(told.changes()) == 5
    assert [one.name for one in told.towns] == sorted(one.name for one in told.towns)
    for shown, counts in (
        ("public", [one.public for one in told.towns]),
        ("released", [one.released for one in told.towns]),
        ("truth", [one.truth for one in told.towns]),
    ):
        assert sum(counts) == told.above(shown)


@pytest.mark.parametrize("shown", ["public", "truth", "table", "classes"])
def test_one_colour_means_one_thing_on_every_map(told: Tour, shown: view.Painted) -> None:
    painting = told.painting(shown)
    looks = {entry.role for entry in painting.entries}
    classes = {"unsure"} if shown == "classes" else set()
    assert looks == {"above", "below", "unsure" if shown == "table" else "empty"} | classes
    if shown == "table":
        assert (painting.classes == 2).mean() == pytest.approx(told.blank)
    else:
        last = len(painting.entries) - 1
        assert np.array_equal(painting.classes == last, told.empty)


def test_what_is_shipped_is_small_and_names_no_machine() -> None:
    assert BUNDLE.stat().st_size + view.STORY.stat().st_size < 1_400_000
    story = json.loads(view.STORY.read_text(encoding="utf-8"))
    assert story["command"] == "python -m studies.screens.tour"
    assert story["draws"] == tour().draws == 40
