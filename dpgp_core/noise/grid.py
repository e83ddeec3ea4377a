"""Private sums on a public grid of integers: exact sums, and noise that is added to integers only."""

from __future__ import annotations

import math

import numpy as np

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Ints
from dpgp_core.noise.entropy import Entropy, SystemEntropy
from dpgp_core.noise.rounded_normal import LARGEST_SIGMA, rounded_normal

_LIMIT = 1 << 62


def simulated_integers(totals: Ints, noise: float, unit: float, entropy: Entropy) -> Ints:
    """As `noisy_integers`, in floating point and a hundred times faster: for simulations only."""
    deviates = entropy.normal(totals.shape)
    return totals + np.rint(positive("noise", noise) / positive("unit", unit) * deviates).astype(np.int64)


def noisy_integers(
    totals: Ints, noise: float, unit: float, entropy: Entropy, *, simulation: bool = False
) -> Ints:
    """totals + round(noise w / unit), w independent true normal deviates: a Gaussian mechanism on integers.

    The exact totals are PRIVATE, in units of the grid; the noise is in the sums' unit of measure, in which
    one step is `unit`, a power of two: multiply by it to read the result. Everything afterwards is
    post-processing and may use floating point. As the totals are integers, totals + round(z) = round(totals +
    z): a function of the ideal Gaussian mechanism's output, so its mu holds exactly, apart from
    `RELEASE_DISTANCE` in total variation. Raises InvalidValue for another source than `SystemEntropy` unless
    `simulation=True`, or numbers that do not fit the grid.
    """
    if type(entropy) is not SystemEntropy and not simulation:
        raise InvalidValue("a release must draw from SystemEntropy; a seed is for simulations only.")
    noise, unit = positive("noise", noise), positive("unit", unit)
    if math.frexp(unit)[0] != 0.5:
        raise InvalidValue(f"the unit of the grid must be a power of two, got {unit!r}.")
    if np.any(np.abs(totals) >= _LIMIT):
        raise InvalidValue("the sums do not fit 62 bits: use a coarser grid.")
    sigma = noise / unit  # exact: unit is a power of two
    if sigma > LARGEST_SIGMA:
        raise InvalidValue("the noise does not fit the grid: use a coarser grid.")
    return totals + rounded_normal(sigma, totals.size, entropy).reshape(totals.shape)
