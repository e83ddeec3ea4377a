"""The loss before an adversary whose beliefs are not among the candidate priors."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpgp_core.errors import InvalidValue
from hexcursion_traces.mathematics.loss import Certificate

Divergence = Callable[[float], float]
"""The Renyi divergence of an order above 1, or an upper bound of it."""


def renyi_of_other_beliefs(order: float, loss: Divergence, distance: Divergence) -> float:
    """An upper bound of the Renyi loss before a prior outside the class.

    Parameters
    ----------
    order : float
        Above 1.
    loss : callable
        The loss before every prior of the class at an order, at least 0.
    distance : callable
        The Renyi divergence, at an order, of the other records given the secret, between the
        adversary's prior and the nearest prior of the class: the larger of both directions and of
        all places of the secret.

    Returns
    -------
    float
        At least the Renyi divergence of what the adversary expects to see under two hypotheses.

    Raises
    ------
    InvalidValue
        For an order of 1 or less.

    Notes
    -----
    Meehan and Chaudhuri (2021), Theorem 3.3, for any prior and any mechanism.
    """
    if not order > 1.0:
        raise InvalidValue(f"the order of a Renyi divergence is above 1 here, got {order!r}.")
    first = (order - 0.5) / (order - 1.0) * distance(2.0 * order)
    last = (2.0 * order - 1.5) / (2.0 * order - 2.0) * loss(4.0 * order - 2.0)
    return (first + distance(4.0 * order - 3.0) + last) * (1.0 + 1e-12)


def shifted_beliefs(certificate: Certificate, deviations: float) -> Certificate:
    """The guarantee for an adversary who expects the other records elsewhere than a candidate prior: mu + 2
    `deviations` in place of mu, for the same radius.

    `deviations`, at least 0, bounds how far his expected places are from those of a candidate prior, for
    each place of the secret: the Mahalanobis length of the shift under the covariance of the other records
    given the secret, both axes together. Raise `InvalidValue` for a negative or infinite number.

    Each hypothesis moves the mean of the release by its own shift e, which is 0 at the secret. The
    covariance of the release is D + G >= D, so e' (D + G)^-1 e <= e' D^-1 e <= deviations^2 over the
    other records, and the triangle inequality adds two such lengths to mu. Meehan and Chaudhuri (2021),
    Theorem 3.3, allow for the same shifts, with the divergence order/2 deviations^2; that bound is 1.5
    to 4 times as large at high orders."""
    if not (math.isfinite(deviations) and deviations >= 0.0):
        raise InvalidValue(f"beliefs are shifted by 0 or more deviations, got {deviations!r}.")
    return Certificate((certificate.mu + 2.0 * deviations) * (1.0 + 2.0**-50), certificate.radius)
