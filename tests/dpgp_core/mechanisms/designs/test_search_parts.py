"""What mechanisms do for a search, in literal numbers and with small stand-ins."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.mechanisms import noisy_cell_statistics as statistics
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import SearchSpec
from dpgp_core.mechanisms.noisy_cell_statistics import (
    NoisyCellStatisticsDesign,
    NoisyStatistics,
    estimated_counts,
)
from dpgp_core.mechanisms.posterior_sampling import PosteriorSamplingDesign, _prior_noise
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts
from dpgp_core.simulation import SEED
from tests.dpgp_core.hexmap import disk, lone
from tests.dpgp_core.mechanisms.beside import rows

LATTICE = disk(3, padding=1)
FACTS = PublicFacts(LATTICE, 150)
PATH = PosteriorSamplingDesign("car", 1500.0, 2.0, 0.5)


@pytest.mark.parametrize(
    ("name", "all_of_it", "part"),
    [
        ("posterior-sampling", 55, 55),
        ("noisy-cell-statistics", 45, 15),
        ("spectral-statistics", 6, 1),
        ("bin-means", 8, 4),
        *rows("GRID_SIZES"),
    ],
)
def test_the_frontier_tries_a_part_of_what_the_asked_budget_tries(
    name: str, all_of_it: int, part: int
) -> None:
    """A design beside the asked budget only would be priced at no budget at all there."""
    facts = PublicFacts(LATTICE, 150, places_public=True)
    grid = MECHANISMS[name].search.grid(facts, SearchSpec(("car",)))
    beside = MECHANISMS[name].search.grid(facts, SearchSpec(("car",), thorough=False))
    assert (len(set(grid)), len(set(beside))) == (all_of_it, part)
    assert set(beside) <= set(grid)


FOUR, SEVEN = (0.5, 0.45, 0.4, 0.35), (0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2)


def test_a_changed_scale_keeps_the_share_of_prior_noise() -> None:
    mechanism, design = MECHANISMS["posterior-sampling"], replace(PATH, scale=0.5, noise_scale=0.125, paths=3)
    assert mechanism.search.varied(design, "scale", 2.0) == replace(design, scale=2.0, noise_scale=0.5)
    assert mechanism.search.varied(design, "ridge", 5.0) == replace(design, ridge=5.0)


def test_records_beyond_the_domain_are_refused_before_anything_is_drawn() -> None:
    """The last cell is the domain's, the next one is none: it would fail in the middle of a draw."""
    mechanism, last = MECHANISMS["posterior-sampling"], FACTS.lattice.size - 1

    def records(index: int) -> CollapsedRecords:
        return CollapsedRecords(np.array([0, 1, index]), np.ones(3), np.zeros(3))

    assert mechanism.prepare(PATH, FACTS, records(last))
    with pytest.raises(InvalidValue, match="outside the prior's domain"):
        mechanism.prepare(PATH, FACTS, records(last + 1))


@pytest.mark.parametrize(("cells", "releases"), [(8_000, 1), (7_999, 2), (4_000, 2), (3_999, 3), (8_001, 1)])
def test_a_glance_shows_8000_cells_or_a_few_more(
    cells: int, releases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "dpgp_core.mechanisms.noisy_cell_statistics"
    monkeypatch.setattr(f"{module}._draws", lambda *_: list(range(10)))
    monkeypatch.setattr(f"{module}._published", lambda draw, *_: draw)
    world: Any = SimpleNamespace(facts=SimpleNamespace(lattice=SimpleNamespace(size=cells)))
    design = NoisyCellStatisticsDesign("car", 900.0, 1.0, 1.0, 1.0)
    assert questions.simulate(design, world, quick=True).tolist() == list(range(releases))


def test_counts_far_below_the_cut_have_the_moments_of_the_cut_normal_law() -> None:
    """Every local mean is 1 and the noise 60: the cut is 60 deviations above the middle of the normal law."""
    assert statistics.FAR_BELOW == -50.0
    mean, variance = estimated_counts(
        NoisyStatistics(np.zeros(LATTICE.size), np.zeros(LATTICE.size), 60.0, LATTICE.size), LATTICE
    )
    with mpmath.workdps(40):
        hazard = mpmath.npdf(60) / mpmath.ncdf(-60)
        assert mean == pytest.approx(np.full(LATTICE.size, float(60 * (hazard - 60))), rel=1e-7)
        exact = float(3600 * (1 - hazard * (hazard - 60)))
    assert variance == pytest.approx(np.full(LATTICE.size, exact), rel=1e-6)


def test_counts_50_deviations_below_the_cut_have_the_exact_moments_and_no_series() -> None:
    """There the closed formulas are good to a part in 10^9, and the series of what is below to 3 in 10^8."""
    mean, variance = estimated_counts(NoisyStatistics(np.zeros(1), np.zeros(1), 50.0, 1), lone(1))
    with mpmath.workdps(40):
        hazard = mpmath.npdf(50) / mpmath.ncdf(-50)
        assert float(mean[0]) == pytest.approx(float(50 * (hazard - 50)), rel=1e-9)
        assert float(variance[0]) == pytest.approx(float(2500 * (1 - hazard * (hazard - 50))), rel=1e-8)


def test_the_place_of_a_design_forgets_how_it_is_priced_and_cut() -> None:
    moved = replace(PATH, scale=0.3, noise_scale=0.2, smoothing=2, cutoff=0.4)
    assert MECHANISMS["posterior-sampling"].search.place_of(moved, FACTS) == replace(
        PATH, scale=1.0, noise_scale=0.0, bound="sharp", smoothing=0, cutoff=0.5
    )


def test_the_priors_own_noise_is_drawn_apart_from_that_of_the_paths() -> None:
    """Another stream than the simulated releases', whose seed is `SEED`."""
    seen: list[np.ndarray] = []

    def colour(white: np.ndarray) -> np.ndarray:
        seen.append(white)
        return np.zeros((LATTICE.size, white.shape[1]))

    prior = SimpleNamespace(white_size=4, colour=colour)
    world: Any = SimpleNamespace(
        facts=SimpleNamespace(prior=lambda *_: prior, lattice=LATTICE),
        cache=SimpleNamespace(keep=lambda _name, _key, make, _size: make()),
    )
    _prior_noise(PATH, world, 3)
    assert np.array_equal(seen[0], SimulationEntropy(SEED + 1).normal((4, 3)))
    assert not np.array_equal(seen[0], SimulationEntropy(SEED).normal((4, 3)))
