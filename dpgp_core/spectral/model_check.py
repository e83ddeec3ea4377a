"""Whether released sums look like a draw of the model that reads them, or of a public map: free.

A posterior predictive check: sums, maps and regions of replicates drawn from the model are compared
with the released ones. It detects a wrong range or spread and values far outside the model, unless
the privacy noise hides them; a check without finding proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import scipy  # loads its parts on first use: scipy.optimize takes long to import
from scipy import sparse

from dpgp_core.linalg import Bools, Floats, cholesky, solve_lower
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.lattice import Lattice
from dpgp_core.spectral.reading import FieldReader

REPLICATES = 499  # draws of the model; with the release itself chances are multiples of 1/500
EDGES = (0.5, 0.75)
"""Ends of the first two of three groups of p released sums, widest patterns first, as powers of
p."""

FEWEST_CHECKED = 8  # with fewer released sums the three groups of frequencies are not distinct
SEED = 141421  # public: every reader draws the same replicates

STEP, POINTS, BEND = 0.05, 160, 0.5
"""Path of the integral: spacing and number of its midpoints, and the slope of the hyperbola far
away."""
LIMITS = 1e-20, 1e12  # in units of the largest weight: to nine digits the chance below is 1, and above 0

ABOUT = (
    "its widest patterns vary more than the model expects",
    "its middle patterns vary more than the model expects",
    "its finest patterns vary more than the model expects",
    "it is rougher than the model expects",
    "it falls into more regions than the model expects",
    "its widest patterns vary less than the model expects",
    "its middle patterns vary less than the model expects",
    "its finest patterns vary less than the model expects",
    "it is smoother than the model expects",
    "it falls into fewer regions than the model expects",
    "one pattern is far stronger than the model expects",
    "one place is far from what the model expects",
)  # how a map is unusual, by each statistic in turn


@dataclass(frozen=True, eq=False)
class Change:
    """Comparison of a release with the public map from which its reading starts."""

    chance: float  # of sums at least as far from the map if nothing had changed, in [0, 1]
    # level, level_sd: mean change over all records given the release, and the deviation of the
    # normal law whose 90 % interval contains 90 % of the mixture of all beliefs, response units;
    # for answers the change of the share of yes
    level: float
    level_sd: float
    # (N,) expected numbers of records, the weights of that mean; None if not available
    records: Floats | None = None


@dataclass(frozen=True)
class ModelCheck:
    """Comparison of a release with draws of its model."""

    chance: float  # of sums at least as unusual if the model were true, in (0, 1]
    about: str  # the most unusual statistic, one of `ABOUT`
    change: Change | None = None  # None if the reading starts from no public map


def check_model(reader: FieldReader, sums: Floats, draws: Floats | None = None) -> ModelCheck:
    """Compare released sums (p,) with draws of the model that reads them, given the counts'
    posterior.

    `draws` (p, REPLICATES) are draws of a model that is not linear.

    Under the model the whitened sums are p independent standard normal numbers. The statistics are
    their mean square in three groups (too wide or too narrow), the largest of them, the largest
    deviation of the map from the prior mean over the map's standard deviation, and the number of
    regions above the map's median (too many or too few). The test ranks each statistic among the
    replicates' and compares the least rank, so it keeps the chance of a false alarm for any number
    of statistics (min-P test: Westfall and Young 1993).
    """
    link = reader.basis.rows @ reader.half.T
    if draws is not None:
        expected = _statistics(reader.nodes.lattice, link, solve_lower(reader.root, draws).T)
    elif reader in _EXPECTED:
        expected = _EXPECTED[reader]
    else:
        expected = _statistics(reader.nodes.lattice, link, _white(sums.size))
        _EXPECTED[reader] = expected
    white = solve_lower(reader.root, sums - reader.offset)
    return _ranked(_statistics(reader.nodes.lattice, link, white[None]), expected)


# Statistics (REPLICATES, k) of the draws of readers that are still in use: an atlas reads many
# columns by one, and they depend on no column's sums.
_EXPECTED: WeakKeyDictionary[FieldReader, Floats] = WeakKeyDictionary()


def _white(count: int) -> Floats:
    """(REPLICATES, p) whitened sums of a linear model: independent standard normal numbers."""
    return SimulationEntropy(SEED).normal((REPLICATES + 1, count))[1:]


def _ranked(released: Floats, expected: Floats) -> ModelCheck:
    """Compare the statistics (1, k) of a release with those of replicates, (REPLICATES, k)."""
    # Under the model all rows are exchangeable, which makes the rank of the release uniform.
    ranks = _ranks(np.vstack([released, expected]))
    return ModelCheck(float(_chances(ranks)[0]), ABOUT[int(np.argmin(ranks[0]))])


def compared(lattice: Lattice, link: Floats, root: Floats, sums: Floats) -> ModelCheck:
    """Compare sums (p,) of mean 0 whose covariance has the lower Cholesky factor `root`.

    Their map at the M nodes is `link` (M, p) times the whitened sums.
    """
    released = _statistics(lattice, link, solve_lower(root, sums)[None])
    return _ranked(released, _statistics(lattice, link, _white(sums.size)))


def _statistics(lattice: Lattice, link: Floats, white: Floats) -> Floats:
    """(R, k) statistics of each row of whitened sums; large values are unusual."""
    edges = [int(white.shape[1] ** share) for share in EDGES]
    bands = [np.square(part).mean(axis=1) for part in np.split(white, edges, axis=1)]
    maps = white @ link.T
    spread = np.maximum(np.linalg.norm(link, axis=1), 1e-12)
    extreme = np.max(np.abs(maps) / spread, axis=1)
    regions = _regions(lattice, maps > np.median(maps, axis=1, keepdims=True))
    two_sided = [*bands, bands[-1] / np.maximum(bands[0], 1e-300), regions]
    # Negated statistics test for unusually small values; two more are tested on one side.
    return np.column_stack(
        [*two_sided, *(-statistic for statistic in two_sided), np.abs(white).max(axis=1), extreme]
    )


def _regions(lattice: Lattice, inside: Bools) -> Floats:
    """(R,) number of connected parts of sets of nodes (R, M), computed in one pass."""
    from scipy.sparse.csgraph import connected_components  # slow to import, for releases alone

    # The R sets become one graph of R M nodes without edges between sets, labelled by a single
    # call.
    graph = sparse.triu(lattice.adjacency[lattice.inside][:, lattice.inside], format="csr")
    first, size = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr)), inside.size
    row, edge = np.divmod(np.flatnonzero(inside[:, first] & inside[:, graph.indices]), max(first.size, 1))
    start = row * inside.shape[1]
    # Edges are in order of their first node, so cumulative counts are the row pointers of the
    # sparse matrix.
    ends = np.cumsum(np.bincount(start + first[edge] + 1, minlength=size + 1))
    graph_of_sets = sparse.csr_array(
        (np.ones(row.size), start + graph.indices[edge], ends), shape=(size, size)
    )
    number, label = connected_components(graph_of_sets, directed=False)
    # Set to which each part belongs. A node outside its set is a part by itself, subtracted below.
    owner = np.empty(number, dtype=np.int64)
    owner[label] = np.repeat(np.arange(inside.shape[0]), inside.shape[1])
    parts = np.bincount(owner, minlength=inside.shape[0])
    return np.asarray(parts - np.count_nonzero(~inside, axis=1), dtype=np.float64)


def _ranks(statistics: Floats) -> Floats:
    """(R, k) share of all rows whose statistic is at least as large."""
    ranks = np.empty(statistics.shape)
    for column, values in enumerate(statistics.T):
        ranks[:, column] = values.size - np.searchsorted(np.sort(values), values, side="left")
    return np.asarray(ranks / statistics.shape[0])


def _chances(ranks: Floats) -> Floats:
    """(R,) share of all rows whose least rank is at most this row's."""
    smallest = ranks.min(axis=1)
    return np.asarray(np.searchsorted(np.sort(smallest), smallest, side="right") / smallest.size)


