"""Certified suprema over the pair of replaced records: find the best pair, then rule out every box."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgp_core._checks import Floats
from dpgp_core.bounds.joint_geometry import Designs, Ints
from dpgp_core.bounds.joint_problems import Problem

Flags = NDArray[np.bool_]

_TOLERANCE = 1e-3  # the certified value stands this much (relative) above the best pair found
_ROUNDING = 1.0 + 1e-6  # far more than any test below can lose to rounding
_MAX_ROUNDS = 40
_CROWDED = 1_000  # boxes per design beyond which its target is relaxed a little every round
_RELAX = 1.003
_MAX_BOXES = 5_000  # beyond it the design is given up, never guessed


def _best_pairs(problem: Problem, designs: Designs) -> Floats:
    """(K,) large values of the objective, found on grids that close in: only a target, it proves nothing."""
    size = designs.order.size
    floor = np.log(np.minimum(designs.r2, designs.top)) - 3.0
    least = np.stack([floor, floor, np.zeros(size)])
    most = np.stack([np.log(designs.top), np.log(designs.top), np.full(size, 1.0 - 1e-6)])
    low, high, best = least, most, np.zeros(size)
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
        low, high = np.maximum(centre - reach, least), np.minimum(centre + reach, most)
    return best


def _first_boxes(r2: float, top: float) -> tuple[Floats, Floats]:
    """Boxes (3, n) that cover 0 <= v, w <= top, 0 <= t <= 1, geometric in v and w down to the ridge."""
    halvings = int(np.ceil(np.log2(max(1.0, top / r2)))) + 3
    edges = top * np.concatenate([[0.0], 2.0 ** -np.arange(halvings, 1.0, -1.0), [0.5, 0.7, 0.85, 1.0]])
    turns = np.linspace(0.0, 1.0, 5)
    i, j, k = (
        index.ravel()
        for index in np.meshgrid(*(np.arange(m) for m in (edges.size - 1, edges.size - 1, 4)), indexing="ij")
    )
    return np.stack([edges[i], edges[j], turns[k]]), np.stack([edges[i + 1], edges[j + 1], turns[k + 1]])


def _halve(low: Floats, high: Floats, designs: Designs, owner: Ints) -> tuple[Floats, Floats, Ints]:
    """Cut every box across its most influential directions; small v or w matter like their square roots."""
    middle = 0.5 * (low + high)
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
    """(K,) upper bounds on the supremum of each design, `inf` where certification takes too much work.

    Every box of a cover is ruled out against a target, or halved. The target may rise while the search runs:
    what was ruled out stays ruled out. So the result is an upper bound however good the first target was.
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
) -> Flags:
    return ~(problem.corner_bound(low, high, designs) <= target)  # a NaN stays alive


def _not_ruled_out(problem: Problem, low: Floats, high: Floats, designs: Designs, target: Floats) -> Flags:
    return ~problem.ruled_out(low, high, designs, target)
