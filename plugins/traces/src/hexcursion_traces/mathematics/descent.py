"""The descent of every design: it spreads a budget of noise to minimise the largest loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # loads its parts at first use: scipy.optimize takes long
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dpgp_core.errors import NumericalFailure
from hexcursion_traces.mathematics.prior import Floats

_SHARPNESS = (8.0, 64.0, 512.0, 4096.0)  # orders of the smooth maximum, one for each descent
STEPS = 300
"""Steps of each descent."""

ENOUGH = 1e-4
"""Gap to the optimum at which a search ends."""

_LOOKS = 20  # steps between two computations of the gap

Report = Callable[[float, str], None]


@dataclass(frozen=True, eq=False)
class Term:
    """One of the losses to minimise: the largest eigenvalue of at' (spread + L L')^-1 at, with `at` (n,
    m) and `spread` (n, n) positive definite. Terms with one spread object share its factor."""

    at: Floats
    spread: Floats


@dataclass(frozen=True, eq=False)
class Spread:
    """The distribution of a budget: the factor L (n, r) of the noise L L', and `least`, a lower bound of
    the largest loss of any noise of this trace."""

    factor: Floats
    least: float


def spread_budget(
    terms: Sequence[Term],
    spare: float,
    report: Report | None = None,
    *,
    steps: int = STEPS,
    enough: float = ENOUGH,
) -> Spread:
    """Minimise the largest loss of all terms over noise of the trace `spare`, by up to four descents of
    `steps`, until the relative gap to the optimum is `enough`. Raise `NumericalFailure` if a term's
    matrix cannot be factored."""
    factor = _start(terms, spare)
    if len(terms) > 1 or terms[0].at.shape[1] > 1:
        for turn, order in enumerate(_SHARPNESS):
            factor = _descend(terms, factor, spare, order, steps, enough, _counter(report, turn, steps))
            if _gap(terms, factor, spare, order) < enough:
                break
    return Spread(factor, _lower(terms, factor, spare, _SHARPNESS))


def _counter(report: Report | None, turn: int, steps: int) -> Callable[[], None]:
    """A function that counts the steps of one descent for the report."""
    step = 0

    def count() -> None:
        nonlocal step
        step += 1
        if report is not None:
            report((turn + min(step / steps, 1.0)) / len(_SHARPNESS), "Shaping the noise")

    return count


def _start(terms: Sequence[Term], spare: float) -> Floats:
    """The closed forms of all terms, stacked as columns with equal shares of the budget."""
    n = len(terms[0].spread)
    columns = [np.linalg.solve(term.spread + spare * np.eye(n), term.at) for term in terms]
    factor = np.hstack([column / np.linalg.norm(column) for column in columns])
    if factor.shape[1] > n:  # as many columns as there can be directions
        values, vectors = np.linalg.eigh(factor @ factor.T)
        factor = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(factor * np.sqrt(spare) / np.linalg.norm(factor))


def _solved(terms: Sequence[Term], factor: Floats) -> list[tuple[Floats, Floats]]:
    """V = (D + floor I + L L')^-1 At and Q = At' V of every term."""
    noise = factor @ factor.T
    pairs = []
    spread, solver = None, None
    for term in terms:
        if term.spread is not spread:
            spread, solver = term.spread, cho_factor(term.spread + noise, lower=True, check_finite=False)
        v = cho_solve(solver, term.at, check_finite=False)
        q = term.at.T @ v
        pairs.append((v, 0.5 * (q + q.T)))
    return pairs


def _weights(matrices: Sequence[Floats], order: float) -> tuple[float, list[Floats]]:
    """The Schatten norm of all matrices together, and its derivatives, whose traces sum to about
    1."""
    pairs = [np.linalg.eigh(q) for q in matrices]
    top = max(values[-1] for values, _ in pairs)
    scaled = [np.maximum(values / top, 0.0) for values, _ in pairs]
    total = sum(float(np.sum(values**order)) for values in scaled)
    shares = [
        (vectors * (values ** (order - 1.0))) @ vectors.T * total ** (1.0 / order - 1.0)
        for values, (_, vectors) in zip(scaled, pairs, strict=True)
    ]
    return top * total ** (1.0 / order), shares


def _descend(
    terms: Sequence[Term],
    factor: Floats,
    spare: float,
    order: float,
    steps: int,
    enough: float,
    count: Callable[[], None],
) -> Floats:
    shape, step = factor.shape, 0

    def look(flat: Floats) -> None:
        nonlocal step
        step += 1
        count()
        point = flat.reshape(shape) * (np.sqrt(spare) / np.linalg.norm(flat))
        if step % _LOOKS == 0 and _gap(terms, point, spare, order) < enough:
            raise StopIteration

    def value(flat: Floats) -> tuple[float, Floats]:
        free = flat.reshape(shape)
        size = np.linalg.norm(free)
        point = free * (np.sqrt(spare) / size)
        try:
            solved = _solved(terms, point)
        except LinAlgError:
            raise NumericalFailure(
                "the floor of noise is too low to compute with: raise it, or state the receiver's error."
            ) from None
        norm, shares = _weights([q for _, q in solved], order)
        slope = np.zeros(shape)
        for (v, _), share in zip(solved, shares, strict=True):
            slope -= 2.0 * v @ (share @ (v.T @ point))
        inward = np.sum(slope * point) / spare
        # The logarithm makes the steps independent of the unit.
        return float(np.log(norm)), ((slope - inward * point) * (np.sqrt(spare) / size) / norm).ravel()

    free = scipy.optimize.minimize(
        value,
        factor.ravel() / np.sqrt(spare),
        jac=True,
        method="L-BFGS-B",
        callback=look,
        options={"maxiter": steps, "ftol": 1e-13, "gtol": 1e-9},
    ).x.reshape(shape)
    return np.asarray(free * (np.sqrt(spare) / np.linalg.norm(free)))


def _bound(solved: list[tuple[Floats, Floats]], factor: Floats, spare: float, order: float) -> float:
    """A lower bound of the optimum: the tangent of a weighted sum of the losses at this point."""
    _, shares = _weights([q for _, q in solved], order)
    total = sum(float(np.trace(share)) for share in shares)
    steep = sum(
        (v @ (share / total) @ v.T for (v, _), share in zip(solved, shares, strict=True)),
        start=np.zeros((len(factor), len(factor))),
    )
    weighted = sum(float(np.sum(share * q)) / total for (_, q), share in zip(solved, shares, strict=True))
    return weighted + float(np.sum(factor * (steep @ factor))) - spare * float(np.linalg.eigvalsh(steep)[-1])


def _lower(terms: Sequence[Term], factor: Floats, spare: float, orders: Sequence[float]) -> float:
    solved = _solved(terms, factor)
    return max(_bound(solved, factor, spare, order) for order in orders)


def _gap(terms: Sequence[Term], factor: Floats, spare: float, order: float) -> float:
    solved = _solved(terms, factor)
    top = max(float(np.linalg.eigvalsh(q)[-1]) for _, q in solved)
    return top / max(_bound(solved, factor, spare, order), 1e-300) - 1.0
