"""The descent behind every design: a budget of noise spread so that the largest loss is smallest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # whose parts are loaded when they are asked for: scipy.optimize takes long
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dpgp_core.errors import NumericalFailure
from hexcursion_traces.mathematics.prior import Floats

_SHARPNESS = (8.0, 64.0, 512.0, 4096.0)  # of the smooth maximum, one descent after another
STEPS = 300
"""Of each descent."""

ENOUGH = 1e-4
"""Gap to the optimum at which a search ends."""

_LOOKS = 20  # steps between two looks at the gap

Report = Callable[[float, str], None]


@dataclass(frozen=True, eq=False)
class Term:
    """One loss among those to keep small: the largest eigenvalue of at' (spread + L L')^-1 at.

    Parameters
    ----------
    at : (n, m) float64
    spread : (n, n) float64
        Positive definite. Terms that share it share the object, and its factor.
    """

    at: Floats
    spread: Floats


@dataclass(frozen=True, eq=False)
class Spread:
    """Where a budget went.

    Parameters
    ----------
    factor : (n, r) float64
        L: the noise is L L', of the trace that was asked for.
    least : float
        No other noise of this trace has a smaller largest loss.
    """

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
    """Minimise the largest loss of all terms over noise of a given trace.

    Parameters
    ----------
    terms : sequence of Term
    spare : float
        Trace of the noise.
    report : callable, optional
        Called with the share done and a word; may raise to stop.
    steps : int
        Of each of up to four descents.
    enough : float
        Relative gap to the optimum at which the search ends.

    Raises
    ------
    NumericalFailure
        Where a term's matrix cannot be factored.
    """
    factor = _start(terms, spare)
    if len(terms) > 1 or terms[0].at.shape[1] > 1:
        for turn, order in enumerate(_SHARPNESS):
            factor = _descend(terms, factor, spare, order, steps, enough, _told(report, turn, steps))
            if _gap(terms, factor, spare, order) < enough:
                break
    return Spread(factor, _lower(terms, factor, spare, _SHARPNESS))


def _told(report: Report | None, turn: int, steps: int) -> Callable[[], None]:
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if report is not None:
            report((turn + min(done / steps, 1.0)) / len(_SHARPNESS), "Shaping the noise")

    return tell


def _start(terms: Sequence[Term], spare: float) -> Floats:
    """The closed forms of all terms side by side, each with the same share of the budget."""
    n = len(terms[0].spread)
    columns = [np.linalg.solve(term.spread + spare * np.eye(n), term.at) for term in terms]
    whole = np.hstack([column / np.linalg.norm(column) for column in columns])
    if whole.shape[1] > n:  # as many columns as there can be directions
        values, vectors = np.linalg.eigh(whole @ whole.T)
        whole = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(whole * np.sqrt(spare) / np.linalg.norm(whole))


def _solved(terms: Sequence[Term], factor: Floats) -> list[tuple[Floats, Floats]]:
    """V = (D + floor I + L L')^-1 At and Q = At' V of every term."""
    added = factor @ factor.T
    found = []
    known, solver = None, None
    for term in terms:
        if term.spread is not known:
            known, solver = term.spread, cho_factor(term.spread + added, lower=True, check_finite=False)
        v = cho_solve(solver, term.at, check_finite=False)
        q = term.at.T @ v
        found.append((v, 0.5 * (q + q.T)))
    return found


def _weights(matrices: Sequence[Floats], order: float) -> tuple[float, list[Floats]]:
    """The Schatten norm of all matrices together, and its derivative by each: of trace about 1 in sum."""
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
    tell: Callable[[], None],
) -> Floats:
    shape, done = factor.shape, 0

    def look(flat: Floats) -> None:
        nonlocal done
        done += 1
        tell()
        here = flat.reshape(shape) * (np.sqrt(spare) / np.linalg.norm(flat))
        if done % _LOOKS == 0 and _gap(terms, here, spare, order) < enough:
            raise StopIteration

    def value(flat: Floats) -> tuple[float, Floats]:
        free = flat.reshape(shape)
        size = np.linalg.norm(free)
        here = free * (np.sqrt(spare) / size)
        try:
            solved = _solved(terms, here)
        except LinAlgError:
            raise NumericalFailure(
                "the floor of noise is too low to compute with: raise it, or state the receiver's error."
            ) from None
        norm, shares = _weights([q for _, q in solved], order)
        slope = np.zeros(shape)
        for (v, _), share in zip(solved, shares, strict=True):
            slope -= 2.0 * v @ (share @ (v.T @ here))
        inward = np.sum(slope * here) / spare
        # The logarithm keeps steps alike whatever the unit.
        return float(np.log(norm)), ((slope - inward * here) * (np.sqrt(spare) / size) / norm).ravel()

    found = scipy.optimize.minimize(
        value,
        factor.ravel() / np.sqrt(spare),
        jac=True,
        method="L-BFGS-B",
        callback=look,
        options={"maxiter": steps, "ftol": 1e-13, "gtol": 1e-9},
    ).x.reshape(shape)
    return np.asarray(found * (np.sqrt(spare) / np.linalg.norm(found)))


def _bound(solved: list[tuple[Floats, Floats]], factor: Floats, spare: float, order: float) -> float:
    """A lower bound of the optimum from the tangent of a weighted sum of the losses at this point."""
    _, shares = _weights([q for _, q in solved], order)
    whole = sum(float(np.trace(share)) for share in shares)
    steep = sum(
        (v @ (share / whole) @ v.T for (v, _), share in zip(solved, shares, strict=True)),
        start=np.zeros((len(factor), len(factor))),
    )
    here = sum(float(np.sum(share * q)) / whole for (_, q), share in zip(solved, shares, strict=True))
    return here + float(np.sum(factor * (steep @ factor))) - spare * float(np.linalg.eigvalsh(steep)[-1])


def _lower(terms: Sequence[Term], factor: Floats, spare: float, orders: Sequence[float]) -> float:
    solved = _solved(terms, factor)
    return max(_bound(solved, factor, spare, order) for order in orders)


def _gap(terms: Sequence[Term], factor: Floats, spare: float, order: float) -> float:
    solved = _solved(terms, factor)
    top = max(float(np.linalg.eigvalsh(q)[-1]) for _, q in solved)
    return top / max(_bound(solved, factor, spare, order), 1e-300) - 1.0
