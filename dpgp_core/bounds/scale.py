"""The least noise that fits a budget: solved order by order, then verified, never searched."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core._checks import open_unit, positive, positive_array, ridge_array, whole
from dpgp_core.accounting.conversion import conversion_cost, epsilons_from_rdp
from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.accounting.orders import ORDERS
from dpgp_core.accounting.rdp import classical_shift, covariance_term, leverage, rdp_from_shift
from dpgp_core.bounds.registry import BOUNDS, Bound
from dpgp_core.bounds.variance import variance_bounds
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats


@dataclass(frozen=True, eq=False)
class Scales:
    """The least total standard deviation that fits a budget, split into its two parts.

    Floats for one design, arrays for many: both of the shape of the designs.
    """

    scale: float | Floats  # posterior scale sigma, response units, `inf` where the budget is infeasible
    noise_scale: float | Floats  # extra prior noise eta, response units


def _least_total(epsilon: float, delta: float, shift: Floats, covariance: Floats, paths: int) -> Floats:
    """Least total = sqrt(sigma^2 + eta^2) for curves shift, covariance (..., K) on `ORDERS`; `inf` if none.

    At each order the budget allows paths (C + (alpha/2) S/total^2) <= epsilon - conversion cost, which is
    linear in 1/total^2. The least over orders is nudged upwards until the forward computation agrees.
    """
    room = epsilon - conversion_cost(ORDERS, delta) - paths * covariance
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        usable = (room > 0.0) & np.isfinite(shift)
        square = np.where(usable, 0.5 * paths * ORDERS * shift / np.where(usable, room, 1.0), np.inf)
    nudge = 2.0**-47  # enough for the rounding of what follows, so that one round is the rule
    total = np.asarray(np.sqrt(np.min(square, axis=-1))) * (1.0 + nudge)
    for _ in range(40):
        cost = rdp_from_shift(ORDERS, shift, covariance, np.where(np.isfinite(total), total, 1.0), paths)
        over = np.isfinite(total) & ~(epsilons_from_rdp(ORDERS, cost, delta) <= epsilon)
        if not np.any(over):
            return total
        total = np.where(over, total * (1.0 + nudge), total)
        nudge *= 2.0
    return np.where(over, np.inf, total)


def smallest_scale(
    epsilon: float, delta: float, *, ridge: float, variance: float, sensitivity: float, paths: int = 1
) -> float:
    """The least posterior scale sigma whose `paths` paths cost at most `epsilon` at `delta`, or `inf`.

    epsilon > 0, delta in (0, 1);  ridge r > 0, variance V_n in (0, 1], sensitivity > 0 (response units).
    Closed form over `ORDERS`; feasible after rounding, and minimal on that grid to about 1e-12.

    Examples
    --------
    >>> round(smallest_scale(1.0, 1e-5, ridge=5.0, variance=1.0, sensitivity=0.15447), 3)
    0.976
    >>> smallest_scale(1e-3, 1e-9, ridge=0.5, variance=1.0, sensitivity=0.15447)
    inf
    """
    epsilon, delta, paths = positive("epsilon", epsilon), open_unit("delta", delta), whole("paths", paths)
    p = leverage(ridge, variance)
    shift = classical_shift(ORDERS, positive_array("sensitivity", sensitivity), p)
    return float(_least_total(epsilon, delta, shift, covariance_term(ORDERS, p), paths))


def smallest_scale_for(
    bound: str | Bound,
    epsilon: float,
    delta: float,
    *,
    n: int,
    ridge: ArrayLike,
    kappa: ArrayLike = 0.0,
    paths: int = 1,
    noise_share: float = 0.0,
) -> Scales:
    """The least noise under a named bound, for one design or for arrays of (ridge, kappa) that broadcast.

    Arguments as in `smallest_scale` and `variance_bound`; responses are clipped to [-1, 1]. `noise_share`,
    eta^2/(sigma^2 + eta^2) in [0, 1), is the share of extra prior noise in the released variance; for 1 use
    `smallest_noise`. Raises InvalidValue for numbers out of range.
    """
    epsilon, delta, paths = positive("epsilon", epsilon), open_unit("delta", delta), whole("paths", paths)
    if not 0.0 <= noise_share < 1.0:
        raise InvalidValue("noise_share must lie in [0, 1): for the mean with noise only use smallest_noise.")
    chosen = BOUNDS[bound] if isinstance(bound, str) else bound
    ridges, kappas = np.broadcast_arrays(ridge_array(ridge), np.asarray(kappa, dtype=np.float64))
    variances = variance_bounds(n, ridges, kappas)
    # The share that a guarantee recovers from the two rounded scales is a few ulps lower, which costs more.
    charged = noise_share * (1.0 - 2.0**-46)
    shift = chosen.mean_shift(ORDERS, n=n, ridge=ridges, variance=variances, noise_share=charged)
    covariance = covariance_term(ORDERS, leverage(ridges, variances, charged))
    total = _least_total(epsilon, delta, shift, covariance, paths)
    up = 1.0 + 2.0**-48  # rounding in the split must not lose any of the total
    with np.errstate(invalid="ignore"):
        scale = total * math.sqrt(1.0 - noise_share) * up
        noise = total * math.sqrt(noise_share) * up if noise_share > 0.0 else np.zeros_like(total)
    if total.ndim == 0:
        return Scales(float(scale), float(noise))
    return Scales(scale, noise)


def smallest_noise(epsilon: float, delta: float, *, sensitivity: float, paths: int = 1) -> float:
    """The least prior noise eta for releasing `paths` copies of posterior mean + prior noise (scale = 0).

    A Gaussian mechanism with mu = sqrt(paths) sensitivity/eta, converted exactly; rounded upwards.
    """
    mu = gaussian_mu(positive("epsilon", epsilon), open_unit("delta", delta))
    return positive("sensitivity", sensitivity) * math.sqrt(whole("paths", paths)) / mu * (1.0 + 2.0**-50)
