"""The release guard: whether a planned map is expected to say more than one that needs no private record."""

from __future__ import annotations

import numpy as np

from dpgp_core.linalg import Floats
from hexcursion.errors import WorkflowError
from hexcursion.record import LOW_AGREEMENT, TOO_FEW_RECORDS, Expected, ReceiptLine, Yardsticks


class LowAgreement(WorkflowError):
    """A release is stopped because its map is expected to be poor; nothing was charged."""


def objections(
    expected: Expected | None, yardsticks: Yardsticks | None, level: Floats | float = 0.0
) -> tuple[str, ...]:
    """Say why a map is not expected to be worth releasing, a clause each.

    Judge the share of records on the side that the map shows, against the better of one colour and the
    public map that it starts from: mean against mean, the numbers themselves and not the digits shown.
    Without reference data few records tell nothing, and no figure is said of them. `level` is the threshold
    in response units, or (N,) minus a public prior mean: values are cut at -1 and 1, so where every entry
    lies beyond, the private values cannot move the map.
    """
    if np.all(np.abs(level) >= 1.0):
        return (
            "no value can lie beyond its threshold, as values are cut to the usual ones (centre and clip): "
            "take a threshold inside of them, or a larger clip",
        )
    if expected is None:
        return ()
    if yardsticks is not None and yardsticks.few is not None:
        return (
            f"{yardsticks.few} records are too few to tell where values lie: without reference data it takes "
            f"more than {TOO_FEW_RECORDS}",
        )
    if expected.agreement is None:
        return (
            "no agreement can be expected, as the map that it is tried on lies wholly on one side of the "
            "threshold: take a threshold nearer to usual values",
        )
    if expected.records is None or expected.gain is None or expected.gain >= 0.0:
        return ()
    colour = 0.0 if yardsticks is None else yardsticks.colour_records or 0.0
    public = -1.0 if yardsticks is None else yardsticks.public_records or -1.0
    which = "the map of public data alone" if public > colour else "a map of one colour"
    return (f"{which} would show as many records or more on their right side",)


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
