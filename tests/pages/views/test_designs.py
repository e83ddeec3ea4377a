"""Designs on a screen: the report of a search, and what settling on a dot plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.numbers import significant
from hexcursion.ledger import open_ledger
from hexcursion.project.example import county_settings
from hexcursion.project.model import Project
from hexcursion.releasing.transaction import plan_release
from hexcursion.search.bench import simulated_release
from hexcursion.search.executors import Workers
from hexcursion.search.results import settle_on
from hexcursion.search.task import FrontierPoint, Utility
from hexcursion.search.tuning import Tuned
from hexcursion.words import ratio_words, records_words
from pages.privacy import designs
from pages.privacy.designs import dots, family, report_rows
from pages.start.finished import finished_example


@pytest.fixture(scope="module")
def searched() -> tuple[Project, Tuned]:
    known = finished_example()
    return known.project, known.tuned


def test_the_report_says_what_the_search_found(searched) -> None:
    _, tuned = searched
    rows = report_rows(tuned)
    assert list(rows) == ["epsilon", "records", "judged_iou", "dimension", "bce", "held_iou", "iou_gap"]
    assert float(rows["epsilon"][1]) >= tuned.result.chosen.epsilon  # a cost is never rounded down
    assert rows["held_iou"][1] == ratio_words(tuned.result.chosen.utility.holdout_iou)
    known = tuned.result.chosen.utility
    assert rows["records"] == (records_words(known.aim_records), records_words(known.records))
    assert rows["judged_iou"] == ("1", ratio_words(known.judged_iou))
    other = report_rows(tuned, tuned.result.frontier[0].scored)
    assert other["held_iou"][1] == other["iou_gap"][1] == "–"
    assert rows["iou_gap"][0] == "0 %"
    assert float(rows["bce"][0]) == pytest.approx(tuned.result.unconstrained.utility.bce, rel=0.06)


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (1.0, "0.5 (+0 %)"),
        (1.35, "0.68 (+35 %)"),
        (0.9, "0.45 (-10 %)"),
        (3.2, "1.6 (3.2 times)"),
        (57.0, "28 (more than 10 times)"),
        (float("nan"), "–"),
    ],
)
def test_a_huge_increase_is_said_in_words(searched, times: float, said: str) -> None:
    _, tuned = searched
    free, chosen = tuned.result.unconstrained, tuned.result.chosen
    result = replace(
        tuned.result,
        unconstrained=replace(free, utility=replace(free.utility, bce=0.5)),
        chosen=replace(chosen, utility=replace(chosen.utility, bce=0.5 * times)),
    )
    rows = report_rows(replace(tuned, result=result))
    assert rows["bce"][1] == said


@pytest.mark.parametrize(
    ("prior", "called"),
    [
        ("car", "neighbour graph (CAR)"),
        ("exponential", "exponential kernel"),
        ("matern32", "Matérn 3/2 kernel"),
    ],
)
def test_a_family_on_a_screen_is_the_mechanisms_title_and_the_priors(prior: str, called: str) -> None:
    assert family(PosteriorSamplingDesign(prior, 1500.0, 2.0, 0.5)) == f"Posterior sampling, {called}"


def test_every_dot_is_a_design_of_the_frontier(searched) -> None:
    _, tuned = searched
    shown = dots(tuned)
    assert [dot["number"] for dot in shown] == list(range(len(tuned.result.frontier)))
    for dot, point in zip(shown, tuned.result.frontier, strict=True):
        assert dot["epsilon"] == point.epsilon
        known = point.scored.utility
        assert dot["records"] == known.records
        assert dot["agreement"] == known.judged_iou
        assert (dot["low"], dot["high"]) == (
            known.records - known.records_sd,
            known.records + known.records_sd,
        )
        assert f"{significant(point.scored.design.lengthscale, 4)} m" in dot["design"]


def test_a_dot_stands_at_its_records_and_not_at_its_agreement_over_all_hexagons(searched) -> None:
    """One design ranks first by the whole domain, another by the records where it judges."""
    _, tuned = searched
    first = tuned.result.frontier[0]
    figures = {"agreement_sd": 0.0, "records_sd": 0.02, "judged_iou": 0.5}
    wide = replace(first.scored, utility=Utility(0.9, records=0.61, **figures))
    right = replace(first.scored, utility=Utility(0.3, records=0.99, **figures))
    unknown = replace(first.scored, utility=Utility(0.7, 0.0))
    points = tuple(FrontierPoint(1.0, each) for each in (wide, unknown, right))
    shown = dots(replace(tuned, result=replace(tuned.result, frontier=points)))
    assert [(dot["number"], dot["records"], dot["agreement"]) for dot in shown] == [
        (0, 0.61, 0.5),
        (2, 0.99, 0.5),
    ]
    assert [(round(dot["low"], 9), dot["high"]) for dot in shown] == [(0.59, 0.63), (0.97, 1.0)]


def test_a_simulated_release_is_repeatable_and_close_to_what_the_search_promised(searched) -> None:
    project, tuned = searched
    first = simulated_release(project, tuned.result, tuned.result.chosen)
    again = simulated_release(project, tuned.result, tuned.result.chosen)
    assert np.array_equal(first.released, again.released)
    assert first.released.shape == (project.domain.size,)
    assert first.right == again.right
    assert first.right == pytest.approx(tuned.result.chosen.utility.records, abs=0.1)


def test_a_preview_leaves_out_the_land_that_a_release_leaves_out() -> None:
    """The shipped example: 572 of 888 hexagons have few records or none, and 55 it cannot tell."""
    example = finished_example()
    seen = simulated_release(example.project, example.tuned.result, example.tuned.result.chosen)
    released = np.bincount(example.viewer.bundle.published.classes, minlength=4)
    assert released.tolist() == [111, 55, 150, 572]
    likely, unsure, _, few = np.bincount(seen.classes, minlength=4).tolist()
    assert few == pytest.approx(572, abs=30)
    assert 0 < likely < 150  # where prices of the public year are high: fewer than five years later
    assert 0 < unsure < 150
    assert not np.any(seen.classes[~seen.released] == 0)


def test_settling_on_a_dot_plans_exactly_that_design_at_its_price(searched) -> None:
    project, tuned = searched
    for point in tuned.result.frontier:
        settled, choice = settle_on(project, tuned, point)
        assert choice.design == point.scored.design
        assert settled.settings == project.settings.with_changes(epsilon=point.epsilon)
        accepted = settled.settings.with_changes(accept_low_agreement=True)
        planned = plan_release(replace(settled, settings=accepted), choice, open_ledger())
        assert planned.privacy.epsilon <= point.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("piloted", [False, True])
def test_a_search_reads_the_data_unless_a_pilot_did_and_looks_away(
    monkeypatch: pytest.MonkeyPatch, piloted: bool
) -> None:
    """What was chosen by looking is said by the plan, not by the search."""
    settings = county_settings().with_changes(looked=True)
    known = replace(finished_example().project, settings=settings.with_changes(epsilon=3.0))
    told: list[tuple[float, str]] = []
    done: list[tuple[object, ...]] = []

    def load(given: object, tell: Callable[[float, str], None]) -> Project:
        tell(0.5, "half of the data")
        return replace(known, settings=settings)

    def search(project: Project, tell: Callable[[float, str], None], *given: object, **named: object) -> str:
        tell(0.5, "half of the search")
        done.append((project.settings.looked, project.settings.epsilon, *given, named))
        return "tuned"

    monkeypatch.setattr(designs, "load_with_earlier", load)
    monkeypatch.setattr(designs, "search_design", search)
    monkeypatch.setattr(designs, "executor_of", lambda settings: Workers("serial", 3))
    monkeypatch.setattr(designs, "where_of", lambda project: Workers("serial", 3))
    monkeypatch.setattr(
        designs, "refuse_what_cannot_fit", lambda project, several: done.append((project.settings, several))
    )
    found, tuned = designs.load_and_tune(
        lambda share, text: told.append((round(share, 4), text)), settings, known if piloted else None
    )
    assert (found.settings, tuned) == (settings, "tuned")
    blind = settings.with_changes(looked=False)
    assert done == [(blind, 3), (False, 1.0, Workers("serial", 3), {"beside": ()})]
    read = [] if piloted else [(0.025, "half of the data")]
    assert told == [*read, (0.525, "half of the search")]
