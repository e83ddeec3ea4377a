"""Dense priors: correlation kernels of the distance between cell centres."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.distance import cdist, pdist, squareform

from dpgp_core.errors import PriorError
from dpgp_core.linalg import Floats, cholesky
from dpgp_core.priors.lattice import GENERIC_BOUNDS, Lattice

# Largest domain of a dense prior: its correlation matrix then takes 0.8 GB.
MAX_DENSE_CELLS = 10_000

Kernel = Callable[[Floats], Floats]

ENTRY_BITS = 26  # the root of a correlation consists of whole multiples of 2^-26: `held.HeldDense`


def exponential(ratio: Floats) -> Floats:
    """`exp(-d/l)` of ratios d/l of any shape: the paper's kernel."""
    return np.asarray(np.exp(-ratio))


def matern32(ratio: Floats) -> Floats:
    """`(1 + sqrt(3) d/l) exp(-sqrt(3) d/l)` of ratios d/l of any shape."""
    scaled = np.sqrt(3.0) * ratio
    return np.asarray((1.0 + scaled) * np.exp(-scaled))


def squared_exponential(ratio: Floats) -> Floats:
    """`exp(-(d/l)^2 / 2)` of ratios d/l of any shape."""
    return np.asarray(np.exp(-0.5 * np.square(ratio)))


@dataclass(frozen=True, eq=False)
class DensePrior:
    """A GP on the domain's cells: correlation `(1 - nugget) kernel(d/l) + nugget [same cell]`."""

    name: str
    lattice: Lattice
    lengthscale: float  # metres
    kernel: Kernel  # decreasing function of d/l with values in [0, 1] and kernel(0) = 1
    # share of the variance that cells do not share; part of the prior's definition, public, never
    # adjusted to make a factorisation succeed
    nugget: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.lengthscale) and self.lengthscale > 0):
            raise PriorError(
                f"the lengthscale must be a positive length in metres, not {self.lengthscale!r}: try 1000."
            )
        if not 0 <= self.nugget < 1:
            raise PriorError(f"the nugget must lie in [0, 1), not {self.nugget!r}: try 1e-6.")
        if self.lattice.size > MAX_DENSE_CELLS:
            raise PriorError(
                f"the prior '{self.name}' needs a dense matrix and takes at most {MAX_DENSE_CELLS:,} cells, "
                f"not {self.lattice.size:,}: use the prior 'car' or a coarser resolution."
            )

    @property
    def size(self) -> int:
        """Number N of cells of the domain."""
        return self.lattice.size

    @cached_property
    def diameter(self) -> float:
        """Upper bound of the distance between two centres of the domain, metres."""
        return _diameter(self.lattice.domain_centres)

    @cached_property
    def kappa(self) -> float:
        """Proved lower bound of the correlation between any two places of the domain, in [0, 1].

        It holds for the root in whole numbers too, whose rows move by at most `sqrt(N) 2^-26`.
        """
        # The kernel falls with distance, so the diameter attains the least correlation.
        lowest = float(self.kernel(np.array(self.diameter / self.lengthscale)))
        rounding = 2.0 * math.sqrt(self.size) * 2.0**-ENTRY_BITS + 1e-11
        return max(0.0, (1.0 - self.nugget) * lowest * (1.0 - 1e-12) - rounding)

    @property
    def bounds(self) -> tuple[str, ...]:
        """Names in BOUNDS of the sensitivity bounds proved for this prior."""
        return GENERIC_BOUNDS

    @property
    def graph(self) -> None:
        """None: this prior has no sparse precision."""

    def correlation(self) -> Floats:
        """(N, N) prior correlation of the domain's cells, unit diagonal."""
        return self._correlation

    @cached_property
    def _correlation(self) -> Floats:
        matrix: Floats = squareform(self.kernel(pdist(self.lattice.domain_centres) / self.lengthscale))
        if self.nugget:
            matrix *= 1.0 - self.nugget
        np.fill_diagonal(matrix, 1.0)
        matrix.flags.writeable = False
        return matrix

    @cached_property
    def root(self) -> Floats:
        """(N, N) lower Cholesky factor of the correlation: turns white noise into prior draws."""
        return cholesky(
            self._correlation,
            f"the correlation matrix of the prior '{self.name}' at lengthscale {self.lengthscale:g} m",
            "use a shorter lengthscale or a prior with a larger nugget",
        )

    def colour(self, white: Floats) -> Floats:
        """Prior draws (N, m) on the domain, of variance 1, from standard normal numbers (N, m)."""
        return self.root @ white

    @property
    def white_size(self) -> int:
        """Number of standard normal numbers behind one prior draw."""
        return self.size


def _diameter(points: Floats) -> float:
    """Largest pairwise distance, rounded up; that of the bounding box if the hull is degenerate."""
    try:
        corners = points[ConvexHull(points).vertices]
        largest = float(cdist(corners, corners).max())
    except (QhullError, ValueError):
        largest = float(np.linalg.norm(np.ptp(points, axis=0)))
    return largest * (1.0 + 1e-9)
