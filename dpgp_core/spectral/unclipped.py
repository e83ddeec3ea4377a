"""The field before clipping, from the posterior of the clipped one: paths, mean and deviation."""

from __future__ import annotations

import numpy as np

from dpgp_core.linalg import Floats
from dpgp_core.spectral.clipped import ClippedPrior

REACH = 3.0  # the released field is said within so many clip bounds of the centre
STEPS = 6001
GROUPS = 64  # of cells by how well they are known, in going back to the field before clipping
NEAR = 0.02  # clip bounds: so near the centre the slope there is taken


def unclipped(
    clipped: Floats, spread: Floats, prior: ClippedPrior, paths: Floats
) -> tuple[Floats, Floats, Floats]:
    """Paths, mean and deviation of the field before clipping, from the posterior of the clipped one.

    From the clipped field's mean and deviation `clipped`, `spread` (N,) and its paths (L, N): (L, N), (N,)
    and (N,), response units, within REACH of the centre. A value t of the field stands for the level
    `prior.level(t, share)` of the clipped one, where the share is the cell's posterior over its prior
    deviation. It increases in t, so paths exceed t as often as `exceedance` states. The deviation is that for
    which a normal law states the same probability at the centre, 0.
    """
    field, step = np.linspace(-REACH, REACH, STEPS, retstep=True)
    share = np.clip(spread / prior.deviation, 0.0, 1.0)
    group = np.rint(share * GROUPS).astype(np.int64)
    found, mean, slope = np.empty(paths.shape), np.empty(share.size), np.empty(share.size)
    exact, vague = prior.ends(field)
    for number in np.unique(group):
        cells = np.flatnonzero(group == number)
        level = exact + number / GROUPS * (vague - exact)
        at_centre = level[STEPS // 2]
        found[:, cells] = np.interp(paths[:, cells], level, field)
        mean[cells] = np.interp(clipped[cells], level, field)
        apart, near = clipped[cells] - at_centre, np.abs(mean[cells]) < NEAR
        there = (level[STEPS // 2 + 1] - level[STEPS // 2 - 1]) / (2.0 * step)
        slope[cells] = np.where(near, there, apart / np.where(near, 1.0, mean[cells]))
    return found, mean, spread / np.maximum(slope, 1e-3)
