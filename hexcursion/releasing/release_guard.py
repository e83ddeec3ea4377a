"""The release guard: whether a planned map is expected to say more than one that needs no private record."""

from __future__ import annotations

import math

import numpy as np

from dpgp_core.linalg import Floats
from hexcursion.errors import WorkflowError
from hexcursion.record import (
    HALF_AS_GOOD,
    LEAST_AGREEMENT,
    LEAST_GAIN,
    LOW_AGREEMENT,
    Expected,
    ReceiptLine,
    Yardsticks,
)


class LowAgreement(WorkflowError):
    """A release is stopped because its map is expected to be poor; nothing was charged."""


def objections(
    expected: Expected | None, yardsticks: Yardsticks | None, level: Floats | float = 0.0
) -> tuple[str, ...]:
    """Say why a map is not expected to be worth releasing, a clause each.

    Compare the numbers themselves, not the two digits shown. Over simulated worlds the mean is a guess that
    may be unlike the private data: judge the upper end of its range, and of the gain over exchanged values.
    Judge the public map world by world, where it stops a release if it is as good in half; on reference data
    mean against mean. `level` is the threshold in response units, or (N,) minus a public prior mean: values
    are cut at -1 and 1, so where every entry lies beyond, the private values cannot move the map.
    """
    if np.all(np.abs(level) >= 1.0):
        return (
            "no value can lie beyond its threshold, as values are cut to the usual ones (centre and clip): "
            "take a threshold inside of them, or a larger clip",
        )
    if expected is None:
        return ()
    said, agreement, guessed = [], expected.at_best, expected.high is not None
    if agreement is None:
        return (
            "no agreement can be expected, as the map that it is tried on lies wholly on one side of the "
            "threshold: take a threshold nearer to usual values",
        )
    if not agreement >= LEAST_AGREEMENT:
        which = "upper end of its expected agreement" if guessed else "expected agreement"
        said.append(f"{'the' if guessed else 'its'} {which} is {_said(agreement)}, below {LEAST_AGREEMENT:g}")
    if yardsticks is not None and agreement < yardsticks.one_colour:
        said.append(f"a map of one colour {_instead(yardsticks.one_colour, agreement)}")
    gain = None if yardsticks is None else yardsticks.gain_at_best
    if gain is not None and gain < LEAST_GAIN:
        said.append(
            "values exchanged among their places would give as good a map, so it would show nothing of "
            "where they lie"
        )
    free, mean = None if yardsticks is None else yardsticks.free, expected.agreement
    as_good = None if yardsticks is None else yardsticks.as_good
    if as_good is not None:
        if as_good[0] >= HALF_AS_GOOD * as_good[1]:
            said.append(
                f"the map of public data alone would agree as well in {as_good[0]} of {as_good[1]} changes "
                "that may have come since"
            )
    elif free is not None and mean is not None and mean < free:
        said.append(f"the map of public data alone {_instead(free, mean)}")
    return tuple(said)


def _said(agreement: float) -> str:
    """In three decimals, rounded down: one that falls short is not said to reach the least."""
    return f"{math.floor(1_000 * agreement) / 1_000:.3f}"


def _instead(better: float, agreement: float) -> str:
    """How much better, in as many digits as tell the two apart, three at least."""
    for digits in range(3, 7):
        if f"{better:.{digits}f}" != f"{agreement:.{digits}f}":
            return f"would agree better ({better:.{digits}f} instead of {agreement:.{digits}f})"
    return f"would agree as well ({better:.3f})"


def stop_or_state(
    expected: Expected | None, yardsticks: Yardsticks | None, accepted: bool, level: Floats | float = 0.0
) -> tuple[ReceiptLine, ...]:
    """Return the warning that a release of a poor map carries, or nothing for a good one.

    Raise `LowAgreement` for a poor map that nobody accepted. `level` is a scalar or (N,), as in `objections`.
    """
    found = objections(expected, yardsticks, level)
    if not found:
        return ()
    said = " and ".join(found)
    if not accepted:
        raise LowAgreement(
            f"This release is stopped, and nothing was charged: {said}. Take coarser hexagons or a larger "
            "epsilon, or release it anyway with --accept-low-agreement (accept_low_agreement)."
        )
    text = f"Expected to be a poor map: {said}. The curator released it anyway."
    return (ReceiptLine(LOW_AGREEMENT, text, True),)
