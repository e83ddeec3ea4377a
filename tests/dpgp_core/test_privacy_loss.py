"""Privacy-loss distributions on a grid: never below the exact profile, close to it, and errors are caught."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpgp_core import ORDERS, RdpCurve
from dpgp_core.accounting import pld
from dpgp_core.accounting.pld import PrivacyLoss, gaussian_loss, response_loss
from dpgp_core.accounting.tails import renyi_tails
from tests.oracles.hockey import (
    finite_profile,
    finite_renyi,
    mp_gaussian_and_responses,
    mp_gaussian_profile,
)

EPSILONS = (0.0, 0.013, 0.3, 0.77, 1.2345, 2.9, 6.0)


@pytest.mark.parametrize("step", [2.0**-11, 2.0**-6, 2.0**-3])
@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 4.0])
def test_a_discretised_gaussian_is_never_below_the_exact_one(mu: float, step: float) -> None:
    """On the grid and between its points, for fine grids and for one that is coarser than the mechanism."""
    loss = gaussian_loss(mu, step)
    with mpmath.workdps(40):
        for epsilon in EPSILONS:
            exact = float(mp_gaussian_profile(mu, epsilon))
            assert exact <= loss.delta(epsilon)
            if step * 60 < mu and exact > 1e-15:
                assert loss.delta(epsilon) <= exact * (1.0 + 2.0 * step / mu) + 1e-18
    losses = step * np.arange(1, loss.masses.size)
    mirrored = float((loss.masses[1:] * np.exp(-losses)).sum())
    assert float(loss.masses.sum()) + mirrored + loss.infinite == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize("mus", [(0.3, 0.4), (1.0, 0.05), (0.2, 0.2, 0.2, 0.2)])
def test_composed_gaussians_are_never_below_the_gaussian_of_the_root_of_squares(
    mus: tuple[float, ...],
) -> None:
    step, total = 2.0**-10, gaussian_loss(mus[0], 2.0**-10)
    for mu in mus[1:]:
        total = total.compose(gaussian_loss(mu, step))
    with mpmath.workdps(40):
        for epsilon in EPSILONS:
            exact = float(mp_gaussian_profile(math.hypot(*mus), epsilon))
            assert exact <= total.delta(epsilon)
            if exact > 1e-12:
                assert total.delta(epsilon) <= exact * 1.01


@pytest.mark.parametrize(
    ("mu", "responses"), [(0.3, [0.5]), (0.0, [0.1] * 8), (1.0, [0.3, 0.3, 0.3]), (0.05, [2.0])]
)
def test_gaussians_with_randomised_responses(mu: float, responses: list[float]) -> None:
    """The exact mixture in 40 digits; odds that lie on no grid point."""
    step = 2.0**-11
    parts = [response_loss(value, step) for value in responses] + ([gaussian_loss(mu, step)] if mu else [])
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    with mpmath.workdps(40):
        for epsilon in EPSILONS:
            exact = float(mp_gaussian_and_responses(mu, responses, epsilon))
            assert exact <= total.delta(epsilon)
            assert total.delta(epsilon) <= exact * 1.02 + 1e-6


@pytest.mark.parametrize(
    ("first", "second"), [([0.3, 0.2], [0.25, 0.1, 0.1]), ([0.7], [0.9]), ([0.0, 0.5], [0.0, 0.6])]
)
def test_a_composition_is_above_the_exact_sum_by_its_rounding_only(
    first: list[float], second: list[float]
) -> None:
    """Products of the very doubles as fractions: never below them, and above by some 10 units of rounding."""
    one, other = (PrivacyLoss(2.0**-4, np.array(masses), 0.0) for masses in (first, second))
    sums = [Fraction(0)] * (2 * (len(first) + len(second)) - 3)
    for i, mass in enumerate(one._both()):
        for j, beside in enumerate(other._both()):
            sums[i + j] += Fraction(mass) * Fraction(beside)
    exact = sums[len(sums) // 2 :]
    composed = one.compose(other).masses
    assert len(composed) == len(exact)
    for mass, least in zip(composed, exact, strict=True):
        assert least <= Fraction(mass) <= least * (1 + Fraction(16, 2**52))


def test_epsilon_and_delta_answer_each_other() -> None:
    loss = gaussian_loss(0.3, 2.0**-10).compose(response_loss(0.5, 2.0**-10))
    for delta in (0.05, 1e-3, 1e-5, 1e-9):
        epsilon = loss.epsilon(delta)
        assert loss.delta(epsilon) <= delta * (1.0 + 1e-9)
        assert loss.delta(epsilon - 1e-4) > delta
    assert loss.epsilon(0.9) == 0.0
    assert loss.epsilon(1e-300) == math.inf
    assert loss.delta(50.0) == loss.infinite * (1.0 + 8.0 * 2.0**-52 * loss.masses.size)


def test_a_profile_known_from_renyi_divergences_dominates_what_it_was_computed_from() -> None:
    """Random pairs on seven points, both orders of the pair in the curve, composed with a Gaussian.

    Theorem 2 of docs/accounting.md.
    """
    random = np.random.default_rng(3)
    step, worst = 2.0**-8, 0.0
    for _ in range(20):
        p, q = random.dirichlet(np.full(7, 30.0), size=2)
        curve = RdpCurve(
            np.maximum(finite_renyi(p, q, ORDERS), finite_renyi(q, p, ORDERS)) * (1.0 + 1e-9) + 1e-13
        )
        reach = math.ceil(renyi_tails(curve).reach(1e-20) / step)
        loss = PrivacyLoss.from_profile(step, renyi_tails(curve).deltas(step * np.arange(reach + 1.0)))
        both = loss.compose(gaussian_loss(0.5, step))
        for epsilon in (0.0, 0.1, 0.35, 0.8, 1.7):
            assert finite_profile(p, q, epsilon) <= loss.delta(epsilon) + 1e-15
            with mpmath.workdps(30):
                rest = [
                    mp_gaussian_profile(0.5, epsilon - math.log(a / b)) for a, b in zip(p, q, strict=True)
                ]
                exact = float(sum(float(a) * value for a, value in zip(p, rest, strict=True)))
            assert exact <= both.delta(epsilon)
            worst = max(worst, exact / both.delta(epsilon))
    assert worst > 0.6


def test_rounding_losses_down_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A discretisation that moves every mass one step down falls below the exact profile."""
    right = gaussian_loss(0.5, 2.0**-7)
    wrong = PrivacyLoss(right.step, np.append(right.masses[1:], 0.0), right.infinite)
    with mpmath.workdps(30):
        assert wrong.delta(1.0) < float(mp_gaussian_profile(0.5, 1.0)) <= right.delta(1.0)
    monkeypatch.setattr(pld, "NEGLIGIBLE", 1e-3)
    short = right.compose(right)
    monkeypatch.undo()
    assert short.infinite > right.compose(right).infinite
    with mpmath.workdps(30):
        assert float(mp_gaussian_profile(math.sqrt(0.5), 2.5)) <= short.delta(2.5)


