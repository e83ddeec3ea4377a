"""Hyperparameters chosen on private values: cross-validated errors and the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core._checks import positive
from dpgp_core.accounting.composition import Cost
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg.numerics import Floats
from dpgp_core.noise.entropy import Entropy, SystemEntropy

_UP = 1.0 + 2.0**-40


@dataclass(frozen=True, eq=False)
class Fold:
    """One public split, and the linear prediction of one candidate on it.

    Parameters
    ----------
    train, test : ndarray of int, shapes (k,) and (m,)
        Positions of the values that predict and of those that are predicted; any public structure will do.
    weights : ndarray, shape (m, k)
        The predictions are `weights @ values[train]`, then clipped to the public interval.
    noise : float
        Sum over the test places of the variance of the noise that the release would add there: it depends on
        no value, so counting it costs nothing and makes the choice aware of the noise.
    """

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    weights: Floats
    noise: float = 0.0

    def __post_init__(self) -> None:
        if self.weights.shape != (self.test.size, self.train.size):
            raise InvalidValue("a fold needs one weight for each test place and training place.")
        if np.intersect1d(self.train, self.test).size:
            raise InvalidValue("a fold cannot test what it was trained on: keep the two sets apart.")


def squared_error(folds: Sequence[Fold], values: Floats, width: float) -> float:
    """Sum over folds of squared errors with values and predictions clipped to [0, width]. PRIVATE.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Less the lower end of their public interval.
    width : float
        Length d of that interval.
    """
    clipped, total = np.clip(values, 0.0, positive("width", width)), 0.0
    for fold in folds:
        predicted = np.clip(fold.weights @ clipped[fold.train], 0.0, width)
        total += float(np.sum((predicted - clipped[fold.test]) ** 2)) + fold.noise
    return total


def error_sensitivity(folds: Sequence[Fold], size: int, width: float) -> float:
    """How far one changed value can move `squared_error`, rounded upwards.

    Returns
    -------
    float
        `max over values j of the sum over folds of s_jf`: d^2 where fold f tests j;
        `min(2 d^2 |w_j|_1, m d^2)` where j trains it, w_j being j's column of weights and m the
        number of test places; 0 elsewhere.

    Notes
    -----
    Residuals lie in [-d, d], as values and clipped predictions lie in one interval of length d. A change of
    rho in a residual R moves its square by `2 R rho + rho^2`, at most `2 d |rho|` as long as both ends lie in
    [-d, d]; Smith et al. 2018 count `rho^2` alone, which is too little, and let each value be tested once.
    """
    squares = positive("width", width) ** 2
    moved = np.zeros(size)
    for fold in folds:
        moved[fold.test] += squares
        reach = 2.0 * np.abs(fold.weights).sum(axis=0)
        moved[fold.train] += squares * np.minimum(reach, fold.test.size)
    return float(moved.max()) * _UP


@dataclass(frozen=True)
class Choice:
    """The released choice and its cost; the errors themselves stay inside.

    Parameters
    ----------
    index : int
        Place of the chosen candidate in the public list.
    epsilon : float
        Pure epsilon that the choice cost.
    """

    index: int
    epsilon: float

    @property
    def cost(self) -> Cost:
        """For the ledger and the receipt: a pure epsilon-DP mechanism."""
        return Cost.pure(self.epsilon)


def choice_probabilities(errors: Floats, sensitivity: float, epsilon: float) -> Floats:
    """(J,) probabilities of the exponential mechanism: `exp(-epsilon error/(2 sensitivity))`, normalised."""
    tempered = -np.asarray(errors, dtype=np.float64) * positive("epsilon", epsilon)
    tempered /= 2.0 * positive("sensitivity", sensitivity)
    share = np.exp(tempered - tempered.max())
    return np.asarray(share / share.sum())


def choose_candidate(
    candidates: Sequence[Sequence[Fold]],
    values: Floats,
    width: float,
    epsilon: float,
    entropy: Entropy,
    *,
    simulation: bool = False,
) -> Choice:
    """Choose a candidate by the exponential mechanism on its cross-validated error: pure epsilon-DP.

    Parameters
    ----------
    candidates : sequence of sequences of Fold
        The folds of each candidate's hyperparameters; public, fixed before the values are touched.
    values : ndarray, shape (n,)
        Values less the lower end of their public interval. PRIVATE.
    width : float
        Length of that interval; values are clipped to it.
    epsilon : float
        What the choice may cost.
    entropy : Entropy
        `SystemEntropy`, or any source with `simulation=True`.

    Notes
    -----
    McSherry and Talwar 2007, with the largest sensitivity of all candidates; drawn by the Gumbel-max rule.
    """
    if type(entropy) is not SystemEntropy and not simulation:
        raise InvalidValue(
            "a private selection must draw from SystemEntropy; a seed is for simulations only."
        )
    if not candidates or not np.all(np.isfinite(values)):
        raise InvalidValue("a choice needs at least one candidate, and finite values.")
    sensitivity = max(error_sensitivity(folds, values.size, width) for folds in candidates)
    errors = np.array([squared_error(folds, values, width) for folds in candidates])
    gumbel = -np.log(-np.log(entropy.uniform(errors.size)))
    score = -errors * positive("epsilon", epsilon) / (2.0 * sensitivity) + gumbel
    return Choice(int(np.argmax(score)), float(epsilon))
