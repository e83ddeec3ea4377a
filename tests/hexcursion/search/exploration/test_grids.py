"""What the search tries and how it weighs halves of the reference data, written down number by number."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import hexcursion.search.tuning as tuning_module
from dpgp_core.mechanisms.design import Parameter
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.search.bench import _values
from hexcursion.search.optimise import _on_edge
from hexcursion.search.public_map import answered
from hexcursion.search.task import Scored, Utility

PATHS = Parameter("paths", "paths", "count")


@pytest.mark.parametrize(
    ("paths", "values"),
    [
        (1, (1.0, 2.0, 3.0, 5.0, 10.0)),
        (40, (1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0, 80.0)),
        (800, (1.0, 2.0, 3.0, 5.0, 10.0, 400.0, 800.0, 1000.0)),
    ],
)
def test_the_numbers_of_paths_that_a_sweep_looks_at(paths: int, values: tuple[float, ...]) -> None:
    """A few, and around the design's own number half and twice it, up to what settings allow."""
    assert _values(PosteriorSamplingDesign("car", 100.0, 2.0, 1.0, paths=paths), PATHS) == values


def test_where_paths_cost_nothing_a_sweep_looks_at_many() -> None:
    design = NoisyCellStatisticsDesign("car", 100.0, 2.0, 1.0, 8.0)
    assert _values(design, PATHS) == (1.0, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)


def test_a_sweep_goes_up_to_a_factor_of_four_either_way() -> None:
    design = PosteriorSamplingDesign("car", 100.0, 2.0, 1.0)
    found = _values(design, Parameter("lengthscale", "lengthscale", "length"))
    assert found == pytest.approx((25.0, 40.0, 63.0, 100.0, 160.0, 250.0, 400.0), rel=1e-12)


@pytest.mark.parametrize(
    ("threshold", "quick", "clip", "narrower"),
    [
        (30.0, False, None, [24.0, 14.4]),
        (30.0, True, None, [24.0]),
        (32.0, False, None, [24.0]),
        (40.0, False, None, []),
        (30.0, False, 40.0, []),
    ],
)
def test_narrower_clip_bounds_still_reach_a_quarter_beyond_the_threshold(
    hamlet: Project, threshold: float, quick: bool, clip: float | None, narrower: list[float]
) -> None:
    """Centre 20, clip 40: of .6 and .36 of it those that hold 1.25 times the way to the threshold."""
    settings = hamlet.settings.with_changes(threshold=threshold, quick=quick, clip=clip, centre=20.0)
    asked = replace(hamlet, settings=settings, response=ResponseScale("identity", 20.0, 40.0, "a"))
    found = tuning_module._narrower(asked)
    assert [(each.centre, each.clip, each.origin) for each in found] == [(20.0, at, "a") for at in narrower]


@pytest.mark.parametrize(
    ("quick", "clips"), [(True, [32.0, 20.0, 12.0]), (False, [32.0, 20.0, 12.0, 7.2, 4.4])]
)
def test_focused_clip_bounds_lie_around_the_threshold(
    hamlet: Project, quick: bool, clips: list[float]
) -> None:
    settings = hamlet.settings.with_changes(threshold=30.0, quick=quick)
    asked = replace(hamlet, settings=settings, response=ResponseScale("identity", 20.0, 40.0, "a"))
    found = tuning_module._focused(asked)
    assert [(each.centre, each.clip) for each in found] == [(30.0, clip) for clip in clips]
    assert {each.origin for each in found} == {"centred at the threshold, the clip bound by the search"}


@pytest.mark.parametrize("focus", [None, "threshold"])
def test_a_search_tries_the_scales_of_its_focus(hamlet: Project, focus: Any) -> None:
    settings = hamlet.settings.with_changes(threshold=30.0, focus=focus or "all", quick=True)
    asked = replace(hamlet, settings=settings, response=ResponseScale("identity", 20.0, 40.0, "a"))
    tried = [scene.response.clip for scene in tuning_module.search_task(asked).scenes]
    assert tried == ([40.0, 32.0, 20.0, 12.0] if focus else [40.0, 24.0])


@pytest.mark.parametrize(
    ("clips", "edges"),
    [
        ((1.0,), ()),
        ((1.0, 2.0), (("clip bound", "smallest"),)),
        ((0.5, 1.0), (("clip bound", "largest"),)),
        ((0.5, 1.0, 2.0), ()),
    ],
)
def test_of_two_values_each_is_an_edge_and_of_one_none(
    clips: tuple[float, ...], edges: tuple[tuple[str, str], ...]
) -> None:
    design = PosteriorSamplingDesign("car", 100.0, 2.0, 1.0)
    tried = {
        clip: Scored(design, ResponseScale("identity", 0.0, clip, "a"), 2.0, Utility(0.8, 0.1))
        for clip in clips
    }
    assert _on_edge(tried[1.0], tried.values(), lambda each: each) == edges


def test_a_project_is_answered_with_or_without_the_map_only_where_both_were_tried(hamlet: Project) -> None:
    def asked(**changes: object) -> Project:
        return replace(hamlet, settings=hamlet.settings.with_changes(**changes))

    for found in (True, False):
        result: Any = SimpleNamespace(public_mean=found)
        assert answered(asked(prior_mean=None), result).settings.prior_mean is found
        for given in (True, False):
            project = asked(prior_mean=given)
            assert answered(project, result) is project, "it was not left to the search"
        alone = asked(prior_mean=None, reference=None, reference_public=False)
        assert answered(alone, result) is alone, "nothing public to start from"
