"""The dense posterior against scikit-learn's Gaussian process: another program, the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from dpgp_core import CollapsedRecords, SimulationEntropy, fit, make_prior
from studies.material.disk import disk

RIDGE = 3.0


@pytest.mark.parametrize("records_wanted", [1, 40, 400])
def test_mean_and_variance_agree(records_wanted: int) -> None:
    lattice = disk(150)
    entropy = SimulationEntropy(records_wanted)
    index = (entropy.uniform(records_wanted) * lattice.size).astype(np.int64)
    records = CollapsedRecords.from_records(index, np.tanh(entropy.normal(index.size)))
    lengthscale = 4.0 * lattice.spacing
    ours = fit(make_prior("exponential", lattice, lengthscale), records, RIDGE)
    regressor = GaussianProcessRegressor(
        Matern(length_scale=lengthscale, length_scale_bounds="fixed", nu=0.5),
        alpha=RIDGE**2 / records.count,  # a cell's mean has the noise variance ridge^2 / count
        optimizer=None,
    )
    regressor.fit(lattice.domain_centres[records.index], records.mean)
    mean, sd = regressor.predict(lattice.domain_centres, return_std=True)
    np.testing.assert_allclose(ours.mean, mean, atol=1e-9)
    np.testing.assert_allclose(ours.variance, sd**2, atol=1e-9)
