"""Costs for different neighbours: refused as a sum, priced for common ones, attacked by exact deltas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpgp_core.accounting.composition import Cost, Neighbours, compose, delta, epsilon
from dpgp_core.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu
from dpgp_core.accounting.guarantee import group_epsilon, priced_for, together, weakest
from dpgp_core.accounting.rdp import RdpCurve
from dpgp_core.errors import InvalidValue
from dpgp_core.features.gridded import InnerProducts
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.cost import SpectralNoise, exchange_mu, noise_for, release_mu
from tests.dpgp_core.hexmap import disk

DELTA = 1e-5
ONE = gaussian_mu(1.0, DELTA)  # of a release that costs epsilon 1


def test_two_of_one_record_more_or_less_and_one_exchange_cost_what_is_true() -> None:
    """Added as if they were alike they said 1.835; the first two cost an exchange sqrt(2.3709) as much."""
    products = InnerProducts(1.0, -0.18545, 2.3709)
    noise = noise_for(ONE, products, "add-or-remove")
    exchange = exchange_mu(products, noise, "add-or-remove")
    assert exchange == release_mu(products, noise, "replace-one")
    first = Cost.gaussian(ONE).among("add-or-remove", exchange)
    costs = (first, first, Cost.gaussian(ONE))
    assert gaussian_epsilon(math.sqrt(3.0) * ONE, DELTA) == pytest.approx(1.835, abs=1e-3)
    assert epsilon(together(costs), DELTA).epsilon == pytest.approx(2.640, abs=1e-3)
    assert together(costs).neighbours == "replace-one"
    unknown = Cost.gaussian(ONE).among("add-or-remove")  # no price of its own: two steps, so 4 + 4 + 1 = 3^2
    assert epsilon(together((unknown, unknown, Cost.gaussian(ONE))), DELTA).epsilon == pytest.approx(
        gaussian_epsilon(3.0 * ONE, DELTA), rel=1e-9
    )
    assert gaussian_epsilon(3.0 * ONE, DELTA) == pytest.approx(3.407, abs=1e-3)


def test_costs_for_different_neighbours_do_not_add() -> None:
    three = [Cost.gaussian(ONE).among(one) for one in ("values-only", "replace-one", "add-or-remove")]
    for first, second in itertools.combinations(three, 2):
        with pytest.raises(InvalidValue, match="do not add"):
            compose((first, second))
        with pytest.raises(InvalidValue, match="do not add"):
            epsilon((first, second), DELTA)
    assert [weakest(three[k:]) for k in range(4)] == [
        "values-only",
        "replace-one",
        "add-or-remove",
        "add-or-remove",
    ]
    alike = compose((three[0], three[0]))
    assert alike.neighbours == "values-only"
    assert compose((alike, three[0])).neighbours == "values-only"


def test_a_weaker_promise_is_never_priced_as_a_stronger_one() -> None:
    order: tuple[Neighbours, ...] = ("values-only", "replace-one", "add-or-remove")
    for have, want in itertools.product(range(3), repeat=2):
        for made in (Cost.gaussian(0.3), Cost.pure(0.3), Cost.renyi(RdpCurve.gaussian(0.3))):
            priced = priced_for(made.among(order[have]), order[want])
            assert priced.neighbours == order[want]
            found = epsilon(priced, DELTA).epsilon
            assert math.isinf(found) == (want > have)
            assert delta(priced, 3.0) == (1.0 if want > have else pytest.approx(0.0, abs=0.01))
            mixed = epsilon(compose((priced, Cost.gaussian(0.1).among(order[want]))), DELTA).epsilon
            assert math.isinf(mixed) == (want > have)
    assert epsilon(priced_for(Cost.nothing(), "add-or-remove"), DELTA).epsilon == 0.0


def test_an_exchange_takes_the_cheaper_of_its_own_price_and_two_steps() -> None:
    for own, paid in ((0.5, 0.5), (0.7, 0.6), (None, 0.6)):
        cost = Cost.gaussian(0.3, 2.0**-150).among("add-or-remove", own)
        priced = priced_for(cost, "replace-one")
        assert priced.gaussian_mu == pytest.approx(paid, rel=1e-9)
        assert (priced.exchange_mu, priced.distance) == (None, 2.0**-150)
        assert priced_for(cost, "values-only").gaussian_mu == priced.gaussian_mu
    assert priced_for(Cost.pure(0.3).among("add-or-remove"), "replace-one").pure_epsilon == pytest.approx(0.6)
    three = group_epsilon(Cost.gaussian(0.3).among("add-or-remove", 0.5), 3, DELTA).epsilon
    assert three == pytest.approx(gaussian_epsilon(0.9, DELTA), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_no_pair_of_neighbours_is_told_apart_better_than_the_sum_says(seed: int) -> None:
    """All exchanges on random features, several releases of both relations: their exact joint delta."""
    generator = np.random.default_rng(seed)
    cells, responses = 9, (-1.0, 1.0)
    joint = np.zeros((2 * cells, 2 * cells))
    costs = []
    for kind in ("add-or-remove", "add-or-remove", "replace-one"):
        features = generator.normal(size=(cells, 4))
        features /= np.linalg.norm(features, axis=1).max()
        products = _products(features)
        noise = SpectralNoise(2.0, 2.0 * generator.uniform(1.0, 1.5))
        mu = release_mu(products, noise, kind)  # type: ignore[arg-type]
        costs.append(Cost.gaussian(mu).among(kind, exchange_mu(products, noise, kind)))  # type: ignore[arg-type]
        assert noise.counts is not None
        one = np.concatenate(
            [np.hstack([y * features / noise.sums, features / noise.counts]) for y in responses]
        )
        joint += ((one[:, None] - one[None, :]) ** 2).sum(axis=-1)
    worst = math.sqrt(joint.max())
    whole = together(costs)
    for at in (1e-3, DELTA):
        promised = epsilon(whole, at).epsilon
        assert gaussian_delta(promised, worst) <= at
        assert promised <= epsilon(together([cost.among(cost.neighbours) for cost in costs]), at).epsilon
    alike = together((costs[0], costs[0]))  # of one kind it is attained by some pair: one record of length 1
    assert alike.neighbours == "add-or-remove"


@pytest.mark.parametrize("noise", [1.0, 2.0])
def test_a_laplace_sum_beside_a_gaussian_one_against_the_integral(noise: float) -> None:
    """A sum with Laplace noise hides presence (shift 1) at 1/b; an exchange shifts it by 2 at once."""
    scale, mu = 3.0, 1.0 / noise
    costs = (Cost.pure(1.0 / scale).among("add-or-remove"), Cost.gaussian(mu))
    promised = epsilon(together(costs), DELTA).epsilon

    def lost(at: float) -> float:
        loss = (abs(at - 2.0) - abs(at)) / scale
        return float(stats.laplace.pdf(at, scale=scale)) * _profile(promised - loss, mu)

    exact = integrate.quad(lost, -60.0, 60.0, points=(0.0, 2.0), limit=400, epsabs=1e-12)[0]
    assert 0.5 * DELTA < exact <= DELTA * (1.0 + 1e-6)
    too_little = epsilon((Cost.pure(1.0 / scale), Cost.gaussian(mu)), DELTA).epsilon
    promised = too_little
    assert integrate.quad(lost, -60.0, 60.0, points=(0.0, 2.0), limit=400)[0] > 1.2 * DELTA


CASES = [
    (name, relation, known)
    for name, mechanism in sorted(MECHANISMS.items())
    for relation, known in (("replace-one", False), ("replace-one", True), ("add-or-remove", False))
    if not mechanism.protection.refusal(PublicFacts(disk(1), 9, relation, places_public=known))  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("name", "relation", "known"), CASES)
def test_every_mechanism_names_neighbours_that_its_facts_allow(name: str, relation: str, known: bool) -> None:
    """What is charged hides what the release promises; who hides values only never says more."""
    mechanism = MECHANISMS[name]
    facts = PublicFacts(disk(3, padding=1), 400, relation, places_public=known)  # type: ignore[arg-type]
    design = next(
        (
            made
            for each in mechanism.search.grid(facts, SearchSpec(("car",), quick=True))
            if (made := mechanism.calibrate(each, facts, Budget(1.0, DELTA))) is not None
        ),
        None,
    )
    assert design is not None
    found = mechanism.guarantee(design, facts)
    values = mechanism.protection.what == "values"
    assert found.cost.neighbours in (("values-only",) if values else ("replace-one", facts.neighbours))
    assert found.neighbours == found.cost.neighbours
    hidden = "values" if found.neighbours == "values-only" else "values and places"
    assert mechanism.protection.hides(facts) == hidden
    assert epsilon(priced_for(found.cost, facts.neighbours), DELTA).epsilon <= 1.0
    if relation == "add-or-remove":
        assert found.cost.exchange_mu is not None
        assert found.cost.gaussian_mu is not None
        assert found.cost.gaussian_mu < found.cost.exchange_mu <= 2.0 * found.cost.gaussian_mu


def _products(features: np.ndarray) -> InnerProducts:
    inner = features @ features.T
    square = np.diag(inner)
    return InnerProducts(
        min(1.0, float(square.max())),
        float(inner.min()),
        float((square[:, None] + square[None, :] - 2.0 * inner).max()),
    )


def _profile(at: float, mu: float) -> float:
    """Exact delta of a Gaussian pair at any epsilon, also below 0."""
    upper = stats.norm.cdf(mu / 2.0 - at / mu)
    return float(upper - math.exp(at) * stats.norm.cdf(-mu / 2.0 - at / mu))
