"""Every mechanism: what it draws from neighbouring records never diverges more than its price."""

from __future__ import annotations

import re
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from dpgp_core import releasing as rounding
from dpgp_core.accounting.rdp import ORDERS
from dpgp_core.bounds.registry import BOUNDS
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms import noisy_cell_statistics as cell_statistics
from dpgp_core.mechanisms.base import Mechanism
from dpgp_core.mechanisms.bin_means import BinMeansDesign
from dpgp_core.mechanisms.cell_sums import NoisyStatistics, release_statistics
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign as Design
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice, Prior
from dpgp_core.priors.registry import PRIORS, make_prior
from dpgp_core.releasing import GRID, PublicFacts
from tests.dpgp_core.drawing import draw_paths, draw_release, facts_of, guarantee
from tests.dpgp_core.hexmap import disk, drawn_law, line, records_on
from tests.dpgp_core.mechanisms.beside import table

POSTERIOR_SAMPLING, NOISY_CELL_STATISTICS = "posterior-sampling", "noisy-cell-statistics"
EVERY = {
    POSTERIOR_SAMPLING: Design(prior="car", lengthscale=900.0, ridge=1.5, scale=0.4, paths=3),
    NOISY_CELL_STATISTICS: NoisyCellStatisticsDesign(
        prior="car", lengthscale=900.0, ridge=1.5, scale=0.4, statistic_noise=2.0, paths=3
    ),
    "spectral-statistics": SpectralStatisticsDesign(
        "water-filled", "exponential", 900.0, 0.5, 0.0, 0.5, 1.0, 1.2, 1.0, paths=3
    ),
    "bin-means": BinMeansDesign("car", 900.0, 1.5, 0.4, 900.0, 1.0, paths=3),
    **table("EVERY"),
}
every_mechanism = pytest.mark.parametrize("name", sorted(MECHANISMS))


def design_of(name: str) -> Any:
    """The design of EVERY; of a mechanism that is new there the first of its own grid, calibrated."""
    if name in EVERY:
        return EVERY[name]
    mechanism, prior = MECHANISMS[name], make_prior("car", disk(2, padding=1), 900.0)
    facts = facts_of(prior, 20, mechanism.protection.what == "values")
    designs = (
        mechanism.calibrate(design, facts, Budget(1.0, 1e-5))
        for design in mechanism.search.grid(facts, SearchSpec(("car",), paths=3))
    )
    return next(design for design in designs if design is not None)


SAID = {
    POSTERIOR_SAMPLING: "ridge 1.235, scale 0.4; prior car, range 900 m",
    NOISY_CELL_STATISTICS: "noise 1.235 (response units); prior car, range 900 m",
    "spectral-statistics": "water-filled features, mu 1.235; prior exponential, range 900 m",
    "bin-means": "bins of 900 m, pure epsilon 1.235; prior car, range 900 m",
    **table("SAID"),
}


@every_mechanism
def test_a_design_is_described_in_a_line(name: str) -> None:
    words = MECHANISMS[name].describe(design_of(name))
    assert words == " ".join(words.split())
    assert not re.search(r"[0-9]\.[0-9]{5}", words)


@pytest.mark.parametrize("name", sorted(SAID))
def test_a_design_is_described_in_a_line_with_four_digits(name: str) -> None:
    priced = {
        POSTERIOR_SAMPLING: "ridge",
        NOISY_CELL_STATISTICS: "statistic_noise",
        "bin-means": "pure_epsilon",
    }
    design: Any = replace(EVERY[name], **{priced.get(name, "mu"): 1.23456})
    assert MECHANISMS[name].describe(design) == SAID[name]


def test_both_scales_and_the_range_of_paths_are_said_with_four_digits() -> None:
    many = {"ridge": 1.23456, "scale": 0.412345, "noise_scale": 0.212345, "lengthscale": 912.345}
    assert MECHANISMS[POSTERIOR_SAMPLING].describe(replace(EVERY[POSTERIOR_SAMPLING], **many)) == (
        "ridge 1.235, scale 0.4123, prior noise 0.2123; prior car, range 912.3 m"
    )


