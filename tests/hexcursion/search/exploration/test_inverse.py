"""The search read backwards: the epsilon it names reaches what was wanted, and the step below does not."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dpgp_core.accounting.composition import Cost
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign, path_guarantee
from dpgp_core.priors.registry import make_prior
from hexcursion.cli.main import main
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.project.model import Pilot, Project
from hexcursion.project.response import ResponseScale
from hexcursion.search import bench as inverse
from hexcursion.search.bench import STEPS, smallest_epsilon
from hexcursion.search.scenes import private_n
from hexcursion.search.task import Scored, Utility
from hexcursion.search.tuning import Tuned, tune
from tests.hexcursion.cli.test_cli import arguments
from tests.town import Town

SCALE = ResponseScale("identity", 0.0, 1.0, "given")
DUMMY = Scored(PosteriorSamplingDesign("car", 1.0, 1.0, 1.0), SCALE, 1.0, Utility(0.5, 0.0))


@pytest.fixture(scope="module")
def wanted(tuned: Tuned) -> float:
    return tuned.result.chosen.utility.judged_iou - 0.05


def test_steps_are_increasing_and_round() -> None:
    assert all(a < b for a, b in pairwise(STEPS))
    assert (STEPS[0], STEPS[-1]) == (0.01, 20.0)
    assert all(float(f"{step:.3g}") == step for step in STEPS)


def test_the_answer_reaches_it_at_its_own_price(project: Project, tuned: Tuned, wanted: float) -> None:
    point = smallest_epsilon(project, tuned, wanted)
    assert point is not None
    assert point.epsilon in STEPS
    assert point.scored.utility.judged_iou >= wanted
    design = point.scored.design
    prior = make_prior(design.prior, project.lattice, design.lengthscale)
    cost = path_guarantee(design, private_n(project), prior).epsilon(project.delta).epsilon
    assert 0.99 * point.epsilon < cost <= point.epsilon
    on_chart = [each for each in tuned.result.frontier if each.scored.utility.judged_iou >= wanted]
    assert point.epsilon <= min(each.epsilon for each in on_chart) * 1.03


def test_one_step_below_the_design_does_not_reach_it(
    project: Project, tuned: Tuned, wanted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = smallest_epsilon(project, tuned, wanted)
    assert point is not None
    alone = replace(tuned, result=replace(tuned.result, frontier=(point,)))
    monkeypatch.setattr(inverse, "STEPS", (STEPS[STEPS.index(point.epsilon) - 1],))
    assert smallest_epsilon(project, alone, wanted) is None
    monkeypatch.setattr(inverse, "STEPS", (point.epsilon,))
    again = smallest_epsilon(project, alone, wanted)
    assert again is not None
    assert repr(again) == repr(point)


def test_wanting_more_costs_more(project: Project, tuned: Tuned, wanted: float) -> None:
    epsilons = []
    for less in (0.15, 0.08, 0.0):
        point = smallest_epsilon(project, tuned, wanted - less)
        assert point is not None
        epsilons.append(point.epsilon)
    assert epsilons == sorted(epsilons)
    assert epsilons[0] < epsilons[-1]


def test_what_is_wanted_is_agreement_where_a_map_is_judged() -> None:
    """Over all hexagons every epsilon would reach it here."""

    def score(epsilon: float) -> Scored:
        utility = Utility(0.99, 0.0, judged_iou=epsilon / 10.0)
        return replace(DUMMY, epsilon=epsilon, utility=utility)

    point = inverse._least(score, STEPS, 0.5, lambda: None)
    assert point is not None
    assert point.epsilon == min(step for step in STEPS if step >= 5.0)
    assert inverse._least(score, STEPS[:-40], 1.0, lambda: None) is None


def test_perfect_agreement_is_not_promised(project: Project, tuned: Tuned) -> None:
    assert smallest_epsilon(project, tuned, 1.0) is None


@pytest.mark.parametrize("nonsense", [0.0, -0.1, 1.01, math.nan])
def test_an_iou_out_of_range_is_refused(project: Project, tuned: Tuned, nonsense: float) -> None:
    with pytest.raises(WorkflowError, match=r"try 0\.8"):
        smallest_epsilon(project, tuned, nonsense)


def test_a_pilot_has_no_inverse(project: Project, tuned: Tuned) -> None:
    piloted = replace(project, pilot=Pilot(Cost.gaussian(0.1), 0.3, "1:x"))
    with pytest.raises(WorkflowError, match="pilot"):
        smallest_epsilon(piloted, tuned, 0.5)


def test_noisy_cell_statistics_are_solved_too(town: Town) -> None:
    project = load_project(town.settings(mechanisms=("noisy-cell-statistics",), priors=("car",)))
    tuned = tune(project)
    wanted = tuned.result.chosen.utility.judged_iou - 0.05
    point = smallest_epsilon(project, tuned, wanted)
    assert point is not None
    assert point.scored.utility.judged_iou >= wanted
    assert point.epsilon <= project.settings.epsilon * 1.03
    assert np.isfinite(point.scored.utility.bce)


def test_the_command_releases_at_the_smallest_epsilon(
    town: Town, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments(town, out), "--wanted-iou", "0.5", "--dry-run"]) == 0
    said = capsys.readouterr().out
    needed = float(said.split("needs epsilon ")[1].split(":")[0])
    assert 0 < needed <= 2.0
    assert f"epsilon {needed:g} at delta" in said
    assert main([*arguments(town, out), "--wanted-iou", "0.99", "--dry-run"]) != 0
    assert "accept less" in capsys.readouterr().err
    assert not out.exists()
