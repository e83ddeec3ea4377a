"""The curator's field: its likelihood is that of dense algebra, and known fields are found again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from dpgp_core.linalg import Floats, Ints
from dpgp_core.posterior.likelihood import _fitted, fit_by_likelihood
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.car import CarPrior
from dpgp_core.priors.lattice import Lattice

LATTICE = Lattice.grid(12, 12, 100.0)


def drawn(
    seed: int, n: int, lengthscale: float, scale: float, scatter: float, level: float
) -> tuple[Ints, Floats]:
    """The cells and responses of n records of a field; responses on the public grid, none cut."""
    rng = np.random.default_rng(seed)
    prior = CarPrior.make(LATTICE, lengthscale)
    field = level + scale * prior.colour(rng.normal(size=(prior.white_size, 1)))[:, 0]
    cell = rng.integers(0, LATTICE.size, n)
    return cell, np.round(np.clip(field[cell] + scatter * rng.normal(size=n), -1, 1) * 1024) / 1024


def dense(cell: Ints, response: Floats, lengthscale: float, ridge: float) -> tuple[float, float, float]:
    """-2 log restricted likelihood of single records at its best scale, that scale and the level."""
    matrix = CarPrior.make(LATTICE, lengthscale).correlation()[np.ix_(cell, cell)]
    matrix = matrix + ridge**2 * np.eye(cell.size)
    inverse, ones = linalg.inv(matrix), np.ones(cell.size)
    weight = ones @ inverse @ ones
    level = ones @ inverse @ response / weight
    variance = (response - level) @ inverse @ (response - level) / (cell.size - 1)
    loss = np.linalg.slogdet(matrix)[1] + np.log(weight) + (cell.size - 1) * np.log(variance)
    return loss, np.sqrt(variance), level


@pytest.mark.parametrize("lengthscale", [200.0, 800.0])
def test_the_likelihood_of_cells_is_that_of_single_records(lengthscale: float) -> None:
    cell, response = drawn(3, 300, 400.0, 0.3, 0.15, 0.1)
    records = CollapsedRecords.from_records(cell, response)
    prior = CarPrior.make(LATTICE, lengthscale)
    found = [_fitted(prior, records, ridge) for ridge in (0.2, 0.5, 2.0)]
    wanted = [dense(cell, response, lengthscale, ridge) for ridge in (0.2, 0.5, 2.0)]
    assert [each.scale for each in found] == pytest.approx([each[1] for each in wanted], rel=1e-6)
    assert [each.level for each in found] == pytest.approx([each[2] for each in wanted], rel=1e-6)
    # Up to one constant of the records, the same for every ridge.
    gaps = [each.loss - other[0] for each, other in zip(found, wanted, strict=True)]
    assert np.ptp(gaps) < 1e-5


def test_a_known_field_is_found_again() -> None:
    cell, response = drawn(5, 4000, 400.0, 0.25, 0.15, 0.2)
    found = fit_by_likelihood(LATTICE, CollapsedRecords.from_records(cell, response))
    assert found.lengthscale in (200.0, 400.0, 800.0)
    assert found.ridge * found.scale == pytest.approx(0.15, abs=0.01)
    assert found.scale == pytest.approx(0.25, abs=0.1)
    assert found.level == pytest.approx(0.2, abs=0.15)


def test_the_mean_is_the_best_guess_and_its_deviation_holds() -> None:
    """Posterior mean and deviation at hexagons, with an unknown level, beside dense algebra."""
    cell, response = drawn(7, 60, 400.0, 0.3, 0.1, -0.2)
    found = fit_by_likelihood(LATTICE, CollapsedRecords.from_records(cell, response))
    full = CarPrior.make(LATTICE, found.lengthscale).correlation()
    inverse = linalg.inv(full[np.ix_(cell, cell)] + found.ridge**2 * np.eye(cell.size))
    ones, weights = np.ones(cell.size), full[:, cell] @ inverse
    mean = found.level + weights @ (response - found.level)
    variance = full.diagonal() - np.einsum("ij,ij->i", weights, full[:, cell])
    variance = variance + (1.0 - weights @ ones) ** 2 / (ones @ inverse @ ones)
    assert found.mean == pytest.approx(mean, abs=1e-6)
    assert found.sd == pytest.approx(found.scale * np.sqrt(variance), rel=1e-5)


def test_records_that_are_all_alike_give_a_flat_map() -> None:
    for n in (1, 2, 40):
        records = CollapsedRecords.from_records(np.arange(n) % 7, np.full(n, 0.5))
        found = fit_by_likelihood(LATTICE, records)
        assert found.mean == pytest.approx(np.full(LATTICE.size, 0.5), abs=1e-6)
        assert np.all(np.isfinite(found.sd))
