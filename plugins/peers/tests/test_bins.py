"""Bins on a line: disjoint, with means that know their noise, read as averages of the field."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.priors.dense import squared_exponential
from hexcursion_peers.studies.bins import bin_of, means_of_sums, read_bins


def kernel(a: Floats, b: Floats) -> Floats:
    return squared_exponential(np.abs(a[:, None] - b[None, :]))


def test_a_place_on_an_edge_is_in_one_bin() -> None:
    found = bin_of([-0.1, 0.0, 0.5, 1.0, 1.999, 2.0], [0.0, 1.0, 2.0])
    assert found.tolist() == [-1, 0, 0, 1, 1, -1]
    with pytest.raises(InvalidValue, match="strictly increasing"):
        bin_of([0.0], [1.0, 1.0])


def test_bin_means_know_their_noise() -> None:
    """Sums of values in [-1, 1] change by 2: variance 2 (2/(n epsilon))^2, nothing said of empty bins."""
    means = means_of_sums(np.array([3.0, 1.0, 0.0]), np.array([6, 2, 0]), 0.5, 2.0)
    np.testing.assert_allclose(means.mean, [0.5, 0.5, 0.0])
    np.testing.assert_allclose(means.variance, [32.0 / 36.0, 8.0, np.inf])


def test_the_process_on_bins_uses_averages_of_the_kernel() -> None:
    fine = np.linspace(0, 4, 80, endpoint=False) + 0.025
    owner = bin_of(fine, [0.0, 1.0, 2.0, 3.0, 4.0])
    average = np.eye(4)[:, owner] / 20.0
    prior = kernel(fine, fine)
    between, cross = average @ prior @ average.T, prior @ average.T
    truth = np.sin(fine)
    means = means_of_sums(20.0 * average @ truth, np.full(4, 20), 1e6, 1.0)
    reading = read_bins(means, between, cross, prior, np.full(4, 1e-9))
    np.testing.assert_allclose(average @ reading.mean, average @ truth, atol=1e-6)  # averages are kept
    assert np.abs(reading.mean - truth).max() < 0.3
    nothing = read_bins(means_of_sums(np.zeros(4), np.zeros(4), 1.0, 1.0), between, cross, prior, np.ones(4))
    np.testing.assert_allclose(nothing.covariance, prior)
