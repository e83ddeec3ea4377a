"""A mechanism that cannot win is not searched to its end, and the screen says so; what can win always is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.search import optimise
from hexcursion.search.choice import early_words
from hexcursion.search.optimise import Candidates
from hexcursion.search.score import Batch
from hexcursion.search.task import LeftEarly, Scored, SearchTask, Utility
from hexcursion.search.tuning import Tuned, search_task, tune
from tests.town import Town

BOTH = ("posterior-sampling", "noisy-cell-statistics")


@pytest.fixture(scope="module")
def small(town: Town) -> Project:
    return load_project(town.settings(resolution=7, priors=("car",), mechanisms=BOTH))


@pytest.fixture(scope="module")
def task(small: Project) -> SearchTask:
    return replace(search_task(small), frontier=())


def found(*agreements: float, epsilon: float = 2.0) -> Candidates:
    """Scored designs that reach these agreements."""
    design = NoisyCellStatisticsDesign("car", 1.0, 1.0, 1.0, 1.0)
    scale = ResponseScale("identity", 0.0, 1.0, "")
    return [(epsilon, Scored(design, scale, epsilon, Utility(value, 0.0))) for value in agreements]


@pytest.mark.parametrize(
    ("own", "others", "behind"),
    [
        (found(0.50, 0.739), found(0.80, 0.1), True),
        (found(0.50, 0.741), found(0.80, 0.1), False),
        (found(0.90), found(0.80), False),
        (found(), found(0.80), False),  # nothing feasible in the first pass says nothing of the rest
        (found(0.1), found(), False),  # nobody is ahead
        (found(0.1), found(0.9, epsilon=1.0), False),  # at another budget
        (found(0.1, epsilon=1.0), found(0.9), False),
    ],
)
def test_behind_means_by_more_than_six_hundredths(
    task: SearchTask, own: Candidates, others: Candidates, behind: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimise, "_sharpened_bests", lambda task, eligible: list(eligible))
    assert optimise._behind(task, own, others) is behind


def test_three_designs_of_a_quick_mechanism_and_one_of_a_slow_one_are_compared_in_full(
    task: SearchTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimise, "sharpened", lambda task, item: item)
    slow = [item for _, item in found(0.3, 0.9, 0.6, 0.8, 0.7)]
    shape = SpectralStatisticsDesign("water-filled", "car", 900.0, 0.5, 0.0, 0.5, 1.0, 1.2, 1.0, paths=3)
    quick = [replace(item, design=shape) for item in slow]
    assert [item.utility.agreement for item in optimise._sharpened_bests(task, slow)] == [0.9]
    assert [item.utility.agreement for item in optimise._sharpened_bests(task, quick)] == [0.9, 0.8, 0.7]
    assert len(optimise._sharpened_bests(task, [*slow, *quick])) == 4


def test_a_first_pass_shows_every_second_design_where_the_best_is_and_leaves_the_others_for_later(
    task: SearchTask,
) -> None:
    wide, narrow = (ResponseScale("identity", 0.0, clip, "test") for clip in (1.0, 0.6))
    scene = task.scenes[0]
    task = replace(task, scenes=(replace(scene, response=wide), replace(scene, response=narrow)))
    designs = [NoisyCellStatisticsDesign("car", float(k), 1.0, 1.0, 1.0) for k in range(1, 8)]
    batch = Batch("noisy-cell-statistics", tuple((design, (2.0,)) for design in designs), (0, 1))
    before = [(2.0, replace(found(each)[0][1], response=at)) for each, at in ((0.7, wide), (0.8, narrow))]
    (first,), rest = optimise._first_pass(task, [batch], [(1.0, before[0][1]), *before])
    assert ([design.lengthscale for design, _ in first.designs], first.scenes) == ([2.0, 4.0, 6.0], (1,))
    assert [([design.lengthscale for design, _ in each.designs], each.scenes) for each in rest] == [
        ([1.0, 3.0, 5.0, 7.0], (0, 1)),
        ([2.0, 4.0, 6.0], (0,)),
    ]
    for other, before in (
        (task, found()),  # the first mechanism
        (task, found(0.8, epsilon=1.0)),  # nothing at the budget that is asked for
        (replace(task, frontier=(1.0,)), found(0.8)),  # a frontier shows every mechanism
        (replace(task, walked=(1.0,)), found(0.8)),
        (replace(task, objective="bce"), found(0.8)),
    ):
        assert optimise._first_pass(other, [batch], before) == ([], [batch])


def test_a_first_pass_is_judged_in_two_worlds_and_whoever_passes_is_ranked_in_all(
    task: SearchTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = task.scenes[0]
    one = replace(task, scenes=(scene,))
    assert optimise._in_few_worlds(one) is one
    drifted = tuple(replace(scene.world, middle=0.1 * number) for number in range(1, 4))
    four = replace(one, scenes=(replace(scene, others=drifted),), mechanisms=BOTH)
    (few,) = optimise._in_few_worlds(four).scenes
    assert [each.middle for each in few.worlds] == [scene.world.middle, drifted[2].middle]
    played: list[tuple[str, int]] = []
    second = [0.0]

    def scored(task: SearchTask, batch: Batch) -> Candidates:
        played.append((batch.mechanism[:5], len(task.scenes[0].worlds)))
        ours = 0.8 if batch.mechanism == "posterior-sampling" else second[0]
        return [(task.epsilon, replace(found(ours)[0][1], response=scene.response))]

    def stop(*_: object) -> None:
        raise RuntimeError("enough is seen")

    monkeypatch.setattr(optimise, "score_batch", scored)
    monkeypatch.setattr(optimise, "_sharpened_bests", lambda task, eligible: list(eligible))
    monkeypatch.setattr(optimise, "_refinement", lambda *_: [])
    monkeypatch.setattr(optimise, "_most_honest", stop)
    for reached, worlds in (
        (0.79, [("poste", 4), ("noisy", 2), ("noisy", 4)]),
        (0.7, [("poste", 4), ("noisy", 2)]),
    ):
        played.clear()
        second[0] = reached
        with pytest.raises(RuntimeError, match="enough is seen"):
            optimise.search(four)
        assert list(dict.fromkeys(played)) == worlds


def searched(small: Project, monkeypatch: pytest.MonkeyPatch, behind: float) -> Tuned:
    monkeypatch.setattr(optimise, "BEHIND", behind)
    return tune(small, frontier=())


def test_what_is_left_early_is_said_and_neither_chosen_nor_shown(
    small: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, cut = (searched(small, monkeypatch, margin) for margin in (9.0, -9.0))
    assert whole.result.left_early == ()
    (early,) = cut.result.left_early
    assert early.mechanism == "noisy-cell-statistics"
    assert 0 < early.designs < whole.result.evaluated
    assert cut.result.evaluated < whole.result.evaluated
    assert {point.scored.design.mechanism for point in cut.result.frontier} == {"posterior-sampling"}
    said = [remark for remark in cut.remarks() if "was not searched further" in remark]
    assert len(said) == 1
    assert said[0].startswith("Noisy cell statistics was not searched further: in a short first comparison ")
    assert f" the best of {early.designs} designs " in said[0]
    assert not any("was not searched further" in remark for remark in whole.remarks())


def test_a_search_in_two_parts_finds_what_one_in_one_finds(
    small: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is not left early is searched to its end, local stage and all."""
    whole = searched(small, monkeypatch, 9.0)
    shown = tune(small)  # with a frontier: in one part
    assert whole.choice.design == shown.choice.design
    assert repr(whole.result.chosen.utility) == repr(shown.result.chosen.utility)


def test_the_words_name_mechanism_designs_and_agreement(tuned: Tuned) -> None:
    early = LeftEarly("posterior-sampling", 1234, 0.7549)
    assert early_words(replace(tuned.result, left_early=(early,))) == (
        "Posterior sampling was not searched further: in a short first comparison the best of 1,234 designs "
        "across its grid reaches an agreement (IoU) of 0.75, too far behind."
    )
    assert early_words(tuned.result) == ""
