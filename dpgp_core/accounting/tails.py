"""Upper bounds on a privacy profile delta(epsilon) that decay at known rates, one per Renyi order."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpgp_core._checks import open_unit
from dpgp_core.accounting.curve import RdpCurve
from dpgp_core.accounting.gaussian import LEAST_DELTA
from dpgp_core.accounting.orders import ORDERS
from dpgp_core.linalg import Floats

_EPS = 2.0**-52
_RATES = ORDERS - 1.0


@dataclass(frozen=True, eq=False)
class Tails:
    """delta(epsilon) <= exp(logs[k] - rates[k] epsilon) for every k and every epsilon >= 0, and <= 1."""

    rates: Floats  # (K,) alpha - 1 > 0
    logs: Floats  # (K,) `inf` where nothing is proved

    def deltas(self, epsilons: Floats) -> Floats:
        """Upper bounds on delta at each epsilon >= 0, same shape, from `LEAST_DELTA` to 1."""
        finite = np.isfinite(self.logs)
        best = np.zeros(epsilons.shape)
        for rate, log in zip(self.rates[finite].tolist(), self.logs[finite].tolist(), strict=True):
            exponent = log - rate * epsilons
            np.minimum(best, exponent + 4.0 * _EPS * (abs(log) + rate * epsilons), out=best)
        return np.asarray(np.clip(np.exp(best) * (1.0 + 4.0 * _EPS), LEAST_DELTA, 1.0))

    def epsilon(self, delta: float) -> tuple[float, float | None]:
        """Upper bound on epsilon at `delta`, and the order that gave it; (inf, None) if nothing is proved."""
        log = math.log(open_unit("delta", delta))
        values = (self.logs - log + 8.0 * _EPS * (np.abs(self.logs) - log)) / self.rates
        best = int(np.argmin(values))
        if not math.isfinite(values[best]):
            return math.inf, None
        return max(0.0, float(values[best])), float(1.0 + self.rates[best])

    def reach(self, delta: float) -> float:
        """An epsilon from which on delta is below `delta`, `inf` if there is none."""
        return self.epsilon(delta)[0]


def renyi_tails(curve: RdpCurve) -> Tails:
    """The profile that follows from Renyi divergences alone.

    delta(epsilon) <= exp((alpha-1) (R(alpha) - epsilon)) (1 - 1/alpha)^(alpha-1)/alpha.
    Source: Canonne, Kamath, Steinke 2020, Prop. 12; docs/accounting.md, section 2.
    """
    peak = -_RATES * np.log1p(1.0 / _RATES) - np.log(ORDERS)
    return Tails(_RATES, rounded_up(_RATES * curve.values, peak))


def rounded_up(main: Floats, rest: Floats) -> Floats:
    """main + rest, of one shape, with more than their rounding error; `inf` where either is no number."""
    with np.errstate(invalid="ignore"):
        total = main + rest + 32.0 * _EPS * (np.abs(main) + np.abs(rest) + 1.0)
    return np.asarray(np.where(np.isnan(total), np.inf, total))
