"""Attack every bound with the oracle's neighbouring datasets; a broken accountant must not survive it."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dpgp_core import (
    BOUNDS,
    ORDERS,
    PRIORS,
    BoundRefused,
    Prior,
    make_prior,
    sensitivity_bounds,
    variance_bound,
)
from dpgp_core.accounting.rdp import covariance_term, leverage, rdp_from_shift
from dpgp_core.bounds.sensitivities import SOURCES
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign, path_guarantee
from tests.dpgp_core.hexmap import disk
from tests.oracles.adversary import FAMILIES, Family, Floats, Pairs, breaches, climb, random_pairs
from tests.oracles.divergence import mp_posterior, mp_renyi, posterior, white_basis

# (n, ridge): small and large n, tiny and huge ridges.
SETTINGS = ((1, 1.0), (1, 0.02), (2, 0.05), (3, 0.4), (8, 1.0), (8, 60.0), (60, 3.0), (700, 5.0), (5000, 0.1))


def variance_of(pairs: Pairs) -> float:
    return variance_bound(pairs.n, pairs.ridge, pairs.kappa)


def bounds_of(family: Family | Prior) -> list[str]:
    """The bounds claimed for a family or a prior that are in the registry."""
    return [bound for bound in family.bounds if bound in BOUNDS]


def claimed(bound: str, pairs: Pairs) -> float:
    """The claimed sensitivity; joint bounds claim no sensitivity alone, so theirs is Theorem A+'s."""
    bound = bound if bound in SOURCES else "sharp"
    return float(sensitivity_bounds(bound, pairs.n, pairs.ridge, variance_of(pairs)))


def price(
    bound: str, pairs: Pairs, orders: Floats, scale: float, noise: float, factor: float = 1.0
) -> Floats:
    """What the accountant charges; `factor` < 1 on the sensitivity makes a broken one."""
    total = np.hypot(scale, noise)
    share, variance = (noise / total) ** 2, variance_of(pairs)
    shift = BOUNDS[bound].mean_shift(
        orders, n=pairs.n, ridge=pairs.ridge, variance=variance, noise_share=share
    )
    covariance = covariance_term(orders, leverage(pairs.ridge, variance, share))
    return rdp_from_shift(orders, factor**2 * shift, covariance, total, 1)


def broken_price(bound: str, pairs: Pairs, orders: Floats, scale: float, noise: float) -> Floats:
    return price(bound, pairs, orders, scale, noise, 0.5)


def orders_around(ridge: float, variance: float) -> Floats:
    """Orders next to 1, ordinary ones, and up to the end of the admissible range and beyond."""
    reach = ridge**2 / variance
    return np.unique(
        1.0 + np.array([1e-3, 0.1, 1.0, 10.0, 0.5 * reach, 0.99 * reach, 0.99999 * reach, 1.1 * reach])
    )


def worst_breach(pairs: Pairs, charge: object, bound: str) -> float:
    """Largest breach over orders, for scales where the mean, the covariance, or added noise dominates."""
    worst, delta = -np.inf, claimed(bound, pairs)
    orders = orders_around(pairs.ridge, variance_of(pairs))
    for scale, noise in ((0.3, 0.0), (3.0, 0.0), (1e3, 0.0), (1.0, 1.0), (0.2, 3.0)):
        found = breaches(pairs, charge, bound, orders, scale * delta, noise * delta)
        worst = max(worst, float(found.max()))
    return worst


def attacked(family: Family, n: int, ridge: float, seed: int, size: int, rounds: int) -> tuple[Pairs, float]:
    """Pairs found by hill climbing, and the largest true sensitivity among them."""
    random = np.random.default_rng([seed, n, int(1000 * ridge)])
    found, reached = climb(random, family, random_pairs(random, family, size, n, ridge), rounds)
    return found, float(reached.max())


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_no_neighbouring_pair_exceeds_a_bound(family: Family) -> None:
    """Random and optimised pairs, exact divergences at all orders, all bounds claimed for the family."""
    for n, ridge in SETTINGS:
        loose = random_pairs(np.random.default_rng([1, n]), family, 12, n, ridge)
        found, reached = attacked(family, n, ridge, 2, 16, 25)
        for bound in bounds_of(family):
            assert reached <= claimed(bound, found) * (1.0 + 1e-6), (bound, n, ridge)
            for pairs in (loose, found):
                assert worst_breach(pairs, price, bound) <= 0.0, (bound, n, ridge)


