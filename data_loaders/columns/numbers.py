"""Reads columns of numbers as people write them, and says how they were written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.marks import Decimal
from data_loaders.files.csvstream import mask

MISSING_WORDS = (
    "", "na", "n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", "---", "..", ".", ":", "#n/a",
    "#value!", "#div/0!", "#num!", "#null!", "#ref!", "missing", "no data", "nodata", "<na>",
)  # fmt: skip
"""Entries in small letters that stand for "no value"."""


@dataclass(frozen=True)
class Missing:
    """What stands for "no value" in a table."""

    words: tuple[str, ...] = MISSING_WORDS  # entries in small letters
    # however written: -999 is -999.0 and -9.99e2
    numbers: tuple[float, ...] = (-999.0, -9999.0, -99999.0, -999999.0, -32768.0)
    largest: float = 1e30  # numbers further from 0 than this are missing too

    def among(self, value: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(n,) whether each of (n,) values is one of the numbers that stand for none; False for NaN."""
        low, high = np.fmin.reduce(value, initial=np.inf), np.fmax.reduce(value, initial=-np.inf)
        with np.errstate(invalid="ignore"):
            found = np.abs(value) > self.largest
            for number in self.numbers:
                near = 1e-9 * abs(number)
                if low <= number + near and number - near <= high:
                    found |= np.abs(value - number) <= near
        return np.asarray(found)


USUAL = Missing()
"""What stands for "no value" unless a person says otherwise."""

NOTHING = Missing((), (), np.inf)
"""Every entry is meant."""

_PLAIN = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
_BLANKS = " '’\u00a0\u2009\u202f"
"""Between groups of three digits; office programs write spaces that do not break."""
_MINUS = "\u2212"  # as typesetters and some web pages write it
_GROUPED = {
    mark: rf"^[+-]?[1-9][0-9]{{0,2}}([{other}][0-9]{{3}})+(\{mark}[0-9]+)?$"
    rf"|^[+-]?[1-9][0-9]{{0,2}}([{_BLANKS}][0-9]{{3}})+(\{mark}[0-9]+)?$"
    for mark, other in ((".", ","), (",", "."))
}
_NUMERIC = re.compile(rf"^[+\-{_MINUS}]?[0-9.,][0-9.,{_BLANKS}]*([eE][+-]?[0-9]{{1,3}})?$")
_SEPARATORS = {".": f"[,{_BLANKS}]", ",": f"[.{_BLANKS}]"}


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of n numbers."""

    value: NDArray[np.float64]  # NaN where the entry is missing or unreadable
    missing: NDArray[np.bool_]  # blank entries and codes for "no value"
    grouped: int  # how many were written with thousands separators


def parse_numbers(
    column: Any, decimal: Decimal = ".", missing: Missing = USUAL, *, grouping: bool = True
) -> Numbers:
    """Parse n Arrow strings without nulls as numbers as people write them; NaN for anything else or not
    finite. With `grouping` thousands may be grouped by the other mark, a space or an apostrophe, three digits
    each, of which the first is no 0."""
    codes = pa.array(missing.words, pa.string())
    simple = _all_simple(column) if decimal == "." else None
    if simple is not None:  # as most files have it: nothing to find out about any entry
        absent = missing.among(simple)
        return Numbers(np.where(absent | ~np.isfinite(simple), np.nan, simple), absent, 0)
    absent = pc.is_in(pc.utf8_lower(column), value_set=codes)
    column = pc.replace_substring(column, _MINUS, "-")
    grouped = pc.match_substring_regex(column, _GROUPED[decimal])
    count = (pc.sum(grouped).as_py() or 0) if grouping else 0
    plain = column
    if count:
        bare = pc.replace_substring_regex(column, _SEPARATORS[decimal], "")
        plain = pc.if_else(grouped, bare, column)
    if decimal == ",":
        # A dot that is left over is no grouping: make it unreadable rather than a decimal mark.
        plain = pc.replace_substring(pc.replace_substring(plain, ".", "?"), ",", ".")
    readable = pc.and_(pc.match_substring_regex(plain, _PLAIN), pc.invert(absent))
    digits = pc.if_else(readable, pc.utf8_ltrim(plain, characters="+"), pa.scalar(None, pa.string()))
    value = _values(digits)
    coded = missing.among(value)
    return Numbers(np.where(coded, np.nan, value), mask(absent) | coded, int(count))


def _all_simple(column: Any) -> NDArray[np.float64] | None:
    """(n,) numbers where every entry is a number of digits, minus and decimal point alone; else None."""
    if pc.any(pc.not_equal(pc.ascii_trim(column, characters="0123456789.-"), "")).as_py():
        return None
    try:
        return np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except pa.ArrowInvalid:  # "" or "-"
        return None


def _values(digits: Any) -> NDArray[np.float64]:
    """(n,) numbers of Arrow strings; NaN for null and for what is not finite."""
    value = np.asarray(pc.cast(digits, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    return np.where(np.isfinite(value), value, np.nan)


def looks_numeric(entry: str) -> bool:
    """Tell whether an entry starts as a number does and holds only digits, marks and an exponent."""
    return bool(_NUMERIC.match(entry.strip()))
