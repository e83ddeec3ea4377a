"""Group privacy at the same delta: exact for Gaussian releases, never below the truth otherwise."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from dpgp_core import BOUNDS, ORDERS, RdpCurve, gaussian_epsilon, gaussian_mu
from dpgp_core.accounting.composition import Cost, compose, epsilon
from dpgp_core.accounting.guarantee import chain_epsilon, group_cost, group_curve, group_epsilon
from dpgp_core.accounting.rdp import covariance_term, leverage, rdp_from_shift
from dpgp_core.accounting.tails import GaussianPairs, renyi_tails
from tests.oracles.divergence import renyi
from tests.oracles.hockey import finite_renyi, gaussian_profile, mp_gaussian_profile


def london(pairs: bool) -> Cost:
    """The default kind of release: n = 11,000 sales, ridge 10, one path that costs 1 at 1e-5 by its curve."""
    p = leverage(10.0, 1.0)
    shift = BOUNDS["joint-sharp"].mean_shift(ORDERS, n=11_000, ridge=10.0, variance=1.0, noise_share=0.0)
    values = rdp_from_shift(ORDERS, shift, covariance_term(ORDERS, p), np.asarray(0.272440), 1)
    return Cost.renyi(RdpCurve(values), GaussianPairs(float(p)) if pairs else None)


@pytest.mark.parametrize(
    ("pairs", "known"),
    [
        (False, {1: 1.0, 2: 2.1415, 5: 6.0656, 10: 14.042}),
        (True, {1: 0.9151, 2: 1.9756, 5: 5.6259, 10: 13.129}),
    ],
)
def test_a_default_release_keeps_a_guarantee_for_ten_records(pairs: bool, known: dict[int, float]) -> None:
    """Solving q e^((q-1) epsilon) delta' = delta for delta' gives 2.21, 6.85 and 18.4 by the curve alone:
    what is returned is below. (q epsilon, q e^((q-1) epsilon) delta) would say nothing at q = 10."""
    cost = london(pairs)
    for q, value in known.items():
        assert group_epsilon(cost, q, 1e-5).epsilon == pytest.approx(value, rel=2e-4)
    assert group_epsilon(cost, 2, 1e-5).epsilon < 2.21
    assert group_epsilon(cost, 10, 1e-5).epsilon < 18.4


def test_gaussian_releases_have_exact_groups() -> None:
    mu = gaussian_mu(1.0, 1e-5)
    for q, value in ((2, 2.15468), (5, 6.16694), (10, 14.42927)):
        found = group_epsilon(Cost.gaussian(mu), q, 1e-5)
        assert (found.method, found.epsilon) == ("gaussian", pytest.approx(value, rel=1e-5))
        assert found.epsilon >= gaussian_epsilon(q * mu, 1e-5)


@pytest.mark.parametrize("q", [2, 3, 7, 50])
def test_the_group_curve_of_a_gaussian_is_attained(q: int) -> None:
    """alpha (q mu)^2/2 exactly, in the middle of the grid; above it everywhere."""
    mu = 0.3 / q
    got, exact = group_curve(RdpCurve.gaussian(mu), q).values, 0.5 * ORDERS * (q * mu) ** 2
    assert np.all(got >= exact * (1.0 - 1e-12))
    assert np.all(got[200:400] <= exact[200:400] * 1.002)


def test_no_chain_of_distributions_exceeds_the_group_curve() -> None:
    """Random chains on five points whose neighbours all obey the same curve, in both directions.

    Theorem 5 of docs/accounting.md.
    """
    random, closest = np.random.default_rng(8), 0.0
    for _ in range(8):
        tilt = random.normal(size=5) * 0.3
        base = random.dirichlet(np.full(5, 5.0))
        chain = [base * np.exp(i * tilt + 0.02 * random.normal(size=5)) for i in range(5)]
        chain = [row / row.sum() for row in chain]
        each = [finite_renyi(a, b, ORDERS) for a, b in pairwise(chain)]
        each += [finite_renyi(b, a, ORDERS) for a, b in pairwise(chain)]
        curve = RdpCurve(np.maximum(0.0, np.max(each, axis=0)) * (1.0 + 1e-9) + 1e-13)
        for q in (2, 4):
            got = group_curve(curve, q).values
            exact = finite_renyi(chain[0], chain[q], ORDERS)
            assert np.all(exact <= got * (1.0 + 1e-9))
            closest = max(closest, float(np.max(exact[:400] / got[:400])))
    assert closest > 0.8
    weaker = group_curve(RdpCurve(RdpCurve.gaussian(0.3).values * 0.9), 3).values
    assert np.any(weaker < 0.5 * ORDERS * 0.9**2)  # a curve that is too low is caught by the exact group


def test_no_chain_of_gaussian_pairs_exceeds_the_group_epsilon() -> None:
    """Posterior-like steps: means move, covariances change; the ends of the chain against what is claimed."""
    random = np.random.default_rng(9)
    for _ in range(3):
        p, q = 0.02, 4
        step = 0.3 * np.array([1.0, 0.0]) + 0.02 * random.normal(size=2)
        angles = random.uniform(0.0, math.pi, size=q + 1)
        covs = [np.eye(2) - p * np.outer(g, g) for g in np.stack([np.cos(angles), np.sin(angles)], axis=1)]
        means = [i * step for i in range(q + 1)]
        curves = [
            renyi(means[a][None], covs[a][None], means[b][None], covs[b][None], ORDERS)[0]
            for i in range(q)
            for a, b in ((i, i + 1), (i + 1, i))
        ]
        curve = RdpCurve(np.maximum(0.0, np.max(curves, axis=0)) * (1.0 + 1e-9) + 1e-13)
        for cost in (Cost.renyi(curve), Cost.renyi(curve, GaussianPairs(1.05 * p))):
            found = group_epsilon(cost, q, 1e-4)
            exact = gaussian_profile(means[0], covs[0], means[q], covs[q], 1, found.epsilon, 4.0)
            assert exact <= 1e-4
            assert exact >= 1e-6


def test_the_chain_of_hockey_sticks_never_falls_below_a_gaussian_group() -> None:
    """Its steps are Gaussian profiles from above, so the exact group epsilon is a lower bound.

    Theorem 6 of docs/accounting.md.
    """
    tails = renyi_tails(RdpCurve.gaussian(0.25))
    for q in (2, 3, 8):
        found = chain_epsilon(tails, q, 1e-5, 60.0)
        with mpmath.workdps(30):
            assert mp_gaussian_profile(0.25 * q, found) <= 1e-5
        assert found <= 1.25 * gaussian_epsilon(0.25 * q, 1e-5)
    assert math.isinf(chain_epsilon(tails, 2, 1e-5, 0.5))


def test_groups_of_accounts_and_of_pure_releases() -> None:
    account = compose([Cost.gaussian(0.1), Cost.gaussian(0.2), Cost.pure(0.05)])
    group = group_cost(account, 3)
    assert [part.gaussian_mu for part in group.releases[:2]] == pytest.approx([0.3, 0.6])
    assert group.releases[2].pure_epsilon == pytest.approx(0.15)
    assert epsilon(account, 1e-5).epsilon < group_epsilon(account, 3, 1e-5).epsilon
    assert group_epsilon(Cost.pure(0.05), 3, 1e-5).epsilon == pytest.approx(0.15, rel=1e-3)
    assert group_epsilon(account, 1, 1e-5) == epsilon(account, 1e-5)
    assert group_epsilon(Cost.nothing(), 4, 1e-5).epsilon == 0.0
    assert group_cost(account, 1) is account
    nothing = Cost.nothing()
    assert group_cost(nothing, 4) is nothing
    far = Cost.gaussian(0.1, distance=1e-9)
    assert group_cost(far, 5).distance == 1e-9


def test_orders_without_a_value_are_never_interpolated() -> None:
    values = np.where(ORDERS > 40.0, np.inf, RdpCurve.gaussian(0.2).values)
    got = group_curve(RdpCurve(values), 3).values
    assert np.all(np.isinf(got[ORDERS > 40.0]))
    assert math.isfinite(group_epsilon(Cost.renyi(RdpCurve(values)), 3, 1e-5).epsilon)
    nothing = Cost.renyi(RdpCurve(np.full(ORDERS.shape, np.inf)))
    assert math.isinf(group_epsilon(nothing, 3, 1e-5).epsilon)
    with pytest.raises(ValueError, match="q"):
        group_epsilon(nothing, 0, 1e-5)
