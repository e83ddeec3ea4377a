"""Cloaking and functional noise: the optimal covariances, their certificates, and what they protect."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.priors.dense import squared_exponential
from dpgp_core.public_places import FieldCovariance, read_sums
from hexcursion_peers.labels.cloak import Cloak, make_cloak
from hexcursion_peers.labels.features import (
    posterior_weights,
)
from hexcursion_peers.labels.plan import Reading
from tests.oracles.papers import function_sensitivity, function_sensitivity_of_the_paper, function_shifts

PLACES = np.array([0.0, 1.0, 2.0, 3.5, 5.0])
NOISE = 0.1


def kernel(a: Floats, b: Floats, lengthscale: float = 1.0) -> Floats:
    return squared_exponential(np.abs(a[:, None] - b[None, :]) / lengthscale)


def weights_at(test: Floats) -> Floats:
    return posterior_weights(kernel(PLACES, PLACES), kernel(test, PLACES), NOISE)


def volume(cloak: Cloak) -> float:
    return float(np.linalg.slogdet(cloak.shape)[1])


def read_means(released: Floats, prior: Floats, weights: Floats, cross: Floats, noise: Floats) -> Reading:
    """Posterior of the field given noisy posterior means: the naive form beside `read_sums`.

    `V = C (K + R) C^T = C Ks^T` is the covariance of the noise-free means, and also their covariance with the
    field. So `E = V (V + S)^-1 released` and `Cov = K** - V (V + S)^-1 V`.
    """
    spread = weights @ cross.T
    spread = 0.5 * (spread + spread.T)
    value, vector = np.linalg.eigh(spread + noise)
    kept = value > value[-1] * 1e-12
    gain = spread @ (vector[:, kept] / value[kept]) @ vector[:, kept].T
    covariance = prior - gain @ spread
    return Reading(gain @ released, 0.5 * (covariance + covariance.T))


def hall_noise(epsilon: float, delta: float) -> float:
    """The paper's noise per unit of sensitivity (Hall, Rinaldo and Wasserman 2013), for epsilon <= 1."""
    return math.sqrt(2.0 * math.log(2.0 / delta)) / epsilon


def test_the_weights_of_the_posterior_mean() -> None:
    """Three places of five observations, against a direct solution."""
    found = weights_at(np.array([0.5, 1.5, 2.5]))
    np.testing.assert_allclose(
        found,
        [
            [0.4946342367, 0.5774973639, -0.0879210801, 0.0129009919, -0.0030610279],
            [-0.0782735486, 0.5616959867, 0.5186410476, -0.0562053307, 0.0131681568],
            [0.0402834867, -0.179306824, 0.7952637917, 0.3443184923, -0.069655906],
        ],
        atol=1e-9,
    )


@pytest.mark.parametrize(
    ("test", "rank", "weights", "determinant", "mean_square"),
    [
        (np.array([0.5, 1.5, 2.5]), 3, (1, 1, 1, 0, 0), -2.3058033, 1.7668280),
        (np.array([1.5, 4.0]), 2, (0, 1, 0, 1, 0), -1.7386610, 0.8700037),
        (np.linspace(-1.0, 6.0, 12), 5, (1, 1, 1, 1, 1), 2.3533701, 8.2161688),
    ],
)
def test_the_optimal_covariances(
    test: Floats, rank: int, weights: tuple[int, ...], determinant: float, mean_square: float
) -> None:
    """Both optima were found by semidefinite programs too."""
    small = make_cloak(weights_at(test), "volume", tolerance=1e-9, sweeps=10_000)
    assert small.rank == rank
    np.testing.assert_allclose(small.weights, weights, atol=1e-5)
    assert volume(small) == pytest.approx(determinant, abs=1e-6)
    best = make_cloak(weights_at(test), tolerance=1e-8, sweeps=10_000)
    assert best.largest * np.trace(best.shape) == pytest.approx(mean_square, abs=2e-7)


def test_the_volume_optimum_has_the_published_spread() -> None:
    cloak = make_cloak(weights_at(np.array([0.5, 1.5, 2.5])), "volume", tolerance=1e-9, sweeps=10_000)
    covariance = cloak.covariance(1.0, 1.0)
    np.testing.assert_allclose(covariance.diagonal(), [0.585896, 0.590618, 0.666218], atol=1e-6)
    assert np.trace(covariance) == pytest.approx(1.842732, abs=1e-6)
    exact = np.sqrt(cloak.covariance(1.0, gaussian_mu(1.0, 0.01)).diagonal())
    np.testing.assert_allclose(exact, [1.4374, 1.4432, 1.5328], atol=1e-4)
    paper = hall_noise(1.0, 0.01) * np.sqrt(covariance.diagonal())
    np.testing.assert_allclose(paper, [2.4917, 2.5017, 2.6570], atol=1e-4)


