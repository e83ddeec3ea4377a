"""Water-filling: how much of a cell's one unit of power each released direction gets."""

from __future__ import annotations

import numpy as np

from dpgp_core._checks import non_negative, positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

_STEPS = 200


def water_filling(signal: Floats, record_noise: float, noise: float, total: float) -> Floats:
    """Powers l >= 0 with sum `total` that minimise the summed posterior variance of independent directions.

    A direction of signal variance S is observed with noise variance d + s^2/l (d of the records' own scatter,
    s the deviation of the privacy noise on a sum of power 1), so its posterior variance is S (d + s^2/l) / (S
    + d + s^2/l), whose derivative in l is -S^2 s^2 / ((S + d) l + s^2)^2. Equal derivatives where l > 0 give
    l = max(0, t s S - s^2) / (S + d); t follows from the sum by bisection. (Q,), zero for directions not
    worth releasing; the total is the number of cells whose features have unit length. Raises InvalidValue for
    numbers out of range, or without any signal.
    """
    strength = np.asarray(signal, dtype=np.float64)
    d, s, total = (
        non_negative("record_noise", record_noise),
        positive("noise", noise),
        positive("total", total),
    )
    if strength.ndim != 1 or not np.all(np.isfinite(strength) & (strength >= 0)) or not np.any(strength > 0):
        raise InvalidValue("signal variances must be finite, not negative, and not all zero.")

    def powers(t: float) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            raised = np.maximum(0.0, t * s * strength - s * s) / (strength + d)
        return np.where(strength > 0, raised, 0.0)

    low, high = 0.0, s / float(strength.max())
    while powers(high).sum() < total:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if powers(middle).sum() < total else (low, middle)
    return powers(high)
