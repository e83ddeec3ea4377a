"""Private selection of hyperparameters: random candidates, noisy scores, the best of a random number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count as forever
from typing import Generic, Protocol, TypeVar

import numpy as np
import scipy  # whose parts are loaded when they are asked for: scipy.optimize takes long

from dpgp_core._checks import open_unit, positive, whole
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.noise import Entropy, SystemEntropy

ROUNDS = 12
"""Rounds of the private mean; the last has three quarters of the budget."""

_LAST, _FAILURE = 0.75, 0.01
T = TypeVar("T")


@dataclass(frozen=True)
class SelectionBudget:
    """How a budget is shared among the draws of a private selection.

    Parameters
    ----------
    epsilon, delta : float
        What each draw may cost, on the training half and on the validation half.
    draws : int
        Most draws.
    stop : float
        Probability of stopping after each draw.
    """

    epsilon: float
    delta: float
    draws: int
    stop: float

    @classmethod
    def of(cls, epsilon: float, delta: float, stop: float = 0.01) -> SelectionBudget:
        """From the whole cost (epsilon, delta).

        Raises
        ------
        InvalidValue
            If the cost is out of range, or too small for a selection.

        Notes
        -----
        Liu and Talwar 2019, Theorem 3.4, for draws that are (e, d)-DP: the whole is
        `(3 e + 3 sqrt(2 d), sqrt(2 d) T + d2)`-DP with `T >= ln(1/d2)/stop`. As in Honkela and Melkas 2021,
        appendix C, d2 solves `d2 (1 - ln d2) = delta`; then d follows from the whole number T, rounded up, so
        that the stated delta is kept where the paper's is exceeded by up to one draw.
        """
        epsilon, delta = positive("epsilon", epsilon), open_unit("delta", delta)
        stop = open_unit("stop", stop)
        second = float(
            scipy.optimize.brentq(lambda t: t * (1.0 - math.log(t)) - delta, delta * 1e-6, delta)
        ) * (1.0 - 1e-9)
        draws = math.ceil(math.log(1.0 / second) / stop)
        root = (delta - second) / draws  # sqrt(2 d)
        draw_epsilon = epsilon / 3.0 - root
        if not draw_epsilon > 0.0:
            raise InvalidValue("this epsilon is too small for a private selection: ask for a larger one.")
        return cls(draw_epsilon, 0.5 * root**2 * (1.0 - 1e-12), draws, stop)


def zcdp_of(epsilon: float, delta: float) -> float:
    """Largest rho so that rho-zCDP implies (epsilon, delta)-DP: `(sqrt(e + ln 1/d) - sqrt(ln 1/d))^2`.

    Bun and Steinke 2016, Proposition 1.3: rho-zCDP is `(rho + 2 sqrt(rho ln(1/delta)), delta)`-DP.
    """
    tail = math.log(1.0 / open_unit("delta", delta))
    return (positive("epsilon", epsilon) / (math.sqrt(epsilon + tail) + math.sqrt(tail))) ** 2 * (1.0 - 1e-12)


def rounds_of(count: int, radius: float, rho: float) -> tuple[tuple[float, float], ...]:
    """(clip radius, deviation of the noise) of every round of a private mean; public beforehand."""
    tail = math.log(1.0 / _FAILURE)
    reach = math.sqrt(1.0 + 2.0 * math.sqrt(tail) + 2.0 * tail)
    shares = [(1.0 - _LAST) * rho / (ROUNDS - 1)] * (ROUNDS - 1) + [_LAST * rho]
    rounds, size = [], positive("radius", radius)
    for share in shares:
        clip = min(math.sqrt(size**2 + 6.0 * size + reach**2), size + reach)
        deviation = 2.0 * clip / (whole("count", count) * math.sqrt(2.0 * share))
        rounds.append((clip, deviation))
        size = math.sqrt(1.0 / count + deviation**2) * reach
    return tuple(rounds)


def private_mean(
    values: Floats, centre: float, radius: float, rho: float, entropy: Entropy, *, simulation: bool = False
) -> float:
    """The mean of values of about unit variance around a public centre: rho-zCDP for one value exchanged.

    Parameters
    ----------
    values : ndarray, shape (n,)
        PRIVATE. Clipped to `centre +- radius` first.
    centre, radius : float
        Public.
    rho : float
        Cost, shared by all rounds.

    Raises
    ------
    InvalidValue
        If the entropy is another and this is no simulation, or a number is out of range.

    Notes
    -----
    CoinPress (Biswas, Dong, Kamath and Ullman 2020) in one dimension: every round clips around the last
    round's noisy mean. Clipped to c +- a a mean moves by at most 2 a/n. Unit variance matters for the bias
    only, not for privacy.
    """
    if type(entropy) is not SystemEntropy and not simulation:
        raise InvalidValue("a private mean must draw from SystemEntropy; a seed is for simulations only.")
    clipped = np.clip(values, centre - radius, centre + radius)
    at = centre
    for clip, deviation in rounds_of(values.size, radius, positive("rho", rho)):
        at = float(np.clip(clipped, at - clip, at + clip).mean()) + deviation * float(entropy.normal((1,))[0])
    return at


def log_densities(values: Floats, mean: Floats, variance: Floats) -> Floats:
    """Log densities of values under independent normal predictions, one by one.

    Parameters
    ----------
    values : ndarray, shape (n,)
    mean, variance : ndarray, shape (n,)
        Of the predictions; the variance in the values' unit squared.

    Returns
    -------
    ndarray, shape (n,)
        Nats.
    """
    spread = np.log(2.0 * np.pi * variance)
    return np.asarray(-0.5 * (spread + np.square(values - mean) / variance))


def score_interval(response_bound: float, variance: float) -> tuple[float, float]:
    """(centre, radius) of log densities of values within +-R_y: `R = R_y^2/v`, upper end at a perfect fit."""
    radius = positive("response_bound", response_bound) ** 2 / positive("variance", variance)
    return -0.5 * math.log(2.0 * math.pi * variance) - radius, radius


@dataclass(frozen=True)
class Drawn(Generic[T]):
    """One draw: a released model, its noisy score, and the largest score that is possible at all."""

    model: T
    score: float
    highest: float


class Stopping(Protocol):
    """When a selection stops: after each draw with a probability, and at the latest after so many."""

    @property
    def stop(self) -> float:
        """Probability of stopping after each draw."""
        ...

    @property
    def draws(self) -> int | None:
        """Most draws, None without such a number."""
        ...


def select_privately(
    draws: Sequence[Callable[[Entropy], Drawn[T]]],
    budget: Stopping,
    entropy: Entropy,
    *,
    simulation: bool = False,
) -> tuple[int, Drawn[T]] | None:
    """The best of a random number of random candidates; None if none had a possible score.

    Parameters
    ----------
    draws : sequence of callables
        One for each public candidate. Each call trains on one half of the records at the budget's cost of a
        draw, and scores on the other half at the same cost; the halves were split without looking at values.
    budget : SelectionBudget or RepetitionBudget
    entropy : Entropy

    Raises
    ------
    InvalidValue
        If the entropy is another and this is no simulation, or there is no candidate.

    Notes
    -----
    Only the answer may be shown: a released list of all scores would cost as much as all draws.
    """
    if type(entropy) is not SystemEntropy and not simulation:
        raise InvalidValue(
            "a private selection must draw from SystemEntropy; a seed is for simulations only."
        )
    if not draws:
        raise InvalidValue("a selection needs at least one candidate.")
    best: tuple[int, Drawn[T]] | None = None
    for _ in forever() if budget.draws is None else range(budget.draws):
        chance = entropy.uniform((2,))
        index = min(int(chance[0] * len(draws)), len(draws) - 1)
        candidate = draws[index](entropy)
        if candidate.score <= candidate.highest and (best is None or candidate.score > best[1].score):
            best = (index, candidate)
        if float(chance[1]) < budget.stop:
            break
    return best
