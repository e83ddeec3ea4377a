"""Answers of yes and no are made linear around what is read of them: half steps to where that says itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from dpgp_core.linalg import Floats
from dpgp_core.spectral.prior import REACH

ROUNDS = 12  # in which answers are made linear around what was read before
STEP = 0.5  # of the way to what a round reads: whole steps swing about it where crowds say the same
Reader = TypeVar("Reader")


def settled(read: Callable[[Floats], Floats], found: Floats, rounds: int = ROUNDS) -> Floats:
    """What `read` finds if it is made linear around it, by half steps from what the first round has found.

    `found` has any shape, and `read` keeps it.
    """
    for _ in range(rounds - 1):
        found = found + STEP * (read(found) - found)
    return found


def settled_reader(
    first: Reader,
    linear: Callable[[Floats], Reader],
    read: Callable[[Reader], tuple[Floats, Floats]],
    rounds: int = ROUNDS,
) -> Reader:
    """A reader of answers that is linear around what it reads, found in rounds that begin with the `first`.

    `read` gives mean and deviation (M,) of the field; `linear` takes both, (2, M), and makes a reader.
    """

    def found(reader: Reader) -> Floats:
        value, deviation = read(reader)
        return np.array([np.clip(value, -REACH, REACH), deviation])  # beyond, answers say little

    return linear(settled(lambda around: found(linear(around)), found(first), rounds))
