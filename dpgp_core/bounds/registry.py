"""The registry of bounds: what each proves under which condition, and the least noise it allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core._checks import open_unit, positive, positive_array, renyi_orders, ridge_array, whole
from dpgp_core.accounting.rdp import (
    ORDERS,
    classical_shift,
    conversion_cost,
    covariance_term,
    epsilons_from_rdp,
    leverage,
    rdp_from_shift,
)
from dpgp_core.bounds.joint import MEAN_SHIFTS
from dpgp_core.bounds.sensitivities import PROVED, SOURCES, sensitivity_bounds
from dpgp_core.errors import BoundRefused, InvalidValue
from dpgp_core.linalg import Floats

_UP = 1.0 + 4.0 * np.finfo(np.float64).eps  # outward rounding of a handful of operations


def variance_bounds(n: int, ridge: ArrayLike, kappa: ArrayLike = 0.0) -> Floats:
    """Vectorised `variance_bound`; `ridge` and `kappa` broadcast. InvalidValue out of range."""
    core_size = whole("n", n) - 1
    r2 = ridge_array(ridge) ** 2
    k = np.asarray(kappa, dtype=np.float64)
    if not np.all((k >= 0.0) & (k <= 1.0)):
        raise InvalidValue("kappa must lie in [0, 1]: it is a lower bound on the prior correlation.")
    # 1 - kappa^2 (n-1)/(n-1+r^2), written without cancellation for kappa near 1.
    # 1 - k^2 (n-1)/(n-1+r^2), written so that nothing cancels for k near 1.
    value = (1.0 - k) * (1.0 + k) + k * k * (r2 / (core_size + r2))
    return np.minimum(1.0, value * _UP)


def variance_bound(n: int, ridge: float, kappa: float = 0.0) -> float:
    """Upper bound V_n <= 1 - kappa^2 (n-1)/(n-1+r^2) on the core posterior variance.

    Exact when the prior has unit variance everywhere and attains kappa, its least correlation over
    the domain, in [0, 1]; n >= 1 records, ridge r > 0, else InvalidValue. Source: arXiv:2606.17995
    v1, Prop. 3; docs/mathematics.md, section 1.
    """
    return float(variance_bounds(n, ridge, kappa))


class MeanShift(Protocol):
    """See `Bound.mean_shift`."""

    def __call__(
        self, orders: ArrayLike, *, n: int, ridge: ArrayLike, variance: ArrayLike, noise_share: float = 0.0
    ) -> Floats: ...


@dataclass(frozen=True)
class Bound:
    """A named bound that can price a design."""

    name: str  # key in `BOUNDS`
    source: str  # document or paper with its proof
    proved: bool  # false: for comparison only, can never back a release
    requires: str  # the condition on the prior (or the data) under which it holds
    # S(alpha) for response bound 1, such that the mean term of one path's RDP is (alpha/2)
    # S(alpha)/(sigma^2 + eta^2). Called with orders (K,) and n, ridge, variance V_n and noise_share
    # = eta^2/(sigma^2 + eta^2) in [0, 1]; `ridge` and `variance` may be arrays of one shape (...),
    # the result is (..., K), `inf` outside the admissible orders alpha p < 1
    mean_shift: MeanShift


def _classical(name: str, factor: float = 1.0) -> MeanShift:
    def mean_shift(
        orders: ArrayLike, *, n: int, ridge: ArrayLike, variance: ArrayLike, noise_share: float = 0.0
    ) -> Floats:
        delta = factor * sensitivity_bounds(name, n, ridge, variance)
        return classical_shift(renyi_orders(orders), delta, leverage(ridge, variance, noise_share))

    return mean_shift


ANY_PRIOR = "any prior with k(x,x) <= 1"
_REQUIRES = {
    "triangle": ANY_PRIOR,
    "separate": ANY_PRIOR,
    "sharp": ANY_PRIOR,
    "maximum-principle": "a lattice prior whose precision is a symmetric M-matrix",
    "constant": "the prior that is 1 everywhere",
    "diagonal": "a prior that vanishes off the diagonal",
    "line-exponential": "the exponential prior in one dimension",
    "paper-code": "nothing proves it; for comparison only",
}

BOUNDS: dict[str, Bound] = {
    name: Bound(name, SOURCES[name], PROVED[name], requires, _classical(name))
    for name, requires in _REQUIRES.items()
}
_JOINT = {"joint-sharp": "sharp", "joint-maximum-principle": "maximum-principle"}
BOUNDS |= {
    name: Bound(name, "docs/joint-bound.md", True, _REQUIRES[classical], MEAN_SHIFTS[name])
    for name, classical in _JOINT.items()
}
"""Bounds by name. "rkhs" is left out: it needs a norm of the unknown field."""


class BoundedPrior(Protocol):
    """A prior that says which bounds hold for it."""

    @property
    def name(self) -> str: ...
    @property
    def bounds(self) -> tuple[str, ...]: ...


def proved_bounds(facts: BoundedPrior, bound: str | None) -> tuple[str, ...]:
    """Bounds to try for a prior: the named one, or every proved one that no other dominates.

    Raises BoundRefused if the named bound does not hold for the prior or is not proved.
    """
    holding = tuple(name for name in facts.bounds if name in BOUNDS and BOUNDS[name].proved)
    if bound is None:
        dominated = {
            "triangle": "separate",
            "separate": "sharp",
            "sharp": "joint-sharp",
            "maximum-principle": "joint-maximum-principle",
        }
        return tuple(name for name in holding if dominated.get(name) not in holding)
    if bound not in holding:
        raise BoundRefused(
            f"The bound {bound!r} is not proved for the {facts.name} prior: "
            f"choose one of {', '.join(holding)}."
        )
    return (bound,)


@dataclass(frozen=True, eq=False)
class Scales:
    """The least total standard deviation that fits a budget, split into its two parts.

    Floats for one design, arrays for many: both of the shape of the designs.
    """

    # posterior scale sigma, response units, `inf` where the budget is infeasible
    scale: float | Floats
    noise_scale: float | Floats  # extra prior noise eta, response units


def _least_total(epsilon: float, delta: float, shift: Floats, covariance: Floats, paths: int) -> Floats:
    """Least total = sqrt(sigma^2 + eta^2) for curves shift, covariance (..., K) on `ORDERS`.

    At each order the budget allows paths (C + (alpha/2) S/total^2) <= epsilon - conversion cost,
    which is linear in 1/total^2. The least over orders is nudged upwards until the forward
    computation agrees.
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
    """The least posterior scale sigma whose `paths` paths cost at most `epsilon` at `delta`.

    epsilon > 0, delta in (0, 1), ridge r > 0, variance V_n in (0, 1], sensitivity > 0 (response
    units), else InvalidValue. Closed form over `ORDERS`; feasible after rounding, and minimal on
    that grid to about 1e-12.
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
    """The least noise under a named bound, for one design or for arrays (ridge, kappa).

    The arrays broadcast to the shape of the result.

    Arguments as in `smallest_scale` and `variance_bound`; responses are clipped to [-1, 1].
    `noise_share`, eta^2/(sigma^2 + eta^2) in [0, 1), is the share of extra prior noise in the
    released variance. Raises InvalidValue for numbers out of range.
    """
    epsilon, delta, paths = positive("epsilon", epsilon), open_unit("delta", delta), whole("paths", paths)
    if not 0.0 <= noise_share < 1.0:
        raise InvalidValue("noise_share must lie in [0, 1): for a share of 1 no scale is left.")
    proved = BOUNDS[bound] if isinstance(bound, str) else bound
    ridges, kappas = np.broadcast_arrays(ridge_array(ridge), np.asarray(kappa, dtype=np.float64))
    variances = variance_bounds(n, ridges, kappas)
    # The share that a guarantee recovers from the two rounded scales is a few ulps lower, which
    # costs more.
    charged = noise_share * (1.0 - 2.0**-46)
    shift = proved.mean_shift(ORDERS, n=n, ridge=ridges, variance=variances, noise_share=charged)
    covariance = covariance_term(ORDERS, leverage(ridges, variances, charged))
    total = _least_total(epsilon, delta, shift, covariance, paths)
    up = 1.0 + 2.0**-48  # rounding in the split must not lose any of the total
    with np.errstate(invalid="ignore"):
        scale = total * math.sqrt(1.0 - noise_share) * up
        noise = total * math.sqrt(noise_share) * up if noise_share > 0.0 else np.zeros_like(total)
    if total.ndim == 0:
        return Scales(float(scale), float(noise))
    return Scales(scale, noise)
