"""What a search is asked and weighs: budgets beside it, the baseline's scales, worlds, what cannot be met."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.accounting.composition import Cost
from dpgp_core.releasing import PublicFacts
from dpgp_core.simulation import Agreement
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Pilot, Project
from hexcursion.project.records import PlacedObservations
from hexcursion.project.response import ResponseScale
from hexcursion.search.optimise import _closer, _infeasible, _others
from hexcursion.search.pilot import left_for_release, with_pilot
from hexcursion.search.scenes import Question, Start, make_scene
from hexcursion.search.score import _best_of_family, _Family
from hexcursion.search.task import Scene, Utility, over
from hexcursion.search.tuning import search_task
from tests.dpgp_core.hexmap import line


def test_budgets_beside_the_asked_one_stand_once_and_increase() -> None:
    task: Any = SimpleNamespace(epsilon=2.0)
    assert _others(task, (8.0, 2.0, 0.5, 8.0, 1.0)) == (0.5, 1.0, 8.0)
    assert _others(task, (2.0,)) == ()


def test_a_pilot_leaves_what_the_squares_leave() -> None:
    pilot = Pilot(Cost.gaussian(0.3), 1.2, "1:x")
    assert left_for_release(2.0, pilot) == pytest.approx(1.6)
    assert left_for_release(2.0, None) == 2.0
    own = Cost.gaussian(0.4)
    assert with_pilot(own, None) is own
    assert with_pilot(own, pilot).gaussian_mu == pytest.approx(0.5)


class Judge:
    """A world in which the held-out cross-entropy is known at every ridge and scale."""

    def __init__(self, best: tuple[float, float]) -> None:
        self.best, self.held_out, self.tried = best, np.array([1]), list[tuple[float, float]]()

    def family(self, prior: str, lengthscale: float, training: bool = False) -> Any:
        assert (prior, lengthscale, training) == ("car", 900.0, True)
        return SimpleNamespace(
            at=lambda ridge: SimpleNamespace(mean=np.array([0.0, ridge]), variance=np.array([0.0, 4.0]))
        )

    def held_out_bce(self, mean: np.ndarray, sd: np.ndarray) -> float:
        ridge, scale = float(mean[0]), float(sd[0]) / 2.0
        self.tried.append((ridge, scale))
        return math.log(ridge / self.best[0]) ** 2 + math.log(scale / self.best[1]) ** 2


@pytest.mark.parametrize("best", [(0.5, 0.05), (2.0, 2.0), (8.0, 0.9)])
def test_the_baseline_is_the_best_of_fourteen_scales_at_each_ridge(best: tuple[float, float]) -> None:
    """The scales reach from 0.05 to 2 in equal ratios, each 1.328 times the one before."""
    judge = Judge(best)
    task: Any = SimpleNamespace(baseline_scene=SimpleNamespace(world=judge))
    loss, design = _best_of_family(task, _Family("car", 900.0, (0.5, 2.0, 8.0)))
    assert [ridge for ridge, _ in judge.tried] == [0.5] * 14 + [2.0] * 14 + [8.0] * 14
    scales = [scale for _, scale in judge.tried[:14]]
    assert scales == pytest.approx([0.05 * 40.0 ** (step / 13) for step in range(14)])
    assert loss == min((math.log(r / best[0]) ** 2 + math.log(s / best[1]) ** 2) for r, s in judge.tried)
    assert (design.prior, design.lengthscale, design.ridge) == ("car", 900.0, best[0])
    assert abs(math.log(design.scale / best[1])) < 0.15


def scene(belief: tuple[float, float] | None = None, mean: float = 0.0) -> Scene:
    """Ten cells in a row with one reading each, 10, 20, ..., 100, asked about 55; two cells are held out."""
    values = np.arange(10.0, 101.0, 10.0)
    return make_scene(
        PublicFacts(line(10), 10),
        Question(tuple("adbcefghij"), "point", 55.0, "above"),
        PlacedObservations(np.arange(10), values, 10, 0),
        ResponseScale("identity", 50.0, 100.0, "a"),
        Start(np.full(10, mean), belief),
    )


def test_a_world_knows_its_level_its_middle_and_its_spread() -> None:
    """Responses -0.4, -0.3, ..., 0.5: the median is 0.05, and half of them lie within 0.25 of it."""
    world = scene().world
    assert world.level == pytest.approx(0.05)
    assert (world.middle, world.spread) == pytest.approx((0.05, 0.25 * 1.4826))
    assert world.mean_known
    assert world.records.count.tolist() == [1] * 10
    assert world.held_out.tolist() == [1, 5]
    assert world.labels.tolist() == [False, True]
    assert world.facts.reads == "map", "no simulated release of a search is compared with its model"
    assert sorted(world.training.index.tolist()) == [0, 2, 3, 4, 6, 7, 8, 9]
    moved = scene(mean=0.2).world
    assert moved.records.mean == pytest.approx(np.arange(-0.6, 0.31, 0.1))
    assert (moved.middle, moved.spread) == pytest.approx((-0.15, 0.25 * 1.4826))
    told = scene(belief=(0.3, 0.7)).world
    assert (told.middle, told.spread, told.mean_known) == (0.3, 0.7, False)


def test_a_scale_that_was_not_tried_has_no_scene(hamlet: Project) -> None:
    task = search_task(hamlet)
    (wide,) = task.scenes
    narrow = replace(wide, response=replace(wide.response, clip=1.0))
    both = replace(task, scenes=(wide, narrow))
    assert both.scene_of(narrow.response) is narrow
    with pytest.raises(WorkflowError, match=r"^the response scale is none of the search's own\.$"):
        task.scene_of(narrow.response)


def test_what_no_design_meets_is_said_with_its_reason(hamlet: Project) -> None:
    task = search_task(hamlet)
    small = replace(task, budget=replace(task.budget, epsilon=1e-9))
    said = _infeasible(small)
    assert said.startswith(
        "No design on the grid meets epsilon 1e-09 at delta 1e-05 with 1 path and n = 2,659: the smallest "
        "feasible epsilon on the grid is "
    )
    assert _infeasible(task).endswith("n = 2,659: choose a smaller epsilon.")
    nothing = replace(task, mechanisms=())
    assert _infeasible(nothing).endswith("no mechanism that was asked for takes this unit of protection.")
    assert [_closer(name) for name in ("spectral-statistics", "noisy-cell-statistics")] == [3, 1]


def test_several_worlds_have_a_range_of_agreements_and_one_has_none() -> None:
    """One more of three: t with 2 degrees of freedom (1.8856) times .1 sqrt(4/3), within [0, 1]."""
    worlds = [Agreement(iou, 0.0, 0.2, 0.9) for iou in (0.5, 0.6, 0.7)]
    told = Utility.of(over(worlds))
    assert (told.low, told.high) == pytest.approx((0.38227, 0.81773), abs=1e-5)
    assert told.worlds == (0.5, 0.6, 0.7)
    spread = Utility.of(over([replace(each, iou_sd=0.1) for each in worlds]))  # releases scatter too
    assert (spread.low, spread.high) == pytest.approx((0.25573, 0.94427), abs=1e-5)
    wide = Utility.of(over(worlds[::2]))
    assert (wide.low, wide.high) == pytest.approx((0.06693, 1.0), abs=1e-5)
    alone = Utility.of(over(worlds[:1]))
    assert math.isnan(alone.low)
    assert math.isnan(alone.high)
