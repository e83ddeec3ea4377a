"""Votes and directions of simulated releases, on sets that are written down cell by cell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from dpgp_core.excursion import Direction, released_set
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign as Design
from dpgp_core.releasing import PublicFacts, Released
from dpgp_core.simulation import Agreement, World, average
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations
from hexcursion.project.response import ResponseScale
from hexcursion.search.bench import Bench
from hexcursion.search.scenes import Question, Start, make_scene
from hexcursion.search.score import baseline_set
from hexcursion.search.task import Utility
from hexcursion.search.tuning import Tuned, tune
from tests.dpgp_core.hexmap import line
from tests.town import Town

# Ten cells in a row, forty readings each: 10 in the first four, 50 in the others, asked about 26.
LOW, HIGH = 10.0, 50.0
VALUES = np.array([LOW] * 4 + [HIGH] * 6)
SCALE = ResponseScale("identity", 30.0, 20.0, "literal")
CELLS = tuple("adbcefghij")  # by their names the second and the sixth are the held-out ones
BELOW = VALUES < 26.0


def world(direction: Direction, mean: list[float] | None = None) -> World:
    """The ten cells, their readings, and the question of `direction` at 26."""
    index = np.repeat(np.arange(10), 40)
    reference = PlacedObservations(index, VALUES[index], 400, 0)
    facts = PublicFacts(line(10), 400)
    start = Start(None if mean is None else np.array(mean))
    scene = make_scene(facts, Question(CELLS, "point", 26.0, direction), reference, SCALE, start)
    return scene.world


def published(paths: np.ndarray, direction: Direction, cutoff: float) -> list[int]:
    design = Design("car", 800.0, 3.0, 1.0, paths=len(paths), cutoff=cutoff)
    return world(direction).published(Released(paths), design).astype(int).tolist()


def ten_paths(for_cell: list[int]) -> np.ndarray:
    """(10, 10) paths: in column j the first `for_cell[j]` paths are high (+1), the others low (-1)."""
    return np.where(np.arange(10)[:, None] < np.array(for_cell), 1.0, -1.0)


HIGH_PATHS = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]


@pytest.mark.parametrize(
    ("direction", "cutoff", "inside"),
    [
        ("above", 0.5, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]),
        ("above", 0.3, [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]),
        ("above", 0.9, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]),
        ("above", 1.0, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ("below", 0.5, [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]),
        ("below", 0.9, [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_a_cell_is_inside_when_enough_paths_say_so(
    direction: Direction, cutoff: float, inside: list[int]
) -> None:
    """Of ten paths 0, 1, 2, 3, 4, 5, 6, 8, 9 and 10 are high; the level is -0.2 in response units."""
    assert published(ten_paths(HIGH_PATHS), direction, cutoff) == inside


def test_the_search_votes_at_one_half() -> None:
    """Without a cutoff the votes of the search are those of a design's default: half of the paths."""
    assert Design(prior="car", lengthscale=1.0, ridge=1.0, scale=1.0).cutoff == 0.5
    assert published(ten_paths(HIGH_PATHS), "above", 0.5) == [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]


def test_the_searchs_sets_are_the_released_sets_of_its_own_paths() -> None:
    """Simulated releases of ten paths, voted on as a bundle does it, at three cutoffs."""
    scorer = world("above")
    design = Design("car", 800.0, 3.0, 3.0, paths=10)
    single = scorer.family("car", 800.0, 40).at(3.0)
    grouped = (single.mean + 3.0 * single.residual_paths).reshape(4, 10, 10)
    for cutoff in (0.3, 0.5, 0.9):
        expected = [released_set(group, -0.2, cutoff) for group in grouped]
        assert np.array_equal(questions.simulate(replace(design, cutoff=cutoff), scorer), np.array(expected))
    votes = (grouped > -0.2).mean(axis=1)
    assert ((votes >= 0.3) & (votes < 0.5)).any(), "a cutoff of 0.3 gives other sets"
    assert ((votes >= 0.5) & (votes < 0.9)).any(), "a cutoff of 0.9 gives other sets"


@pytest.mark.parametrize("direction", ["above", "below"])
def test_the_asked_side_is_the_set_everywhere_in_the_scorer(direction: Direction) -> None:
    """Baseline, simulated releases, labels and scores: the low cells for "below", else the high ones."""
    asked = BELOW if direction == "below" else ~BELOW
    scorer = world(direction)
    assert scorer.held_out.tolist() == [1, 5]
    baseline = baseline_set(scorer, Design("car", 800.0, 0.5, 1.0))
    assert baseline.tolist() == asked.tolist()
    simulated = questions.simulate(Design("car", 800.0, 0.5, 1e-6, paths=10), scorer)
    assert simulated.tolist() == [asked.tolist()] * 4
    assert scorer.labels.tolist() == asked[scorer.held_out].tolist()
    aimed = scorer.aiming_at(asked)
    right, wrong = aimed.agreement(simulated), aimed.agreement(~simulated)
    assert (right.iou, right.iou_sd, right.area_error, right.right) == (1.0, 0.0, 0.0, 1.0)
    assert (wrong.iou, wrong.right) == (0.0, 0.0)


