"""Upper bounds on Delta_n, the largest distance between posterior means of neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core._checks import positive, ridge_array, variance_array, whole
from dpgp_core.bounds.sharp import sharp_supremum
from dpgp_core.linalg import Floats

_OUTWARD = 1.0 + 1e-13  # outward slack; each formula below loses less than 1e-14
_CELLS = 128
_ROUNDS = 3


def root_phi(r2: Floats, variance: Floats) -> Floats:
    """Upper bound on sqrt(Phi_n) = max over 0 < v <= V of sqrt(v)/(v + r^2), for r^2 and V of one
    shape.

    1/(2r) if V >= r^2, else sqrt(V)/(V + r^2); docs/mathematics.md, section 1.
    """
    return np.where(variance >= r2, 0.5 / np.sqrt(r2), np.sqrt(variance) / (variance + r2)) * _OUTWARD


def _separate_cells(low: Floats, high: Floats, r2: Floats, growth: Floats) -> Floats:
    """Upper bounds of Theorem A's objective on cells low <= v <= high."""
    # Each of the two factors is unimodal: its largest value is at an end or at its peak.
    weight = np.where((low < r2) & (r2 < high), 0.5 / np.sqrt(r2), 0.0)
    weight = np.maximum(weight, np.maximum(np.sqrt(low) / (low + r2), np.sqrt(high) / (high + r2)))
    spread = np.maximum(low * (1.0 - low), high * (1.0 - high))
    spread = np.where((low < 0.5) & (high > 0.5), 0.25, spread)
    return (1.0 + growth * np.sqrt(spread)) * weight


def separate_supremum(others: float, r2: Floats, variance: Floats) -> Floats:
    """(B,) upper bounds, at most 0.01 % above it, on the supremum of Theorem A for n - 1 others.

    The objective is (1 + sqrt(others v (1-v))/r) sqrt(v)/(v + r^2) over 0 < v <= V. A partition of
    (0, V] in log v whose cells are bounded from above; those that can still hold the supremum are
    partitioned again.
    """
    r2, variance = r2[:, None], variance[:, None]
    growth = np.sqrt(others / r2)
    floor = np.minimum(r2, variance) * 1e-12
    steps = np.linspace(0.0, 1.0, _CELLS + 1)
    edges = floor * (variance / floor) ** steps
    edges[:, -1:] = variance
    # Below the floor both factors increase on (0, r^2), so one cell covers it.
    tail = _separate_cells(np.zeros_like(floor), floor, r2, growth)[:, 0]
    best = np.max(_separate_cells(edges, edges, r2, growth), axis=1)
    for _ in range(_ROUNDS):
        upper = _separate_cells(edges[:, :-1], edges[:, 1:], r2, growth)
        alive = upper >= best[:, None]
        # The alive cells need not touch, but their hull is a valid and simple next range.
        first, last = alive.argmax(axis=1), _CELLS - alive[:, ::-1].argmax(axis=1)
        rows = np.arange(edges.shape[0])
        low, high = edges[rows, first][:, None], edges[rows, last][:, None]
        edges = low * (high / low) ** steps
        edges[:, :1], edges[:, -1:] = low, high
        best = np.maximum(best, np.max(_separate_cells(edges, edges, r2, growth), axis=1))
    upper = _separate_cells(edges[:, :-1], edges[:, 1:], r2, growth)
    return np.asarray(np.maximum(np.maximum(np.max(upper, axis=1), best), tail) * _OUTWARD)


_UP = 1.0 + 1e-14
# Designs certified together: they share the overhead and still fit into the cache.
_SWEEP = 8


class SensitivityBound(float):
    """A bound on Delta_n: a float that knows its name, its source and whether it is proved."""

    name: str
    source: str
    proved: bool

    def __new__(cls, value: float, name: str, source: str, proved: bool) -> SensitivityBound:
        bound = super().__new__(cls, value)
        bound.name, bound.source, bound.proved = name, source, proved
        return bound

    def __reduce__(self) -> tuple[type[SensitivityBound], tuple[float, str, str, bool]]:
        return SensitivityBound, (float(self), self.name, self.source, self.proved)

    def __repr__(self) -> str:
        return f"SensitivityBound({float(self)!r}, name={self.name!r}, proved={self.proved})"


