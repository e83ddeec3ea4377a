"""What a search tells of its progress never goes back and never passes the end."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import hexcursion.search.tuning as tuning_module
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search import bench
from hexcursion.search.bench import sweep
from hexcursion.search.executors import Run
from hexcursion.search.optimise import _scored, _stage_part
from hexcursion.search.score import unconstrained_design
from hexcursion.search.task import Scored, Utility
from hexcursion.search.tuning import Tuned, search_task, tune
from tests.town import Town


@pytest.mark.parametrize(
    ("stages", "told"),
    [(1, [0.75, 0.875, 1.0]), (2, [0.75, 0.8125, 0.875, 0.875, 0.9375, 1.0])],
)
def test_the_local_stages_share_the_last_quarter(stages: int, told: list[float]) -> None:
    found: list[float] = []
    for stage in range(stages):
        part = _stage_part(Run(lambda fraction, _: found.append(fraction)), stage, stages)
        for fraction in (0.0, 0.5, 1.0):
            part.report(fraction, "")
    assert found == pytest.approx(told)


def test_each_batch_is_told_with_all_designs_before_it() -> None:
    told: list[tuple[float, str]] = []
    where: Any = SimpleNamespace(map=lambda score, task, batches: iter(batches))
    batches: Any = [[(1.0, "a"), (1.0, "b")], [(1.0, "c")]]
    run = Run(lambda part, words: told.append((part, words)), where)
    found = _scored(None, run, batches, 1_200)  # type: ignore[arg-type]
    assert told == [(0.5, "1,202 designs scored"), (1.0, "1,203 designs scored")]
    assert [design for _, design in found] == ["a", "b", "c"]


BOTH = ("posterior-sampling", "noisy-cell-statistics")


@pytest.mark.parametrize(
    ("mechanisms", "parts"), [(BOTH[:1], [(0.5125, 0.95)]), (BOTH, [(0.35625, 0.575), (0.73125, 0.95)])]
)
def test_a_whole_search_goes_forward(
    town: Town, mechanisms: tuple[str, ...], parts: list[tuple[float, float]]
) -> None:
    """A fifth is the baseline's, in three equal steps; three quarters are shared out among mechanisms.

    Of its part each has a quarter for a first pass, which is empty here, and a half for its three grids.
    """
    project = load_project(town.settings(resolution=7, priors=("car",), mechanisms=mechanisms))
    told: list[tuple[float, str]] = []
    result = tune(project, Run(lambda fraction, words: told.append((fraction, words)))).result
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[:3] == pytest.approx([0.2 / 3, 0.4 / 3, 0.2])
    assert fractions[-2:] == [0.95, 1.0]
    begun = 0.2
    for first, last in parts:
        own = [each for each in fractions if begun + 1e-9 < each < last + 1e-9]
        assert (own[0], own[-1]) == pytest.approx((first, last))
        begun = last
    counts = [int(words.split()[0].replace(",", "")) for _, words in told if words.endswith("designs scored")]
    assert counts == sorted(counts)
    assert counts[-1] == result.evaluated - sum(each.designs for each in result.left_early)


def test_with_and_without_the_public_map_each_have_one_half(
    hamlet: Project, hamlet_tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both searches tell a quarter and the end of their own work."""
    told: list[float] = []

    def one(project: Project, run: Run, *_: object) -> Tuned:
        run.report(0.25, "")
        run.report(1.0, "")
        return hamlet_tuned

    monkeypatch.setattr(tuning_module, "_tuned", one)
    both = replace(hamlet, settings=hamlet.settings.with_changes(prior_mean=None))
    tune(both, Run(lambda fraction, _: told.append(fraction)))
    assert told == [0.125, 0.5, 0.625, 1.0]


def test_the_baseline_is_looked_for_among_these_ridges(hamlet: Project) -> None:
    """Five lengthscales; of the grid's eleven ridges those up to 8; a fifth is told for each lengthscale."""
    told: list[tuple[float, str]] = []
    families: list[Any] = []
    task = search_task(replace(hamlet, settings=hamlet.settings.with_changes(quick=False)))

    class Watched:
        def map(self, work: Any, shared: Any, items: Any) -> Any:
            families.extend(items)
            return (work(shared, item) for item in items)

        def close(self) -> None: ...

    unconstrained_design(task, Run(lambda fraction, words: told.append((fraction, words)), Watched()))
    assert [(each.prior, len(each.ridges)) for each in families] == [("car", 7)] * 5
    assert families[0].ridges == pytest.approx((0.3, 0.491, 0.803, 1.314, 2.150, 3.518, 5.756), abs=5e-4)
    assert told == [(part / 5, "Searching without the privacy constraint") for part in (1, 2, 3, 4, 5)]


def test_a_sweep_tells_before_each_value_how_many_are_behind_it(hamlet_tuned: Tuned) -> None:
    """Three parameters of seven values and five numbers of paths."""
    told: list[tuple[float, str]] = []
    reached = Utility(math.nan, math.nan, records=0.8, judged_iou=0.1)
    bench: Any = SimpleNamespace(judged=lambda design, response: reached, price=lambda design: (design, 1.5))
    found = sweep(bench, hamlet_tuned.result.chosen, lambda part, words: told.append((part, words)))
    assert [part for part, _ in told] == [number / 26 for number in range(26)]
    assert [told[at][1] for at in (0, 7, 14, 21, 25)] == [
        "Varying the lengthscale",
        "Varying the ridge",
        "Varying the scale",
        "Varying the number of paths",
        "Varying the number of paths",
    ]
    point = found[3].points[-1]
    assert (point.value, point.epsilon, point.records, point.agreement) == (10.0, 1.5, 0.8, 0.1)


def test_the_epsilon_solver_tells_before_each_epsilon_that_it_tries(
    hamlet_tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five epsilons the first design reaches it from the third on, the second from the second on."""
    told: list[tuple[float, str]] = []
    task: Any = SimpleNamespace(aiming_at=lambda baseline: task, scene_of=lambda response: None)
    from_on = {"first": 0.3, "second": 0.2}
    chosen = hamlet_tuned.result.chosen

    def scorer(task: object, scene: object, design: Any) -> bench.Score:
        def score(epsilon: float) -> Scored:
            reached = 0.9 if epsilon >= from_on[design] else 0.1
            return replace(chosen, epsilon=epsilon, utility=replace(chosen.utility, judged_iou=reached))

        return score

    monkeypatch.setattr(bench, "STEPS", (0.1, 0.2, 0.3, 0.4, 0.5))
    monkeypatch.setattr(bench, "_shapes", lambda *_: [(None, "first"), (None, "second")])
    monkeypatch.setattr(bench, "_scorer", scorer)
    monkeypatch.setattr(bench, "sharpened", lambda task, scored: scored)
    monkeypatch.setattr(bench, "as_shown", lambda scene, scored: scored)
    point = bench.solve(task, hamlet_tuned.result, 0.9, lambda part, words: told.append((part, words)))
    assert point is not None
    assert (point.epsilon, point.scored.epsilon) == (0.2, 0.2)
    assert told == [
        *[(0.0, "Design 1 of 2; no epsilon reaches it yet")] * 3,
        *[(0.5, "Design 2 of 2; epsilon 0.3 reaches it")] * 2,
    ]