def test_with_as_many_places_as_values_cloaking_is_noise_on_the_values() -> None:
    matrix = weights_at(np.linspace(-1.0, 6.0, 12))
    cloak = make_cloak(matrix, "volume", tolerance=1e-9, sweeps=10_000)
    np.testing.assert_allclose(cloak.covariance(1.0, 1.0), matrix @ matrix.T, atol=1e-6)


@pytest.mark.parametrize("criterion", ["volume", "mean-square"])
@pytest.mark.parametrize("sweeps", [1, 3, 200])
def test_the_gap_is_honest_however_early_the_search_stops(criterion: str, sweeps: int) -> None:
    """What is stated as lost is at least what is lost against the optimum."""
    matrix = weights_at(np.array([0.5, 1.5, 2.5, 3.0]))
    best = make_cloak(matrix, criterion, tolerance=1e-9, sweeps=20_000)  # type: ignore[arg-type]
    early = make_cloak(matrix, criterion, tolerance=1e-12, sweeps=sweeps)  # type: ignore[arg-type]
    if criterion == "volume":
        lost = volume(early) + early.rank * np.log(early.largest) - volume(best) - 4 * np.log(best.largest)
    else:
        lost = early.largest * np.trace(early.shape) / (best.largest * np.trace(best.shape)) - 1.0
    assert -1e-8 <= lost <= early.gap + 1e-9


@pytest.mark.parametrize("criterion", ["volume", "mean-square"])
def test_no_value_moves_the_release_further_than_declared(criterion: str) -> None:
    """Exact mu of every value's change, random and largest, from the released covariance itself."""
    generator = np.random.default_rng(4)
    places, test = generator.uniform(0, 20, 40), np.linspace(0, 20, 60)
    matrix = posterior_weights(kernel(places, places), kernel(test, places), 0.3)
    cloak = make_cloak(matrix, criterion, sweeps=20)  # type: ignore[arg-type]
    mu = 0.7
    noise = cloak.basis.T @ cloak.covariance(2.0, mu) @ cloak.basis
    moved = cloak.basis.T @ matrix
    reached = 2.0 * np.sqrt(np.einsum("ij,ij->j", moved, np.linalg.solve(noise, moved)))
    assert reached.max() <= mu
    assert reached.max() == pytest.approx(mu, rel=1e-4)
    assert np.linalg.norm(cloak.whitened(matrix), axis=1).max() == pytest.approx(1.0, abs=1e-4)
    assert np.linalg.norm(cloak.whitened(matrix), axis=1).max() <= 1.0
    # nothing is released in directions without noise
    assert np.linalg.matrix_rank(cloak.covariance(2.0, mu), tol=1e-9) <= cloak.rank < test.size


def test_a_function_moves_no_further_than_its_exact_length() -> None:
    """Theorem (exact length) of plugins/peers/docs/peers.md."""
    covariance = kernel(PLACES, PLACES)
    assert function_sensitivity(covariance, NOISE) == pytest.approx(1.1842796428, abs=1e-9)
    assert function_sensitivity_of_the_paper(covariance, NOISE) == pytest.approx(2.2999321047, abs=1e-9)
    # on any finite set of test places the change, in units of the prior noise, is at most the exact length
    test = np.linspace(-2, 7, 23)
    moved = weights_at(test)
    noise = kernel(test, test) + 1e-9 * np.eye(test.size)
    reached = np.sqrt(np.einsum("ij,ij->j", moved, np.linalg.solve(noise, moved)))
    shifts = function_shifts(covariance, NOISE)
    assert np.all(reached <= shifts * (1 + 1e-9))
    at_the_places = posterior_weights(covariance, covariance, NOISE)
    whole = np.sqrt(np.einsum("ij,ij->j", at_the_places, np.linalg.solve(covariance, at_the_places)))
    np.testing.assert_allclose(whole, shifts, rtol=1e-8)


def test_the_papers_bound_is_never_below_the_exact_length() -> None:
    generator = np.random.default_rng(2)
    for _ in range(200):
        places = generator.uniform(0, 6, generator.integers(2, 9))
        covariance, noise = kernel(places, places), float(generator.uniform(0.01, 2))
        assert function_sensitivity(covariance, noise) <= function_sensitivity_of_the_paper(
            covariance, noise
        ) * (1 + 1e-9)


