"""How numbers are written: significant digits, costs rounded up, guarantees rounded down."""

from __future__ import annotations

import math
from collections.abc import Callable


def significant(value: float, digits: int = 6) -> str:
    """A number with thousands separators and at most `digits` significant digits, no trailing zeros."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    exponent = math.floor(math.log10(abs(value)))
    if exponent < -4 or exponent > 14:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(power)}"
    places = max(digits - 1 - exponent, 0)
    text = f"{round(value, digits - 1 - exponent):,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def upper(value: float, digits: int = 4) -> str:
    """A privacy cost with `digits` significant digits, rounded up so that the text never understates it."""
    if value == 0 or not math.isfinite(value):
        return significant(value, digits)
    # Below 1e-300 there are no digits left to round, so the text never understates.
    return significant(_whole_steps(max(value, 1e-300), digits, math.ceil), digits)


def lower(value: float, digits: int = 4) -> str:
    """What a guarantee still gives, with `digits` significant digits, rounded down."""
    if value == 0 or not math.isfinite(value):
        return significant(value, digits)
    return significant(_whole_steps(value, digits, math.floor), digits)


def _whole_steps(value: float, digits: int, rounded: Callable[[float], int]) -> float:
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    steps = value / unit
    nearest = round(steps)
    # A cost that is a round number up to one part in 10^9, the ledger's own tolerance, stays that number.
    return (nearest if abs(steps - nearest) < 9.99e-10 * abs(steps) else rounded(steps)) * unit
