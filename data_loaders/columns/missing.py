"""Finds numbers that look like unknown codes for "no value": a person says what they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from data_loaders.columns.numbers import NOTHING, USUAL, Missing
from data_loaders.errors import DataError
from data_loaders.files.spool import strides

_NINES = [float("9" * digits) for digits in range(2, 8)]
_TENTHS = [float("9" * digits + ".9") for digits in range(2, 6)]
_HUNDREDTHS = [float("9" * digits + ".99") for digits in range(2, 5)]
_CODES = np.array(
    [sign * code for code in (*_NINES, *_TENTHS, *_HUNDREDTHS, 32767.0, 32766.0) for sign in (1, -1)]
)
_SMALL = (-1.0, -9.0)  # where no other number is negative
_CODE_GAP, _REPEATED_GAP, _ALONE_GAP = 1.0, 3.0, 100.0  # in spreads of all others
NONE = "none"
OFTEN, SHARE = 10, 0.01


def missing_of(stated: tuple[str, ...] | None) -> Missing:
    """Return what stands for "no value": numbers a person states beside the usual ones, or "none" alone where
    every number is a measurement. Raise `DataError` for anything else."""
    if not stated:
        return USUAL
    if tuple(word.strip().lower() for word in stated) == (NONE,):
        return Missing(USUAL.words, NOTHING.numbers, NOTHING.largest)
    try:
        numbers = tuple(float(word.replace(",", ".")) for word in stated)
    except ValueError:
        numbers = (np.nan,)
    if not np.isfinite(numbers).all():
        raise DataError("Numbers that stand for a missing value are written as -99 or 9999, or `none` alone.")
    return Missing(USUAL.words, (*USUAL.numbers, *numbers), USUAL.largest)


def suspects(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Find numbers that may stand for "no value" in (n,) finite values. They are numbers such as 9999 and
    -99.9 further from all others than these are spread; the smallest and the largest of the others where it
    repeats and lies three times as far off, or a hundred times if it does not; -1 and -9 where they repeat
    and nothing else is negative. None for fewer than five others."""
    low = high = np.nan
    met: set[float] = set()
    for rows in strides(values.size):
        part = np.asarray(values[rows])
        coded = np.isin(part, _CODES)
        met.update(np.unique(part[coded]).tolist())
        low, high = np.fmin(low, _least(part[~coded])), np.fmax(high, -_least(-part[~coded]))
    if not np.isfinite(low):
        return ()
    small = [code for code in _SMALL if low == code and _count(values, code) > 1]
    if small and _next(values, low, 1.0, met) >= 0:
        return (small[0], *_far_codes(met, 0.0, high))
    found: list[float] = []
    for sign, extreme, other in ((1.0, high, low), (-1.0, low, high)):
        inner = _next(values, extreme, -sign, met)
        spread, gap = abs(inner - other), abs(extreme - inner)
        enough = _REPEATED_GAP if _count(values, extreme) > 1 else _ALONE_GAP
        if np.isfinite(inner) and spread > 0 and gap > enough * spread:
            found.append(extreme)
            low, high = (low, inner) if sign > 0 else (inner, high)
    if _others(values, met, found) < 5:
        return ()
    return (*found, *_far_codes(met, low, high))


def repeated(values: NDArray[np.float64], numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Of some numbers those that are a code by their number alone: OFTEN of (n,) values, and SHARE of them.

    Fewer are said and stop nothing: whether a file is read must not hang on a record or two.
    """
    least = max(OFTEN, SHARE * values.size)
    return tuple(number for number in numbers if _count(values, number) >= least)


def _far_codes(met: set[float], low: float, high: float) -> list[float]:
    spread = high - low
    return sorted(code for code in met if spread > 0 and max(low - code, code - high) > _CODE_GAP * spread)


def _least(part: NDArray[np.float64]) -> float:
    return float(part.min()) if part.size else np.nan


def _count(values: NDArray[np.float64], number: float) -> int:
    return sum(int(np.count_nonzero(values[rows] == number)) for rows in strides(values.size))


def _others(values: NDArray[np.float64], met: set[float], found: list[float]) -> int:
    left_out = [*met, *found]
    return sum(int(np.count_nonzero(~np.isin(values[rows], left_out))) for rows in strides(values.size))


def _next(values: NDArray[np.float64], number: float, sign: float, met: set[float]) -> float:
    """The nearest value above a number (sign 1) or below it (sign -1) that is no code; infinite for none."""
    nearest = np.inf
    for rows in strides(values.size):
        part = np.asarray(values[rows])
        beyond = sign * part[(sign * part > sign * number) & ~np.isin(part, list(met))]
        nearest = min(nearest, _least(beyond)) if beyond.size else nearest
    return sign * nearest
