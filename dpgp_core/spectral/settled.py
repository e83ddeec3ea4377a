"""Fixed-point iteration of readings that are linearised around themselves, as for answers of yes
and no."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from dpgp_core.linalg import Floats
from dpgp_core.spectral.prior import REACH

ROUNDS = 12  # rounds of linearisation
# Share of the way to the reading of a round: whole steps oscillate where many records give the same
# answer.
STEP = 0.5
Reader = TypeVar("Reader")


def settled(read: Callable[[Floats], Floats], start: Floats, rounds: int = ROUNDS) -> Floats:
    """Approach a fixed point of `read` by half steps from `start`, the reading of the first round.

    `start` has any shape; `read` returns the same shape.
    """
    for _ in range(rounds - 1):
        start = start + STEP * (read(start) - start)
    return start


def settled_reader(
    first: Reader,
    linear: Callable[[Floats], Reader],
    read: Callable[[Reader], tuple[Floats, Floats]],
    rounds: int = ROUNDS,
) -> Reader:
    """Iterate from the reader `first` to a reader of answers that is linearised around its own
    reading.

    `read` returns mean and deviation (M,) of the field; `linear` takes both, (2, M), and returns a
    reader.
    """

    def moments(reader: Reader) -> Floats:
        value, deviation = read(reader)
        return np.array([np.clip(value, -REACH, REACH), deviation])  # beyond REACH shares are nearly 0 or 1

    return linear(settled(lambda around: moments(linear(around)), moments(first), rounds))
