"""The dense posterior against scikit-learn's Gaussian process: another program, the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core import CollapsedRecords, SimulationEntropy, fit, make_prior
from studies.material.disk import disk
from studies.speed.peers import RIDGE, peer


@pytest.mark.parametrize("records_wanted", [1, 40, 400])
def test_mean_and_variance_agree(records_wanted: int) -> None:
    lattice = disk(150)
    entropy = SimulationEntropy(records_wanted)
    index = (entropy.uniform(records_wanted) * lattice.size).astype(np.int64)
    records = CollapsedRecords.from_records(index, np.tanh(entropy.normal(index.size)))
    lengthscale = 4.0 * lattice.spacing
    ours = fit(make_prior("exponential", lattice, lengthscale), records, RIDGE)
    mean, sd = peer(lattice, records, lengthscale).predict(lattice.domain_centres, return_std=True)
    np.testing.assert_allclose(ours.mean, mean, atol=1e-9)
    np.testing.assert_allclose(ours.variance, sd**2, atol=1e-9)
