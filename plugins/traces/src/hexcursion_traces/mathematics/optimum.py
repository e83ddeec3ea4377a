"""The noise of a given trace with the smallest worst loss over secrets and candidate priors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from hexcursion_traces.mathematics.closed_form import check_budget, single_secret_noise
from hexcursion_traces.mathematics.descent import ENOUGH, Report, Term, spread_budget
from hexcursion_traces.mathematics.loss import loss
from hexcursion_traces.mathematics.prior import Floats
from hexcursion_traces.mathematics.secret import Secret, conditional

FLOOR_SHARE = 0.02
"""Least variance of every combination of records, as a share of the mean variance: it makes a
design robust against other priors."""


@dataclass(frozen=True, eq=False)
class Design:
    """The noise (n, n) of a search, square metres, its `worst` loss over the secrets and candidate
    priors, and `least`, to working precision a lower bound of the worst loss of any noise of this budget
    and floor; per square metre."""

    noise: Floats
    worst: float
    least: float

    @property
    def gap(self) -> float:
        """Upper bound of the relative distance from the optimum; infinite without a proof."""
        return self.worst / self.least - 1.0 if self.least > 0.0 else math.inf


def best_noise(
    covariances: Sequence[NDArray[np.float64]],
    secrets: Sequence[Secret],
    budget: float,
    *,
    floor: float | None = None,
    report: Report | None = None,
    enough: float = ENOUGH,
) -> Design:
    """Minimise the worst loss over all secrets and all candidate priors at a given budget.

    `covariances` (n, n) are the trace's, one per candidate prior; `budget` is the trace of the noise
    covariance; `floor` the least variance of every combination of records, by default `FLOOR_SHARE` of the
    mean variance; all in square metres. Secrets are protected one by one: each enters with its largest
    eigenvalue. The search ends at the relative gap `enough`. Raise `InvalidValue` for no secret or prior,
    or a floor that takes the whole budget.

    The problem of Meehan and Chaudhuri (2021), section 4, in exact convex form: minimise over G >=
    floor, tr G <= T the largest eigenvalue of At'(D + G)^-1 At, which a semidefinite solver reads as a
    matrix inequality of size n + k. It is small, and smooth but for the maximum, so L-BFGS solves it
    directly: G = floor I + L L' with as many columns as there are directions to hide, and a Schatten
    norm of rising order in place of the maximum. The matrices Q are operator convex in G, so every point
    gives a lower bound of the optimum (`least`), which exposes a wrong answer. The reported loss of a
    design is that of its noise."""
    if not covariances or not secrets:
        raise InvalidValue("a design needs at least one secret and one prior.")
    n = len(covariances[0])
    floor = FLOOR_SHARE * budget / n if floor is None else floor
    spare = check_budget(budget, floor, n)
    terms = []
    for covariance in covariances:
        for secret in secrets:
            condition = conditional(covariance, secret)
            terms.append(Term(condition.at, condition.spread + floor * np.eye(n)))
    shape = spread_budget(terms, spare, report, enough=enough)
    noise = floor * np.eye(n) + shape.factor @ shape.factor.T
    worst = max(loss(covariance, noise, secret) for covariance in covariances for secret in secrets)
    return Design(noise, worst, shape.least)


def noise_for(
    covariances: Sequence[NDArray[np.float64]],
    secret: Secret,
    budget: float,
    *,
    floor: float | None = None,
) -> Floats:
    """Return the best noise (n, n) of one secret, square metres, in closed form for one prior and one
    direction; `covariances` (n, n), `budget` and `floor` as for `best_noise`."""
    if len(covariances) == 1 and secret.directions.shape[1] == 1:
        ground = FLOOR_SHARE * budget / len(covariances[0]) if floor is None else floor
        return single_secret_noise(covariances[0], secret, budget, floor=ground)
    return best_noise(covariances, (secret,), budget, floor=floor).noise
