"""Joint bounds: the mean shift S(alpha) at the worst pair of records taken together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core._checks import renyi_orders, ridge_array, variance_array, whole
from dpgp_core.accounting.rdp import classical_shift, leverage
from dpgp_core.bounds.joint_problems import Designs, GenericPairs, LatticePairs, Problem
from dpgp_core.bounds.sensitivities import sensitivity_bounds
from dpgp_core.linalg import Bools, Floats, Ints

_TOLERANCE = 1e-3  # relative distance of the certified value above the best pair
_ROUNDING = 1.0 + 1e-6  # far more than any test below can lose to rounding
_MAX_ROUNDS = 40
_CROWDED = 1_000  # boxes per design beyond which its target is relaxed a little every round
_RELAX = 1.003
_MAX_BOXES = 5_000  # with more boxes the design has no certificate: nothing is guessed


def _best_pairs(problem: Problem, designs: Designs) -> Floats:
    """(K,) large values of the objective on grids that narrow: a target only, without any proof."""
    size = designs.order.size
    floor = np.log(np.minimum(designs.r2, designs.top)) - 3.0
    floors = np.stack([floor, floor, np.zeros(size)])
    ceilings = np.stack([np.log(designs.top), np.log(designs.top), np.full(size, 1.0 - 1e-6)])
    low, high, best = floors, ceilings, np.zeros(size)
    steps, rows = np.linspace(0.0, 1.0, 7), np.arange(size)
    spread = designs.take(np.repeat(rows, steps.size**3))
    for _ in range(8):
        grid = low[:, :, None] + (high - low)[:, :, None] * steps
        axes = (grid[0][:, :, None, None], grid[1][:, None, :, None], grid[2][:, None, None, :])
        points = np.stack([axis.reshape(size, -1) for axis in np.broadcast_arrays(*axes)])
        pair = points.reshape(3, -1).copy()
        pair[:2] = np.exp(pair[:2])
        values = problem.corner_bound(pair, pair, spread).reshape(size, -1)
        where = values.argmax(axis=1)
        best = np.maximum(best, values[rows, where])
        centre, reach = points[:, rows, where], 0.28 * (high - low)
        low, high = np.maximum(centre - reach, floors), np.minimum(centre + reach, ceilings)
    return best


def _first_boxes(r2: float, top: float) -> tuple[Floats, Floats]:
    """Boxes (3, n) that cover 0 <= v, w <= top, 0 <= t <= 1.

    Edges are geometric in v and w: the objective varies with their logarithms above the ridge.
    """
    halvings = int(np.ceil(np.log2(max(1.0, top / r2)))) + 3
    edges = top * np.concatenate([[0.0], 2.0 ** -np.arange(halvings, 1.0, -1.0), [0.5, 0.7, 0.85, 1.0]])
    turns = np.linspace(0.0, 1.0, 5)
    i, j, k = (
        index.ravel()
        for index in np.meshgrid(*(np.arange(m) for m in (edges.size - 1, edges.size - 1, 4)), indexing="ij")
    )
    return np.stack([edges[i], edges[j], turns[k]]), np.stack([edges[i + 1], edges[j + 1], turns[k + 1]])


def _halve(low: Floats, high: Floats, designs: Designs, owner: Ints) -> tuple[Floats, Floats, Ints]:
    """Cut every box across its most influential directions."""
    middle = 0.5 * (low + high)
    # The objective depends on v and w through their square roots where they are small.
    weight = np.minimum(1.0, np.sqrt(middle[:2] / (0.3 * np.minimum(designs.r2, designs.top))))
    width = (high - low) * np.stack(
        [weight[0] / middle[0], weight[1] / middle[1], np.minimum(weight[0], weight[1])]
    )
    cut = width >= 0.7 * width.max(axis=0)
    for i in range(3):
        which = cut[i]
        upper_low, upper_high = low[:, which].copy(), high[:, which]
        upper_low[i] = 0.5 * (upper_low[i] + upper_high[i])
        high = high.copy()
        high[i, which] = upper_low[i]
        low, high = np.concatenate([low, upper_low], axis=1), np.concatenate([high, upper_high], axis=1)
        owner, cut = np.concatenate([owner, owner[which]]), np.concatenate([cut, cut[:, which]], axis=1)
    return low, high, owner


def certified_suprema(problem: Problem, designs: Designs) -> Floats:
    """(K,) upper bounds on the supremum of each design, `inf` if certification takes too much work.

    Every box of a cover is ruled out against a target, or halved. Boxes that were ruled out stay
    so when the target rises, so the result is an upper bound whatever the first target was.
    """
    size = designs.order.size
    target = _best_pairs(problem, designs) * (1.0 + _TOLERANCE)
    starts = [
        _first_boxes(r2, top) for r2, top in zip(designs.r2.tolist(), designs.top.tolist(), strict=True)
    ]
    low = np.concatenate([start[0] for start in starts], axis=1)
    high = np.concatenate([start[1] for start in starts], axis=1)
    owner = np.repeat(np.arange(size), [start[0].shape[1] for start in starts])
    given_up = np.zeros(size, dtype=np.bool_)
    with np.errstate(all="ignore"):
        for _ in range(_MAX_ROUNDS):
            for test in (_above_corner_bound, _not_ruled_out):
                alive = test(problem, low, high, designs.take(owner), target[owner])
                low, high, owner = low[:, alive], high[:, alive], owner[alive]
                if owner.size == 0:
                    return np.where(given_up, np.inf, target * _ROUNDING)
            # Better pairs raise the target; they are often at v or w = V_n.
            pair = 0.5 * (low + high)
            pair[:2] = np.where(high[:2] < designs.top[owner], pair[:2], high[:2])
            values = problem.corner_bound(pair, pair, designs.take(owner))
            np.maximum.at(target, owner, np.nan_to_num(values, nan=0.0, posinf=0.0) * (1.0 + _TOLERANCE))
            boxes = np.bincount(owner, minlength=size)
            target[boxes > _CROWDED] *= _RELAX
            given_up |= boxes > _MAX_BOXES
            alive = ~given_up[owner]
            low, high, owner = low[:, alive], high[:, alive], owner[alive]
            low, high, owner = _halve(low, high, designs.take(owner), owner)
    given_up[owner] = True
    return np.where(given_up, np.inf, target * _ROUNDING)


def _above_corner_bound(
    problem: Problem, low: Floats, high: Floats, designs: Designs, target: Floats
) -> Bools:
    return ~(problem.corner_bound(low, high, designs) <= target)  # a NaN stays alive


def _not_ruled_out(problem: Problem, low: Floats, high: Floats, designs: Designs, target: Floats) -> Bools:
    return ~problem.ruled_out(low, high, designs, target)


_PARTS = np.array([0.0, 0.12, 0.25, 0.42, 0.6, 0.75, 0.87, 0.95])
"""Certified orders alpha = 1 + part (1/p - 1); between them 1/S is bounded below by its chords."""

_RIDGES = (0.5, 1e4)
"""Ridges outside keep the classical bound: few orders are admissible below, none gains above."""

# V_n is rounded up to a 512th of a doubling, so that designs share certificates.
_VARIANCE_STEPS = 512
_EPS = float(np.finfo(np.float64).eps)
# Designs certified together: they share the overhead and still fit into the cache.
_SWEEP = 8
_KNOWN_LIMIT = 50_000

Key = tuple[int, float, float]  # n - 1, ridge, variance
Certificate = tuple[Floats, Floats]  # orders, and lower bounds on 1/S at them


@dataclass(frozen=True)
class _Joint:
    """One joint bound: its supremum, the sensitivity it sharpens, and its certificates so far."""

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
    certificates = {key: bound.known[key] for key in keys if key in bound.known}
    missing = [key for key in dict.fromkeys(keys) if key not in certificates]
    for start in range(0, len(missing), _SWEEP):
        sweep = missing[start : start + _SWEEP]
        core_sizes, ridge, top = np.array(sweep, dtype=np.float64).T
        last = (top + ridge**2) / top
        orders = 1.0 + _PARTS * (last - 1.0)[:, None]
        flat = (np.repeat(value, _PARTS.size) for value in (ridge**2, np.sqrt(core_sizes) / ridge, top))
        values = certified_suprema(bound.problem, Designs(orders.ravel(), *flat))
        # S grows with the order, so a running maximum loses nothing and tidies the tolerance away.
        shifts = np.maximum.accumulate(values.reshape(orders.shape), axis=1)
        ends = np.concatenate([orders, last[:, None] * (1.0 - 256.0 * _EPS)], axis=1)
        inverses = np.concatenate([1.0 / shifts, np.zeros((len(sweep), 1))], axis=1)
        certificates.update(zip(sweep, zip(ends, inverses, strict=True), strict=True))
    if len(bound.known) < _KNOWN_LIMIT:
        bound.known.update((key, certificates[key]) for key in missing)
    return certificates


def _rounded_up(variance: float) -> float:
    step = np.ceil(np.log2(variance) * _VARIANCE_STEPS * (1.0 - 1e-12)) / _VARIANCE_STEPS
    return min(1.0, float(2.0**step) * (1.0 + 1e-12))


def _mean_shift(
    name: str, orders: ArrayLike, *, n: int, ridge: ArrayLike, variance: ArrayLike, noise_share: float = 0.0
) -> Floats:
    bound, core_size, grid = _JOINT[name], whole("n", n) - 1, renyi_orders(orders)
    ridges, variances = np.broadcast_arrays(ridge_array(ridge), variance_array(variance))
    delta = sensitivity_bounds(bound.classical, n, ridges, variances)
    shifts = classical_shift(grid, delta, leverage(ridges, variances, noise_share))
    # Prior noise multiplies the leverage by 1 - share, which acts like the order (1 - share)
    # alpha. Orders below 1 have no certificate.
    effective = np.maximum(1.0, (1.0 - noise_share) * grid * (1.0 + 4.0 * _EPS))
    flat = shifts.reshape(-1, grid.size)
    pairs = zip(ridges.ravel().tolist(), variances.ravel().tolist(), strict=True)
    keys = [(core_size if bound.counts_records else 0, r, _rounded_up(v)) for r, v in pairs]
    rows = [row for row, key in enumerate(keys) if _RIDGES[0] <= key[1] <= _RIDGES[1]]
    certificates = _certificates(bound, [keys[row] for row in rows])
    for row in rows:
        # Between certified orders 1/S is bounded below by its chords, so S is bounded above.
        inverse = np.interp(effective, *certificates[keys[row]], right=0.0)
        with np.errstate(divide="ignore"):
            joint = (1.0 + 1e-9) / inverse
        # Where the classical bound is infinite the order is not admissible.
        flat[row] = np.where(np.isfinite(flat[row]), np.minimum(flat[row], joint), np.inf)
    return flat.reshape(shifts.shape)


MEAN_SHIFTS = {name: partial(_mean_shift, name) for name in _JOINT}
"""The joint bounds by name, with the signature of `dpgp_core.bounds.registry.MeanShift`.

(..., K) upper bounds S(alpha) for response bound 1, such that the mean term is (alpha/2) S/(sigma^2
+ eta^2); `inf` where alpha p >= 1, never above the classical bound with the factor 1/(1 - alpha p).
`joint-sharp` is for any prior with k(x, x) <= 1; `joint-maximum-principle` for lattice priors whose
precision is a symmetric M-matrix, whatever the number of records. Certified once per design, then
cached. Proved (docs/joint-bound.md)."""
