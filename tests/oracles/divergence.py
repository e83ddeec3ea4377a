"""An independent oracle: exact Renyi divergences of posterior paths on a grid of cells, dense and direct.

It knows none of the theory it is there to judge: no rank-one updates, no bounds, no code of the project. A
dataset is a list of counts and mean responses per cell; the released vector is the path on all cells.

    numpy   stacks of datasets at once, in coordinates in which the prior is white: f = B z with K = B B^T. On
            the support of the prior f and z determine each other, so divergences are the same; directions
            without prior variance (the null space of K) simply stay N(0, 1) under every dataset
    mpmath  one dataset with records written out one by one, to any number of digits
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def white_basis(kernel: Floats) -> Floats:
    """(T, N, N) matrices B with K = B B^T; eigenvalues that are 0 to rounding give zero columns.

    Dropping such directions is post-processing of the release: it can only lower a divergence.
    """
    values, vectors = np.linalg.eigh(kernel)
    values = np.where(values > 1e-12 * values[:, -1:], values, 0.0)
    return vectors * np.sqrt(values)[:, None, :]


def posterior(basis: Floats, counts: Floats, responses: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Posterior mean (T, N) and covariance (T, N, N) of z at unit scale, for counts[t, s] records of mean
    responses[t, s] at cell s and noise ridge^2 per record."""
    weighted = basis * (counts / ridge**2)[:, :, None]
    precision = np.eye(basis.shape[-1]) + basis.transpose(0, 2, 1) @ weighted
    covariance = np.linalg.inv(0.5 * (precision + precision.transpose(0, 2, 1)))
    covariance = 0.5 * (covariance + covariance.transpose(0, 2, 1))
    mean = np.einsum("tij,tsj,ts->ti", covariance, weighted, responses)
    return mean, covariance


def renyi(mean_a: Floats, cov_a: Floats, mean_b: Floats, cov_b: Floats, orders: Floats) -> Floats:
    """(T, K) exact Renyi divergences D_alpha(N(mean_a, cov_a) || N(mean_b, cov_b)), `inf` where infinite.

    In coordinates where the two covariances add up to the identity they are diagonal together.
    """
    values, vectors = np.linalg.eigh(cov_a + cov_b)
    white = vectors / np.sqrt(values)[:, None, :]
    share = white.transpose(0, 2, 1) @ cov_a @ white
    share, turn = np.linalg.eigh(0.5 * (share + share.transpose(0, 2, 1)))
    shift = np.einsum("tij,tik,tk->tj", turn, white.transpose(0, 2, 1), mean_a - mean_b)
    share, alpha = share[:, None, :], orders[None, :, None]
    mixed = alpha * (1.0 - share) + (1.0 - alpha) * share
    finite = np.all(mixed > 0.0, axis=2)
    mixed = np.where(mixed > 0.0, mixed, 1.0)
    logs = np.log(mixed) - (1.0 - alpha) * np.log(share) - alpha * np.log1p(-share)
    value = 0.5 * orders * np.sum(shift[:, None, :] ** 2 / mixed, axis=2)
    value = value - np.sum(logs, axis=2) / (2.0 * (orders - 1.0))
    return np.where(finite, value, np.inf)


def squared_distance(covariance: Floats, difference: Floats) -> Floats:
    """(T,) squared norms in the reproducing kernel Hilbert space whose kernel has this covariance of z."""
    return np.einsum("ti,ti->t", difference, np.linalg.solve(covariance, difference[:, :, None])[:, :, 0])


def mp_posterior(kernel: Any, cells: list[int], responses: list[Any], ridge: Any) -> tuple[Any, Any]:
    """`posterior` of one dataset in mpmath, one row per record: the textbook formulas, duplicates and all."""
    size = kernel.rows
    if not cells:
        return mpmath.zeros(size, 1), kernel.copy()
    gram = mpmath.matrix(len(cells), len(cells))
    cross = mpmath.matrix(size, len(cells))
    for j, cell in enumerate(cells):
        for i, other in enumerate(cells):
            gram[i, j] = kernel[other, cell] + (ridge**2 if i == j else 0)
        for i in range(size):
            cross[i, j] = kernel[i, cell]
    weight = mpmath.lu_solve(gram, mpmath.matrix(responses))
    mean = cross * weight
    covariance = kernel - cross * (mpmath.inverse(gram) * cross.T)
    return mean, covariance


def mp_renyi(mean_a: Any, cov_a: Any, mean_b: Any, cov_b: Any, order: Any) -> Any:
    """Renyi divergence of two non-degenerate Gaussians in mpmath, `inf` where infinite (Gil et al. 2013)."""
    mixed = order * cov_b + (1 - order) * cov_a
    eigenvalues = mpmath.eigsy(mixed, eigvals_only=True)
    if min(eigenvalues) <= 0:
        return mpmath.inf
    shift = mean_a - mean_b
    square = (shift.T * mpmath.lu_solve(mixed, shift))[0]
    logs = mpmath.log(mpmath.det(mixed)) - (1 - order) * mpmath.log(mpmath.det(cov_a))
    logs -= order * mpmath.log(mpmath.det(cov_b))
    return order * square / 2 - logs / (2 * (order - 1))
