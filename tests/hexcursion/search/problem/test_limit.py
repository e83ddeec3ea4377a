"""The limit beside designs: rehearsed releases lose more of a field than it says that any must."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.registry import mechanism_named
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.limit import LossWorlds, losses, why_no_limit
from hexcursion.search.scenes import public_facts
from hexcursion.search.score import fixed_model
from hexcursion.search.tuning import tune
from tests.town import Town

DELTA = 1e-5


@pytest.fixture(scope="module")
def told(town: Town) -> Project:
    """Nothing but the number of records is public."""
    return load_project(
        town.settings(
            reference=None,
            reference_public=False,
            centre=25.0,
            clip=30.0,
            resolution=7,
            delta=DELTA,
            mechanisms=("spectral-statistics",),
        )
    )


@pytest.fixture(scope="module")
def worlds(told: Project) -> LossWorlds:
    facts, ask = public_facts(told), SearchSpec(told.priors, 100)
    return LossWorlds.of(told, fixed_model(facts, ask, Budget(1.0, DELTA), told.response), 8)


def designs(worlds: LossWorlds, epsilon: float):
    for name in ("spectral-statistics", "noisy-cell-statistics"):
        mechanism = mechanism_named(name)
        for each in mechanism.search.grid(worlds.facts, SearchSpec(("exponential",), 100, quick=True))[:2]:
            made = mechanism.calibrate(each, worlds.facts, Budget(epsilon, DELTA))
            assert made is not None
            assert worlds.bounds(made)
            yield made


def test_no_rehearsal_beats_the_limit_and_more_epsilon_beats_the_limit_of_less(worlds: LossWorlds) -> None:
    limits = {epsilon: worlds.limit(epsilon, DELTA) for epsilon in (0.25, 1.0, 10.0)}
    assert 0.0 < limits[10.0] < limits[1.0] < limits[0.25] < 1.0
    best = {
        epsilon: min(worlds.lost(design, worlds.scale)[0] for design in designs(worlds, epsilon))
        for epsilon in limits
    }
    assert all(best[epsilon] > limit for epsilon, limit in limits.items())
    assert best[10.0] < limits[0.25]


def test_a_release_under_another_scale_is_judged_in_the_same_units(worlds: LossWorlds) -> None:
    design = next(designs(worlds, 10.0))
    plain, error = worlds.lost(design, worlds.scale)
    moved = replace(worlds.scale, centre=worlds.scale.centre + 3.0, clip=1.2 * worlds.scale.clip)
    assert worlds.lost(design, moved)[0] == pytest.approx(plain, abs=0.05)
    assert 0.0 < error < plain < 0.4


def test_where_the_number_is_private_a_value_changes_in_two_steps(worlds: LossWorlds) -> None:
    apart = replace(worlds, facts=replace(worlds.facts, relation="add-or-remove"))
    assert apart.limit(1.0, DELTA) < 0.9 * worlds.limit(1.0, DELTA)


def test_a_mechanism_without_gaussian_noise_is_not_measured_by_it(worlds: LossWorlds) -> None:
    free = fixed_model(worlds.facts, SearchSpec(("car",), 1), Budget(1.0, DELTA), worlds.scale)
    assert not worlds.bounds(free.design)


def test_every_budget_of_a_frontier_stands_above_its_limit(told: Project) -> None:
    asked: list[float] = []
    tuned = tune(told)
    found = losses(told, tuned.result, lambda share, text: asked.append(share))
    assert [each.epsilon for each in found] == [point.epsilon for point in tuned.result.frontier]
    assert all(each.lost > each.limit > 0.0 for each in found)
    assert found[0].lost > 2.0 * found[-1].lost
    assert asked == sorted(asked)
    assert asked[-1] < 1.0


def test_it_is_not_drawn_where_its_conditions_do_not_hold(told: Project, town: Town) -> None:
    assert why_no_limit(told) == ""
    answers = town.settings(
        reference=None,
        reference_public=False,
        prior_mean=None,
        values="yes-no",
        yes_above=30.0,
        resolution=7,
        mechanisms=("spectral-statistics",),
    )
    assert "proved for amounts" in why_no_limit(load_project(answers))


def test_about_a_public_map_the_limit_is_the_mean_over_its_drifts(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped = load_project(town.settings(prior_mean=True, resolution=7, delta=DELTA))
    facts, ask = public_facts(mapped), SearchSpec(mapped.priors, 100)
    assert why_no_limit(mapped) == ""
    free = fixed_model(facts, ask, Budget(1.0, DELTA), mapped.response)
    worlds = LossWorlds.of(mapped, free, 8)
    assert len(worlds.covariances) == len(worlds.fields) == 8
    alone = [replace(worlds, covariances=(each,)) for each in worlds.covariances]
    sizes = [each.variance for each in alone]
    assert worlds.variance == pytest.approx(sum(sizes) / 8)
    both = replace(worlds, covariances=worlds.covariances[2:4])
    least = sum(each.limit(4.0, DELTA) * each.variance for each in alone[2:4]) / 2
    assert both.limit(4.0, DELTA) == pytest.approx(least / both.variance)
    drawn = [float((field[worlds.cells] ** 2).mean()) for field in worlds.fields]
    assert all(0.1 < here / size < 2.0 for here, size in zip(drawn, sizes, strict=True))
    (design,) = mechanism_named("spectral-statistics").search.grid(worlds.facts, ask)
    made = mechanism_named("spectral-statistics").calibrate(design, worlds.facts, Budget(4.0, DELTA))
    assert made is not None
    assert worlds.bounds(made)
    limit = worlds.limit(4.0, DELTA)
    assert limit == pytest.approx(0.00605, rel=0.01)
    assert limit < worlds.lost(made, worlds.scale)[0] < 0.012
    monkeypatch.setattr("hexcursion.search.limit.MOST_NODES", 3)
    assert "at most 3 hexagons" in why_no_limit(mapped)


def test_too_many_hexagons_are_refused_in_one_sentence(
    told: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hexcursion.search.limit.MOST_CELLS", 3)
    free = tune(told).result.unconstrained
    with pytest.raises(WorkflowError, match="at most 3 hexagons: take coarser ones"):
        LossWorlds.of(told, free)