@pytest.mark.parametrize("reached", [np.zeros(10, dtype=bool), np.ones(10, dtype=bool)])
def test_a_map_to_be_reached_with_one_side_gives_no_score(reached: np.ndarray) -> None:
    """1 was said where both maps are empty, and the share of the area where all of it is inside."""
    sets = np.array([BELOW, np.zeros(10, dtype=bool), np.ones(10, dtype=bool)])
    found = world("above").aiming_at(reached).agreement(sets)
    assert np.isnan([found.iou, found.iou_sd]).all()
    known = Agreement(0.5, 0.1, 0.2, 0.9)
    assert average([known, found]).iou == 0.5
    assert average([known, found]).iou_sd == pytest.approx(0.1, rel=1e-12)
    assert (average([known, found]).low, average([known, found]).high) == (0.0, 1.0), "one world of two"
    assert np.isnan([average([known]).low, average([known]).high]).all(), "the one that there is"
    assert np.isnan([average([found]).iou, average([found]).iou_sd]).all()
    assert Utility.of(found).known_agreement == 0.0, "it ranks with maps that share no cell"
    assert Utility.of(known).known_agreement == 0.5


@pytest.mark.parametrize(("direction", "sign"), [("above", 1.0), ("below", -1.0)])
def test_the_probability_is_that_of_the_asked_side(direction: Direction, sign: float) -> None:
    """Level -0.2: a normal of mean 0.1 and sd 0.2 lies 1.5 sd over it, a public mean of 0.3 makes it 3."""
    scorer = world(direction)
    mean, sd = np.array([0.1]), np.array([0.2])
    assert scorer.probability(mean, sd, np.array([0.0]))[0] == pytest.approx(ndtr(sign * 1.5), rel=1e-12)
    assert scorer.probability(mean, sd, np.array([0.3]))[0] == pytest.approx(ndtr(sign * 3.0), rel=1e-12)
    sure = np.where(scorer.labels, sign, -sign) * 0.5 - 0.2
    assert scorer.held_out_bce(sure, np.full(sure.shape, 0.1)) < 1e-5
    assert scorer.held_out_bce(-sure - 0.4, np.full(sure.shape, 0.1)) > 10.0


@pytest.mark.parametrize("direction", ["above", "below"])
def test_the_held_out_cells_are_judged_on_the_asked_side(direction: Direction) -> None:
    """Nearly without noise the neighbours' map is right about the two held-out cells, whichever is asked."""
    design = Design(prior="car", lengthscale=4000.0, ridge=0.5, scale=1e-6, paths=3)
    scorer = world(direction)
    assert scorer.held_out_iou(questions.simulate_held_out(design, scorer)) == 1.0


def test_the_search_itself_asks_for_the_low_side(town: Town, hamlet_tuned: Tuned) -> None:
    """The hill is 3 of 16 hexagons above 30: `below` is about the 13 others."""
    low = tune(load_project(town.settings(resolution=7, priors=("car",), direction="below"))).result
    assert int(hamlet_tuned.result.baseline.sum()) == 3
    assert int(low.baseline.sum()) == 13
    assert not (low.baseline & hamlet_tuned.result.baseline).any()
    assert low.chosen.utility.agreement > 0.8


@pytest.mark.parametrize(("cutoff", "agreement"), [(0.05, 3 / 16), (1.0, 0.0)])
def test_a_typed_design_is_scored_at_its_own_cutoff(
    hamlet: Project, hamlet_tuned: Tuned, cutoff: float, agreement: float
) -> None:
    """Twenty paths of nearly pure noise: one vote is found in all 16 cells, twenty votes in none."""
    chosen = hamlet_tuned.result.chosen
    design = replace(chosen.design, scale=50.0, paths=20, cutoff=cutoff)
    scored = Bench(hamlet, hamlet_tuned.result).score(design, chosen.response)
    assert scored.utility.agreement == agreement
    assert scored.design.cutoff == cutoff


@pytest.mark.parametrize("paths", [20, 100])
@pytest.mark.parametrize(("cutoff", "agreement"), [(0.01, 3 / 16), (1.0, 0.0)])
def test_so_is_one_of_noisy_statistics(town: Town, paths: int, cutoff: float, agreement: float) -> None:
    project = load_project(
        town.settings(resolution=7, priors=("car",), mechanisms=("noisy-cell-statistics",))
    )
    tuned = tune(project)
    design = replace(tuned.choice.design, scale=50.0, ridge=50.0, paths=paths, cutoff=cutoff)
    assert Bench(project, tuned.result).score(design, tuned.choice.response).utility.agreement == agreement
