"""The map without privacy that judges a release tells of the same typical value as that release."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hexcursion.project.load import load_project
from hexcursion.project.response import FOCUSED, ResponseScale
from studies.agreement.panel import chances_without_privacy
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
                                         threshold=26.0, centre=26.0, clip=40.0))  # fmt: skip
    placed = project.private.placed
    value = np.where(np.arange(placed.value.size) % 5 == 0, 60.0, 20.0)
    skewed = replace(project, private=replace(project.private, placed=replace(placed, value=value)))
    choice: Any = SimpleNamespace(response=ResponseScale("identity", 26.0, 4.0, origin), public_map=public)
    chances = chances_without_privacy(skewed, choice, None)  # type: ignore[arg-type]
    assert ((chances > 0.5).mean() > 0.9) == above
    assert ((chances < 0.5).mean() > 0.9) == (not above)
