"""The sharper price of a private selection: the best of a random number of draws, by Renyi divergences."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # whose parts are loaded when they are asked for: scipy.optimize takes long

from dpgp_core._checks import open_unit, positive
from dpgp_core.accounting.rdp import conversion_cost
from dpgp_core.errors import InvalidValue

_ORDERS = 1.0 + np.logspace(-3.0, 5.0, 4001)  # any of them proves a bound
_LEAST = 1e-12  # rho below which a draw tells nothing


@dataclass(frozen=True)
class RepetitionBudget:
    """What each draw of a private selection may cost, by the accounting of Papernot and Steinke.

    Parameters
    ----------
    rho : float
        zCDP of each draw, on the training half and on the validation half.
    stop : float
        Probability of stopping after each draw; there is no largest number of draws.

    Notes
    -----
    To be handed to `select_privately` in place of `SelectionBudget`.
    """

    rho: float
    stop: float

    @property
    def draws(self) -> None:
        """No largest number: the proof is for a geometric law that is not cut off."""
        return None

    @classmethod
    def of(cls, epsilon: float, delta: float, stop: float = 0.01) -> RepetitionBudget:
        """The largest rho of a draw for a whole cost of (epsilon, delta).

        Raises
        ------
        InvalidValue
            Where no draw is cheap enough.
        """
        target = positive("epsilon", epsilon)
        if not selection_epsilon(_LEAST, delta, stop) < target:
            raise InvalidValue("this epsilon is too small for a private selection: ask for a larger one.")

        def over(logarithm: float) -> float:
            return selection_epsilon(math.exp(logarithm), delta, stop) - target

        rho = math.exp(float(scipy.optimize.brentq(over, math.log(_LEAST), math.log(target)))) * (1.0 - 1e-9)
        return cls(rho, stop)


def selection_epsilon(rho: float, delta: float, stop: float) -> float:
    """Epsilon at delta of the best of a geometric number of draws that are rho-zCDP each.

    Parameters
    ----------
    rho, delta : float
    stop : float
        Probability of stopping after each draw.

    Returns
    -------
    float
        Proved, rounded upwards.

    Notes
    -----
    Papernot and Steinke 2022, Theorem 2, for the geometric law (eta = 1, mean 1/stop): where a draw has
    Renyi divergence rho a of every order a, the best one has at order a, for every b >= 1, at most

        rho a + 2 (1 - 1/b) rho b + 2 ln(1/stop)/b + ln(1/stop)/(a - 1),

    least at b = max(1, sqrt(ln(1/stop)/rho)). Then (epsilon, delta) by Canonne, Kamath and Steinke 2020,
    Proposition 12: `e + ln(1 - 1/a) - ln(delta a)/(a - 1)`.
    """
    rho, delta = positive("rho", rho), open_unit("delta", delta)
    rare = math.log(1.0 / open_unit("stop", stop))
    b = max(1.0, math.sqrt(rare / rho))
    a = _ORDERS
    renyi = rho * a + 2.0 * (b - 1.0) * rho + 2.0 * rare / b + rare / (a - 1.0)
    priced = renyi + conversion_cost(a, delta)
    return max(0.0, float(priced.min())) * (1.0 + 1e-12)
