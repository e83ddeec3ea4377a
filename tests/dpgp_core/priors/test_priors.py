"""Every prior of the registry: a valid correlation, honest facts, bounds only where they are proved."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dpgp_core.errors import NumericalFailure, PriorError
from dpgp_core.priors.car import LONGEST, CarPrior
from dpgp_core.priors.dense import DensePrior, squared_exponential
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import PRIORS, PriorFamily, make_prior
from tests.dpgp_core.hexmap import disk, islands, line

LATTICES = {"disk": disk(3, padding=2), "line": line(12), "islands": islands(), "one cell": disk(0)}
GENERIC = {"triangle", "separate", "sharp", "joint-sharp"}
MAXIMUM = {"maximum-principle", "joint-maximum-principle"}

every_prior = pytest.mark.parametrize("name", sorted(PRIORS))
every_lattice = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES.keys())
every_range = pytest.mark.parametrize("lengthscale", [50.0, 900.0, 20_000.0])


@every_prior
@every_lattice
@every_range
def test_covariance_is_positive_definite_with_unit_maximum(
    name: str, lattice: Lattice, lengthscale: float
) -> None:
    matrix = make_prior(name, lattice, lengthscale).correlation()
    assert matrix.shape == (lattice.size, lattice.size)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix).min() > 0
    assert 1 - 1e-8 <= matrix.diagonal().max() <= 1.0


@every_prior
@every_lattice
@every_range
def test_kappa_is_a_lower_bound_of_every_covariance(name: str, lattice: Lattice, lengthscale: float) -> None:
    prior = make_prior(name, lattice, lengthscale)
    assert 0 <= prior.kappa <= prior.correlation().min()


@every_prior
def test_kappa_is_worth_having_for_long_ranges(name: str) -> None:
    prior = make_prior(name, disk(2, padding=1), 50_000.0)
    assert prior.kappa >= 0.9 * prior.correlation().min() > 0.2


@every_prior
@every_lattice
def test_colour_draws_the_prior(name: str, lattice: Lattice) -> None:
    prior = make_prior(name, lattice, 900.0)
    root = prior.colour(np.eye(prior.white_size))
    np.testing.assert_allclose(root @ root.T, prior.correlation(), atol=1e-12)


@every_prior
@every_range
def test_bounds_are_declared_only_where_proved(name: str, lengthscale: float) -> None:
    flat, row = make_prior(name, disk(3), lengthscale), make_prior(name, line(12), lengthscale)
    assert set(flat.bounds) >= GENERIC
    assert (set(flat.bounds) & MAXIMUM == MAXIMUM) == (name == "car")
    assert "line-exponential" not in flat.bounds
    assert "line-exponential" not in row.bounds, "the root in whole numbers is not quite that kernel"
    assert not {"paper-code", "rkhs", "constant"} & set(flat.bounds)


@every_prior
def test_a_prior_says_itself_whether_its_precision_is_sparse(name: str) -> None:
    prior = make_prior(name, disk(3, padding=1), 900.0)
    assert prior.graph is (prior if name == "car" else None)
    assert PRIORS[name].sparse == (prior.graph is not None)


def test_a_family_states_its_title_and_the_exponent_of_its_spectrum() -> None:
    """Exponents in the plane: nu + 1 for Matern kernels with nu = 1/2 and 3/2, 1 for the neighbour graph."""
    assert {name: (family.title, family.decay) for name, family in PRIORS.items()} == {
        "exponential": ("exponential kernel", 1.5),
        "car": ("neighbour graph (CAR)", 1.0),
        "matern32": ("Matérn 3/2 kernel", 2.5),
        "squared-exponential": ("squared exponential kernel", 6.0),
    }


@pytest.mark.parametrize("decay", [{}, {"decay": 0.0}, {"decay": -1.5}, {"decay": float("inf")}])
def test_a_family_without_the_exponent_of_its_spectrum_is_refused(decay: dict[str, float]) -> None:
    with pytest.raises(PriorError, match=r"^the prior 'cubic' must state its decay, a positive exponent"):
        PriorFamily("cubic", "cubic kernel", True, CarPrior.make, **decay)


def test_a_family_without_a_title_is_refused() -> None:
    with pytest.raises(PriorError, match=r"^a prior needs a name and a title in words\.$"):
        PriorFamily("cubic", "", True, CarPrior.make, 1.5)


@every_prior
@pytest.mark.parametrize("lengthscale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_lengthscale_that_is_no_length_is_refused(name: str, lengthscale: float) -> None:
    with pytest.raises(ValueError, match="lengthscale must be a positive length"):
        make_prior(name, disk(1), lengthscale)


def test_an_unknown_prior_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"unknown prior 'cubic': choose one of car, exponential"):
        make_prior("cubic", disk(1), 900.0)


def test_exponential_is_the_kernel_of_the_paper() -> None:
    lattice = disk(2, spacing=400.0)
    matrix = make_prior("exponential", lattice, 900.0).correlation()
    first, second = lattice.domain_centres[3], lattice.domain_centres[11]
    assert matrix[3, 11] == pytest.approx(np.exp(-np.hypot(*(first - second)) / 900.0), rel=1e-14)


def test_a_nugget_is_declared_and_part_of_the_correlation() -> None:
    prior = make_prior("squared-exponential", disk(2), 900.0)
    assert isinstance(prior, DensePrior)
    assert prior.nugget == 1e-6
    bare = DensePrior("bare", disk(2), 900.0, squared_exponential)
    off = ~np.eye(19, dtype=bool)
    np.testing.assert_allclose(
        prior.correlation()[off], (1 - prior.nugget) * bare.correlation()[off], rtol=1e-14
    )


def test_a_singular_correlation_raises_one_sentence_and_is_never_repaired() -> None:
    prior = DensePrior("bare", disk(5), 40_000.0, squared_exponential)
    with pytest.raises(NumericalFailure, match=r"^the correlation matrix of the prior 'bare'.*shorter"):
        prior.colour(np.eye(prior.size))


def test_a_dense_prior_refuses_a_domain_that_does_not_fit_in_memory() -> None:
    with pytest.raises(ValueError, match="at most 10,000 cells, not 10,981: use the prior 'car'"):
        make_prior("exponential", disk(60), 900.0)


def test_car_variances_keep_below_one_at_the_longest_lengthscale_and_longer_ones_are_refused() -> None:
    """In exact arithmetic: rounding near singularity lifts no variance above 1, nor kappa above the least."""
    lattice = disk(1, padding=1)
    prior = make_prior("car", lattice, LONGEST * lattice.spacing)
    assert isinstance(prior, CarPrior)
    with mpmath.workdps(40):
        exact = mpmath.matrix(prior.precision.toarray().tolist()) ** -1
        entries = [exact[int(i), int(j)] for i in lattice.inside for j in lattice.inside]
        assert max(entries) <= 1
        assert 0.9 < prior.kappa <= min(entries)
    with pytest.raises(ValueError, match="at most 10,000 cell spacings"):
        make_prior("car", lattice, 1.01 * LONGEST * lattice.spacing)


def test_car_precision_is_the_inverse_of_its_covariance() -> None:
    lattice = disk(3, padding=2)
    prior = CarPrior.make(lattice, 900.0)
    inverse = np.linalg.inv(prior.precision.toarray())[np.ix_(lattice.inside, lattice.inside)]
    np.testing.assert_allclose(prior.correlation(), inverse, atol=1e-13)
    np.testing.assert_allclose(prior.prior_variance, inverse.diagonal(), atol=1e-13)


def test_car_lengthscale_is_the_decay_length_in_metres() -> None:
    """Far away the covariance falls like exp(-d/l)/sqrt(d), the law of 1/l^2 - Laplace in the plane."""
    lattice = disk(40, spacing=400.0)
    middle = int(np.argmin(np.linalg.norm(lattice.centres, axis=1)))
    distance = np.linalg.norm(lattice.centres, axis=1)
    unit = np.zeros(lattice.size)
    unit[middle] = 1.0
    for lengthscale in (1_200.0, 2_400.0):
        column = CarPrior.make(lattice, lengthscale).factor.solve(unit)
        far = (distance > 2 * lengthscale) & (distance < 4 * lengthscale)
        slope = np.polyfit(distance[far], np.log(column[far] * np.sqrt(distance[far])), 1)[0]
        assert -1 / slope == pytest.approx(lengthscale, rel=0.05)


def test_padding_keeps_car_variances_even() -> None:
    def spread(padding: int) -> float:
        variance = CarPrior.make(disk(6, padding=padding), 2_000.0).prior_variance
        return float(variance.max() / variance.min())

    assert spread(0) > spread(3) > spread(8) > 1
    assert spread(8) < 1.1 * spread(20)


def test_one_order_serves_all_priors_of_a_lattice() -> None:
    lattice = disk(4)
    first, second = CarPrior.make(lattice, 500.0), CarPrior.make(lattice, 5_000.0)
    assert first.factor.ordering is second.factor.ordering is lattice.ordering


def test_an_absorbing_edge_keeps_the_rim_from_setting_the_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell's variance stays near the largest, which is what the guarantee is priced at."""

    def evenness(lengthscale: float) -> float:
        variance = CarPrior.make(disk(12, padding=3), lengthscale).prior_variance
        return float(variance.mean() / variance.max())

    ranges = (600.0, 1_200.0, 2_400.0)
    absorbing = [evenness(lengthscale) for lengthscale in ranges]
    monkeypatch.setattr("dpgp_core.priors.car.EDGE_FACTOR", 0.0)
    reflecting = [evenness(lengthscale) for lengthscale in ranges]
    assert min(absorbing) > 0.97
    assert all(one > other for one, other in zip(absorbing, reflecting, strict=True))
    assert min(reflecting) < 0.9
