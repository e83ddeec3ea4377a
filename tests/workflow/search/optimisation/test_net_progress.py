"""What a search tells of its progress never goes back and never passes the end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workflow.project.model import Project
from workflow.search.decision.tuning import tune
from workflow.search.optimisation.optimise import _run, _stage_part


@pytest.mark.parametrize(
    ("stages", "told"),
    [(1, [0.75, 0.875, 1.0]), (2, [0.75, 0.8125, 0.875, 0.875, 0.9375, 1.0])],
)
def test_the_local_stages_share_the_last_quarter(stages: int, told: list[float]) -> None:
    found: list[float] = []
    for stage in range(stages):
        part = _stage_part(lambda fraction, _: found.append(fraction), stage, stages)
        for fraction in (0.0, 0.5, 1.0):
            part(fraction, "")
    assert found == pytest.approx(told)


def test_each_batch_is_told_with_all_designs_before_it() -> None:
    told: list[tuple[float, str]] = []
    where: Any = SimpleNamespace(map=lambda score, task, batches: iter(batches))
    batches: Any = [[(1.0, "a"), (1.0, "b")], [(1.0, "c")]]
    found = _run(None, where, batches, lambda part, words: told.append((part, words)), 1_200)  # type: ignore[arg-type]
    assert told == [(0.5, "1,202 designs scored"), (1.0, "1,203 designs scored")]
    assert [design for _, design in found] == ["a", "b", "c"]


def test_a_whole_search_goes_forward(hamlet: Project) -> None:
    told: list[tuple[float, str]] = []
    result = tune(hamlet, lambda fraction, words: told.append((fraction, words))).result
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    counts = [int(words.split()[0].replace(",", "")) for _, words in told if words.endswith("designs scored")]
    assert counts == sorted(counts)
    assert counts[-1] == result.evaluated - sum(each.designs for each in result.left_early)