def test_lengths_budgets_and_scatters_are_said_with_four_digits_and_what_a_network_is_told_with_three() -> (
    None
):
    said = {
        "spectral-statistics": ({"lengthscale": 912.345}, "prior exponential, range 912.3 m"),
        "bin-means": ({"width": 812.345}, "bins of 812.3 m, pure epsilon 1; prior car, range 900 m"),
        NOISY_CELL_STATISTICS: ({"lengthscale": 912.345}, "prior car, range 912.3 m"),
        **table("SAID_OF_CHANGES"),
    }
    for name, (change, words) in said.items():
        assert MECHANISMS[name].describe(replace(EVERY[name], **change)).endswith(words)


def renyi(mean: Floats, covariance: Floats, other_mean: Floats, other_covariance: Floats) -> Floats:
    """Exact Renyi divergences of two normal laws at every order of ORDERS (Gil et al. 2013)."""
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    ratio, turn = np.linalg.eigh(root @ other_covariance @ root.T)
    shift = turn.T @ root @ (mean - other_mean)
    orders = ORDERS[:, None]
    mixed = (1.0 - orders) + orders * ratio
    finite = np.all(mixed > 0, axis=1)
    safe = np.where(mixed > 0, mixed, 1.0)
    terms = orders / 2 * shift**2 / safe - (np.log(safe) - orders * np.log(ratio)) / (2 * (orders - 1))
    return np.where(finite, terms.sum(axis=1), np.inf)


def neighbours(lattice: Lattice, n: int, seed: int) -> tuple[CollapsedRecords, CollapsedRecords]:
    """Records clustered in few cells with extreme responses, and the same with one of them replaced."""
    generator = np.random.default_rng(seed)
    pool = generator.choice(lattice.size, size=min(3, lattice.size), replace=False)
    cells = generator.choice(pool, n)
    responses = generator.choice([-1.0, 1.0], n)
    other_cells, other_responses = cells.copy(), responses.copy()
    other_cells[0], other_responses[0] = generator.integers(0, lattice.size), -responses[0]
    return (
        CollapsedRecords.from_records(cells, responses),
        CollapsedRecords.from_records(other_cells, other_responses),
    )


def law(design: Design, prior: Prior, records: CollapsedRecords) -> tuple[Floats, Floats]:
    """Mean and covariance of one released path, by probing the mechanism itself."""
    return drawn_law(
        lambda paths, entropy: draw_paths(
            replace(design, paths=paths), prior, records, entropy, simulation=True
        ),
        2 * prior.white_size + records.index.size,
    )