def test_the_reading_of_noisy_means_is_calibrated() -> None:
    """90 % intervals hold 90 % of the fields, and the marginal deviations are the known ones."""
    test = np.array([0.5, 1.5, 2.5])
    cross, prior = kernel(test, PLACES), kernel(test, test)
    matrix = weights_at(test)
    noise = make_cloak(matrix, "volume", tolerance=1e-9, sweeps=5_000).covariance(2.0, gaussian_mu(1.0, 0.01))
    np.testing.assert_allclose(np.sqrt(noise.diagonal()), [2.8748, 2.8864, 3.0655], atol=1e-4)
    known = read_means(np.zeros(3), prior, matrix, cross, noise)
    np.testing.assert_allclose(known.covariance.diagonal(), [0.896335, 0.893953, 0.918457], atol=1e-6)
    generator = np.random.default_rng(7)
    joint = np.block([[kernel(PLACES, PLACES), cross.T], [cross, prior]]) + 1e-10 * np.eye(8)
    field = np.linalg.cholesky(joint) @ generator.normal(size=(8, 20_000))
    values = field[:5] + np.sqrt(NOISE) * generator.normal(size=(5, 20_000))
    means = matrix @ values + np.linalg.cholesky(noise) @ generator.normal(size=(3, 20_000))
    gain = np.array([read_means(unit, prior, matrix, cross, noise).mean for unit in np.eye(3)]).T
    inside = np.abs(field[5:] - gain @ means) <= 1.6448536 * known.deviation[:, None]
    assert inside.mean() == pytest.approx(0.9, abs=0.006)
    above = read_means(np.array([1.0, 0.0, -1.0]), prior, matrix, cross, noise).probability(0.2)
    assert above[0] > above[1] > above[2]


def test_whitened_sums_read_as_the_projected_means_do() -> None:
    """Releasing sums of whitened columns is the same mechanism: the same posterior follows."""
    test = PLACES
    covariance = kernel(PLACES, PLACES)
    matrix = posterior_weights(covariance, covariance, NOISE)
    cloak, mu = make_cloak(matrix), 0.8
    values = np.array([0.3, -0.8, 0.5, 0.9, -0.1])
    by_means = read_means(
        cloak.basis @ (cloak.basis.T @ matrix @ values),
        covariance,
        matrix,
        kernel(test, PLACES),
        cloak.covariance(2.0, mu),
    )
    rows = cloak.whitened(matrix)
    reading = read_sums(
        rows,
        FieldCovariance(np.ones(5), covariance, np.arange(5)),
        np.ones(5),
        np.full(5, NOISE),
        np.full(cloak.rank, (2.0 / mu) ** 2),
    )
    np.testing.assert_allclose(reading.mean(rows.T @ values), by_means.mean, atol=1e-7)
    np.testing.assert_allclose(reading.deviation, by_means.deviation, atol=1e-7)


def test_what_cannot_be_cloaked_is_refused() -> None:
    with pytest.raises(InvalidValue, match="nothing to release"):
        make_cloak(np.zeros((3, 2)))
    with pytest.raises(InvalidValue, match="must be finite"):
        make_cloak(np.full((3, 2), np.nan))


def test_the_heights_of_the_kung_women(shared_data: Path) -> None:
    """The paper's first example: 6.8 cm without privacy, 12.2 cm cloaked at epsilon 1."""
    with (shared_data / "other" / "Howell1.csv").open(encoding="utf-8") as file:
        women = [row for row in csv.DictReader(file) if row["male"] == "0"]
    age = np.array([float(row["age"]) for row in women])
    height = np.array([float(row["height"]) for row in women])
    assert age.size == 287
    spread, middle = 25.74214905230349, 108.2675  # the example's own scale, which is not private
    clipped = np.clip(height, middle - 50.0, middle + 50.0)
    scaled = (clipped - clipped.mean()) / spread
    covariance, noise, change = kernel(age, age, 25.0), 0.3, 100.0 / spread
    fitted = posterior_weights(covariance, covariance, noise) @ scaled
    plain = spread * np.sqrt(np.mean((fitted - (height - clipped.mean()) / spread) ** 2))
    assert plain == pytest.approx(6.828, abs=1e-3)

    paper = function_sensitivity_of_the_paper(covariance, noise)
    exact = function_sensitivity(covariance, noise)
    assert (paper, exact) == (pytest.approx(4.38163, abs=1e-4), pytest.approx(0.498638, abs=1e-4))
    per_unit = np.sqrt(2 * np.log(2 / 0.01)) * change * spread  # at epsilon 1, the paper's constant
    assert per_unit * paper == pytest.approx(1426.3, abs=0.5)  # overwhelms heights of 54 to 180 cm
    assert per_unit * exact / 100.0 == pytest.approx(1.623, abs=0.005)  # at epsilon 100

    test = np.linspace(0.0, 180.0, 100)
    matrix = posterior_weights(covariance, kernel(test, age, 25.0), noise)
    expected = {}
    for criterion, tolerance in (("mean-square", 1e-2), ("volume", 3e-2)):
        cloak = make_cloak(matrix, criterion, tolerance=tolerance, rank_tolerance=1e-2)  # type: ignore[arg-type]
        deviation = hall_noise(1.0, 0.01) * np.sqrt(cloak.covariance(change, 1.0).diagonal()) * spread
        at_ages = np.interp(age, test, deviation**2)
        expected[criterion] = float(np.sqrt(plain**2 + at_ages.mean()))
        assert test[np.argmax(deviation)] > age.max()  # the fulcrum lies outside of the data
        assert deviation[-1] < 0.05 * deviation.max()  # far away the prior needs no noise
    assert expected["mean-square"] == pytest.approx(12.2, abs=0.2)
    assert 11.5 < expected["volume"] < 17.0
