"""One noise that protects every secret at least as well as a noise for this secret alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from dpgp_core.errors import InvalidValue
from hexcursion_traces.mathematics.closed_form import Shape, check_budget, single_secret_noise
from hexcursion_traces.mathematics.descent import STEPS, Report, Term, spread_budget
from hexcursion_traces.mathematics.prior import Floats
from hexcursion_traces.mathematics.published import published_noise
from hexcursion_traces.mathematics.secret import Secret

_THIN = 1e-7  # relative size of eigenvalues that the repair covers


def dominating_noise(
    noises: Sequence[NDArray[np.float64]], *, steps: int = STEPS, report: Report | None = None
) -> Floats:
    """Return noise (n, n) of about the least trace that is at least each of some noises (n, n), square
    metres.

    It dominates each exactly: after the search, the largest violation and an allowance for rounding are
    added to the diagonal. Its loss for every secret is therefore at most that of the noise for this secret.
    More `steps` come closer to the least trace. Raise `InvalidValue` for no noise at all.

    SDP_B of Meehan and Chaudhuri (2021): min tr G with G >= G_i. With G_i = F_i F_i', the condition
    means that no eigenvalue of F_i' G^-1 F_i exceeds 1, and the least trace is the least largest
    eigenvalue at trace 1."""
    if not len(noises):
        raise InvalidValue("there is no noise to dominate: give at least one.")
    stack = np.stack([np.asarray(noise, dtype=np.float64) for noise in noises])
    if len(stack) == 1:
        return np.array(stack[0])
    n = stack.shape[1]
    values, vectors = np.linalg.eigh(stack)
    floor = max(0.0, float(values[:, 0].min()))
    unit = float(np.trace(stack, axis1=1, axis2=2).max())
    thin = _THIN * unit * np.eye(n)  # keeps the factors well posed; counted in the result
    terms = []
    for value, vector in zip(values - floor, vectors, strict=True):
        wide = value > _THIN * unit
        if np.any(wide):
            terms.append(Term(vector[:, wide] * np.sqrt(value[wide]), thin))
    if not terms:
        return repaired(floor * np.eye(n), stack)
    shape = spread_budget(terms, unit, report, steps=steps).factor
    together = shape @ shape.T + thin
    solver = cho_factor(together, lower=True)
    tallest = max(float(np.linalg.eigvalsh(term.at.T @ cho_solve(solver, term.at))[-1]) for term in terms)
    return repaired(tallest * together + floor * np.eye(n), stack)


def repaired(noise: NDArray[np.float64], noises: NDArray[np.float64]) -> Floats:
    """Return a noise (n, n) that is at least each of several (N, n, n): `noise` with the largest
    violation and an allowance for rounding on its diagonal."""
    n = len(noise)
    even = 0.5 * (noise + noise.T)
    lack = max(0.0, -float(np.min(np.linalg.eigvalsh(even - noises))))
    spare = 64.0 * n * np.finfo(np.float64).eps * float(np.max(np.abs(noises)))
    return even + (lack + spare) * np.eye(n)


def multiple_secrets_noise(
    covariance: NDArray[np.float64],
    secrets: Sequence[Secret],
    budget_each: float,
    *,
    floor: float = 0.0,
    shape: Shape = "full",
    bare: bool = False,
    steps: int = STEPS,
    report: Report | None = None,
) -> Floats:
    """The paper's algorithm for several secrets: noises for single secrets, and one (n, n) that dominates
    all.

    `covariance` is (n, n). The trace of the noise for each secret is `budget_each`; that of the result
    is at most their number times this, up to the repair. `floor`, `shape` and `bare` as for
    `single_secret_noise`; of the shape "paper" a secret may have several records. Algorithm "Multiple
    Secrets" of Meehan and Chaudhuri (2021). `best_noise` has less loss at the same trace, since it
    shapes one noise for all secrets at once."""
    if shape == "paper":
        n = len(covariance)
        spare, ground = check_budget(budget_each, floor, n, bare), floor * np.eye(n)
        noises = [published_noise(covariance, secret, spare) + ground for secret in secrets]
    else:
        noises = [
            single_secret_noise(covariance, secret, budget_each, floor=floor, shape=shape, bare=bare)
            for secret in secrets
        ]
    return dominating_noise(noises, steps=steps, report=report)
