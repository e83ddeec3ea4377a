"""Joint bounds: the mean shift S(alpha) at the worst pair of records, not at the worst of each separately."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core._checks import Floats, renyi_orders, ridge_array, variance_array, whole
from dpgp_core.accounting.rdp import classical_shift, leverage
from dpgp_core.bounds.joint_geometry import Designs
from dpgp_core.bounds.joint_problems import GenericPairs, LatticePairs, Problem
from dpgp_core.bounds.joint_search import certified_suprema
from dpgp_core.bounds.sensitivities import sensitivity_bounds

_PARTS = np.array([0.0, 0.12, 0.25, 0.42, 0.6, 0.75, 0.87, 0.95])
"""Certified orders alpha = 1 + part (1/p - 1); between them 1/S is bounded below by its chords."""

_RIDGES = (0.5, 1e4)
"""Outside, the classical bound stands: few orders are admissible below, and none gains anything above."""

_VARIANCE_STEPS = 512  # V_n is rounded up to a 512th of a doubling, so that designs share certificates
_EPS = float(np.finfo(np.float64).eps)
_SWEEP = 8  # designs certified together: enough to share the overhead, few enough to stay in the cache
_KNOWN_LIMIT = 50_000

Key = tuple[int, float, float]  # n - 1, ridge, variance
Certificate = tuple[Floats, Floats]  # orders, and lower bounds on 1/S at them


@dataclass(frozen=True)
class _Joint:
    """One joint bound: its supremum, the sensitivity it sharpens, and what is certified so far."""

    problem: Problem
    classical: Literal["sharp", "maximum-principle"]
    counts_records: bool
    known: dict[Key, Certificate] = field(default_factory=dict)


_JOINT = {
    "joint-sharp": _Joint(GenericPairs(), "sharp", True),
    "joint-maximum-principle": _Joint(LatticePairs(), "maximum-principle", False),
}


def _certificates(bound: _Joint, keys: list[Key]) -> dict[Key, Certificate]:
    """Certificates for designs `keys`; new ones are made `_SWEEP` at a time and kept."""
    found = {key: bound.known[key] for key in keys if key in bound.known}
    missing = [key for key in dict.fromkeys(keys) if key not in found]
    for start in range(0, len(missing), _SWEEP):
        sweep = missing[start : start + _SWEEP]
        others, ridge, top = np.array(sweep, dtype=np.float64).T
        last = (top + ridge**2) / top
        orders = 1.0 + _PARTS * (last - 1.0)[:, None]
        flat = (np.repeat(value, _PARTS.size) for value in (ridge**2, np.sqrt(others) / ridge, top))
        values = certified_suprema(bound.problem, Designs(orders.ravel(), *flat))
        # S grows with the order, so a running maximum loses nothing and tidies the tolerance away.
        shifts = np.maximum.accumulate(values.reshape(orders.shape), axis=1)
        ends = np.concatenate([orders, last[:, None] * (1.0 - 256.0 * _EPS)], axis=1)
        inverses = np.concatenate([1.0 / shifts, np.zeros((len(sweep), 1))], axis=1)
        found.update(zip(sweep, zip(ends, inverses, strict=True), strict=True))
    if len(bound.known) < _KNOWN_LIMIT:
        bound.known.update((key, found[key]) for key in missing)
    return found


def _rounded_up(variance: float) -> float:
    step = np.ceil(np.log2(variance) * _VARIANCE_STEPS * (1.0 - 1e-12)) / _VARIANCE_STEPS
    return min(1.0, float(2.0**step) * (1.0 + 1e-12))


def _mean_shift(
    name: str,
    orders: ArrayLike,
    *,
    n: int,
    ridge: ArrayLike,
    variance: ArrayLike,
    noise_share: float = 0.0,
) -> Floats:
    bound, others, grid = _JOINT[name], whole("n", n) - 1, renyi_orders(orders)
    ridges, variances = np.broadcast_arrays(ridge_array(ridge), variance_array(variance))
    delta = sensitivity_bounds(bound.classical, n, ridges, variances)
    shifts = classical_shift(grid, delta, leverage(ridges, variances, noise_share))
    # With extra prior noise the order that counts is (1 - share) alpha, never below 1.
    effective = np.maximum(1.0, (1.0 - noise_share) * grid * (1.0 + 4.0 * _EPS))
    flat = shifts.reshape(-1, grid.size)
    pairs = zip(ridges.ravel().tolist(), variances.ravel().tolist(), strict=True)
    keys = [(others if bound.counts_records else 0, r, _rounded_up(v)) for r, v in pairs]
    rows = [row for row, key in enumerate(keys) if _RIDGES[0] <= key[1] <= _RIDGES[1]]
    certificates = _certificates(bound, [keys[row] for row in rows])
    for row in rows:
        inverse = np.interp(effective, *certificates[keys[row]], right=0.0)
        with np.errstate(divide="ignore"):
            joint = (1.0 + 1e-9) / inverse
        # Where the classical bound is infinite the order is not admissible.
        flat[row] = np.where(np.isfinite(flat[row]), np.minimum(flat[row], joint), np.inf)
    return flat.reshape(shifts.shape)


MEAN_SHIFTS = {name: partial(_mean_shift, name) for name in _JOINT}
"""The joint bounds by name, with the signature of `dpgp_core.bounds.registry.MeanShift`.

(..., K) upper bounds S(alpha) for response bound 1, such that the mean term is (alpha/2) S/(sigma^2 + eta^2);
`inf` where alpha p >= 1, never above the classical bound with the factor 1/(1 - alpha p). `joint-sharp` is
for any prior with k(x, x) <= 1; `joint-maximum-principle` for lattice priors whose precision is a symmetric
M-matrix, whatever the number of records. Certified once per design, then cached. Proved
(docs/joint-bound.md)."""