def chance_unchanged(sums: Floats, unchanged: Floats, drift: Floats, sizes: Sequence[float]) -> float:
    """Chance of sums (p,) at least as far from 0 if nothing has changed and they are N(0,
    `unchanged`).

    The covariances are (p, p); `drift` is that of a change of size 1. The statistic is the log
    likelihood ratio of the sums with a change and without, averaged over the sizes t: up to
    constants

        sum of w_i (u_i^T L^-1 sums)^2,    w_i = mean over t of t^2 l_i / (1 + t^2 l_i),

    `L L^T` the covariance without a change, l and u eigenvalues and vectors of `L^-1 drift L^-T`.
    Without a change it is a weighted sum of squares of standard normal numbers, whose law is known
    exactly.
    """
    # Averages of input and transpose remove rounding errors that would make the matrices
    # unsymmetric.
    root = cholesky(0.5 * (unchanged + unchanged.T), "the covariance of the released sums", "use more noise")
    ratio = solve_lower(root, solve_lower(root, 0.5 * (drift + drift.T)).T)
    value, vector = np.linalg.eigh(0.5 * (ratio + ratio.T))
    scaled = np.square(sizes)[:, None] * np.maximum(value, 0.0)
    weight = np.mean(scaled / (1.0 + scaled), axis=0)
    return chance_above(weight, float(weight @ np.square(vector.T @ solve_lower(root, sums))))


