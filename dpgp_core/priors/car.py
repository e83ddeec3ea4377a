"""The lattice prior: a proper conditional autoregression (Besag 1974) on the neighbour graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from dpgp_core.errors import InvalidValue, PriorError
from dpgp_core.linalg import ROUNDING, SMALLEST_BLOCK, BandedCholesky, Floats, Slack
from dpgp_core.numbers import significant
from dpgp_core.priors.lattice import GENERIC_BOUNDS, GraphPrior, Lattice


class NotAnMMatrix(InvalidValue):
    """The matrix violates the premise of Theorem B, so the maximum principle does not apply."""


def check_m_matrix(precision: sparse.csr_matrix, variance: Floats) -> None:
    """Check that `precision` (P, P) is a symmetric M-matrix, row sums >= 0, prior variances <= 1.

    `variance` (N,) is the exact diagonal of K = A^-1 at the cells that may hold records; cells of
    padding need not be listed: the Schur complement of A on the listed cells is again such an
    M-matrix. Raises NotAnMMatrix otherwise: docs/mathematics.md, section 8.
    """
    matrix = sparse.csr_array(precision)
    if matrix.shape[0] != matrix.shape[1] or abs(matrix - matrix.T).max() != 0:
        raise NotAnMMatrix("the precision matrix is not symmetric, so Theorem B does not apply.")
    entries = sparse.coo_array(matrix)
    off_diagonals = entries.data[entries.coords[0] != entries.coords[1]]
    off_diagonal = float(off_diagonals.max(initial=-np.inf)) if off_diagonals.size else 0.0
    if off_diagonal > 0:
        raise NotAnMMatrix(
            f"the precision matrix has a positive off-diagonal entry ({off_diagonal:.3g}), "
            "so Theorem B does not apply to this prior; use a generic bound such as 'sharp'."
        )
    # A row sum that is positive by rounding alone would break the proof: subtract its error first.
    terms = np.diff(matrix.indptr)
    rounding = terms * np.finfo(np.float64).eps * np.asarray(abs(matrix).sum(axis=1)).ravel()
    row_sum = float((np.asarray(matrix.sum(axis=1)).ravel() - rounding).min())
    if not row_sum >= 0:
        raise NotAnMMatrix(
            f"the precision matrix has a negative row sum ({row_sum:.3g}), "
            "so Theorem B does not apply to this prior; use a shorter lengthscale or a generic bound."
        )
    largest = float(np.max(variance))
    if not (np.all(np.isfinite(variance)) and largest <= 1.0):
        raise NotAnMMatrix(
            f"the prior variance reaches {largest:.6g}, above 1, so Theorem B does not apply; rescale it."
        )


NAME = "car"
HEXAGON_FACTOR = 1.5
"""Sum of f - f_j over six neighbours at distance h is about -1.5 h^2 times the Laplacian."""

NEIGHBOURS = 6  # neighbours of a hexagon inside an endless lattice
EDGE_FACTOR = 1.5
"""Loss to the outside per missing neighbour, in units of spacing/lengthscale: with it the variances
at an edge come closest to those of an endless lattice (London, three rings, resolutions 8 and 9, 3
and 10 km: the mean variance is 0.87 to 1.00 of the largest, against 0.43 to 0.86 with a reflecting
edge)."""

LONGEST = 10_000.0
"""Longest lengthscale in cell spacings: the precision comes closer to singular with it."""


def variance_slack(slack: Slack, cells: int) -> float:
    """Upper bound on the relative error of selected-inverse variances (docs/exact-paths.md)."""
    width = max(slack.band, SMALLEST_BLOCK)
    return 1e-9 + 2.0 * slack.shrinking + 32.0 * cells * (width + 4) * ROUNDING


# Up to this many cells the smallest correlation is computed by solving for every cell.
EXACT_KAPPA_CELLS = 3_000
KAPPA_WORTH_SOLVING = 0.1
"""Smaller correlations lower V_n by under one per cent, so 0 is used in their place."""


@dataclass(frozen=True, eq=False)
class CarPrior:
    """The GP on padded lattice cells with precision `tau (kappa_c^2 I + Lap + E)`.

    Lap is the graph Laplacian of the padded neighbour graph and `kappa_c^2 = 1.5
    (spacing/lengthscale)^2`, which makes the precision a discretisation of `1/lengthscale^2 -
    Laplace`: far from each other cells' correlation falls like exp(-d/lengthscale). The diagonal E
    >= 0 lets a cell lose `min(1, 1.5 spacing/lengthscale)` for each neighbour it misses, an
    absorbing edge: with a reflecting one (E = 0) the rim's variances, which set the price, would
    exceed those of the map. `tau` is the least factor for which no cell of the domain has a
    prior variance above 1, from the selected inverse, with a proved slack for its rounding
    (docs/exact-paths.md, section 4). The precision is an M-matrix (checked), so Theorem B holds
    (docs/mathematics.md, section 8).
    """

    lattice: Lattice
    lengthscale: float
    precision: sparse.csr_matrix
    factor: BandedCholesky
    prior_variance: Floats
    slack: Slack  # of the precision, to rounding
    name: str = NAME

    @classmethod
    def make(cls, lattice: Lattice, lengthscale: float) -> CarPrior:
        """Build, scale and check the prior for a lengthscale in metres.

        Raises PriorError for one that is not positive, or too long for the lattice.
        """
        if not (np.isfinite(lengthscale) and lengthscale > 0):
            raise PriorError(
                f"the lengthscale must be a positive length in metres, not {lengthscale!r}: try 1000."
            )
        if lengthscale > LONGEST * lattice.spacing:
            raise PriorError(
                f"the lengthscale may be at most {LONGEST:,.0f} cell spacings "
                f"({significant(LONGEST * lattice.spacing / 1000.0)} km here), not "
                f"{significant(lengthscale / 1000.0)} km: "
                "choose a shorter one."
            )
        adjacency = sparse.csr_array(lattice.adjacency, dtype=np.float64)
        degree = np.asarray(adjacency.sum(axis=1)).ravel()
        step = lattice.spacing / lengthscale
        loss = HEXAGON_FACTOR * step**2 + np.maximum(NEIGHBOURS - degree, 0.0) * min(1.0, EDGE_FACTOR * step)
        unscaled = sparse.csr_matrix(sparse.diags_array(degree + loss) - adjacency)
        slack = Slack(float((loss / (degree + loss)).min()) * (1.0 - 1e-12), lattice.ordering.bandwidth)
        rounding = variance_slack(slack, degree.size)
        if not rounding < 1.0:
            raise PriorError("this lengthscale is too long for so many cells: choose a shorter one.")
        factor = BandedCholesky.factor(unscaled, lattice.ordering)
        variance = factor.variance()[lattice.inside]
        tau = float(variance.max()) * (1.0 + rounding)  # rounded up: variances must not exceed 1
        precision = sparse.csr_matrix(unscaled * tau)
        variance = variance / tau
        check_m_matrix(precision, variance)
        return cls(lattice, lengthscale, precision, factor.scaled(tau), variance, slack)

    @property
    def size(self) -> int:
        """Number N of cells of the domain (padding not counted)."""
        return self.lattice.size

    @property
    def bounds(self) -> tuple[str, ...]:
        """Names in BOUNDS of the sensitivity bounds proved for this prior."""
        return (*GENERIC_BOUNDS, "maximum-principle", "joint-maximum-principle")

    @cached_property
    def kappa(self) -> float:
        """Proved lower bound of the covariance between any two cells of the domain, in [0, 1].

        0 holds for every M-matrix prior; a positive number is computed if it is worth the effort.
        The bound subtracts the rounding of the solves and the change of the precision to whole
        numbers (docs/exact-paths.md, section 4).
        """
        inside = self.lattice.inside
        centres = self.lattice.domain_centres
        corner = np.argmax(np.linalg.norm(centres - centres.mean(axis=0), axis=1))
        if (
            self._columns(np.array([corner]))[inside].min() < KAPPA_WORTH_SOLVING
            or self.size > EXACT_KAPPA_CELLS
        ):
            return 0.0
        sums = np.asarray(self.precision.sum(axis=1)).ravel()
        weights = -self.precision.data[self.precision.data < 0.0]
        smallest = 0.999 * min(float(sums.min()), float(weights.min(initial=1.0)))
        rounding = 2.0**-31 / np.sqrt(smallest) + 2.0**-64 / smallest if smallest > 0.0 else np.inf
        return max(0.0, float(self.correlation().min()) - 3.0 * self.slack.solving - rounding - 1e-12)

    @property
    def graph(self) -> GraphPrior:
        """The prior itself: its precision is sparse."""
        return self

    def _columns(self, cells: np.ndarray) -> Floats:
        right = np.zeros((self.lattice.centres.shape[0], cells.size), order="F")
        right[self.lattice.inside[cells], np.arange(cells.size)] = 1.0
        return self.factor.solve(right)

    def correlation(self) -> Floats:
        """(N, N) prior covariance of the domain's cells, diagonal <= 1; for small domains and for
        tests."""
        matrix = self._columns(np.arange(self.size))[self.lattice.inside]
        return 0.5 * (matrix + matrix.T)

    def colour(self, white: Floats) -> Floats:
        """Prior draws (N, m) on the domain, of variance at most 1, from standard normal numbers (P,
        m)."""
        return self.factor.colour(white)[self.lattice.inside]

    @property
    def white_size(self) -> int:
        """Number of standard normal numbers behind one prior draw."""
        return int(self.lattice.centres.shape[0])
