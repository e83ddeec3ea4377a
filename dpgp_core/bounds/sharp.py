"""The certified supremum of Theorem A+: branch and bound over boxes, for many designs at once."""

from __future__ import annotations

import numpy as np

from dpgp_core.bounds.sharp_objective import FLAT, ROUNDING, upper_bounds, value
from dpgp_core.linalg import Floats, Ints

_TOLERANCE = 1e-3  # relative distance of the certified value above the best point
_CELL = 0.3  # first width of a box in every coordinate
_MAX_ROUNDS = 60
_MAX_BOXES = 400_000

_RIGHT = 0.5 * np.pi * (1.0 + 1e-15)


def _best_on_diagonal(r2: Floats, growth: Floats, top: Floats) -> Floats:
    """(B,) largest value found with v = v': a lower bound of the supremum, usually equal to it."""
    low, high = np.minimum(0.5 * np.log(r2), top) - 3.0, top
    left, right = np.zeros_like(top), np.full_like(top, 0.5 * np.pi)
    best = np.zeros_like(top)
    rows, steps = np.arange(top.size), np.linspace(0.0, 1.0, 25)
    for _ in range(6):
        m = low[:, None] + (high - low)[:, None] * steps
        angle = left[:, None] + (right - left)[:, None] * steps
        m, angle = np.broadcast_arrays(m[:, :, None], angle[:, None, :])
        point = np.stack([m, np.zeros_like(m), angle])
        values = value(point, r2[:, None, None], growth[:, None, None]).reshape(top.size, -1)
        where = values.argmax(axis=1)
        best = np.maximum(best, values[rows, where])
        centre, turn = m.reshape(top.size, -1)[rows, where], angle.reshape(top.size, -1)[rows, where]
        reach, swing = (high - low) / 12.0, (right - left) / 12.0
        low, high = np.maximum(low, centre - reach), np.minimum(high, centre + reach)
        left, right = np.maximum(left, turn - swing), np.minimum(right, turn + swing)
    return best


def _first_boxes(r2: float, growth: float, top: float, best: float) -> tuple[Floats, Floats]:
    """Boxes (3, n) and half widths that cover all pairs that can exceed `best`."""
    knee = min(0.5 * float(np.log(r2)), top)
    # Small v: the objective is at most 2 a g + growth sqrt(2) x with both factors increasing up to
    # the knee.
    start = knee - 0.5 * np.arange(200)
    v = np.exp(2.0 * start)
    bottom = float(start[np.argmax((2.0 * np.sqrt(v) + 1.4143 * growth * v) / (v + r2) < best * 0.999)])
    reach = 0.5 * (top - knee) + 2.0
    while _tail(r2, growth, bottom, top, reach) >= best:
        reach += 1.0
    ranges = ((bottom - reach, top), (0.0, reach), (0.0, _RIGHT))
    edges = [np.linspace(lo, hi, int(np.ceil((hi - lo) / _CELL)) + 1) for lo, hi in ranges]
    centres = np.meshgrid(*(0.5 * (e[1:] + e[:-1]) for e in edges), indexing="ij")
    box = np.stack([centre.ravel() for centre in centres])
    half = np.broadcast_to(np.array([[0.5 * (e[1] - e[0])] for e in edges]), box.shape) * (1.0 + 1e-12)
    t = box[0] + box[1]
    width = half[0] + half[1]
    inside = (t - width <= top) & (t + width >= bottom)
    return box[:, inside], half[:, inside]


def _tail(r2: float, growth: float, bottom: float, top: float, reach: float) -> float:
    """Upper bound of the objective where log(g/h) >= 2 reach and bottom <= log g <= top.

    With D = x - y, s >= v D^2 and G_12 <= g h x^2, so (s+R)/2 >= s - G_12 (as R >= s - 2 G_12) and
    tr(J K0) - (s+R)/2 <= D^2 (1-v) + 2 x y + g h x^2.
    """
    edges = np.exp(np.linspace(bottom, top, int(np.ceil((top - bottom) / 0.05)) + 2))
    low, high = edges[:-1], edges[1:]
    h = high * np.exp(-2.0 * reach)
    x, y = high**2 / (high**2 + r2), h**2 / (h**2 + r2)
    peak = 0.5 / np.sqrt(r2)
    a = np.where((low**2 < r2) & (high**2 > r2), peak, np.maximum(low / (low**2 + r2), high / (high**2 + r2)))
    b = np.where(h**2 < r2, h / (h**2 + r2), peak)
    remainder = x * x * (1.0 - low * low) + 2.0 * x * y + high * h * x * x
    return float(np.max(a + b + growth * np.sqrt(remainder)) * (1.0 + ROUNDING))


def _split(box: Floats, half: Floats, looseness: Floats, owner: Ints) -> tuple[Floats, Floats, Ints]:
    """Halve every box in the directions that make its bound loose."""
    cut = looseness >= 0.5 * looseness.max(axis=0)
    for i in range(3):
        halved = cut[i]
        half = half.copy()
        half[i, halved] *= 0.5
        shift = np.zeros_like(box)
        shift[i, halved] = half[i, halved]
        box = np.concatenate([box - shift, (box + shift)[:, halved]], axis=1)
        half = np.concatenate([half, half[:, halved]], axis=1)
        owner = np.concatenate([owner, owner[halved]])
        cut = np.concatenate([cut, cut[:, halved]], axis=1)
    return box, half, owner


def sharp_supremum(others: int, r2: Floats, variance: Floats) -> Floats:
    """(B,) certified upper bounds on the supremum of Theorem A+ for n - 1 >= 1 others.

    Responses are bounded by 1. A target a little above the best value is certified by showing, box
    by box, that nothing exceeds it. Boxes are halved until all are ruled out; those that remain at
    the limit of work raise the result, which is an upper bound in every case. See
    docs/mathematics.md, section 6.
    """
    growth, top = np.sqrt(others / r2), 0.5 * np.log(variance)
    best = _best_on_diagonal(r2, growth, top)
    target = best * (1.0 + _TOLERANCE)
    designs = zip(r2.tolist(), growth.tolist(), top.tolist(), best.tolist(), strict=True)
    starts = [_first_boxes(*design) for design in designs]
    box = np.concatenate([start[0] for start in starts], axis=1)
    half = np.concatenate([start[1] for start in starts], axis=1)
    owner = np.repeat(np.arange(best.size), [start[0].shape[1] for start in starts])
    for remaining in reversed(range(_MAX_ROUNDS)):
        bounds = upper_bounds(box, half, r2[owner], growth[owner], target[owner])
        alive = ~(bounds.upper <= target[owner])  # a NaN stays alive
        # Where the objective cannot grow with f, the box's maximum is on its face of least f. That
        # face is covered by a neighbour too, except at f = 0: so only boxes at f = 0 are kept, and
        # only their face.
        ground = box[1] - half[1] < FLAT
        alive &= ~bounds.falls | ground
        flat = bounds.falls & ground
        box[1, flat] = half[1, flat] = 0.0
        if remaining == 0 or np.count_nonzero(alive) > _MAX_BOXES:
            # Out of work: the remaining boxes raise the result, and a bound that is NaN counts as
            # infinite.
            np.maximum.at(target, owner[alive], np.nan_to_num(bounds.upper[alive], nan=np.inf))
            break
        box, half, owner = _split(box[:, alive], half[:, alive], bounds.looseness[:, alive], owner[alive])
        inside = box[0] + box[1] - half[0] - half[1] <= top[owner]
        box, half, owner = box[:, inside], half[:, inside], owner[inside]
        if owner.size == 0:
            break
    return target