def chance_above(weights: Floats, value: float) -> float:
    """Chance that a sum of squared standard normal numbers, weighted by `weights` (p,) >= 0,
    exceeds `value`.

    This is the inverse Laplace transform of its moment generating function M, by the midpoint rule
    on a hyperbola through a saddle point of `M(z) e^(-value z) / z`, left of the pole at 0 for
    values below the mean. The modulus falls all along the path from there, so no large terms
    cancel: errors are below 1e-9 for any weights. The result is 1 if all weights are 0 or `value`
    is not positive.
    """
    largest = float(np.max(weights, initial=0.0))
    if largest <= 0.0 or value <= 0.0:
        return 1.0
    scaled, value = weights / largest, float(np.clip(value / largest, *LIMITS))
    total = float(scaled.sum())
    below = value < total

    def slope(at: float) -> float:
        """Derivative of the logarithm of the integrand on the real line: it increases from end to
        end."""
        return float(np.sum(scaled / (1.0 - 2.0 * at * scaled))) - value - 1.0 / at

    # Two brackets of the root of `slope`: one left of the pole, one between it and the first branch
    # point.
    right = min(0.25, 0.5 / total), 0.5 - 0.5 / (value + 4.0)  # left of the first branch point, 1/2
    saddle = scipy.optimize.brentq(slope, *((-(scaled.size + 2.0) / value, -1.0 / value) if below else right))
    # One over the root of the curvature at the saddle point: the width of the peak that is
    # integrated.
    width = 1.0 / np.sqrt(2.0 * np.square(scaled / (1.0 - 2.0 * saddle * scaled)).sum() + saddle**-2)
    along = STEP * (np.arange(POINTS) + 0.5)
    place = saddle + width * (BEND * (np.cosh(along) - 1.0) + 1j * np.sinh(along))
    ahead = width * (BEND * np.sinh(along) + 1j * np.cosh(along))
    logarithm = -0.5 * np.log(1.0 - 2.0 * place[:, None] * scaled).sum(axis=1) - value * place
    integrand = np.exp(logarithm) / place * ahead
    # A path left of the pole misses its residue, which is 1.
    return float(np.clip(float(below) + STEP / np.pi * integrand.imag.sum(), 0.0, 1.0))
