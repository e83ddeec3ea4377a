"""What the paper's published program adds to a trace: for comparison with better noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from hexcursion_traces.mathematics.prior import Floats
from hexcursion_traces.mathematics.secret import Secret, conditional

STABILISER = 1000.0
"""The published program solves at so many times the budget and divides what it finds by it."""


def published_noise(
    covariance: NDArray[np.float64], secret: Secret, budget: float, *, stabiliser: float = STABILISER
) -> Floats:
    """Noise of a given trace as the paper's published program (SDP_A) makes it, for a secret of any size.

    Parameters
    ----------
    covariance : (n, n)
        Of the trace, square metres.
    secret : Secret
        The paper knows records that move separately only: `secret.moves` is not looked at.
    budget : float
        Trace of the noise covariance, square metres.
    stabiliser : float

    Returns
    -------
    (n, n) float64
        Independent noise of one variance on the secret, correlated noise of low rank on the rest. It has no
        floor, so a certificate may not exist: it is for comparisons.

    Raises
    ------
    InvalidValue
        For a budget that is not positive.

    Notes
    -----
    The program maximises the least eigenvalue of L (D + G) L', L the pseudoinverse of At, over all G of the
    trace, then drops the blocks between secret and rest and averages the secret's diagonal. For one L G L' =
    M the cheapest G is At M At', of trace tr(M At' At); so M = beta I - L D L' with the beta that uses the
    budget up, wherever that is positive, which the stabiliser sees to (Meehan and Chaudhuri 2021, section 4).
    """
    if not (np.isfinite(budget) and budget > 0.0):
        raise InvalidValue("a budget of noise must be positive.")
    n, index = len(covariance), np.array(secret.records)
    given = conditional(covariance, Secret(secret.records, "separately"))
    square = given.at.T @ given.at
    left = np.linalg.solve(square, given.at.T)
    bare = left @ given.spread @ left.T
    whole = budget * stabiliser
    beta = (whole + float(np.sum(bare * square))) / float(np.trace(square))
    middle = beta * np.eye(index.size) - bare
    if np.linalg.eigvalsh(middle)[0] < 0.0:  # no room for it even so: the limit of a large budget
        middle = whole / float(np.trace(square)) * np.eye(index.size)
    made = given.at @ (middle / stabiliser) @ given.at.T
    rest = np.setdiff1d(np.arange(n), index)
    noise = np.zeros((n, n))
    noise[np.ix_(rest, rest)] = made[np.ix_(rest, rest)]
    noise[index, index] = np.trace(made[np.ix_(index, index)]) / index.size
    return noise