def on_the_map(name: str, lengthscale: float) -> tuple[Family, Prior]:
    """A prior of the registry on 19 hexagons, as a family of one kernel."""
    prior = make_prior(name, disk(2, padding=2), lengthscale)
    kernel = prior.correlation()
    return Family(name, lambda random, size, cells: np.tile(kernel, (size, 1, 1)), prior.bounds, 19), prior


@pytest.mark.parametrize("name", PRIORS)
def test_no_prior_of_the_registry_breaks_a_bound_it_declares(name: str) -> None:
    """The same attack on the priors really used, priced by `path_guarantee` with the facts they declare."""
    for lengthscale in (300.0, 5_000.0):
        family, prior = on_the_map(name, lengthscale)
        for n, ridge in ((1, 1.0), (3, 0.3), (900, 12.0)):
            found, reached = attacked(family, n, ridge, 7, 12, 20)
            exact_orders = np.isin(ORDERS, ORDERS[::60])
            for bound in bounds_of(prior):
                variance = variance_bound(n, ridge, prior.kappa)
                delta = float(sensitivity_bounds(bound if bound in SOURCES else "sharp", n, ridge, variance))
                assert reached <= delta * (1.0 + 1e-6), (bound, lengthscale, n, ridge)
                for scale, noise in ((0.5, 0.0), (20.0, 0.0), (0.5, 1.0), (0.0, 0.7)):
                    scales = {"scale": scale * delta, "noise_scale": noise * delta}
                    design = PosteriorSamplingDesign(name, lengthscale, ridge, bound=bound, **scales)
                    claim = path_guarantee(design, n, prior).curve.values[exact_orders]
                    exact = found.divergence(ORDERS[exact_orders], scale * delta, noise * delta)
                    slack = 1e-6 * claim + 1e-11 / (ORDERS[exact_orders] - 1.0)
                    assert np.all((exact <= claim + slack) | np.isinf(claim)), (bound, n, ridge, scale)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_long_attack_finds_no_breach_either(family: Family) -> None:
    for n, ridge in SETTINGS:
        found, reached = attacked(family, n, ridge, 10, 64, 300)
        for bound in bounds_of(family):
            assert reached <= claimed(bound, found) * (1.0 + 1e-6), (bound, n, ridge)
            assert worst_breach(found, price, bound) <= 0.0, (bound, n, ridge)


@pytest.mark.parametrize("bound", [name for name, bound in BOUNDS.items() if bound.proved])
def test_a_broken_accountant_is_caught(bound: str) -> None:
    """Mutant: half the sensitivity. The same suite that passes the true accountant finds a breach."""
    caught = False
    for family in FAMILIES:
        for n, ridge in ((1, 1.0), (2, 0.05), (3, 0.4), (8, 1.0)):
            if bound in family.bounds and not caught:
                found, _ = attacked(family, n, ridge, 2, 16, 25)
                assert worst_breach(found, price, bound) <= 0.0
                caught = worst_breach(found, broken_price, bound) > 0.05
    assert caught, bound


def worst_ratio(name: str, bound: str, settings: tuple[tuple[int, float], ...], rounds: int) -> float:
    """Largest ratio of true to claimed sensitivity that an attack reaches."""
    family = next(family for family in FAMILIES if family.name == name)
    ratios = []
    for n, ridge in settings:
        found, reached = attacked(family, n, ridge, 5, 48, rounds)
        ratios.append(reached / claimed(bound, found))
    return max(ratios)


def test_theorem_b_is_attained() -> None:
    """The worst ratio of true to claimed sensitivity for inverse M-matrices comes close to 1, never above.

    Theorem B of docs/mathematics.md.
    """
    worst = worst_ratio("inverse M-matrix", "maximum-principle", ((2, 0.01), (3, 0.01), (2, 0.003)), 80)
    print(f"worst ratio for Theorem B: {worst:.6f}")
    assert 0.99 < worst <= 1.0 + 1e-6


def test_theorem_a_plus_is_nearly_attained() -> None:
    """Theorem A+ is not far from the truth: pairs on few cells already reach a large part of it.

    Theorem A+ of docs/mathematics.md.
    """
    worst = worst_ratio("star of orthogonal cells", "sharp", ((13, 1.0), (13, 3.0)), 80)
    print(f"worst ratio for Theorem A+: {worst:.4f}")
    assert 0.8 < worst <= 1.0 + 1e-6


