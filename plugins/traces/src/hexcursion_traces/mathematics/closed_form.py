"""The best noise for a secret of one direction, in closed form, also with independent noise on
it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import scipy  # loads its parts at first use: scipy.optimize takes long
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from hexcursion_traces.mathematics.prior import Floats
from hexcursion_traces.mathematics.published import published_noise
from hexcursion_traces.mathematics.secret import Conditional, Secret, conditional

Shape: TypeAlias = Literal["full", "block", "paper"]


def single_secret_noise(
    covariance: NDArray[np.float64],
    secret: Secret,
    budget: float,
    *,
    floor: float = 0.0,
    shape: Shape = "full",
    bare: bool = False,
) -> Floats:
    """Return the noise (n, n) of trace `budget`, at least `floor`, that hides one direction of a secret
    best from one prior, of which `covariance` (n, n) is the trace's; all in square metres.

    The secret is a single record, or records that move together. `shape`: "full" is optimal; "block" makes
    the secret's noise independent of the rest, "paper" is the noise of the paper's published program, for
    comparison, both for one record. `bare` allows a floor of 0: noise of rank one, which hides nothing from
    an adversary with another lengthscale. Raise `InvalidValue` for a secret of several directions, a floor
    that takes the whole budget, or no floor.

    a' M^-1 a = max over v of 2 a'v - v'Mv. Exchanging the maximum with the minimum over G of trace T
    puts the whole budget on v = (D + T I)^-1 a: G = T v v' / |v|^2 and the loss is a'v. A floor k
    replaces D by D + k I and T by T - n k."""
    n = covariance.shape[0]
    condition = conditional(covariance, secret)
    spare = check_budget(budget, floor, n, bare)
    if condition.at.shape[1] != 1:
        raise InvalidValue("the closed form takes a secret of one direction: use `best_noise` for others.")
    if shape == "full":
        raised = condition.spread + floor * np.eye(n)
        v = np.linalg.solve(raised + spare * np.eye(n), condition.at[:, 0])
        return spare * np.outer(v, v) / (v @ v) + floor * np.eye(n)
    if len(secret.records) != 1:
        raise InvalidValue(f"the shape {shape!r} is for a secret of one record.")
    if shape == "paper":
        return published_noise(covariance, secret, spare) + floor * np.eye(n)
    return _block(condition, secret.records[0], spare, floor) + floor * np.eye(n)


def check_budget(budget: float, floor: float, n: int, bare: bool = False) -> float:
    """Return the part of a budget above the floor for n records, positive, square metres; raise
    `InvalidValue` without one, and for no floor unless `bare`."""
    if not (np.isfinite(budget) and budget > 0.0 and np.isfinite(floor) and floor >= 0.0):
        raise InvalidValue("a budget of noise must be positive, and its floor not negative.")
    if floor == 0.0 and not bare:
        raise InvalidValue(
            "noise without a floor leaves combinations of records bare and protects from one "
            "lengthscale only: give a floor."
        )
    spare = budget - n * floor
    if spare <= 0.0:
        raise InvalidValue("the floor takes the whole budget of noise: lower it or raise the budget.")
    return spare


def _block(condition: Conditional, record: int, spare: float, floor: float) -> Floats:
    """Noise of traces T - tau on the secret and tau on the rest u, for the tau that minimises
    1/(T - tau) + a_u'(C + tau I)^-1 a_u."""
    n = len(condition.spread)
    outside = np.delete(np.arange(n), record)
    values, vectors = np.linalg.eigh(condition.spread[np.ix_(outside, outside)])
    raised = np.maximum(values, 0.0) + floor
    weights = (vectors.T @ condition.at[outside, 0]) ** 2

    def loss_at(tau: float) -> float:
        return float(1.0 / (spare - tau + floor) + np.sum(weights / (raised + tau)))

    edge = spare * 1e-12
    tau = float(
        scipy.optimize.minimize_scalar(
            loss_at, bounds=(edge, spare - edge), method="bounded", options={"xatol": spare * 1e-12}
        ).x
    )
    v = vectors @ ((vectors.T @ condition.at[outside, 0]) / (raised + tau))
    noise = np.zeros((n, n))
    noise[record, record] = spare - tau
    noise[np.ix_(outside, outside)] = tau * np.outer(v, v) / (v @ v)
    return noise
