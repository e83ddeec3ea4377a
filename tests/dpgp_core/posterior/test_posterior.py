"""Dense and banded posteriors: mean, variance and the law of the draws against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dpgp_core.errors import NumericalFailure
from dpgp_core.posterior.fitting import Posterior, fit, fit_cells
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.posterior.ridge_family import RidgeFamily
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import PRIORS, make_prior
from tests.dpgp_core.hexmap import ProbeEntropy, disk, drawn_law, islands, line, records_on, textbook

LATTICES = {"disk": disk(3, padding=2), "line": line(12), "islands": islands(), "one cell": disk(0)}

every_prior = pytest.mark.parametrize("name", sorted(PRIORS))
every_lattice = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES.keys())
every_ridge = pytest.mark.parametrize("ridge", [0.05, 1.0, 40.0])


@every_prior
@every_lattice
@every_ridge
def test_collapsed_records_give_the_posterior_of_the_single_records(
    name: str, lattice: Lattice, ridge: float
) -> None:
    """Records sharing a cell collapse to their mean with noise r^2/m: equal up to rounding."""
    prior = make_prior(name, lattice, 900.0)
    cells, responses, collapsed = records_on(lattice, 60, seed=1)
    mean, covariance = textbook(prior.correlation(), cells, responses, ridge)
    posterior = fit(prior, collapsed, ridge)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(posterior.variance, covariance.diagonal(), atol=1e-9)


@every_prior
@every_lattice
@every_ridge
def test_draws_have_exactly_the_posterior_law(name: str, lattice: Lattice, ridge: float) -> None:
    """The sampler is linear in its noise: its matrix times its transpose is the covariance."""
    prior = make_prior(name, lattice, 900.0)
    cells, responses, collapsed = records_on(lattice, 60, seed=2)
    posterior = fit(prior, collapsed, ridge)
    mean, covariance = textbook(prior.correlation(), cells, responses, ridge)
    scale, noise_scale = 0.3, 0.7
    drawn_mean, drawn = drawn_law(
        lambda paths, entropy: posterior.draw(scale, paths, entropy, noise_scale), 3 * prior.white_size
    )
    np.testing.assert_allclose(drawn_mean, mean, atol=1e-9)
    expected = scale**2 * covariance + noise_scale**2 * prior.correlation()
    np.testing.assert_allclose(drawn, expected, atol=1e-9)


@every_prior
def test_without_posterior_scale_only_prior_noise_is_drawn(name: str) -> None:
    prior = make_prior(name, disk(2, padding=1), 900.0)
    posterior = fit(prior, records_on(prior.lattice, 10, seed=3)[2], 1.0)
    _, drawn = drawn_law(lambda paths, entropy: posterior.draw(0.0, paths, entropy, 0.5), prior.white_size)
    np.testing.assert_allclose(drawn, 0.25 * prior.correlation(), atol=1e-12)


@every_prior
def test_a_family_of_ridges_agrees_with_single_fits(name: str) -> None:
    prior = make_prior(name, disk(3, padding=2), 900.0)
    cells, responses, records = records_on(prior.lattice, 80, seed=4)
    size = prior.white_size + records.index.size
    family = RidgeFamily(prior, records, size, ProbeEntropy())
    for ridge in (0.1, 1.0, 10.0, 300.0):
        single = fit(prior, records, ridge)
        mean, variance, paths = family.at(ridge)
        np.testing.assert_allclose(mean, single.mean, atol=1e-9)
        np.testing.assert_allclose(variance, single.variance, atol=1e-9)
        _, covariance = textbook(prior.correlation(), cells, responses, ridge)
        np.testing.assert_allclose(paths.T @ paths, covariance, atol=1e-9)
        gram = prior.correlation()[np.ix_(cells, cells)]
        dimension = np.trace(np.linalg.solve(gram + ridge**2 * np.eye(cells.size), gram))
        assert family.effective_dimension(ridge) == pytest.approx(dimension, rel=1e-8)


@every_prior
@pytest.mark.parametrize("kept", [1, 2], ids=["factor again", "keep factors"])
def test_a_family_with_other_means_is_the_family_of_those_records(
    name: str, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpgp_core.posterior.ridge_family.KEPT", kept)
    prior = make_prior(name, disk(3, padding=2), 900.0)
    records = records_on(prior.lattice, 80, seed=4)[2]
    size = prior.white_size + records.index.size
    other = CollapsedRecords(records.index, records.count, -0.5 * records.mean)
    first = RidgeFamily(prior, records, size, ProbeEntropy())
    sibling = first.with_means(other.mean)
    fresh = RidgeFamily(prior, other, size, ProbeEntropy())
    for ridge in (0.3, 5.0, 0.3):
        np.testing.assert_allclose(first.at(ridge).mean, fit(prior, records, ridge).mean, atol=1e-9)
        for mine, its in zip(sibling.at(ridge), fresh.at(ridge), strict=True):
            np.testing.assert_allclose(mine, its, atol=1e-12)


@every_prior
def test_cells_with_their_own_noise_and_a_signal_scale(name: str) -> None:
    """The posterior of a field of standard deviation s is that of the definition with prior s^2 k."""
    prior = make_prior(name, disk(2, padding=1), 900.0)
    generator = np.random.default_rng(5)
    index = np.array([0, 3, 4, 11, 18])
    mean, noise = generator.normal(size=5), generator.uniform(0.01, 2.0, 5)
    signal = 0.4
    posterior = fit_cells(prior, index, mean, noise, signal_scale=signal)
    covariance = signal**2 * prior.correlation()
    gram = covariance[np.ix_(index, index)] + np.diag(noise)
    cross = covariance[:, index]
    np.testing.assert_allclose(posterior.mean, cross @ np.linalg.solve(gram, mean), atol=1e-12)
    expected = covariance - cross @ np.linalg.solve(gram, cross.T)
    np.testing.assert_allclose(signal**2 * posterior.variance, expected.diagonal(), atol=1e-12)
    _, drawn = drawn_law(lambda paths, entropy: posterior.draw(signal, paths, entropy), 2 * prior.white_size)
    np.testing.assert_allclose(drawn, expected, atol=1e-12)
    evidence = multivariate_normal(np.zeros(5), gram).logpdf(mean)
    misfit = float(mean @ ((mean - posterior.mean[index]) / noise))
    spread = float(np.sum(np.log(noise))) + posterior.log_determinant()
    assert evidence == pytest.approx(-0.5 * (misfit + spread + 5 * np.log(2 * np.pi)), abs=1e-9)


@every_prior
def test_no_observation_leaves_the_prior(name: str) -> None:
    prior = make_prior(name, disk(2, padding=1), 900.0)
    posterior = fit_cells(prior, np.array([], dtype=int), np.array([]), np.array([]))
    np.testing.assert_array_equal(posterior.mean, np.zeros(19))
    np.testing.assert_allclose(posterior.variance, prior.correlation().diagonal(), atol=1e-13)


@every_prior
def test_more_records_never_raise_the_variance(name: str) -> None:
    prior = make_prior(name, disk(3, padding=1), 900.0)
    few = fit(prior, CollapsedRecords(np.array([3, 20]), np.array([1, 2]), np.zeros(2)), 1.0)
    more = fit(prior, CollapsedRecords(np.array([3, 9, 20]), np.array([1, 5, 2]), np.zeros(3)), 1.0)
    assert np.all(more.variance <= few.variance + 1e-12)
    assert np.all(few.variance > 0)


@pytest.fixture
def posterior() -> Posterior:
    prior = make_prior("car", disk(1), 900.0)
    return fit(prior, records_on(prior.lattice, 5, seed=6)[2], 1.0)


@pytest.mark.parametrize("scales", [(-1.0, 0.0), (1.0, -0.1), (float("nan"), 1.0), (1.0, float("inf"))])
def test_scales_that_are_no_scales_are_refused(posterior: Posterior, scales: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        posterior.draw(scales[0], 1, ProbeEntropy(), scales[1])


def test_the_exact_mean_is_never_drawn(posterior: Posterior) -> None:
    with pytest.raises(ValueError, match="exact posterior mean, not a draw"):
        posterior.draw(0.0, 1, ProbeEntropy())


def test_no_path_is_no_draw(posterior: Posterior) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        posterior.draw(1.0, 0, ProbeEntropy())


@pytest.mark.parametrize("ridge", [0.0, -1.0, float("nan"), float("inf")])
def test_a_ridge_must_be_positive(ridge: float) -> None:
    prior = make_prior("exponential", disk(1), 900.0)
    records = records_on(prior.lattice, 5, seed=6)[2]
    with pytest.raises(ValueError, match="ridge must be a positive finite number"):
        fit(prior, records, ridge)
    with pytest.raises(ValueError, match="ridge must be a positive finite number"):
        RidgeFamily(prior, records, 1, ProbeEntropy()).at(ridge)


@pytest.mark.parametrize(
    ("index", "mean", "noise", "reason"),
    [
        ([0, 0], [0.1, 0.2], [1.0, 1.0], "strictly increasing"),
        ([0, 7], [0.1, 0.2], [1.0, 1.0], "cells of the prior's domain"),
        ([-1, 2], [0.1, 0.2], [1.0, 1.0], "cells of the prior's domain"),
        ([0, 1], [0.1, np.nan], [1.0, 1.0], "must be finite"),
        ([0, 1], [0.1, 0.2], [1.0, 0.0], "positive and finite"),
        ([0, 1], [0.1], [1.0, 1.0], "equal length"),
    ],
)
def test_bad_observations_get_one_sentence(
    index: list[int], mean: list[float], noise: list[float], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        fit_cells(make_prior("car", disk(1), 900.0), index, mean, noise)


def test_a_singular_fit_raises_and_is_not_repaired() -> None:
    """Two cells hardly apart, hardly any noise: no posterior to working precision, and none returned."""
    lattice = line(2, spacing=1e-13)
    prior = make_prior("exponential", lattice, 1e4)
    with pytest.raises(NumericalFailure, match="use a larger ridge"):
        fit(prior, CollapsedRecords(np.array([0, 1]), np.array([1, 1]), np.array([0.5, -0.5])), 1e-9)
