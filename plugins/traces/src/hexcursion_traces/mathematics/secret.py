"""The secrets of a trace: their records, and the compared hypotheses about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from hexcursion_traces.mathematics.prior import Floats

Moves: TypeAlias = Literal["together", "separately"]
MOVES: tuple[Moves, ...] = get_args(Moves)

_WORST_CONDITION = 1e10


@dataclass(frozen=True)
class Secret:
    """Records of a trace whose places must stay uncertain, by their ascending positions.

    `moves` are the compared pairs of hypotheses. "together": the whole secret happened elsewhere, with
    every record moved by the same vector ("the stop was in this street or in that one"). "separately":
    each record may have been elsewhere by itself, the paper's compound secret, which needs far more
    noise for close records. With one record both are the paper's basic secret (Meehan and Chaudhuri
    2021, Definition of S_pairs; a difference of at most r between the two hypotheses). Raise
    `InvalidValue` for no records, for records out of order, or for an unknown word."""

    records: tuple[int, ...]
    moves: Moves = "together"

    def __post_init__(self) -> None:
        if not self.records or min(self.records) < 0 or list(self.records) != sorted(set(self.records)):
            raise InvalidValue("a secret is made of one or more records in ascending order, each named once.")
        if self.moves not in MOVES:
            raise InvalidValue(f"the records of a secret move {' or '.join(MOVES)}, not {self.moves!r}.")

    @property
    def directions(self) -> Floats:
        """(k, m) basis, as columns, of the differences of hypotheses; m is 1, or k."""
        k = len(self.records)
        return np.ones((k, 1)) if self.moves == "together" else np.eye(k)

    def square(self, q: NDArray[np.float64]) -> float:
        """Return the largest v' Q v over differences of 1 metre per record, which bounds it per r^2, of
        the loss matrix (m, m) per square metre: an upper bound in two dimensions, for records that may
        move anywhere in a disc."""
        return float(q.shape[0] * np.linalg.eigvalsh(q)[-1])


@dataclass(frozen=True, eq=False)
class Conditional:
    """The distribution of a trace given its secret: Z | X_S = s is N(at c + const, spread + noise).

    `at` (n, m): change of the whole trace by a unit of each direction of the secret. `spread` (n, n):
    covariance of the trace given the secret, square metres; zero in the secret's rows. `slack`: bound of
    the rounding error of an eigenvalue of `spread`, square metres."""

    at: Floats
    spread: Floats
    slack: float


def conditional(covariance: NDArray[np.float64], secret: Secret) -> Conditional:
    """Condition a trace of this covariance (n, n), square metres, on its secret. Raise `InvalidValue` if
    the secret has a record outside of the trace, or if the covariance of its records is singular to
    working precision."""
    n = covariance.shape[0]
    index = np.array(secret.records)
    if index[-1] >= n:
        raise InvalidValue(f"the secret names record {index[-1]}, but the trace has {n} records.")
    inner = covariance[np.ix_(index, index)]
    if np.linalg.cond(inner) > _WORST_CONDITION:
        raise InvalidValue(
            "the records of the secret are closer than the prior can tell apart: state the receiver's error, "
            "or keep fewer records."
        )
    regression = np.linalg.solve(inner, covariance[index]).T
    regression[index] = np.eye(index.size)
    spread = covariance - regression @ covariance[index]
    spread = 0.5 * (spread + spread.T)
    spread[index, :] = 0.0
    spread[:, index] = 0.0
    unit = float(np.max(np.diag(covariance))) * max(1.0, float(np.linalg.norm(regression, 2)))
    return Conditional(regression @ secret.directions, spread, 4.0 * n * np.finfo(np.float64).eps * unit)