SOURCES = {
    "triangle": "arXiv:2606.17995 v1, Lemma B.1",
    "paper-code": "published code of arXiv:2606.17995; its constant sqrt(2) is not proved",
    "separate": "docs/mathematics.md, section 6, Theorem A",
    "sharp": "docs/mathematics.md, section 6, Theorem A+",
    "constant": "arXiv:2606.17995 v1, Lemma B.4",
    "diagonal": "arXiv:2606.17995 v1, Lemma B.5",
    "line-exponential": "arXiv:2606.17995 v1, Lemma B.7",
    "maximum-principle": "docs/mathematics.md, section 8, Theorem B",
    "rkhs": "arXiv:2606.17995 v1, Lemma B.8, sharpened in docs/mathematics.md, section 3",
}

# Vectorised bounds for response bound 1: (n - 1, r^2 (B,), V_n (B,)) -> Delta_n (B,).


def _triangle(core_size: int, r2: Floats, variance: Floats) -> Floats:
    return 2.0 * (1.0 + np.sqrt(core_size / r2)) * root_phi(r2, variance) * _UP


def _paper_code(core_size: int, r2: Floats, variance: Floats) -> Floats:
    return _triangle(core_size, r2, variance) * math.sqrt(0.5)


def _separate(core_size: int, r2: Floats, variance: Floats) -> Floats:
    return 2.0 * separate_supremum(core_size, r2, variance)


_CERTIFIED: dict[tuple[int, float, float], float] = {}
_CERTIFIED_LIMIT = 100_000


def _sharp(core_size: int, r2: Floats, variance: Floats) -> Floats:
    if core_size == 0:  # no core, no core mean: the supremum is at c = v = v'
        return 2.0 * root_phi(r2, variance)
    keys = [(core_size, *pair) for pair in zip(r2.tolist(), variance.tolist(), strict=True)]
    suprema = {key: _CERTIFIED[key] for key in keys if key in _CERTIFIED}
    missing = [key for key in dict.fromkeys(keys) if key not in suprema]
    for start in range(0, len(missing), _SWEEP):
        part = missing[start : start + _SWEEP]
        pairs = np.array([key[1:] for key in part])
        suprema.update(zip(part, sharp_supremum(core_size, pairs[:, 0], pairs[:, 1]).tolist(), strict=True))
    if len(_CERTIFIED) < _CERTIFIED_LIMIT:
        _CERTIFIED.update((key, suprema[key]) for key in missing)
    return np.array([suprema[key] for key in keys])


def _constant(core_size: int, r2: Floats, variance: Floats) -> Floats:
    """2 M sqrt(n-1+r^2)/(r (n+r^2)), for the kernel that is 1 everywhere."""
    return 2.0 * np.sqrt((core_size + r2) / r2) / (core_size + 1.0 + r2) * (_UP + 0.0 * variance)


def _maximum_principle(core_size: int, r2: Floats, variance: Floats) -> Floats:
    return 2.0 * math.sqrt(2.0) * root_phi(r2, variance) * _UP


def _rkhs(core_size: int, r2: Floats, variance: Floats) -> Floats:
    """B V_n/(V_n + r^2), assuming that responses are f(x) for a fixed f of RKHS norm at most B."""
    return variance / (variance + r2) * _UP


_FORMULAS: dict[str, Callable[[int, Floats, Floats], Floats]] = {
    "triangle": _triangle,
    "paper-code": _paper_code,
    "separate": _separate,
    "sharp": _sharp,
    "constant": _constant,
    "diagonal": _maximum_principle,
    "line-exponential": _maximum_principle,
    "maximum-principle": _maximum_principle,
    "rkhs": _rkhs,
}
PROVED = {name: name != "paper-code" for name in _FORMULAS}


