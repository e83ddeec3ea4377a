"""The limit: exact errors of real mechanisms lie above it, and a limit for half of mu is beaten."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from dpgp_core.bounds.limit import contrast, least_error
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.noise import SimulationEntropy
from studies.prices.limit import Worlds, contested

FIELD = np.linspace(-5.0, 5.0, 61)
PRIOR = np.exp(-0.5 * FIELD**2) / np.exp(-0.5 * FIELD**2).sum()


def one_record(bound: float, scatter: float) -> tuple[Floats, Floats]:
    """Values in [-1, 1] of a clipped record, and its law for every value of the field, (F, K)."""
    values = np.linspace(-1.0, 1.0, 25)
    edges = bound * 0.5 * (values[1:] + values[:-1])
    below = ndtr((edges - FIELD[:, None]) / scatter)
    padded = np.hstack([np.zeros((FIELD.size, 1)), below, np.ones((FIELD.size, 1))])
    return values, np.diff(padded, axis=1)


def exact_error(count: int, bound: float, scatter: float, mu: float) -> float:
    """Exact mean squared error of the posterior mean of a N(0, 1) field given a noisy clipped sum."""
    values, law = one_record(bound, scatter)
    sums, total = law, values
    for _ in range(count - 1):
        sums = np.array([np.convolve(a, b) for a, b in zip(sums, law, strict=True)])
        total = np.linspace(total[0] - 1.0, total[-1] + 1.0, sums.shape[1])
    noise = 2.0 / mu
    seen = np.linspace(-count - 6.0 * noise, count + 6.0 * noise, 401)
    density = sums @ np.exp(-0.5 * ((seen - total[:, None]) / noise) ** 2)
    joint = PRIOR[:, None] * density
    weight = joint.sum(axis=0)
    mean = (FIELD @ joint) / weight
    return 1.0 - float(np.sum(mean**2 * weight) / weight.sum())


@pytest.mark.parametrize(("mu", "broken"), [(0.1, 0.05), (1.0, 0.5), (4.0, 1.0)])
@pytest.mark.parametrize("count", [1, 3, 12])
def test_no_noisy_clipped_sum_of_one_cell_beats_the_limit(count: int, mu: float, broken: float) -> None:
    scatter = 3.0
    limit = least_error(np.eye(1), np.array([float(count)]), scatter, mu)
    errors = [exact_error(count, bound, scatter, mu) for bound in (0.2, 2.0, 5.0, 12.0)]
    assert min(errors) > limit
    assert min(errors) < least_error(np.eye(1), np.array([float(count)]), scatter, broken)


def test_the_limit_of_one_cell_is_its_closed_form() -> None:
    """r = p/(1 + p) of the records' knowledge is left, p = n kappa^2/4: the error is v/(1 + r n v/tau^2)."""
    share = 12.0 * 0.07174 / 4.0  # contrast(.2678) is .07174
    left = share / (1.0 + share)
    found = least_error(np.array([[2.0]]), np.array([12.0]), 3.0, 0.2678)
    assert found == pytest.approx(2.0 / (1.0 + left * 12.0 * 2.0 / 9.0), rel=1e-4)
    over_cells = least_error(np.array([[2.0]]), np.array([12.0]), 3.0, 0.2678, np.ones(1))
    assert over_cells == pytest.approx(found, rel=1e-3)


def two_cells(
    features: Floats, counts: tuple[int, int], correlation: float, scatter: float, mu: float
) -> Floats:
    """Exact errors (2,) of two cells' posterior means given one noisy sum of signs times features (2,)."""
    field = np.linspace(-4.0, 4.0, 23)
    first, second = (each.ravel() for each in np.meshgrid(field, field, indexing="ij"))
    square = (first**2 - 2.0 * correlation * first * second + second**2) / (1.0 - correlation**2)
    prior = np.exp(-0.5 * square)
    prior /= prior.sum()
    laws = []
    for value, count in zip((first, second), counts, strict=True):
        up, law = ndtr(value / scatter)[:, None], np.ones((first.size, 1))
        for _ in range(count):
            law = np.pad(law * (1.0 - up), ((0, 0), (0, 1))) + np.pad(law * up, ((0, 0), (1, 0)))
        laws.append(law)
    sums = [np.arange(-count, count + 1, 2) * each for count, each in zip(counts, features, strict=True)]
    noise = 2.0 * float(np.abs(features).max()) / mu
    seen = np.linspace(-sum(counts) - 5.0 * noise, sum(counts) + 5.0 * noise, 81)
    middle = sums[0][:, None] + sums[1][None, :]
    kernel = np.exp(-0.5 * ((seen - middle[..., None]) / noise) ** 2)
    joint = prior[:, None] * np.einsum("ka,kb,abt->kt", laws[0], laws[1], kernel, optimize=True)
    weight = joint.sum(axis=0) + 1e-300
    means = np.array([first @ joint, second @ joint]) / weight
    before = np.array([prior @ first**2, prior @ second**2])
    return np.asarray(before - (means**2 * weight).sum(axis=1) / weight.sum())


