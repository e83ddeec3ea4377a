"""The noise of the paper's published program, for comparison with better noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from hexcursion_traces.mathematics.prior import Floats
from hexcursion_traces.mathematics.secret import Secret, conditional

STABILISER = 1000.0
"""The published program solves at this multiple of the budget and divides its solution by it."""


def published_noise(
    covariance: NDArray[np.float64], secret: Secret, budget: float, *, stabiliser: float = STABILISER
) -> Floats:
    """Return the noise (n, n) of the paper's published program (SDP_A) for a secret of any size.

    `covariance` (n, n) is the trace's and `budget` the trace of the noise, square metres: raise
    `InvalidValue` unless it is positive. The paper has only records that move separately: `secret.moves` is
    ignored. The noise is independent and of one variance on the secret, correlated and of low rank on the
    rest. Without a floor a certificate may not exist: the noise is for comparisons.

    The program maximises the least eigenvalue of L (D + G) L', L the pseudoinverse of At, over all G of
    the trace, then drops the blocks between secret and rest and averages the secret's diagonal. For one
    L G L' = M the cheapest G is At M At', of trace tr(M At' At). So M = beta I - L D L' with the beta
    that uses the budget up, if this is positive; the stabiliser makes it so (Meehan and Chaudhuri 2021,
    section 4)."""
    if not (np.isfinite(budget) and budget > 0.0):
        raise InvalidValue("a budget of noise must be positive.")
    n, index = len(covariance), np.array(secret.records)
    condition = conditional(covariance, Secret(secret.records, "separately"))
    square = condition.at.T @ condition.at
    left = np.linalg.solve(square, condition.at.T)
    bare = left @ condition.spread @ left.T
    scaled_budget = budget * stabiliser
    beta = (scaled_budget + float(np.sum(bare * square))) / float(np.trace(square))
    middle = beta * np.eye(index.size) - bare
    if np.linalg.eigvalsh(middle)[0] < 0.0:  # still not positive: the limit of a large budget
        middle = scaled_budget / float(np.trace(square)) * np.eye(index.size)
    full = condition.at @ (middle / stabiliser) @ condition.at.T
    outside = np.setdiff1d(np.arange(n), index)
    noise = np.zeros((n, n))
    noise[np.ix_(outside, outside)] = full[np.ix_(outside, outside)]
    noise[index, index] = np.trace(full[np.ix_(index, index)]) / index.size
    return noise
