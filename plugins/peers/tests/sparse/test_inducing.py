"""Inducing points: sensitivities by brute force, norms by search, posteriors against worked numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.dense import squared_exponential
from hexcursion_peers.sparse.moments import (
    GriddedFeatures,
    Moments,
    free_balance,
    paper_sensitivity,
    sensitivity,
    symmetric_noise,
)
from hexcursion_peers.sparse.norms import (
    grid_norm,
    largest_norm,
)
from hexcursion_peers.sparse.posterior import (
    InducingPosterior,
    chosen_regularisation,
    errors_in_variables,
    private_posterior,
    regularisation_bound,
)
from tests.oracles.papers import any_norm_of_the_paper, line_norm_of_the_paper, one_sided_bound


def kernel(a: Floats, b: Floats) -> Floats:
    return squared_exponential(np.abs(a[:, None] - b[None, :]))


@pytest.mark.parametrize(
    ("points", "reach", "line", "anywhere", "exact"),
    [(9, 3.0, 3.36327, 7.95052, 2.36327), (15, 3.5, 4.54491, 14.15178, 3.54491)],
)
def test_norms_of_kernels_on_a_line(
    points: int, reach: float, line: float, anywhere: float, exact: float
) -> None:
    at = np.linspace(-reach, reach, points)
    spacing = float(at[1] - at[0])
    assert line_norm_of_the_paper(squared_exponential, points, spacing) == pytest.approx(line, abs=1e-5)
    assert any_norm_of_the_paper(squared_exponential, points, spacing) == pytest.approx(anywhere, abs=1e-5)
    found = grid_norm([at], [1.0])
    assert found == pytest.approx(exact, abs=1e-5)
    search = np.square(kernel(np.linspace(-reach - 1, reach + 1, 100_001), at)).sum(axis=1).max()
    assert search <= found <= search + 1e-5


def test_the_norm_on_a_grid_of_the_plane_is_a_product() -> None:
    axis = np.linspace(-1.0, 1.0, 4)
    places = np.stack(np.meshgrid(np.linspace(-1, 1, 101), np.linspace(-1, 1, 101)), axis=-1).reshape(-1, 2)
    nodes = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    square = np.square((places[:, None] - nodes[None]) / np.array([0.5, 0.8])).sum(axis=-1)
    features = np.exp(-0.5 * square)
    assert largest_norm(features) <= grid_norm([axis, axis], [0.5, 0.8]) <= largest_norm(features) * 1.001


def test_sensitivities_of_the_worked_examples() -> None:
    assert paper_sensitivity(1.0, 9.0) == pytest.approx(13.4350, abs=1e-4)
    assert sensitivity(1.0, 2.3632703490) == pytest.approx(4.0493, abs=1e-4)
    assert paper_sensitivity(1.0, 3.36327) == pytest.approx(5.4635, abs=1e-4)
    fifteen = [paper_sensitivity(1.0, norm) for norm in (15.0, 4.54491, 3.54491)]
    assert fifteen == pytest.approx([21.9203, 7.1346, 5.7204], abs=1e-4)
    assert paper_sensitivity(5.0, 4.0) == pytest.approx(23.3345, abs=1e-4)
    assert sensitivity(5.0, 4.0) == pytest.approx(20.0, abs=1e-9)
    assert sensitivity(1.0, 2.3632703490) / gaussian_mu(1.0, 1e-4) == pytest.approx(12.8998, abs=1e-3)
    assert sensitivity(1.0, 4.0, free_balance(1.0, 4.0)) == pytest.approx(
        4.0
    )  # that of the first moment alone
    assert sensitivity(1.0, 4.0, 1.01 * free_balance(1.0, 4.0)) > 4.0


@pytest.mark.parametrize(("bound", "norm", "balance"), [(1.0, 2.25, 1.0), (5.0, 4.0, 1.0), (1.0, 3.0, 0.1)])
def test_no_pair_of_records_moves_the_moments_further(bound: float, norm: float, balance: float) -> None:
    """Random and optimised pairs: never above, and the bound is reached.

    Theorem (second moment) of plugins/peers/docs/peers.md.
    """
    generator, worst = np.random.default_rng(1), 0.0
    for angle in np.concatenate([np.linspace(0, np.pi, 721), generator.uniform(0, np.pi, 500)]):
        one, other = (
            math.sqrt(norm) * np.eye(2)[0],
            math.sqrt(norm) * np.array([np.cos(angle), np.sin(angle)]),
        )
        for sign in (-1.0, 1.0):
            first = bound * (one - sign * other)
            second = np.outer(one, one) - np.outer(other, other)
            worst = max(worst, math.sqrt(float(first @ first) + balance * float(np.sum(second**2))))
    assert worst <= sensitivity(bound, norm, balance)
    assert worst == pytest.approx(sensitivity(bound, norm, balance), rel=1e-4)


def test_the_bound_on_the_noise_and_the_proved_one() -> None:
    assert regularisation_bound(1.0, 1.0, 9) == pytest.approx(6.961597, abs=1e-5)
    assert regularisation_bound(1.0, 1.0, 15) == pytest.approx(9.258258, abs=1e-5)
    assert one_sided_bound(1.0, 1.0, 9) == pytest.approx(8.247663, abs=1e-5)
    entropy = SimulationEntropy(2)
    least = np.array([-np.linalg.eigvalsh(symmetric_noise(9, 1.0, entropy))[0] for _ in range(3000)])
    assert np.quantile(least, 0.99) == pytest.approx(5.117, abs=0.15)
    assert np.quantile(least, 0.5) == pytest.approx(3.475, abs=0.06)


def worked() -> tuple[Floats, Moments]:
    """Three inducing points, three records, and fixed noise."""
    nodes, places = np.array([-1.0, 0.0, 1.0]), np.array([-0.5, 0.2, 0.9])
    responses = np.array([0.3, -0.1, 0.5])
    features = kernel(nodes, places)
    noise = np.array([[0.3, -0.1, 0.2], [-0.1, 0.1, 0.05], [0.2, 0.05, -0.2]])
    first, second = features @ responses + [0.2, -0.1, 0.05], features @ features.T + noise
    return kernel(nodes, nodes), Moments(first, second, 0.5, 0.5)


def test_the_worked_posterior_of_three_points() -> None:
    between, moments = worked()
    np.testing.assert_allclose(moments.first - [0.2, -0.1, 0.05], [0.2983110735, 0.5002176089, 0.5222870761])
    found = private_posterior(between, moments, 0.1, 20.0)
    np.testing.assert_allclose(found.mean, [0.1259265002, 0.1488023066, 0.1473680212], atol=1e-9)
    plain = np.array(
        [
            [0.0324027456, 0.0206460896, 0.0004242108],
            [0.0206460896, 0.0267176165, 0.0176577934],
            [0.0004242108, 0.0176577934, 0.0297575497],
        ]
    )
    first = np.array(
        [
            [0.0237894826, 0.0091131126, -0.0093826082],
            [0.0091131126, 0.0107642898, 0.0045135582],
            [-0.0093826082, 0.0045135582, 0.0208709969],
        ]
    )
    second = np.array(
        [
            [0.0003689705, 0.0001669476, -5.79599e-05],
            [0.0001669476, 0.0001881129, 0.0001296311],
            [-5.79599e-05, 0.0001296311, 0.0003978289],
        ]
    )
    np.testing.assert_allclose(found.covariance, plain + first + second, atol=2e-9)
    assert regularisation_bound(0.5, 0.1, 3) == pytest.approx(19.3591605, abs=1e-6)


def test_the_noise_of_the_second_moment_spreads_as_stated() -> None:
    """What symmetric noise on the matrix does to the mean, to first order, by simulation."""
    between, moments = worked()
    small = 0.002
    entropy = SimulationEntropy(8)
    clean = Moments(moments.first, moments.second, 0.0, 0.0)
    base = private_posterior(between, clean, 0.1, 20.0).mean
    moved = []
    for _ in range(20_000):
        noisy = Moments(moments.first, moments.second + symmetric_noise(3, small, entropy), 0.0, 0.0)
        moved.append(private_posterior(between, noisy, 0.1, 20.0).mean - base)
    observed = np.cov(np.array(moved).T)
    stated = (
        private_posterior(between, Moments(moments.first, moments.second, 0.0, small), 0.1, 20.0).covariance
        - private_posterior(between, clean, 0.1, 20.0).covariance
    )
    assert np.linalg.norm(observed - stated) / np.linalg.norm(stated) < 0.04


def test_without_noise_the_sparse_posterior_returns() -> None:
    between, moments = worked()
    clean = Moments(
        moments.first - [0.2, -0.1, 0.05],
        moments.second - np.array([[0.3, -0.1, 0.2], [-0.1, 0.1, 0.05], [0.2, 0.05, -0.2]]),
        1e-9,
        1e-9,
    )
    gain = np.linalg.solve(between + clean.second / 0.1, between).T  # Titsias 2009, without privacy
    exact = InducingPosterior(gain @ clean.first / 0.1, gain @ between)
    np.testing.assert_allclose(exact.mean, [0.3561332397, 0.0839339175, 0.3871660756], atol=1e-9)
    np.testing.assert_allclose(
        exact.covariance.diagonal(), [0.2310285188, 0.0611397979, 0.0936310529], atol=1e-9
    )
    np.testing.assert_allclose(private_posterior(between, clean, 0.1, 0.0).mean, exact.mean, atol=1e-7)
    np.testing.assert_allclose(errors_in_variables(between, clean, 0.1).mean, exact.mean, atol=1e-6)
    scaled = private_posterior(between, clean.scaled(2.0), 0.1, 0.0)
    np.testing.assert_allclose(scaled.mean, exact.mean / 2.0, atol=1e-7)


def test_a_matrix_that_is_not_positive_raises_lambda() -> None:
    between, moments = worked()
    broken = Moments(moments.first, moments.second - 50.0 * np.eye(3), 0.5, 0.5)
    found = private_posterior(between, broken, 0.1, 0.0)
    assert np.all(np.linalg.eigvalsh(found.covariance) > 0)
    assert chosen_regularisation("raised", broken, 0.1) > 400.0
    assert chosen_regularisation("raised", moments, 0.1) == 0.0


def figure_one(epsilon: float, seeds: int) -> tuple[float, float]:
    """Mean RMSE and share inside two deviations for sin(2x)/(2x), 1,024 records, nine inducing points."""
    nodes, grid = np.linspace(-3, 3, 9), np.linspace(-4, 4, 161)
    between = kernel(nodes, nodes) + 1e-8 * np.eye(9)
    projection = np.linalg.solve(between, kernel(nodes, grid)).T
    truth = np.sinc(2 * grid / np.pi)
    deviation = sensitivity(1.5, grid_norm([nodes], [1.0])) / gaussian_mu(epsilon, 1e-4)
    errors, inside = [], []
    for seed in range(seeds):
        generator, entropy = np.random.default_rng(seed), SimulationEntropy(1000 + seed)
        places = generator.uniform(-4, 4, 1024)
        responses = np.clip(np.sinc(2 * places / np.pi) + 0.1 * generator.normal(size=1024), -1.5, 1.5)
        features = kernel(nodes, places)
        moments = Moments(
            features @ responses + deviation * entropy.normal((9,)),
            features @ features.T + symmetric_noise(9, deviation, entropy),
            deviation,
            deviation,
        )
        posterior = private_posterior(between, moments, 0.01, regularisation_bound(deviation, 0.01, 9))
        mean, variance = posterior.at(projection, between, np.ones(grid.size))
        errors.append(np.sqrt(np.mean(np.square(mean - truth))))
        inside.append(np.mean(np.abs(mean - truth) <= 2 * np.sqrt(variance)))
    return float(np.mean(errors)), float(np.mean(inside))


@pytest.mark.parametrize(
    ("epsilon", "error", "inside"),
    [(1, 0.175, 0.51), (3, 0.118, 0.50), (10, 0.069, 0.59), (30, 0.041, 0.77), (100, 0.026, 0.92)],
)
def test_the_first_figure_of_the_paper(epsilon: float, error: float, inside: float) -> None:
    found = figure_one(epsilon, 50)
    assert found[0] == pytest.approx(error, rel=0.1)
    assert found[1] == pytest.approx(inside, abs=0.05)


def test_moments_are_whole_numbers_and_move_no_further_than_declared() -> None:
    generator = np.random.default_rng(3)
    features = GriddedFeatures.of(kernel(np.linspace(0, 6, 40), np.linspace(0, 6, 7)))
    assert features.norm <= largest_norm(kernel(np.linspace(0, 6, 40), np.linspace(0, 6, 7)))
    cells, values = generator.integers(0, 40, 30), np.where(generator.uniform(size=30) < 0.5, -1.0, 1.0)
    base, worst = features.exact(CollapsedRecords.from_records(cells, values)), 0.0
    for cell in range(40):
        for value in (-1.0, 1.0):
            for j in (0, 7):
                new_cells, new_values = cells.copy(), values.copy()
                new_cells[j], new_values[j] = cell, value
                other = features.exact(CollapsedRecords.from_records(new_cells, new_values))
                first = (other[0] - base[0]) * 2.0**-25
                second = (other[1] - base[1]) * 2.0**-30
                worst = max(worst, math.sqrt(float(first @ first) + 0.3 * float(np.sum(second**2))))
    assert 0.7 * sensitivity(1.0, features.norm, 0.3) < worst <= sensitivity(1.0, features.norm, 0.3)


def test_released_moments_have_their_declared_noise() -> None:
    features = GriddedFeatures.of(kernel(np.linspace(0, 3, 10), np.linspace(0, 3, 4)))
    records = CollapsedRecords.from_records([1, 1, 5], [0.5, -1.0, 0.25])
    first, second = features.exact(records)
    entropy = SimulationEntropy(5)
    drawn = [features.release(records, 0.7, 1.9, entropy) for _ in range(400)]
    errors = np.array([each.first for each in drawn]) - first * 2.0**-25
    matrix = np.array([each.second for each in drawn]) - second * 2.0**-30
    assert errors.std() == pytest.approx(0.7, rel=0.06)
    assert matrix[:, range(4), range(4)].std() == pytest.approx(1.9, rel=0.06)
    assert matrix[:, 0, 1].std() == pytest.approx(1.9 / math.sqrt(2), rel=0.12)
    np.testing.assert_array_equal(matrix, matrix.transpose(0, 2, 1))


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidValue, match="m by m"):
        Moments(np.zeros(3), np.zeros((2, 2)), 1.0, 1.0)
    with pytest.raises(InvalidValue, match="one lengthscale"):
        grid_norm([np.arange(3.0)], [1.0, 2.0])
    with pytest.raises(InvalidValue, match="outside the domain"):
        GriddedFeatures.of(np.eye(3)).exact(CollapsedRecords.from_records([7], [0.0]))
    assert isinstance(errors_in_variables(*worked(), 0.1), InducingPosterior)