@pytest.mark.parametrize("name", sorted(PRIORS))
@pytest.mark.parametrize("lattice", [disk(2, padding=1), line(8)], ids=["disk", "line"])
@pytest.mark.parametrize(("ridge", "noise_scale"), [(0.4, 0.0), (1.5, 0.0), (1.5, 0.3), (8.0, 0.1)])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_posterior_sampling_is_worth_its_price_under_every_bound(
    name: str, lattice: Lattice, ridge: float, noise_scale: float, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the sampler's own noise matrix to the divergence, against the accountant's curve."""
    monkeypatch.setattr(
        rounding, "GRID", 2.0**-50
    )  # rounding is post-processing; here it would blur the probe
    prior = make_prior(name, lattice, 1_500.0)
    design = Design(prior=name, lengthscale=1_500.0, ridge=ridge, scale=0.5, noise_scale=noise_scale)
    curves = {
        bound: guarantee(replace(design, bound=bound), n, prior).curve.values
        for bound in prior.bounds
        if bound in BOUNDS and BOUNDS[bound].proved
    }
    assert curves
    for seed in range(6):
        one, other = neighbours(lattice, n, seed)
        divergence = renyi(*law(design, prior, one), *law(design, prior, other))
        for bound, curve in curves.items():
            assert np.all(divergence <= curve * (1 + 1e-7) + 1e-8), bound


def test_noisy_statistics_are_worth_their_price() -> None:
    design = EVERY[NOISY_CELL_STATISTICS]
    prior = make_prior("car", disk(2), 900.0)
    price = guarantee(design, 4, prior)
    assert price.exact_gaussian_mu is not None
    worst = 0.0
    for seed in range(50):
        laws = []
        for records in neighbours(prior.lattice, 4, seed):
            mean, covariance = drawn_law(
                lambda paths, entropy, records=records: _statistics(
                    records, prior.size, design, entropy, paths
                ),
                2 * prior.size,
            )
            np.testing.assert_allclose(
                covariance, design.statistic_noise**2 * np.eye(2 * prior.size), atol=1e-4
            )
            laws.append(mean)
        worst = max(worst, float(np.linalg.norm(laws[0] - laws[1]) / design.statistic_noise))
    assert worst <= price.exact_gaussian_mu * (1 + 1e-5)
    assert worst >= 0.99 * price.exact_gaussian_mu


def _statistics(
    records: CollapsedRecords, size: int, design: NoisyCellStatisticsDesign, entropy: object, paths: int
) -> Floats:
    """`paths` releases of the statistics as rows; each is dealt one of the probe's unit vectors."""
    whole = entropy.normal((2 * size, paths))  # type: ignore[attr-defined]

    class Dealt(SimulationEntropy):
        def __init__(self, column: int) -> None:
            super().__init__(0)
            self.column = column

        def normal(self, shape: int | tuple[int, ...]) -> Floats:
            return whole[:, self.column].reshape(shape)

    rows = []
    for column in range(paths):
        released = release_statistics(records, size, design.statistic_noise, Dealt(column))
        rows.append(np.concatenate([released.sums, released.counts]))
    return np.array(rows)


@every_mechanism
def test_a_release_has_its_shape_its_grid_and_its_statistics(name: str) -> None:
    design = design_of(name)
    prior = make_prior("car", disk(2, padding=1), 900.0)
    release = draw_release(design, prior, records_on(prior.lattice, 20, seed=1)[2], SystemEntropy())
    assert release.paths.shape == (3, 19)
    np.testing.assert_array_equal(release.paths / GRID, np.round(release.paths / GRID))
    if name not in EVERY:
        return  # what else it releases, and in what shape, is the new mechanism's own
    numbers = {
        POSTERIOR_SAMPLING: 0,
        NOISY_CELL_STATISTICS: 2,
        "spectral-statistics": 2,
        "bin-means": 1,
        **table("RELEASED_ARRAYS"),
    }
    assert len(release.raw) == numbers[name]
    if name == NOISY_CELL_STATISTICS:
        assert [part.shape for part in release.raw] == [(19,), (19,)]
    assert (release.mean is not None) == (name != POSTERIOR_SAMPLING)


@every_mechanism
def test_two_releases_differ_and_two_simulations_do_not(name: str) -> None:
    design, prior = design_of(name), make_prior("car", disk(2, padding=1), 900.0)
    records = records_on(prior.lattice, 20, seed=1)[2]
    # Draws lie on a grid of 2^-20: two of them are equal in a cell once in some ten thousand cells.
    pair = [draw_paths(design, prior, records, SystemEntropy()) for _ in range(2)]
    assert np.mean(pair[0] != pair[1]) > 0.9
    simulated = [draw_paths(design, prior, records, SimulationEntropy(3), simulation=True) for _ in range(2)]
    np.testing.assert_array_equal(simulated[0], simulated[1])


@every_mechanism
def test_a_release_refuses_seeds_and_records_outside(name: str) -> None:
    design, prior = design_of(name), make_prior("car", disk(2, padding=1), 900.0)
    records = records_on(prior.lattice, 20, seed=1)[2]
    with pytest.raises(ValueError, match="must draw from SystemEntropy"):
        draw_release(design, prior, records, SimulationEntropy(1))
    outside = CollapsedRecords(np.array([19]), np.array([1]), np.array([0.0]))
    with pytest.raises(ValueError, match="outside the prior's domain"):
        draw_release(design, prior, outside, SystemEntropy())


def test_further_paths_come_from_the_released_statistics_alone() -> None:
    design, prior = EVERY[NOISY_CELL_STATISTICS], make_prior("car", disk(2, padding=1), 900.0)
    records = records_on(prior.lattice, 200, seed=1)[2]
    release = draw_release(replace(design, paths=4_000), prior, records, SystemEntropy())
    more, (sums, counts) = release.paths, release.raw
    statistics = NoisyStatistics(sums, counts, design.statistic_noise, records.n)
    posterior = cell_statistics.noise_aware_posterior(statistics, prior, design.ridge, design.scale)
    np.testing.assert_allclose(release.mean, posterior.mean, atol=1e-6)
    deviation = design.scale * np.sqrt(posterior.variance)
    # Six standard errors in each of 19 cells: failure probability under 1e-7.
    assert np.all(np.abs(more.mean(axis=0) - posterior.mean) < 6 * deviation / np.sqrt(4_000))


def test_without_a_scale_or_noise_nothing_is_released() -> None:
    prior = make_prior("car", disk(1), 900.0)
    design = Design(prior="car", lengthscale=900.0, ridge=1.0, scale=0.0)
    with pytest.raises(ValueError, match="not a draw"):
        draw_release(design, prior, records_on(prior.lattice, 5, seed=1)[2], SystemEntropy())


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_a_mechanism_reads_what_it_says_and_nothing_else(name: str) -> None:
    """Its designs change with the choices that it names, and with no other."""
    mechanism = MECHANISMS[name]
    lattice = disk(3, padding=1)
    facts = PublicFacts(lattice, 150, places_public=True)

    def shapes(**asked: Any) -> list[Any]:
        return list(mechanism.search.grid(facts, SearchSpec(**{"priors": ("car",), "quick": True, **asked})))

    plain = shapes()
    found = {"priors"} if shapes(priors=("exponential",)) != plain else set()
    found |= {"paths"} if shapes(paths=7) != plain else set()
    priced = [
        [mechanism.calibrate(each, facts, Budget(3.0, 1e-3, bound)) for each in plain[-3:]]
        for bound in ("triangle", "maximum-principle")
    ]
    found |= {"bound"} if priced[0] != priced[1] else set()
    named = replace(facts, covariates=np.arange(float(lattice.size))[:, None])
    budget = Budget(3.0, 1e-3)
    told = [[mechanism.calibrate(each, one, budget) for each in plain[-3:]] for one in (facts, named)]
    found |= {"covariates"} if told[0] != told[1] else set()
    told[1] = [mechanism.calibrate(each, replace(facts, law="yes-no"), budget) for each in plain[-3:]]
    found |= {"values"} if told[0] != told[1] else set()
    found |= {"looks"} if mechanism.search.fixed(900.0, looks=2) != mechanism.search.fixed(900.0) else set()
    assert found == set(mechanism.reads)


def test_a_mechanism_is_a_small_door() -> None:
    """Four methods to write; all else that is asked of it has a default beside it.

    `apart_mu` is among them as only the mechanism knows what its parts apart cost.
    """
    methods = {
        name
        for name, thing in vars(Mechanism).items()
        if not name.startswith("_") and isinstance(thing, FunctionType | property | classmethod)
    }
    assert len(methods) <= 8
    assert methods == {
        "guarantee", "calibrate", "prepare", "describe", "refuse_unprotected", "search", "apart_mu",
        "line",
    }  # fmt: skip
    assert Mechanism.__abstractmethods__ == {"guarantee", "calibrate", "prepare", "describe"}
