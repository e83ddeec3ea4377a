"""The registry of bounds: which mean shift each one proves, under which condition on the prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from numpy.typing import ArrayLike

from dpgp_core._checks import positive, renyi_orders
from dpgp_core.accounting.rdp import classical_shift, leverage
from dpgp_core.bounds.joint import MEAN_SHIFTS
from dpgp_core.bounds.sensitivities import PROVED, SOURCES, sensitivity_bounds
from dpgp_core.linalg import Floats


class MeanShift(Protocol):
    """See `Bound.mean_shift`."""

    def __call__(
        self, orders: ArrayLike, *, n: int, ridge: ArrayLike, variance: ArrayLike, noise_share: float = 0.0
    ) -> Floats: ...


@dataclass(frozen=True)
class Bound:
    """A named bound that can price a design."""

    name: str  # key in `BOUNDS`
    source: str  # where its proof stands
    proved: bool  # false: for comparison only, can never back a release
    requires: str  # the condition on the prior (or the data) under which it holds
    # S(alpha) for response bound 1, such that the mean term of one path's RDP is (alpha/2) S(alpha)/(sigma^2
    # + eta^2). Called with orders (K,) and n, ridge, variance V_n and noise_share = eta^2/(sigma^2 + eta^2)
    # in [0, 1]; `ridge` and `variance` may be arrays of one shape (...), the result is (..., K), `inf`
    # outside the admissible orders alpha p < 1
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
"""Bounds by name. "rkhs" is not among them: it needs a norm, see `rkhs_bound`."""


def rkhs_bound(norm_bound: float) -> Bound:
    """The bound for responses f(x) of one fixed f with RKHS norm at most `norm_bound` (response units).

    An assumption about the data, so it is never a default and always part of the privacy statement.
    """
    norm_bound = positive("norm_bound", norm_bound)
    return Bound(
        "rkhs",
        SOURCES["rkhs"],
        True,
        f"every response is f(x) for one fixed function f with RKHS norm at most {norm_bound:g}",
        _classical("rkhs", norm_bound),
    )