def test_points_that_no_profile_has_are_pulled_to_the_convex_hull() -> None:
    """A bump is cut off, a rise is flattened, and a profile that starts too high stays symmetric."""
    step = 2.0**-4
    smooth = gaussian_loss(1.0, step).profile()
    bumpy = smooth.copy()
    bumpy[5] *= 1.5
    bumpy[20] = bumpy[19] * 1.01
    loss = PrivacyLoss.from_profile(step, bumpy)
    assert np.all(smooth[:40] <= loss.profile()[:40])
    assert loss.profile()[5] < bumpy[5]
    assert loss.profile()[20] < bumpy[19]
    high = PrivacyLoss.from_profile(step, np.where(np.arange(smooth.size) < 8, 1.0, smooth))
    assert np.all(smooth <= high.profile() + 1e-12)
    assert high.delta(0.0) < 1.0
    assert high.masses[0] == 0.0


def test_mass_at_infinity_stays_in_every_delta() -> None:
    """A mechanism that tells everything with chance .01, twice: .02 (the union bound on .0199)."""
    telling = PrivacyLoss(0.125, np.array([0.99]), 0.01)
    twice = telling.compose(telling)
    assert 0.0199 <= twice.infinite <= 0.02 * (1.0 + 1e-12)
    assert twice.delta(5.0) == pytest.approx(0.02)
    assert twice.epsilon(0.019) == math.inf


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="powers of two"):
        PrivacyLoss(0.1, np.ones(3), 0.0)
    with pytest.raises(ValueError, match="never negative"):
        PrivacyLoss(0.125, np.array([0.5, -0.1]), 0.0)
    with pytest.raises(ValueError, match="same step"):
        gaussian_loss(1.0, 0.125).compose(gaussian_loss(1.0, 0.0625))
    with pytest.raises(ValueError, match="larger noise"):
        gaussian_loss(30.0, 0.125)


def test_masses_carry_their_margin_for_rounding() -> None:
    """Against exact rational arithmetic on the same doubles, in units of 2^-52 of a mass.

    Half the margin would still be above the exact masses here (by 7 to 13 units): it is twice what one
    rounding error of each difference asks for, and stays so.
    """
    unit = Fraction(1, 2**52)
    deltas = np.array([0.4, 0.25, 0.17, 0.12, 0.09])
    loss = PrivacyLoss.from_profile(0.5, deltas)
    at = [Fraction(float(each)) for each in np.exp(0.5 * np.arange(5))]
    heights = [Fraction(float(each)) for each in deltas]
    slopes = [(heights[i + 1] - heights[i]) / (at[i + 1] - at[i]) for i in range(4)] + [Fraction(0)]
    over = [
        float((Fraction(float(loss.masses[i])) / (at[i] * (slopes[i] - slopes[i - 1])) - 1) / unit)
        for i in range(1, 5)
    ]
    assert over == pytest.approx([19.7, 21.8, 21.2, 12.0], abs=4.0)


@pytest.mark.parametrize("step", [2.0**-10, 2.0**-3])
def test_delta_just_below_the_largest_loss_lies_between_its_neighbours(step: float) -> None:
    loss = response_loss(0.7, step)
    values = loss.profile()
    for epsilon in (loss.reach, np.nextafter(loss.reach, 0.0), loss.reach - 0.5 * step):
        found = loss.delta(epsilon + 1e-12)  # which `delta` takes off again
        assert values[-1] <= found <= values[-2] * (1.0 + 1e-12)
