"""The response scale in people's words: a usual value and how far values lie from it, in the data's unit.

Prices are modelled on the log scale, where a distance is a factor; other values on their own scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hexcursion.errors import WorkflowError


def uses_factors(choices: Mapping[str, Any]) -> bool:
    """Whether distances are factors under these choices: prices, or an asked log transform."""
    if choices.get("values") == "count":
        return True
    transform = choices.get("transform")
    if transform is not None:
        return bool(transform == "log")
    data = choices.get("data")
    return data is not None and bool(data.read_by.log_scale)


def stated_scale(
    usual: float | None, spread: float | None, factors: bool
) -> tuple[float | None, float | None]:
    """Centre and clip bound of the settings, transformed units, from a usual value and a spread.

    Parameters
    ----------
    usual
        in the data's unit
    spread
        in the data's unit, or a factor above 1 where `factors`

    Raises
    ------
    WorkflowError
        One sentence, for values that no scale can have.
    """
    if factors:
        if usual is not None and not usual > 0:
            raise WorkflowError("On a logarithmic scale a usual value is above 0: 250000, for example.")
        if spread is not None and not spread > 1:
            raise WorkflowError("The factor must be above 1: 3 means a third to three times the usual value.")
        return (
            None if usual is None else math.log(usual),
            None if spread is None else math.log(spread),
        )
    if spread is not None and not spread > 0:
        raise WorkflowError("The distance must be above 0, in the data's own unit.")
    return usual, spread


def stated_values(
    centre: float | None, clip: float | None, factors: bool
) -> tuple[float | None, float | None]:
    """The usual value and spread that a centre and clip bound say, three significant digits; the inverse."""
    if factors:
        centre = None if centre is None else math.exp(centre)
        clip = None if clip is None else math.exp(clip)
    return _short(centre), _short(clip)


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
