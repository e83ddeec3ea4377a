"""A private choice among public candidates by cross-validated errors, exactly drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpgp_core._checks import positive
from dpgp_core.accounting.composition import Cost, selection_curve
from dpgp_core.discrete_laplace import exponential_choice
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, Ints
from dpgp_core.noise import Entropy, SystemEntropy
from dpgp_core.posterior.records import RESPONSE_BITS

STEPS = 1 << RESPONSE_BITS  # values are whole multiples of this part of their unit
_FINE = 40  # weights are multiples of 2^-40, errors of 2^-80 squared steps
_COARSE = 20  # a sensitivity is added up in multiples of 2^-20, each rounded upwards
_MOST_REACH = 2.0**62


@dataclass(frozen=True, eq=False)
class Fold:
    """One public split, and the linear prediction of one candidate on it."""

    # train, test: places that predict and places that are predicted; any public structure will do
    train: Ints
    test: Ints
    # (m, k) of the total of the values at each training place. The predictions are then clipped to the public
    # interval. Rounded to multiples of 2^-40: a prediction is what the rounded weights say, exactly
    weights: Floats
    # sum over the tested values of the variance of the noise that the release would add there, in squared
    # units of value: it depends on no value, so counting it costs nothing and makes the choice aware of the
    # noise
    noise: float = 0.0

    def __post_init__(self) -> None:
        if self.weights.shape != (self.test.size, self.train.size):
            raise InvalidValue("a fold needs one weight for each test place and training place.")
        if np.intersect1d(self.train, self.test).size:
            raise InvalidValue("a fold cannot test what it was trained on: keep the two sets apart.")

    @cached_property
    def whole(self) -> Ints:
        """The weights (m, k) in units of 2^-40; raises InvalidValue if one is not finite, or 2^20 or more."""
        if not np.all(np.abs(self.weights) < 2.0**20):
            raise InvalidValue("the weights of a prediction must be finite numbers below 2^20.")
        return np.rint(self.weights * 2.0**_FINE).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ValueSums:
    """Values in a public interval, added up by place: whole numbers of steps of `1/STEPS`. PRIVATE."""

    totals: Ints  # (n,) sum of the values at each place
    counts: Ints  # (n,) values at each place, >= 1: public
    # low, high: ends of the public interval of every single value
    low: int = -STEPS
    high: int = STEPS

    @classmethod
    def of(cls, values: Floats, width: float) -> ValueSums:
        """Values (n,), less the low end of a public interval, clipped to its width.

        Raises InvalidValue if one is not finite.
        """
        if not np.all(np.isfinite(values)):
            raise InvalidValue("a choice needs finite values.")
        steps = np.rint(np.clip(values / positive("width", width), 0.0, 1.0) * STEPS).astype(np.int64)
        return cls(steps, np.ones(steps.size, dtype=np.int64), 0, STEPS)


def squared_error(folds: Sequence[Fold], sums: ValueSums) -> int:
    """Sum over folds of squared errors, less the sum of the tested values' squares, exactly. PRIVATE.

    `sum n_t p_t^2 - 2 p_t S_t` plus the noise, in units of 2^-80 squared steps; p_t is the prediction at a
    tested place, clipped to the interval, S_t the total there. The omitted terms are the same for all
    candidates that are tested on the same places, so no choice among them depends on it. Raises InvalidValue
    for weights too large for whole numbers.
    """
    total = 0
    for fold in folds:
        reach = np.abs(fold.whole.astype(np.float64)) @ (sums.counts[fold.train] * float(STEPS))
        if np.any(reach >= _MOST_REACH):
            raise InvalidValue("the weights of a prediction are too large for whole numbers.")
        predicted = np.clip(
            fold.whole @ sums.totals[fold.train], sums.low << _FINE, sums.high << _FINE
        ).astype(object)
        at, count = sums.totals[fold.test].astype(object), sums.counts[fold.test].astype(object)
        total += int(np.sum(predicted * (count * predicted - (at << (_FINE + 1)))))
        total += int(fold.noise * STEPS**2 * 2.0**_COARSE) << (2 * _FINE - _COARSE)
    return total


def error_sensitivity(folds: Sequence[Fold], sums: ValueSums) -> int:
    """How far one changed value can move the sum of squared errors: of `sums` only what is public enters.

    `max over places j of the sum over folds of s_jf`: d^2 where fold f tests j; `sum over tests t of n_t
    min(2 d^2 |w_tj|, d^2)` where j trains it; 0 elsewhere. In the units of `squared_error`, rounded upwards.

    Residuals lie in [-d, d], as values and clipped predictions lie in one interval of length d. A change of
    rho in a residual R moves its square by `2 R rho + rho^2`, at most `2 d |rho|` as long as both ends lie in
    [-d, d]; Smith et al. 2018 count `rho^2` alone, which is too little, and let each value be tested once.
    """
    span, change = sums.high - sums.low, np.zeros(sums.counts.size, dtype=np.int64)
    for fold in folds:
        change[fold.test] += 1 << _COARSE
        reach = np.minimum(-((-2 * np.abs(fold.whole)) >> (_FINE - _COARSE)), 1 << _COARSE)
        change[fold.train] += sums.counts[fold.test] @ reach
    return int(change.max()) * span**2 << (2 * _FINE - _COARSE)


@dataclass(frozen=True)
class Choice:
    """The released choice and its cost; the errors themselves stay inside."""

    index: int  # place of the chosen candidate in the public list
    epsilon: float  # pure epsilon that the choice cost

    @property
    def cost(self) -> Cost:
        """For the ledger and the receipt: a pure epsilon-DP mechanism of bounded range."""
        return choice_cost(self.epsilon)


def choice_cost(epsilon: float) -> Cost:
    """What a choice costs one changed value: pure epsilon, and the curve of its bounded range."""
    return Cost.pure(epsilon, selection_curve(epsilon)).among("values-only")


def largest_sensitivity(candidates: Sequence[Sequence[Fold]], sums: ValueSums) -> int:
    """The largest `error_sensitivity` of any candidate, all of them tested on the same places.

    Raises InvalidValue if there is no candidate, or they are tested on different places.
    """
    if not candidates:
        raise InvalidValue("a choice needs at least one candidate.")
    tested = [np.sort(np.concatenate([fold.test for fold in folds])) for folds in candidates]
    if not all(np.array_equal(places, tested[0]) for places in tested):
        raise InvalidValue("all candidates must be tested on the same places, equally often.")
    return max(error_sensitivity(folds, sums) for folds in candidates)


def choose_candidate(
    candidates: Sequence[Sequence[Fold]],
    sums: ValueSums,
    epsilon: float,
    entropy: Entropy,
    *,
    simulation: bool = False,
) -> Choice:
    """Choose a candidate by the exponential mechanism on its cross-validated error: pure epsilon-DP.

    The candidates' folds are public, fixed before the PRIVATE values are touched, and test the same places.
    McSherry and Talwar 2007, with the largest sensitivity of all candidates. Errors are whole numbers and the
    draw is exact, so the guarantee holds for the numbers as a computer has them. Raises InvalidValue for
    another source than `SystemEntropy` unless `simulation=True`.
    """
    if type(entropy) is not SystemEntropy and not simulation:
        raise InvalidValue(
            "a private selection must draw from SystemEntropy; a seed is for simulations only."
        )
    sensitivity = largest_sensitivity(candidates, sums)
    errors = [squared_error(folds, sums) for folds in candidates]
    return Choice(exponential_choice(errors, sensitivity, epsilon, entropy), float(epsilon))
