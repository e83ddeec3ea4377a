"""Fewer than 150 records: whether a figure is said depends on the map that a release starts from alone."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hexcursion.comparing.run import compare_mechanisms
from hexcursion.door.pipeline import Listener, _at_wanted_iou
from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.releasing.transaction import plan_release
from hexcursion.search.atlas import AtlasChoice, foretold_words
from hexcursion.search.bench import Bench, sweep
from hexcursion.search.results import settle_on, settle_on_typed
from hexcursion.search.tuning import Tuned, tune
from tests.town import write_town

FEW = "142 records are too few to say how right the map will be: it takes 150, or a public map to start from"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory):
    """The settings of a town, 142 readings on its hexagons, with as large a reference at other places."""
    return write_town(tmp_path_factory.mktemp("few"), n=149).settings(priors=("car",))


@pytest.fixture(scope="module")
def unused(small) -> tuple[object, Tuned]:
    """Searched on the reference, from whose map no release starts."""
    project = load_project(small)
    return project, tune(project)


def test_a_reference_that_no_release_starts_from_gives_no_figure(unused) -> None:
    project, tuned = unused
    assert tuned.result.chosen.utility.agreement > 0.0
    assert tuned.choice.yardsticks.few == 142
    assert tuned.few == FEW
    assert tuned.remarks()[0] == f"{FEW}."
    said = " ".join(tuned.remarks())
    assert [word for word in ("agreement", "IoU", "of 100 records", "right.", "%") if word in said] == []
    point = tuned.result.frontier[0]
    settled, choice = settle_on(project, tuned, point)
    assert choice.yardsticks is not None
    assert choice.yardsticks.few == 142
    typed = settle_on_typed(project, tuned, tuned.result.chosen)[1]
    assert typed.yardsticks is not None
    assert typed.yardsticks.few == 142
    receipt = " ".join(line.text for line in plan_release(settled, choice, open_ledger()).receipt)
    assert "of 100 records" not in receipt


def test_the_same_records_have_figures_where_a_release_starts_from_the_map_of_the_reference(small) -> None:
    tuned = tune(load_project(small.with_changes(prior_mean=True)))
    assert tuned.choice.public_map is not None
    assert tuned.few == ""
    assert any("Of 100 records tried" in line for line in tuned.remarks())


def test_without_figures_no_agreement_can_be_asked_for_and_no_mechanisms_compared(unused) -> None:
    project, tuned = unused
    with pytest.raises(WorkflowError, match=f"^Do not ask for an agreement: {FEW}.$"):
        _at_wanted_iou(project, tuned, 0.5, Listener())
    with pytest.raises(WorkflowError, match=f"^Mechanisms cannot be compared: {FEW}.$"):
        compare_mechanisms(project, ("posterior-sampling",), (1.0,))


def test_a_map_of_an_atlas_says_that_its_records_are_too_few(unused) -> None:
    _, tuned = unused
    enough = replace(tuned.choice, yardsticks=replace(tuned.choice.yardsticks, few=None))
    choice = AtlasChoice(None, None, (tuned.choice, enough), (tuned, tuned), (1.0, 1.0))  # type: ignore[arg-type]
    _, first, second = foretold_words(choice, ("pb", "zn"))
    assert first == f"pb: {FEW}."
    assert " of 100 records on their right side, agreement (IoU) " in second


def test_a_sweep_measures_records_and_the_agreement_of_judged_hexagons(unused) -> None:
    """Many times the noise shows fewer records on their right side."""
    project, tuned = unused
    found = {each.parameter.name: each for each in sweep(Bench(project, tuned.result), tuned.result.chosen)}
    points = found["scale"].points
    assert points[0].records > points[-1].records + 0.02
    here = next(point for point in points if point.value == found["scale"].current)
    utility = tuned.result.chosen.utility
    assert here.records == pytest.approx(utility.records)
    assert here.agreement == pytest.approx(utility.judged_iou)
    assert not math.isnan(here.agreement)
