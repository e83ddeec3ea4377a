"""Small parts of a search with stand-ins beside them, in literal numbers."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hexcursion.project.model import Project
from hexcursion.search import pilot, score
from hexcursion.search.scenes import _public_counts
from hexcursion.search.score import SCALES, unconstrained_design
from hexcursion.search.tuning import search_task


def test_a_pilot_is_read_by_the_likeliest_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the first nor the last, and not the largest by its numbers."""
    monkeypatch.setattr(pilot, "log_evidence", lambda statistics, prior, ridge, scale: -abs(ridge - 2.0))
    models: Any = [("a", 1.0, 1.0), ("b", 2.0, 1.0), ("c", 3.0, 1.0)]
    assert pilot._best(None, models) == ("b", 2.0, 1.0)  # type: ignore[arg-type]


def test_public_counts_cover_hexagons_without_records() -> None:
    settings = SimpleNamespace(uses_public_counts=True, unit="point")
    project: Any = SimpleNamespace(
        settings=settings,
        relative=None,
        domain=SimpleNamespace(size=5),
        reference=SimpleNamespace(index=np.array([0, 2, 2])),
    )
    found = _public_counts(project)
    assert found is not None
    assert found.tolist() == [1.0, 0.0, 2.0, 0.0, 0.0]
    settings.unit = "cell"
    capped = _public_counts(project)
    assert capped is not None
    assert capped.tolist() == [1.0, 0.0, 1.0, 0.0, 0.0]
    settings.uses_public_counts = False
    assert _public_counts(project) is None


def test_the_baseline_is_priced_as_the_paths_that_are_asked_for(
    hamlet: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The price is a stand-in: no finite one is stated above an epsilon of 93, where a baseline often is."""
    assert (SCALES[0], SCALES[-1], len(SCALES)) == pytest.approx((0.05, 2.0, 14))
    monkeypatch.setattr(score, "priced_paths", lambda design, *given: (design, 3.0 * design.paths))
    task = search_task(hamlet)
    one, four = (unconstrained_design(replace(task, ask=replace(task.ask, paths=paths))) for paths in (1, 4))
    assert (one.design.paths, four.design.paths) == (1, 4)
    assert (one.epsilon, four.epsilon) == (3.0, 12.0)