def sensitivity_bounds(name: str, n: int, ridge: ArrayLike, variance: ArrayLike) -> Floats:
    """Vectorised bounds `name` on Delta_n for n records and response bound (or RKHS norm) 1.

    `ridge` > 0 and `variance`, V_n in (0, 1], broadcast to the shape of the result. Raises
    InvalidValue if a number is out of its range.
    """
    ridges, variances = np.broadcast_arrays(ridge_array(ridge), variance_array(variance))
    flat = _FORMULAS[name](whole("n", n) - 1, ridges.ravel() ** 2, variances.ravel())
    return flat.reshape(ridges.shape)


@lru_cache(maxsize=65536)
def _unit(name: str, n: int, ridge: float, variance: float) -> float:
    return float(sensitivity_bounds(name, n, np.array([ridge]), np.array([variance]))[0])


def _bound(name: str, n: int, ridge: float, variance: float, factor: float) -> SensitivityBound:
    value = _unit(name, whole("n", n), float(ridge_array(ridge)), float(variance))
    value *= positive("response_bound", factor) * _UP
    return SensitivityBound(value, name, SOURCES[name], PROVED[name])


def sensitivity_triangle(
    n: int, ridge: float, variance: float, response_bound: float = 1.0
) -> SensitivityBound:
    """Upper bound 2 M (1 + sqrt(n-1)/r) sqrt(Phi_n) on Delta_n: any kernel with k(x,x) <= 1.

    Delta_n is the largest distance between posterior means of neighbouring datasets of n records,
    for the ridge r > 0, the variance V_n in (0, 1] and responses of at most M > 0, response units,
    else InvalidValue. Proved (arXiv:2606.17995 v1, Lemma B.1).
    """
    return _bound("triangle", n, ridge, variance, response_bound)


def sensitivity_separate(
    n: int, ridge: float, variance: float, response_bound: float = 1.0
) -> SensitivityBound:
    """Theorem A: 2 M sup over v <= V_n of (1 + sqrt((n-1) v (1-v))/r) sqrt(v)/(v+r^2), certified.

    An upper bound on Delta_n for any kernel with k(x,x) <= 1. Arguments as in
    `sensitivity_triangle`. Proved (docs/mathematics.md, section 6).
    """
    return _bound("separate", n, ridge, variance, response_bound)


def sensitivity_sharp(n: int, ridge: float, variance: float, response_bound: float = 1.0) -> SensitivityBound:
    """Theorem A+: the two replaced records treated together, certified from above. The generic
    default.

    An upper bound on Delta_n for any kernel with k(x,x) <= 1. Arguments as in
    `sensitivity_triangle`. Proved (docs/mathematics.md, section 6).

    Examples
    --------
    >>> sharp = sensitivity_sharp(600, 5.0, 1.0)
    >>> round(sharp, 4), sharp.proved
    (0.1545, True)
    >>> round(sensitivity_triangle(600, 5.0, 1.0), 4)
    0.4535
    """
    return _bound("sharp", n, ridge, variance, response_bound)


def sensitivity_paper_code(
    n: int, ridge: float, variance: float, response_bound: float = 1.0
) -> SensitivityBound:
    """Lemma B.1 with sqrt(2) in place of 2, as the paper's published code has it. NOT proved.

    For comparison only: no release can be priced with it.
    """
    return _bound("paper-code", n, ridge, variance, response_bound)


def sensitivity_maximum_principle(
    ridge: float, variance: float, response_bound: float = 1.0
) -> SensitivityBound:
    """Theorem B: 2 sqrt(2) M sqrt(Phi_n) for priors whose precision is a symmetric M-matrix,
    whatever n.

    An upper bound on Delta_n; false for general kernels, among them the exponential one in the
    plane: see `Bound.requires`. Arguments as in `sensitivity_triangle`. Proved
    (docs/mathematics.md, section 8).
    """
    return _bound("maximum-principle", 1, ridge, variance, response_bound)


def sensitivity_line_exponential(
    ridge: float, variance: float, response_bound: float = 1.0
) -> SensitivityBound:
    """2 sqrt(2) M sqrt(Phi_n) for the exponential kernel on a line. Proved (paper, Lemma B.7)."""
    return _bound("line-exponential", 1, ridge, variance, response_bound)
