"""Noisy cell statistics: the sensitivity by enumeration, the noise's law, and what is modelled after it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtri
from scipy.stats import chi2, multivariate_normal, norm

from dpgp_core.accounting.composition import epsilon
from dpgp_core.accounting.gaussian import gaussian_delta
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.cell_sums import (
    STATISTIC_SENSITIVITY,
    NoisyStatistics,
    release_statistics,
    statistic_mu,
    statistic_noise_for,
    statistics_cost,
)
from dpgp_core.mechanisms.noisy_cell_statistics import (
    COUNT_SMOOTHING,
    LEAST_SHARE,
    NoisyCellStatisticsDesign,
    cell_observations,
    estimated_counts,
    log_evidence,
    noise_aware_posterior,
    reference_records,
)
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import smooth
from dpgp_core.priors.registry import PRIORS, make_prior
from dpgp_core.releasing import GRID, PublicFacts
from dpgp_core.simulation import World
from tests.dpgp_core.hexmap import ZeroEntropy, disk, line, lone, records_on

FAILURE = 1e-9
"""Probability with which each random test below fails although the code is right."""

RESPONSES = (-1.0, -0.4, 0.0, 0.7, 1.0)


def exact_statistics(cells: tuple[int, ...], responses: tuple[float, ...], size: int) -> np.ndarray:
    """What the release adds noise to, (2, size)."""
    records = CollapsedRecords.from_records(cells, responses)
    released = release_statistics(records, size, 1.0, ZeroEntropy())
    return np.stack([released.sums, released.counts])


def test_sensitivity_is_2m_over_all_replaced_records_and_attained() -> None:
    """Every pair of neighbours of up to three records in three cells, responses with both ends."""
    size, largest = 3, 0.0
    single = list(itertools.product(range(size), RESPONSES))
    for core in itertools.chain([()], ((record,) for record in single), itertools.combinations(single, 2)):
        statistics = [
            exact_statistics(tuple(c for c, _ in (*core, one)), tuple(y for _, y in (*core, one)), size)
            for one in single
        ]
        points = np.array(statistics).reshape(len(single), -1)
        distances = np.linalg.norm(points[:, None] - points[None], axis=2)
        largest = max(largest, float(distances.max()))
    assert largest <= STATISTIC_SENSITIVITY + 4 * GRID
    assert largest == pytest.approx(STATISTIC_SENSITIVITY, abs=4 * GRID)


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-5])
def test_noise_meets_the_budget_and_not_much_less_would(epsilon: float, delta: float) -> None:
    noise = statistic_noise_for(epsilon, delta)
    assert gaussian_delta(epsilon, statistic_mu(noise)) <= delta
    assert gaussian_delta(epsilon, statistic_mu(0.999 * noise)) > delta


def test_noise_has_its_declared_law_in_every_cell_occupied_or_not() -> None:
    """Sums of squares per cell against the chi-square law, Bonferroni corrected; nothing is masked."""
    lattice, draws, noise = disk(2), 400, 3.0
    records = CollapsedRecords(np.array([2, 5]), np.array([40, 1]), np.array([0.5, -1.0]))
    exact = np.zeros((2, lattice.size))
    exact[:, [2, 5]] = [[20.0, -1.0], [40.0, 1.0]]
    entropy = SystemEntropy()
    released = [release_statistics(records, lattice.size, noise, entropy) for _ in range(draws)]
    errors = (np.array([[one.sums, one.counts] for one in released]) - exact) / noise
    tests = 2 * lattice.size
    squares = np.square(errors).sum(axis=0)
    assert chi2.ppf(FAILURE / (4 * tests), draws) < squares.min()
    assert squares.max() < chi2.isf(FAILURE / (4 * tests), draws)
    assert np.abs(errors.sum(axis=0)).max() / np.sqrt(draws) < ndtri(1 - FAILURE / (4 * tests))
    together = errors.reshape(draws, -1).sum(axis=1) / np.sqrt(tests)  # independent across cells and kinds
    assert chi2.ppf(FAILURE / 4, draws) < np.square(together).sum() < chi2.isf(FAILURE / 4, draws)


def test_counts_are_the_posterior_moments_of_a_truncated_exponential_prior() -> None:
    noise, n, size = 5.0, 60, 6
    seen = np.array([-30.0, -4.0, 0.0, 3.0, 12.0, 40.0])
    mean, variance = estimated_counts(NoisyStatistics(np.zeros(size), seen, noise, n), line(size))
    around = np.maximum(smooth(line(size), seen, COUNT_SMOOTHING), LEAST_SHARE * n / size)
    around *= n / around.sum()
    for value, local, m, q in zip(seen, around, mean, variance, strict=True):

        def weight(t: float, value: float = value, local: float = local) -> float:
            return float(np.exp(-t / local - 0.5 * ((t - value) / noise) ** 2))

        moments = [quad(lambda t, p=p: t**p * weight(t), 0, 300, limit=500, epsabs=0)[0] for p in range(3)]
        assert m == pytest.approx(moments[1] / moments[0], rel=1e-6)
        assert q == pytest.approx(moments[2] / moments[0] - (moments[1] / moments[0]) ** 2, rel=1e-5)


@pytest.mark.parametrize("noise", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("n", [1, 100, 10**6])
def test_counts_are_positive_and_finite_whatever_the_noise(noise: float, n: int) -> None:
    seen = noise * np.array([-8.0, -1.0, 0.0, 1.0, 8.0])
    mean, variance = estimated_counts(NoisyStatistics(np.zeros(5), seen, noise, n), lone(5))
    assert np.all(np.isfinite(mean) & (mean > 0))
    assert np.all(np.isfinite(variance) & (variance >= 0))
    assert np.all(np.diff(mean) > 0)


@pytest.mark.parametrize("name", sorted(PRIORS))
def test_with_vanishing_noise_the_exact_posterior_returns(name: str) -> None:
    prior = make_prior(name, disk(2, padding=1), 900.0)
    records = records_on(prior.lattice, 300, seed=1)[2]
    assert records.index.size == prior.size  # every cell is occupied
    statistics = release_statistics(records, prior.size, 1e-4, SimulationEntropy(1))
    aware = noise_aware_posterior(statistics, prior, ridge=2.0, scale=0.5)
    exact = fit(prior, records, 2.0)
    np.testing.assert_allclose(aware.mean, exact.mean, atol=1e-4)
    np.testing.assert_allclose(aware.variance, exact.variance, atol=1e-4)


@pytest.mark.parametrize("name", sorted(PRIORS))
def test_with_overwhelming_noise_the_prior_returns(name: str) -> None:
    prior = make_prior(name, disk(2, padding=1), 900.0)
    records = records_on(prior.lattice, 300, seed=1)[2]
    statistics = release_statistics(records, prior.size, 1e6, SimulationEntropy(1))
    aware = noise_aware_posterior(statistics, prior, ridge=2.0, scale=0.5)
    assert np.abs(aware.mean).max() < 1e-2
    np.testing.assert_allclose(aware.variance, prior.correlation().diagonal(), rtol=1e-2)


def test_empty_cells_carry_next_to_no_information() -> None:
    """Cells without records have noisy counts too; what they say of the field must stay within its noise."""
    prior = make_prior("exponential", disk(3), 900.0)
    records = CollapsedRecords(np.array([18]), np.array([200]), np.array([0.8]))
    entropy = SimulationEntropy(3)
    pulls = []
    for _ in range(200):
        statistics = release_statistics(records, prior.size, 4.0, entropy)
        posterior = noise_aware_posterior(statistics, prior, ridge=2.0, scale=0.3)
        pulls.append(posterior.mean[0] / (0.3 * np.sqrt(posterior.variance[0])))
    assert np.std(pulls) < 0.5


def test_the_noise_aware_posterior_is_calibrated_on_its_own_model() -> None:
    """Truths drawn from prior and count law: standardised errors have variance near 1."""
    prior = make_prior("exponential", disk(4), 1_500.0)
    entropy, scale, ridge = SimulationEntropy(11), 0.3, 2.0
    mean_count, errors = 20.0, []
    for _ in range(60):
        truth = scale * prior.colour(entropy.normal((prior.size, 1)))[:, 0]
        counts = np.maximum(1, np.rint(-mean_count * np.log(entropy.uniform(prior.size)))).astype(np.int64)
        noise = ridge * scale / np.sqrt(counts) * entropy.normal(prior.size)
        records = CollapsedRecords(np.arange(prior.size), counts, np.clip(truth + noise, -1, 1))
        statistics = release_statistics(records, prior.size, 8.0, entropy)
        posterior = noise_aware_posterior(statistics, prior, ridge, scale)
        errors.append((truth - posterior.mean) / (scale * np.sqrt(posterior.variance)))
    assert 0.85 < np.mean(np.square(errors)) < 1.15


@pytest.mark.parametrize("name", sorted(PRIORS))
def test_log_evidence_is_the_density_of_the_estimated_cell_means(name: str) -> None:
    prior = make_prior(name, disk(2, padding=1), 900.0)
    statistics = release_statistics(records_on(prior.lattice, 100, seed=2)[2], 19, 2.0, SimulationEntropy(2))
    cells, mean, variance = cell_observations(statistics, prior.lattice, ridge=2.0, scale=0.5)
    covariance = 0.25 * prior.correlation()[np.ix_(cells, cells)] + np.diag(variance)
    expected = multivariate_normal(np.zeros(cells.size), covariance).logpdf(mean)
    assert log_evidence(statistics, prior, ridge=2.0, scale=0.5) == pytest.approx(expected, abs=1e-8)


def test_a_cells_mean_varies_by_its_records_its_count_and_the_noise() -> None:
    """Records' noise 2 * .5, a field of deviation .5 times the count's error, noise 2 on the sum."""
    prior = make_prior("car", disk(2, padding=1), 900.0)
    statistics = release_statistics(records_on(prior.lattice, 100, seed=2)[2], 19, 2.0, SimulationEntropy(2))
    cells, _, variance = cell_observations(statistics, prior.lattice, ridge=2.0, scale=0.5)
    count, doubt = (each[cells] for each in estimated_counts(statistics, prior.lattice))
    np.testing.assert_allclose(variance, (count + 0.25 * doubt + 4.0) / count**2, rtol=1e-12)


def test_evidence_prefers_the_scale_that_made_the_data() -> None:
    prior = make_prior("exponential", disk(5), 1_500.0)
    entropy = SimulationEntropy(4)
    truth = 0.4 * prior.colour(entropy.normal((prior.size, 1)))[:, 0]
    records = CollapsedRecords(np.arange(prior.size), np.full(prior.size, 50), np.clip(truth, -1, 1))
    statistics = release_statistics(records, prior.size, 5.0, entropy)
    evidence = {
        scale: log_evidence(statistics, prior, 0.5 * 0.4 / scale, scale) for scale in (0.04, 0.4, 4.0)
    }
    assert max(evidence, key=evidence.__getitem__) == 0.4


def test_reference_records_stand_in_for_the_private_ones() -> None:
    prior = make_prior("car", disk(3, padding=1), 1_500.0)
    records = records_on(prior.lattice, 2_000, seed=5)[2]
    statistics = release_statistics(records, prior.size, 1.0, SimulationEntropy(5))
    stand_in = reference_records(statistics, prior, ridge=2.0, scale=0.5)
    assert stand_in.n == pytest.approx(records.n, rel=0.05)
    exact = fit(prior, records, 2.0).mean
    assert np.abs(fit(prior, stand_in, 2.0).mean - exact).max() < 0.15


@pytest.mark.parametrize("noise", [0.0, -1.0, float("nan"), float("inf")])
def test_a_noise_that_is_no_noise_is_refused(noise: float) -> None:
    records = CollapsedRecords(np.array([0]), np.array([1]), np.array([0.0]))
    with pytest.raises(ValueError, match="statistic noise must be a positive finite number"):
        release_statistics(records, 3, noise, SystemEntropy())


def test_inputs_that_do_not_fit_are_refused() -> None:
    records = CollapsedRecords(np.array([3]), np.array([1]), np.array([0.0]))
    with pytest.raises(ValueError, match="outside the domain"):
        release_statistics(records, 3, 1.0, SystemEntropy())
    with pytest.raises(ValueError, match="equal length"):
        NoisyStatistics(np.zeros(3), np.zeros(4), 1.0, 5)
    with pytest.raises(ValueError, match="finite"):
        NoisyStatistics(np.array([np.nan]), np.zeros(1), 1.0, 5)
    statistics = NoisyStatistics(np.zeros(3), np.zeros(3), 1.0, 5)
    with pytest.raises(ValueError, match="same cells"):
        noise_aware_posterior(statistics, make_prior("car", disk(1), 900.0), 1.0, 1.0)


def test_released_numbers_lie_on_the_public_grid() -> None:
    records = CollapsedRecords(np.array([0]), np.array([1]), np.array([0.1]))
    released = release_statistics(records, 50, 1.0, SystemEntropy())
    for values in (released.sums, released.counts):
        np.testing.assert_array_equal(values / GRID, np.round(values / GRID))
    assert norm.cdf(GRID) - 0.5 < 1e-6  # the grid is far finer than any useful noise


def test_held_out_cells_are_judged_by_simulated_releases() -> None:
    """A field of .6 in the east and -.6 in the west: true labels cost little, false ones much."""
    lattice = disk(4)
    east = lattice.domain_centres[:, 0] > 0.0
    records = CollapsedRecords(np.arange(lattice.size), np.full(lattice.size, 40), np.where(east, 0.6, -0.6))
    held = np.flatnonzero(np.abs(lattice.domain_centres[:, 0]) > 1_000.0)
    facts, flat = PublicFacts(lattice, records.n), np.zeros(lattice.size)
    world = World(facts, records, records, held, east[held], 0.0, "above", flat)
    design = NoisyCellStatisticsDesign("car", 1_500.0, 0.7, 0.5, 2.0)
    right = questions.held_out(design, world).bce
    wrong = questions.held_out(design, replace(world, labels=~east[held])).bce
    assert right == pytest.approx(0.01, abs=0.01)
    assert wrong > 3.0


@pytest.mark.parametrize(("budget", "delta"), [(1e-3, 1e-9), (0.1, 1e-6), (1.0, 1e-5), (40.0, 1e-12)])
def test_the_noise_for_a_budget_costs_no_more_with_the_distance_of_its_sampler(
    budget: float, delta: float
) -> None:
    """At epsilon 1e-3 and delta 1e-9 it cost 2e-16 more: the sampler's distance to the ideal had no room."""
    cost = statistics_cost(statistic_noise_for(budget, delta), 1_000)
    assert budget * (1.0 - 1e-9) <= epsilon(cost, delta).epsilon <= budget