def test_the_premise_of_theorem_b_fails_for_the_exponential_prior_on_the_plane() -> None:
    """Its posterior weights can add up to more than 1 in size, so |m_D0| <= M is false there."""
    side = np.linspace(0.0, 1.0, 7)
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(1, -1, 2)
    kernel = np.exp(-np.linalg.norm(points[:, :, None] - points[:, None], axis=-1) / 2.0)
    others = np.arange(49) != 24
    counts = np.where(others, 1e4, 0.0)[None]
    weights = np.linalg.solve(kernel[0][others][:, others], kernel[0][others, 24])
    responses = np.zeros((1, 49))
    responses[0, others] = np.sign(weights)
    basis = white_basis(kernel)
    mean, _ = posterior(basis, counts, responses, 0.1)
    assert (basis[0] @ mean[0])[24] > 1.1


def test_theorem_b_is_refused_for_the_exponential_prior_on_the_plane() -> None:
    prior = make_prior("exponential", disk(2), 1000.0)
    design = PosteriorSamplingDesign("exponential", 1000.0, 5.0, 0.3, bound="maximum-principle")
    with pytest.raises(BoundRefused, match="does not hold for the prior 'exponential'"):
        path_guarantee(design, 600, prior)
    lattice_prior = make_prior("car", disk(2), 1000.0)
    assert path_guarantee(design, 600, lattice_prior).bound == "maximum-principle"


def test_the_rkhs_bound_is_the_exact_supremum_over_functions() -> None:
    """For fixed places the worst f of norm 1 is an eigenvector; it never exceeds V/(V+r^2), but nears it."""
    random = np.random.default_rng(3)
    worst = 0.0
    for family in FAMILIES:
        for n, ridge in ((1, 0.3), (2, 0.3), (9, 1.0), (9, 0.02), (400, 5.0)):
            pairs = random_pairs(random, family, 20, n, ridge)
            rows, basis = np.arange(len(pairs.counts)), pairs.basis
            maps = []  # from a function's coordinates to the posterior mean's, when every response is f(x)
            for which in (0, 1):
                counts = pairs.counts.astype(float)
                np.add.at(counts, (rows, pairs.cells[:, which]), 1.0)
                _, covariance = posterior(basis, counts, 0.0 * counts, ridge)
                maps.append(np.eye(basis.shape[-1]) - covariance)
            core = pairs.dataset(None)[1]
            difference = maps[0] - maps[1]
            squares = difference.transpose(0, 2, 1) @ np.linalg.solve(core, difference)
            true = np.sqrt(np.maximum(0.0, np.linalg.eigvalsh(squares)[:, -1]))
            ratio = true / claimed("rkhs", pairs)
            assert np.all(ratio <= 1.0 + 1e-6), (family.name, n, ridge)
            worst = max(worst, float(ratio.max()))
    assert worst > 0.95


def test_claims_stand_in_exact_arithmetic_where_floats_are_blind() -> None:
    """50 digits, records written out one by one: huge ridges and orders next to 1, where claims are tiny."""
    with mpmath.workdps(50):
        random = np.random.default_rng(4)
        for ridge in (1e4, 50.0, 0.5, 0.003):
            points = random.random((3, 2))
            kernel = np.exp(-np.linalg.norm(points[:, None] - points[None], axis=-1))
            exact_kernel = mpmath.matrix(kernel.tolist())
            core, signs = [2, 2, 1], [1, -1, 1]
            left = mp_posterior(exact_kernel, [*core, 0], [*signs, 1], mpmath.mpf(ridge))
            right = mp_posterior(exact_kernel, [*core, 1], [*signs, -1], mpmath.mpf(ridge))
            variance = variance_bound(4, ridge, float(kernel.min()))
            delta = float(sensitivity_bounds("sharp", 4, ridge, variance))
            for scale in (0.1 * delta, 100.0 * delta):
                for order in (1.0 + 1e-3, 1.0 + 0.5 * ridge**2, 1.0 + 0.999 * ridge**2 / variance):
                    grid = np.array([order])
                    shift = BOUNDS["sharp"].mean_shift(grid, n=4, ridge=ridge, variance=variance)
                    covariance = covariance_term(grid, leverage(ridge, variance))
                    claim = float(rdp_from_shift(grid, shift, covariance, scale, 1)[0])
                    s2 = mpmath.mpf(scale) ** 2
                    exact = mp_renyi(left[0], s2 * left[1], right[0], s2 * right[1], mpmath.mpf(order))
                    assert 0 < exact <= claim, (ridge, scale, order)
