"""Reads measurements beyond a limit, such as "<0.5", "ND" and "> 200": low or high, and not unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.marks import Decimal
from data_loaders.columns.numbers import Missing, Numbers, parse_numbers
from data_loaders.files.csvstream import mask

Rule: TypeAlias = Literal["limit", "half", "drop"]
RULES: tuple[Rule, ...] = ("limit", "half", "drop")

_LESS = r"^(?:<=?|≤|less than|below)\s*"
_MORE = r"^(?:>=?|≥|more than|greater than|above)\s*"
_UNDETECTED_NUMBER = r"\s*(?:uj?|nd|<)$"  # "0.5 U": not detected, 0.5 being the limit
# Words that name no limit: not detected, below the limit of detection, quantification or reporting.
_WORDS = (
    r"^(?:n\.? ?/?d\.?|n\.n\.|not[ -]?detected|non[ -]?detects?|undetected|b\.?d\.?l\.?|bql|bloq|blq|bld|"
    r"lod|loq|u|tr|trace|traces|below .*|(?:<|≤)\s*[a-z][a-z. ]*)$"
)
_LOW_SAYS = (
    r"^<|≤|not[ -]?detected|non[ -]?detect|undetected|below|less than|not quantified|"
    r"^n\.?d\.?$|^uj?$|^bdl$"
)
_HIGH_SAYS = r"^>|≥|above|greater than|more than"


@dataclass(frozen=True, eq=False)
class Censored:
    """A column of n measurements, some of them below or above a limit."""

    # the limit itself beyond one; NaN where missing, unreadable, or below an unnamed limit
    value: NDArray[np.float64]
    missing: NDArray[np.bool_]
    below: NDArray[np.bool_]  # measurements below a limit; `above` likewise
    above: NDArray[np.bool_]
    grouped: int  # how many were written with thousands separators


def parse_censored(
    column: Any, read: Numbers, decimal: Decimal, missing: Missing, condition: Any | None = None
) -> Censored:
    """Find the measurements below or above a limit in a column of n Arrow strings without nulls. `read` is
    what `parse_numbers` makes of it; `condition`, another such column, says of each "<" or "Not Detected"."""
    value, absent = read.value.copy(), read.missing.copy()
    below, above = np.zeros(value.size, dtype=bool), np.zeros(value.size, dtype=bool)
    grouped = read.grouped
    odd = np.flatnonzero(np.isnan(value) & ~absent)
    if odd.size:
        entries = pc.utf8_lower(column.take(pa.array(odd)))
        less, more = _says(entries, _LESS), _says(entries, _MORE)
        marked = _says(entries, rf"[0-9.,]{_UNDETECTED_NUMBER}")
        words = _says(entries, _WORDS)
        for pattern in (_LESS, _MORE, _UNDETECTED_NUMBER):
            entries = pc.replace_substring_regex(entries, pattern, "")
        limits = parse_numbers(entries, decimal, missing)
        named = (less | more | marked) & np.isfinite(limits.value)
        value[odd[named]] = limits.value[named]
        below[odd[(named & ~more) | words]] = True
        above[odd[named & more]] = True
        grouped += limits.grouped
    if condition is not None:
        said = pc.utf8_lower(condition)
        low = _says(said, _LOW_SAYS)
        high = _says(said, _HIGH_SAYS) & ~low
        below |= low
        above |= high & np.isfinite(value)
    return Censored(value, absent & ~below, below, above, grouped)


def _says(entries: Any, pattern: str) -> NDArray[np.bool_]:
    return mask(pc.match_substring_regex(entries, pattern))