def test_no_random_features_of_unequal_counts_beat_the_limit() -> None:
    """Theorem (lower bound) of docs/limit.md; Theorem (lower bound) of docs/report."""
    entropy, counts, scatter = SimulationEntropy(4), (1, 5), 0.7
    near = []
    for mu in (0.3, 1.5):
        for correlation in (0.0, 0.8):
            covariance = np.array([[1.0, correlation], [correlation, 1.0]])
            for _ in range(4):
                errors = two_cells(2.0 * entropy.uniform(2) - 1.0, counts, correlation, scatter, mu)
                for weights in (None, np.array([1.0, 1.0]), np.array([1.0, 0.0])):
                    limit = least_error(covariance, np.array(counts, float), scatter, mu, weights)
                    share = np.array(counts if weights is None else weights, float)
                    error = float(errors @ share / share.sum())
                    assert error > limit
                    near.append(limit / error)
    assert max(near) > 0.8  # it is no empty bound


def test_no_release_of_a_registered_mechanism_beats_the_limit() -> None:
    worlds, seen = Worlds.draw(2, cells=40, records=300), set()
    for name, facts, design, mu in contested(worlds, 1.0):
        if name in seen or name not in ("noisy-cell-statistics", "spectral-statistics"):
            continue
        seen.add(name)
        found, least = worlds.shares_left(design, facts), worlds.limit(mu)
        assert np.all(found > least)
        assert worlds.limit(0.1 * mu)[0] > found[0]
    assert len(seen) == 2


def test_averages_over_records_and_over_cells_agree_where_counts_are_equal() -> None:
    places = np.linspace(0.0, 1.0, 12)
    covariance = 0.3 * np.exp(-np.abs(places[:, None] - places) / 0.4)
    counts = np.full(12, 4.0)
    for mu in (0.2, 2.0):
        records = least_error(covariance, counts, 0.5, mu)
        cells = least_error(covariance, counts, 0.5, mu, np.ones(12))
        assert records * (1.0 - 2e-4) <= cells <= records * (1.0 + 1e-9)


def test_without_noise_it_is_the_error_of_all_records_and_more_epsilon_lowers_it() -> None:
    covariance = np.array([[1.0, 0.5], [0.5, 1.0]])
    counts = np.array([2.0, 0.0])
    weights = np.array([1.0, 3.0])
    free = (1.0 / 3.0 + 3.0 * (0.75 + 0.25 / 3.0)) / 4.0  # one cell seen with noise 1/2, the other through it
    errors = [least_error(covariance, counts, 1.0, mu, weights) for mu in (0.01, 0.5, 3.0, 60.0)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == pytest.approx(free, rel=1e-6)
    assert errors[0] == pytest.approx(1.0, abs=1e-3)


def test_the_contrast_lies_between_mu_squared_and_the_chi_squared_divergence() -> None:
    # expected: by direct integration of the two densities
    for mu, expected in ((0.0754, 0.00568517), (0.2678, 0.07173144), (2.0, 4.89680686)):
        assert contrast(mu) == pytest.approx(expected, rel=1e-6)
        assert mu**2 <= contrast(mu) <= np.expm1(mu**2)
    assert contrast(100.0) == np.inf


def test_impossible_input_is_refused() -> None:
    with pytest.raises(InvalidValue, match="some must be positive"):
        least_error(np.eye(2), np.zeros(2), 1.0, 1.0)
    with pytest.raises(InvalidValue, match="one row and one column"):
        least_error(np.eye(3), np.ones(2), 1.0, 1.0)
    with pytest.raises(InvalidValue, match="one for each cell"):
        least_error(np.eye(2), np.ones(2), 1.0, 1.0, np.ones(3))
