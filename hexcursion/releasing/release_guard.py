"""The release guard: whether a planned map is expected to beat one without any private record."""

from __future__ import annotations

import numpy as np

from dpgp_core.linalg import Floats
from hexcursion.errors import WorkflowError
from hexcursion.record import (
    LOW_AGREEMENT,
    Expected,
    ReceiptLine,
    Yardsticks,
    few_words,
    stops_by_number,
)


class LowAgreement(WorkflowError):
    """A release is stopped because its map is expected to be poor; nothing was charged."""


def objections(
    expected: Expected | None, yardsticks: Yardsticks | None, level: Floats | float = 0.0
) -> tuple[str, ...]:
    """Return the reasons against releasing a map, one clause for each.

    The share of records on the side that the map shows must reach that of the better of one colour
    and the public map from which the map starts: mean against mean, by exact numbers and not by
    rounded digits. Without reference data the figures of few records mean nothing and are not
    judged. `level` is the threshold in response units, or (N,) the threshold minus a public prior
    mean. Values are cut at -1 and 1, so private values cannot move a map whose levels are all
    beyond.
    """
    if np.all(np.abs(level) >= 1.0):
        return (
            "no value can lie beyond its threshold, as values are cut to the usual ones (centre and clip): "
            "take a threshold inside of them, or a larger clip",
        )
    if expected is None:
        return ()
    few = None if yardsticks is None else yardsticks.few
    if few is not None and stops_by_number(expected.basis, few):
        return (few_words(expected, yardsticks),)
    if expected.agreement is None:
        return (
            "no agreement can be expected, as the map that it is tried on lies wholly on one side of the "
            "threshold: take a threshold nearer to usual values",
        )
    if expected.records is None or expected.gain is None or expected.gain >= 0.0:
        return ()
    which = "the map of public data alone" if _public_is_better(yardsticks) else "a map of one colour"
    return (f"{which} would show as many records or more on their right side",)


def _public_is_better(yardsticks: Yardsticks | None) -> bool:
    """Whether the public map shows more records on their right side than one colour; False at a
    tie."""
    if yardsticks is None or yardsticks.public_records is None:
        return False
    return yardsticks.colour_records is None or yardsticks.public_records > yardsticks.colour_records


def stop_or_state(
    expected: Expected | None, yardsticks: Yardsticks | None, accepted: bool, level: Floats | float = 0.0
) -> tuple[ReceiptLine, ...]:
    """Return the warning that a release of a poor map carries, or nothing for a good map.

    Raise `LowAgreement` for a poor map that is not `accepted`. `level` is a scalar or (N,), as in
    `objections`.
    """
    clauses = objections(expected, yardsticks, level)
    if not clauses:
        return ()
    reasons = " and ".join(clauses)
    if not accepted:
        raise LowAgreement(
            f"This release is stopped, and nothing was charged: {reasons}. Take coarser hexagons or a larger "
            "epsilon, or release it anyway with --accept-low-agreement (accept_low_agreement)."
        )
    text = f"Expected to be a poor map: {reasons}. The curator released it anyway."
    return (ReceiptLine(LOW_AGREEMENT, text, True),)
