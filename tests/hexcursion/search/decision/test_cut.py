"""A release about one threshold is compared with a map whose values are cut as its own."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hexcursion.project.baseline import curators_map
from hexcursion.project.load import load_project
from hexcursion.project.response import FOCUSED, ResponseScale
from hexcursion.search.choice import Choice
from tests.town import write_town


@pytest.mark.parametrize(("origin", "public", "above"), [
    (FOCUSED, None, False), ("given", None, True), (FOCUSED, "a map", True),
])  # fmt: skip
def test_a_release_about_one_threshold_is_judged_by_values_cut_as_its_own(
    tmp_path_factory: pytest.TempPathFactory, origin: str, public: str | None, above: bool
) -> None:
    """Everywhere four values of five are 20 and one is 60: the mean, 28, is above 26, the median is not."""
    town = write_town(tmp_path_factory.mktemp("skewed"), n=1000)
    project = load_project(town.settings(reference=None, reference_public=False, prior_mean=None,
                                         threshold=26.0, centre=24.0, clip=40.0))  # fmt: skip
    placed = project.private.placed
    value = np.where(np.arange(placed.value.size) % 5 == 0, 60.0, 20.0)
    skewed = replace(project, private=replace(project.private, placed=replace(placed, value=value)))
    choice: Any = SimpleNamespace(response=ResponseScale("identity", 26.0, 4.0, origin), public_map=public)
    made = curators_map(skewed, None, Choice.cut.fget(choice))  # type: ignore[arg-type, attr-defined]
    assert ((made.probability > 0.5).mean() > 0.9) == above
    assert ((made.probability < 0.5).mean() > 0.9) == (not above)
    # Its mean is in the project's own units: 28, or the mean of values cut at 22 and 30, 23.6.
    typical = 24.0 + 40.0 * np.median(made.mean)
    assert typical == pytest.approx(28.0 if above else 23.6, abs=1.0)
    assert np.array_equal(made.inside, made.mean >= (26.0 - 24.0) / 40.0)
