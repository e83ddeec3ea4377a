"""Features of public places: released numbers by the functional mechanism and by cloaking."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import eigsh

from dpgp_core._checks import positive_array
from dpgp_core.linalg import Floats, cholesky, solve_lower
from dpgp_core.public_places import PublicPlaces
from hexcursion_peers.labels.cloak import Criterion, make_cloak

DIRECTIONS = 160
"""Most directions of a map that are cloaked and released."""

NEGLIGIBLE = 1e-9
"""Share of the largest eigenvalue below which a direction of the prior is not released."""

_FEW = 400  # up to this many cells all directions are found by a dense decomposition
_TOLERANCE, _SWEEPS = 1e-2, 120


def functional_rows(places: PublicPlaces, ridge: float) -> Floats:
    """(k, p) per unit of one record's value, the change of the posterior mean function in the kernel's space.

    The mechanism adds a draw of the prior to the posterior mean function `sum_j (A y)_j k(., x_j)`. With
    `K_cc = V D V^T` the numbers `T = D^(1/2) V^T A y` fix that function, and in them the prior's draw is
    white noise. What the draw does beyond the span of the records' places says nothing of the values and
    is left out. A row has length `sqrt([A K A]_jj)` times the share of one record in its cell.
    """
    covariance = places.cross[places.index]
    value, vector = np.linalg.eigh(covariance)
    above_zero = value > NEGLIGIBLE * value[-1]
    inverse = posterior_weights(covariance, vector[:, above_zero].T, places.noise(ridge))  # V^T A
    return np.asarray((np.sqrt(value[above_zero])[:, None] * inverse).T / places.count[:, None])


def cloaked_rows(places: PublicPlaces, ridge: float, criterion: Criterion) -> Floats:
    """(k, r) per unit of one record's value, the change of the cloaked means in units of their noise.

    The means at all cells are projected on their leading directions, at most `DIRECTIONS` of them: the rest
    is never released. Source: Smith et al. 2018, section 3.2; `cloak` for the optimality.
    """
    cross = places.cross
    matrix = posterior_weights(cross[places.index], cross, places.noise(ridge)) / places.count
    if min(matrix.shape) > _FEW:
        start = np.ones(matrix.shape[1])
        _, right = eigsh(matrix.T @ matrix, k=DIRECTIONS, v0=start, tol=1e-6)
        basis, _ = np.linalg.qr(matrix @ right)
        matrix = basis.T @ matrix
    cloak = make_cloak(matrix, criterion, tolerance=_TOLERANCE, sweeps=_SWEEPS)
    return cloak.whitened(matrix)


def posterior_weights(covariance: Floats, cross: Floats, noise_variance: Floats | float) -> Floats:
    """`C = Ks (K + R)^-1` (P, N): the posterior means at the test places are `C y`; public, as places are.

    `covariance` K (N, N) is the prior's at the observed places, `cross` Ks (P, N) between test places
    and these; `noise_variance`, a number or (N,), is that of the observations around the field, > 0, in
    the unit of K. Smith, Alvarez, Zwiessele and Lawrence 2018, section 2: the cloaking matrix."""
    factor = _factor(covariance, noise_variance)
    return np.ascontiguousarray(solve_lower(factor, solve_lower(factor, cross.T), transposed=True).T)


def _factor(covariance: Floats, noise_variance: Floats | float) -> Floats:
    noise = np.broadcast_to(positive_array("the noise variance", noise_variance), covariance.shape[:1])
    matrix = covariance + np.diag(noise)
    return cholesky(matrix, "the covariance of the records", "use a larger ridge")
