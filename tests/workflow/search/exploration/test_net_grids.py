"""What the search tries and how it weighs halves of the reference data, written down number by number."""

from __future__ import annotations

from dataclasses import replace

import pytest

import workflow.search.decision.tuning as tuning_module
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths.design import PosteriorSamplingDesign
from dpgp_core.mechanisms.terms import Parameter
from workflow.project.model import Project
from workflow.search.exploration.sweep import _values
from workflow.search.problem import public_map
from workflow.search.problem.facts import public_facts

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
    ("unit", "year", "weight"), [("point", None, 2), ("point", 2018, 1), ("cell", None, 1), ("cell", 2018, 1)]
)
def test_a_point_of_half_the_reference_data_counts_twice(
    hamlet: Project, monkeypatch: pytest.MonkeyPatch, unit: str, year: int | None, weight: int
) -> None:
    """A cell counts once, and so does a point where the last year stands for the whole."""
    seen: list[int] = []
    monkeypatch.setattr(tuning_module, "_scene", lambda *given: seen.append(given[5]))
    monkeypatch.setattr(public_map, "last_year", lambda reference: year)
    project = replace(hamlet, settings=hamlet.settings.with_changes(unit=unit, quick=True, clip=None))
    placed = hamlet.private.placed
    free = PosteriorSamplingDesign("car", 2000.0, 2.0, 1.0)
    tuning_module._residual_scenes(project, public_facts(project), placed, placed, free)
    assert seen == [weight, weight]
