"""Reads columns of numbers as people write them, and says how they were written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.files.csvstream import mask

Decimal: TypeAlias = Literal[".", ","]
MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none", "nil", "-", "--", "#n/a")
"""Entries in small letters that stand for "no value"."""

MISSING = (*MISSING_WORDS, "-999", "-9999", "-99999")
_PLAIN = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
_GROUPED = {
    ".": r"^[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?$|^[+-]?[0-9]{1,3}([ '’  ][0-9]{3})+(\.[0-9]+)?$",
    ",": r"^[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?$|^[+-]?[0-9]{1,3}([ '’  ][0-9]{3})+(,[0-9]+)?$",
}
_DOT_GROUPED = re.compile(r"^[0-9]{1,3}(\.[0-9]{3})+$")
_NUMERIC = re.compile(r"^[+-]?[0-9.,][0-9.,'’ \u00a0\u202f]*([eE][+-]?[0-9]{1,3})?$")
_SEPARATORS = {".": r"[, '’  ]", ",": r"[. '’  ]"}


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers.

    Parameters
    ----------
    value : (n,) float64
        NaN where the entry is missing or unreadable.
    missing : (n,) bool
        Entries that are blank or a code for "no value".
    grouped : int
        How many were written with thousands separators.
    """

    value: NDArray[np.float64]
    missing: NDArray[np.bool_]
    grouped: int


def parse_numbers(
    column: Any, decimal: Decimal = ".", missing: tuple[str, ...] = MISSING, *, grouping: bool = True
) -> Numbers:
    """Parse a column of numbers as people write them.

    Parameters
    ----------
    column : Arrow array of n strings without nulls
    decimal : {".", ","}
        The decimal mark.
    missing : tuple of str
        Entries in small letters that stand for "no value".
    grouping : bool
        Whether thousands may be grouped by the other mark, a space or an apostrophe, three digits each.

    Returns
    -------
    Numbers
        Anything else that is not a plain number, and anything not finite, is NaN.
    """
    codes = pa.array(missing, pa.string())
    simple = _all_simple(column) if decimal == "." else None
    if simple is not None:  # as most files have it: nothing to find out about any entry
        absent = mask(pc.is_in(column, value_set=codes))
        return Numbers(np.where(absent | ~np.isfinite(simple), np.nan, simple), absent, 0)
    absent = pc.is_in(pc.utf8_lower(column), value_set=codes)
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
    return Numbers(_values(digits), mask(absent), int(count))


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


def sniff_decimal(values: list[str]) -> Decimal | None:
    """Find the decimal mark of a sample of written numbers.

    Parameters
    ----------
    values : list of str

    Returns
    -------
    ".", "," or None
        "1,5" is a decimal comma, "1,234.5" a decimal point; None where only numbers of the shape "1,234"
        were met, or both marks.
    """
    comma = dot = doubtful = False
    for value in values:
        body = value.strip().lstrip("+-")
        if "," not in body:
            # "1.234" may be grouped in a table with decimal commas: no evidence either way.
            dot = dot or ("." in body and not _DOT_GROUPED.match(body))
            continue
        tail = body.rsplit(",", 1)[1]
        if "." in body:
            comma, dot = comma or body.rfind(",") > body.rfind("."), dot or body.rfind(".") > body.rfind(",")
        elif body.count(",") > 1:
            dot = True
        elif len(tail) == 3 and tail.isdigit():
            doubtful = True
        else:
            comma = True
    if comma != dot:
        return "," if comma else "."
    if comma and dot:
        return None
    return None if doubtful else "."


def looks_numeric(entry: str) -> bool:
    """Tell whether an entry looks like a number.

    Returns
    -------
    bool
        True where it starts as a number does and holds only digits, marks and an exponent.
    """
    return bool(_NUMERIC.match(entry.strip()))
