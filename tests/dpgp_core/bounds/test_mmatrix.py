"""The premise of Theorem B is checked on the matrix itself, and refused where it does not hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from dpgp_core.priors.car import CarPrior, NotAnMMatrix, check_m_matrix
from dpgp_core.priors.registry import PRIORS, make_prior
from tests.dpgp_core.hexmap import disk, islands, line


@pytest.mark.parametrize("lattice", [disk(4, padding=2), line(9), islands(), disk(0)], ids=str)
@pytest.mark.parametrize(("lengthscale", "below"), [(10.0, 2e-9), (400.0, 2e-9), (5e3, 2e-9), (1e6, 3e-6)])
def test_car_is_an_m_matrix_at_every_range(lattice: object, lengthscale: float, below: float) -> None:
    """Variances are divided by what a factorisation may be off: 2.4e-6 at a range of 2,500 spacings.

    docs/exact-paths.md, section 4: 1e-9, and 2 psi, which grows as the precision comes near a singular one.
    """
    prior = CarPrior.make(lattice, lengthscale)  # type: ignore[arg-type]
    check_m_matrix(prior.precision, prior.prior_variance)
    assert 1 - below < prior.prior_variance.max() <= 1


def test_the_covariance_on_the_domain_alone_is_again_the_inverse_of_one() -> None:
    """Records lie in the domain only: the Schur complement that leaves the padding out keeps the property."""
    lattice = disk(3, padding=3)
    inverse = np.linalg.inv(CarPrior.make(lattice, 1_500.0).correlation())
    off = inverse[~np.eye(lattice.size, dtype=bool)]
    assert off.max() < 1e-9
    assert inverse.sum(axis=1).min() > -1e-9


def test_posterior_weights_of_car_sum_to_at_most_one_and_those_of_the_plane_exponential_do_not() -> None:
    lattice = disk(3)
    ridge = 0.05
    largest = {}
    for name in ("car", "exponential"):
        covariance = make_prior(name, lattice, 3_000.0).correlation()
        seen = np.arange(0, lattice.size, 2)
        gram = covariance[np.ix_(seen, seen)] + ridge**2 * np.eye(seen.size)
        weights = np.linalg.solve(gram, covariance[seen]).T
        largest[name] = float(np.abs(weights).sum(axis=1).max())
    assert largest["car"] <= 1.0 + 1e-12
    assert largest["exponential"] > 1.02


@pytest.mark.parametrize("name", sorted(set(PRIORS) - {"car"}))
@pytest.mark.parametrize("lengthscale", [800.0, 4_000.0])
def test_theorem_b_is_refused_for_kernels_in_the_plane(name: str, lengthscale: float) -> None:
    inverse = np.linalg.inv(make_prior(name, disk(3), lengthscale).correlation())
    inverse = 0.5 * (inverse + inverse.T)
    with pytest.raises(NotAnMMatrix, match="Theorem B does not apply"):
        check_m_matrix(sparse.csr_matrix(inverse), np.ones(37))


def test_theorem_b_would_hold_for_the_exponential_on_a_line() -> None:
    covariance = make_prior("exponential", line(9), 800.0).correlation()
    inverse = np.linalg.inv(covariance)
    inverse[np.abs(inverse) < 1e-12] = 0.0
    check_m_matrix(sparse.csr_matrix(0.5 * (inverse + inverse.T)), np.ones(9))


BROKEN = {
    "positive off-diagonal": ([[2.0, 0.5], [0.5, 2.0]], "positive off-diagonal entry"),
    "negative row sum": ([[1.0, -1.5], [-1.5, 4.0]], "negative row sum"),
    "asymmetric": ([[2.0, -1.0], [-0.5, 2.0]], "not symmetric"),
}


@pytest.mark.parametrize(("matrix", "reason"), BROKEN.values(), ids=BROKEN.keys())
def test_each_broken_premise_has_its_own_sentence(matrix: list[list[float]], reason: str) -> None:
    with pytest.raises(NotAnMMatrix, match=reason):
        check_m_matrix(sparse.csr_matrix(np.array(matrix)), np.ones(2))


@pytest.mark.parametrize("variance", [[0.5, 1.0 + 1e-9], [0.5, np.nan], [np.inf, 1.0]])
def test_a_variance_above_one_is_refused(variance: list[float]) -> None:
    with pytest.raises(NotAnMMatrix, match="rescale"):
        check_m_matrix(sparse.csr_matrix(np.eye(2)), np.array(variance))


def test_a_row_sum_that_rounding_could_have_made_positive_is_refused() -> None:
    """A row sum of zero up to rounding is not certified: the check subtracts the summation's error."""
    matrix = np.array([[0.1 + 0.2, -0.3], [-0.3, 0.1 + 0.2]])
    assert matrix.sum(axis=1).min() > 0
    with pytest.raises(NotAnMMatrix, match="negative row sum"):
        check_m_matrix(sparse.csr_matrix(matrix), np.ones(2))
