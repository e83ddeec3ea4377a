"""Private selection: the budget's arithmetic, the private mean's rounds, and what is chosen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.errors import InvalidValue
from dpgp_core.noise import Entropy, SimulationEntropy
from dpgp_core.priors.dense import squared_exponential
from hexcursion_peers.sparse.moments import Moments, sensitivity, symmetric_noise
from hexcursion_peers.sparse.norms import grid_norm
from hexcursion_peers.sparse.posterior import InducingPosterior, private_posterior, regularisation_bound
from hexcursion_peers.sparse.repetition import RepetitionBudget, selection_epsilon
from hexcursion_peers.sparse.selection import (
    Drawn,
    SelectionBudget,
    log_densities,
    private_mean,
    rounds_of,
    score_interval,
    select_privately,
    zcdp_of,
)


def test_a_budget_is_shared_and_never_exceeded() -> None:
    budget = SelectionBudget.of(3.0, 1e-4)
    assert budget.delta == pytest.approx(3.0727e-15, rel=1e-3)
    assert (budget.draws, budget.stop) == (1176, 0.01)
    assert budget.epsilon == pytest.approx(1.0, abs=1e-6)
    assert SelectionBudget.of(3.0, 1e-4, 0.1).draws == 118
    for epsilon, delta, stop in ((3.0, 1e-4, 0.01), (1.0, 1e-5, 0.1), (10.0, 1e-3, 0.03)):
        made = SelectionBudget.of(epsilon, delta, stop)
        root, last = math.sqrt(2.0 * made.delta), math.exp(-made.draws * stop)
        assert 3.0 * made.epsilon + 3.0 * root <= epsilon
        assert root * made.draws + last <= delta
    with pytest.raises(InvalidValue, match="too small"):
        SelectionBudget.of(1e-9, 0.1)


def test_the_private_mean_has_the_known_rounds() -> None:
    assert zcdp_of(1.0, 1e-4) == pytest.approx(0.0257628, abs=1e-6)
    made = rounds_of(1024, 100.0, zcdp_of(1.0, 3.0726686542e-15))
    assert made[0] == (pytest.approx(103.026707, abs=1e-4), pytest.approx(10.993063, abs=1e-3))
    assert made[-1] == (pytest.approx(5.882869, abs=1e-3), pytest.approx(0.109270, abs=1e-4))
    wide = rounds_of(1024, 100.0, zcdp_of(1.0 / 3.0, 3.0726686542e-15))
    assert wide[-1][0] == pytest.approx(966.312, abs=0.5)  # too little budget: the radius explodes
    # all rounds together cost rho: each moves its mean by at most 2 clip/n
    cost = sum((2.0 * clip / 1024) ** 2 / (2.0 * deviation**2) for clip, deviation in made)
    assert cost <= zcdp_of(1.0, 3.0726686542e-15) * (1 + 1e-9)


def test_the_private_mean_is_near_the_mean() -> None:
    values = 7.0 + np.random.default_rng(1).normal(size=4000)
    entropy = SimulationEntropy(2)
    found = [private_mean(values, 0.0, 50.0, 0.5, entropy, simulation=True) for _ in range(50)]
    assert np.mean(found) == pytest.approx(values.mean(), abs=0.01)
    with pytest.raises(ValueError, match="SystemEntropy"):
        private_mean(values, 0.0, 50.0, 0.5, entropy)


def test_scores_have_a_public_interval() -> None:
    centre, radius = score_interval(1.5, 0.01)
    perfect = log_densities(np.zeros(1), np.zeros(1), np.array([0.01]))[0]
    worst = log_densities(np.array([1.5]), np.array([-1.5]), np.array([0.01]))[0]
    assert centre + radius == pytest.approx(perfect)
    assert centre - radius == pytest.approx(worst, rel=1e-9)


def selected(epsilon: float, repeats: int) -> list[tuple[float, float]]:
    """(sigma, lengthscale) chosen for sin(2x)/(2x) with noise .1, 2,048 records in two halves."""
    nodes = np.linspace(-3, 3, 9)
    budget = SelectionBudget.of(epsilon, 1e-4)
    candidates = [(sigma, length) for sigma in (0.1 / 3, 0.1, 0.3) for length in (1 / 3, 1.0, 3.0)]
    rho, found = zcdp_of(budget.epsilon, budget.delta), []
    for seed in range(repeats):
        generator, entropy = np.random.default_rng(seed), SimulationEntropy(500 + seed)
        places = generator.uniform(-4, 4, 2048)
        values = np.clip(np.sinc(2 * places / np.pi) + 0.1 * generator.normal(size=2048), -1.5, 1.5)
        draws = []
        for sigma, length in candidates:
            between = squared_exponential(np.abs(nodes[:, None] - nodes) / length) + 1e-8 * np.eye(9)
            cross = squared_exponential(np.abs(places[:, None] - nodes) / length)
            train, test = cross[:1024], cross[1024:]
            deviation = sensitivity(1.5, grid_norm([nodes], [length])) / gaussian_mu(
                budget.epsilon, budget.delta
            )

            def draw(
                source: Entropy,
                sigma: float = sigma,
                between: np.ndarray = between,
                train: np.ndarray = train,
                test: np.ndarray = test,
                deviation: float = deviation,
                values: np.ndarray = values,
            ) -> Drawn[InducingPosterior]:
                moments = Moments(
                    train.T @ values[:1024] + deviation * source.normal((9,)),
                    train.T @ train + symmetric_noise(9, deviation, source),
                    deviation,
                    deviation,
                )
                model = private_posterior(
                    between, moments, sigma**2, regularisation_bound(deviation, sigma**2, 9)
                )
                mean, variance = model.at(np.linalg.solve(between, test.T).T, between, np.ones(1024))
                centre, radius = score_interval(1.5, sigma**2)
                fits = log_densities(values[1024:], mean, variance + sigma**2)
                score = private_mean(fits, centre, radius, rho, source, simulation=True)
                return Drawn(model, 1024 * score, 1024 * (centre + radius))

            draws.append(draw)
        chosen = select_privately(draws, budget, entropy, simulation=True)
        if chosen is not None:
            found.append(candidates[chosen[0]])
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "least", "most"), [(3.0, 0.0, 0.5), (10.0, 0.7, 1.0), (30.0, 0.7, 1.0)])
def test_the_right_range_is_chosen_and_the_noise_at_larger_budgets(
    epsilon: float, least: float, most: float
) -> None:
    found = selected(epsilon, 30)
    assert np.mean([length == 1.0 for _, length in found]) >= 0.9
    assert least <= np.mean([sigma == 0.1 for sigma, _ in found]) <= most


def test_the_best_of_a_random_number_of_draws_is_kept() -> None:
    draws = [lambda source, score=score: Drawn(score, score, 2.0) for score in (0.0, 1.0, 3.0)]
    budget = SelectionBudget(1.0, 1e-15, 400, 0.01)
    chosen = select_privately(draws, budget, SimulationEntropy(3), simulation=True)
    assert chosen is not None
    assert chosen[0] == 1  # the third claims a score above what is possible
    assert select_privately(draws[2:], budget, SimulationEntropy(3), simulation=True) is None
    lengths = []
    for seed in range(200):
        count = [0]

        def counted(source: Entropy, count: list[int] = count) -> Drawn[int]:
            count[0] += 1
            return Drawn(0, 0.0, 1.0)

        select_privately(
            [counted], SelectionBudget(1.0, 1e-15, 40, 0.1), SimulationEntropy(seed), simulation=True
        )
        lengths.append(count[0])
    assert max(lengths) <= 40
    assert np.mean(lengths) == pytest.approx((1 - 0.9**40) / 0.1, abs=1.8)
    with pytest.raises(ValueError, match="SystemEntropy"):
        select_privately(draws, budget, SimulationEntropy(3))


def test_the_renyi_price_of_a_selection() -> None:
    """By hand at order 25.9 and b 15.2; the sharper price leaves each draw five times the rho."""
    assert selection_epsilon(0.02, 1e-5, 0.01) == pytest.approx(2.16902, abs=1e-4)
    rare, b, a = math.log(100.0), math.sqrt(math.log(100.0) / 0.02), 25.9
    renyi = 0.02 * a + 2.0 * (b - 1.0) * 0.02 + 2.0 * rare / b + rare / (a - 1.0)
    by_hand = renyi + math.log(1.0 - 1.0 / a) - (math.log(1e-5) + math.log(a)) / (a - 1.0)
    assert selection_epsilon(0.02, 1e-5, 0.01) <= by_hand * (1.0 + 1e-9) < 2.20
    sharp, plain = RepetitionBudget.of(3.0, 1e-5), SelectionBudget.of(3.0, 1e-5)
    assert sharp.rho == pytest.approx(0.0380927, rel=1e-4)
    assert sharp.rho > 5.0 * zcdp_of(plain.epsilon, plain.delta)
    assert selection_epsilon(sharp.rho, 1e-5, 0.01) <= 3.0
    assert (sharp.draws, sharp.stop) == (None, 0.01)
    assert selection_epsilon(1e-12, 1e-5, 0.01) > 0.0
    with pytest.raises(InvalidValue, match="too small"):
        RepetitionBudget.of(1e-6, 1e-5)


def test_the_renyi_price_holds_for_two_answers() -> None:
    """The exact law of the best of a geometric number of draws, where a draw's score is one of two answers.

    With P(high) = p a draw, the best is low with probability `stop (1 - p)/(1 - (1 - stop)(1 - p))`.
    """
    stop, delta = 0.05, 1e-3
    for bias in (0.02, 0.1, 0.3):
        rho = 0.5 * bias**2  # pure bias-DP is bias^2/2-zCDP
        low, high = 1.0 / (1.0 + math.exp(bias)), 1.0 / (1.0 + math.exp(-bias))
        worst = selection_epsilon(rho, delta, stop)
        for one, other in ((low, high), (high, low)):
            missed = [stop * (1.0 - p) / (1.0 - (1.0 - stop) * (1.0 - p)) for p in (one, other)]
            pairs = ((missed[0], missed[1]), (1.0 - missed[0], 1.0 - missed[1]))
            excess = sum(max(0.0, a - math.exp(worst) * b) for a, b in pairs)
            assert excess <= delta


def test_a_selection_without_a_largest_number_stops_by_its_coin() -> None:
    seen: list[int] = []

    def draw(entropy: Entropy) -> Drawn[str]:
        seen.append(1)
        return Drawn("a", float(len(seen)), 1e9)

    found = select_privately([draw], RepetitionBudget(0.1, 0.01), SimulationEntropy(4), simulation=True)
    assert found is not None
    assert found[1].score == len(seen)  # scores rise, so the last draw is the best
    lengths = []
    for seed in range(60):
        seen.clear()
        select_privately([draw], RepetitionBudget(0.1, 0.1), SimulationEntropy(seed), simulation=True)
        lengths.append(len(seen))
    assert 7.0 < float(np.mean(lengths)) < 14.0  # 10 on average
