"""Noisy sums as a computer draws them: whole numbers plus rounded noise, in any order of records."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.mechanisms.cell_sums import release_statistics, statistics_cost
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from dpgp_core.noise import SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import GRID, PublicFacts
from dpgp_core.spectral.sums import ExactNoise
from tests.dpgp_core.hexmap import disk

Floats = np.ndarray
SIZE, NOISE = 4, 7.461
DESIGN = NoisyCellStatisticsDesign("car", 1e3, 4.0, 0.5, 8.0)


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[tuple[int, float]]], Floats]:
    """Real releases of records (cell, response), all with the same bits of the "operating system"."""

    def draw(records: list[tuple[int, float]]) -> Floats:
        bits = np.random.default_rng(7)
        monkeypatch.setattr("os.urandom", bits.bytes)
        cells, responses = zip(*records, strict=True)
        found = release_statistics(
            CollapsedRecords.from_records(cells, responses), SIZE, NOISE, SystemEntropy()
        )
        return np.concatenate([found.sums, found.counts])

    return draw


def test_neighbouring_releases_differ_by_what_one_record_contributes_to_the_last_bit(
    released: Callable[[list[tuple[int, float]]], Floats],
) -> None:
    """The noise is the same whole numbers whatever the sums are, so nothing of it tells them apart."""
    others = [(0, 0.1), (0, 0.2), (2, -0.7)] * 5
    single = list(itertools.product(range(SIZE), (-1.0, -0.3, 1 / 3, 1.0)))
    points = np.array([released([*others, one]) for one in single])
    squared = np.square(points[:, None] - points[None]).sum(axis=2)
    assert squared.max() == 4.0, "both extremes, exactly"
    step = (points - points[0]) / GRID
    assert np.array_equal(step, np.round(step))


def test_the_order_of_the_records_does_not_reach_the_release(
    released: Callable[[list[tuple[int, float]]], Floats],
) -> None:
    """In floating point .1 + .2 - .3 depends on the order, and a last bit would betray it."""
    records = [(1, 0.1), (1, 0.2), (1, -0.3), (1, 1e-17)]
    found = [released(list(order)) for order in itertools.permutations(records)]
    assert all(np.array_equal(found[0], other) for other in found[1:])
    assert np.array_equal(found[0], released([(1, 0.1), (1, 0.2), (1, -0.3), (1, 0.0)]))


def test_no_floating_point_deviate_stands_behind_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, shape: object) -> Floats:
        raise AssertionError("a floating-point deviate was asked for")

    monkeypatch.setattr(SystemEntropy, "normal", refuse)
    records = CollapsedRecords.from_records([0, 3], [0.5, -0.5])
    assert np.isfinite(release_statistics(records, SIZE, NOISE, SystemEntropy()).sums).all()


def test_the_distance_to_the_ideal_is_charged_and_is_nothing() -> None:
    facts = PublicFacts(disk(1), 5000)
    found = MECHANISMS["noisy-cell-statistics"].guarantee(DESIGN, facts)
    assert found.distance == found.cost.distance == statistics_cost(8.0, 7).distance == 2.0**-150
    assert found.cost.gaussian_mu == pytest.approx(0.25, rel=1e-14)
    assert found.epsilon(1e-5).epsilon == pytest.approx(gaussian_epsilon(0.25, 1e-5), rel=1e-12)
    assert MECHANISMS["noisy-cell-statistics"].exact_on_a_computer
    assert SpectralStatistics.exact_on_a_computer
    assert MECHANISMS["posterior-sampling"].exact_on_a_computer


def test_what_spectral_releases_add_has_the_declared_deviation() -> None:
    """Of 40,000 numbers within 3 %, eight standard errors; half of it, or twice, is far outside."""
    drawn = ExactNoise(SystemEntropy()).rounded_normal(1_000.0, 40_000)
    assert drawn.dtype == np.int64
    assert 970.0 < float(drawn.std()) < 1_030.0
    assert abs(float(drawn.mean())) < 40.0
