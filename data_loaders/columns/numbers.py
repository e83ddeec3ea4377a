"""Numbers as people write them: decimal marks, thousands, codes for "no value", and limits such as
"<0.5".

Counts of notations decide the decimal mark of a column, or leave it open. A person must explain
numbers that look like unknown codes. A measurement beyond a limit is low or high, and not missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.errors import DataError
from data_loaders.files.blocks import mask
from data_loaders.files.spool import strides

Decimal: TypeAlias = Literal[".", ","]

_SIGN = r"^[<>≤≥=~ ]*[+-]?"
_END = r"([eE][+-]?[0-9]{1,3})?$"
_CUT = r"[1-9][0-9]{0,2}"  # the digits before the first group of thousands, never starting with 0
_BLANKS = " '’\u00a0\u2009\u202f"
"""Between groups of three digits; office programs write spaces that do not break."""
_BLANK_CUT = rf"{_CUT}([{_BLANKS}][0-9]{{3}})+"
_LAKHS = r"[1-9][0-9]?(,[0-9]{2})+,[0-9]{3}(\.[0-9]+)?"  # as in India: 12,34,567
# Numbers with one mark where the other mark cannot be grouping these digits, and numbers with both
# marks.
_POINT = (
    rf"{_SIGN}([0-9]*\.[0-9]{{0,2}}|[0-9]*\.[0-9]{{4,}}|(0[0-9]*|[0-9]{{4,}})?\.[0-9]{{3}}){_END}"
    rf"|{_SIGN}{_CUT}(,[0-9]{{3}})+\.[0-9]+{_END}|{_SIGN}{_CUT}(,[0-9]{{3}}){{2,}}{_END}"
    rf"|{_SIGN}{_BLANK_CUT}\.[0-9]+$|{_SIGN}{_LAKHS}$"
)
_COMMA = (
    rf"{_SIGN}([0-9]*,[0-9]{{0,2}}|[0-9]*,[0-9]{{4,}}|(0[0-9]*|[0-9]{{4,}})?,[0-9]{{3}}){_END}"
    rf"|{_SIGN}{_CUT}(\.[0-9]{{3}})+,[0-9]+{_END}|{_SIGN}{_CUT}(\.[0-9]{{3}}){{2,}}{_END}"
    rf"|{_SIGN}{_BLANK_CUT},[0-9]+$"
)
_ONE_GROUP = {".": rf"{_SIGN}{_CUT},[0-9]{{3}}$", ",": rf"{_SIGN}{_CUT}\.[0-9]{{3}}$"}
_CELLS = 10
_OUTWEIGHED = 10  # one mark must be this many times as frequent for the other to count as slips

MISSING_WORDS = (
    "",
    *"na n/a n.a. nan null none nil - -- --- .. . : #n/a #value! #div/0! #num! #null! #ref! missing".split(),
    *("no data", "nodata", "<na>"),
)
"""Entries in small letters that mean "no value"."""

_PLAIN = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
_MINUS = "\u2212"  # as typesetters and some web pages write it
_GROUPED = {
    mark: (rf"^[+-]?{_LAKHS}$|" if mark == "." else "")
    + rf"^[+-]?[1-9][0-9]{{0,2}}([{other}][0-9]{{3}})+(\{mark}[0-9]+)?$"
    rf"|^[+-]?[1-9][0-9]{{0,2}}([{_BLANKS}][0-9]{{3}})+(\{mark}[0-9]+)?$"
    for mark, other in ((".", ","), (",", "."))
}
_ALONE = (
    (rf"{_SIGN}({_CUT}((,[0-9]{{3}})+\.[0-9]+|(,[0-9]{{3}}){{2,}})|{_LAKHS})$", ","),
    (rf"{_SIGN}{_CUT}((\.[0-9]{{3}})+,[0-9]+|(\.[0-9]{{3}}){{2,}})$", r"\."),
    (rf"{_SIGN}{_CUT}([{_BLANKS}][0-9]{{3}})+([.,][0-9]+)?$", f"[{_BLANKS}]"),
)
_COMMA_ALONE = rf"^([+\-{_MINUS}]?[0-9]*),([0-9]+(?:[eE][+-]?[0-9]+)?)$"
_NUMERIC = re.compile(rf"^[+\-{_MINUS}]?[0-9.,][0-9.,{_BLANKS}]*([eE][+-]?[0-9]{{1,3}})?$")
_SEPARATORS = {".": f"[,{_BLANKS}]", ",": f"[.{_BLANKS}]"}
_NINES = [float("9" * digits) for digits in range(2, 8)]
_TENTHS = [float("9" * digits + ".9") for digits in range(2, 6)]
_HUNDREDTHS = [float("9" * digits + ".99") for digits in range(2, 5)]
_CODES = np.array(
    [sign * code for code in (*_NINES, *_TENTHS, *_HUNDREDTHS, 32767.0, 32766.0) for sign in (1, -1)]
)
_SMALL = (-1.0, -9.0)  # codes if no other number is negative
_CODE_GAP, _REPEATED_GAP, _ALONE_GAP = 1.0, 3.0, 100.0  # in spreads of all other numbers
NONE = "none"
OFTEN, SHARE = 10, 0.01
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


@dataclass
class Evidence:
    """Counts of the notations of the numbers in one column."""

    point: int = 0  # entries that are numbers only with a decimal point
    comma: int = 0  # ... only with a decimal comma
    grouped_by_comma: int = 0  # entries such as "1,234", which either mark can read
    grouped_by_point: int = 0  # ... such as "1.234"

    def add(self, column: Any) -> None:
        """Count the entries of a block of Arrow strings without nulls."""
        commas = bool(pc.any(pc.match_substring(column, ",")).as_py())
        # most columns have decimal points only and need no patterns
        if not commas and self.point > 1:
            self.point += int(pc.sum(pc.match_substring(column, ".")).as_py() or 0)
            return
        self.point += _matching(column, _POINT)
        self.comma += _matching(column, _COMMA)
        self.grouped_by_comma += _matching(column, _ONE_GROUP["."])
        self.grouped_by_point += _matching(column, _ONE_GROUP[","])

    def may_group_by_point(self, typed: bool) -> bool:
        """Whether nearly all evidence consists of numbers such as "245.000". In `typed` cells,
        whose numbers rarely all have three decimals, this takes `_CELLS` of them and no other
        evidence."""
        if self.comma or self.grouped_by_comma:
            return False
        if typed:
            return self.point == 0 and self.grouped_by_point >= _CELLS
        return self.point <= 1 and self.grouped_by_point > 0

    def mark(self, typed: bool = False) -> Decimal | None:
        """Return the decimal mark of the column, None if either is possible; `typed` numbers have a
        point. Exchanging a single entry never turns one mark into the other where that would change
        the meaning of other entries."""
        if typed:
            if self.comma > 1 or (self.comma and not self.grouped_by_comma):
                return ","
            return "." if not (self.comma or self.grouped_by_comma) else None
        slips = min(self.point, self.comma)
        if slips and max(self.point, self.comma) < _OUTWEIGHED * slips:
            return None
        if self.comma > self.point:
            return "," if self.comma > 1 or not (self.grouped_by_comma or self.grouped_by_point) else None
        return "." if not self.grouped_by_comma or self.point > 1 else None


def _matching(column: Any, pattern: str) -> int:
    return int(pc.sum(pc.match_substring_regex(column, pattern)).as_py() or 0)


def evidence_of(entries: list[str]) -> Evidence:
    """Return the evidence of a sample of written numbers."""
    evidence = Evidence()
    evidence.add(pa.array([entry.strip() for entry in entries], pa.string()))
    return evidence


@dataclass(frozen=True)
class Missing:
    """The codes for "no value" in a table."""

    words: tuple[str, ...] = MISSING_WORDS  # entries in small letters
    # in any notation: -999 is -999.0 and -9.99e2
    numbers: tuple[float, ...] = (-999.0, -9999.0, -99999.0, -999999.0, -32768.0)
    largest: float = 1e30  # numbers further from 0 than this are missing too

    def among(self, value: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether each of (n,) values is a code for "no value"; False for NaN."""
        low, high = np.fmin.reduce(value, initial=np.inf), np.fmax.reduce(value, initial=-np.inf)
        with np.errstate(invalid="ignore"):
            matches = np.abs(value) > self.largest
            for number in self.numbers:
                near = 1e-9 * abs(number)
                if low <= number + near and number - near <= high:
                    matches |= np.abs(value - number) <= near
        return np.asarray(matches)


USUAL = Missing()
"""The default codes for "no value"."""

NOTHING = Missing((), (), np.inf)
"""No codes: every entry is a value."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of n numbers."""

    value: NDArray[np.float64]  # (n,) NaN where the entry is missing or unreadable
    missing: NDArray[np.bool_]  # blank entries and codes for "no value"
    grouped: int  # entries with thousands separators


def parse_numbers(
    column: Any, decimal: Decimal = ".", missing: Missing = USUAL, *, grouping: bool = True
) -> Numbers:
    """Parse n Arrow strings without nulls as numbers; NaN for other or infinite entries. With
    `grouping` thousands may be grouped by the other mark, a space or an apostrophe, in groups of
    three digits, of which the first does not begin with 0."""
    codes = pa.array(missing.words, pa.string())
    simple = _all_simple(column) if decimal == "." else None
    if simple is not None:  # the usual case, which needs no pattern
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
        # A remaining dot does not group digits: make it unreadable rather than a decimal mark.
        plain = pc.replace_substring(pc.replace_substring(plain, ".", "?"), ",", ".")
    readable = pc.and_(pc.match_substring_regex(plain, _PLAIN), pc.invert(absent))
    digits = pc.if_else(readable, pc.utf8_ltrim(plain, characters="+"), pa.scalar(None, pa.string()))
    value = _values(digits)
    coded = missing.among(value)
    return Numbers(np.where(coded, np.nan, value), mask(absent) | coded, int(count))


def told_alone(column: Any) -> Any:
    """Rewrite those of n Arrow strings of a sheet's cells that have an unambiguous mark with a
    point and without groups: 1,234.5 and 1.234,5 and 1 234,5 are one number. Leave ambiguous cells
    unchanged."""
    for pattern, groups in _ALONE:
        matches = pc.match_substring_regex(column, pattern)
        if pc.any(matches).as_py():
            bare = pc.replace_substring(pc.replace_substring_regex(column, groups, ""), ",", ".")
            column = pc.if_else(matches, bare, column)
    return column


def with_points(column: Any) -> Any:
    """Rewrite those of n Arrow strings with a single comma as with a point."""
    return pc.replace_substring_regex(column, _COMMA_ALONE, r"\1.\2")


def _all_simple(column: Any) -> NDArray[np.float64] | None:
    """Parse (n,) numbers if all entries consist of digits, minus and decimal point; otherwise
    None."""
    if pc.any(pc.not_equal(pc.ascii_trim(column, characters="0123456789.-"), "")).as_py():
        return None
    try:
        return np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except pa.ArrowInvalid:  # "" or "-"
        return None


def _values(digits: Any) -> NDArray[np.float64]:
    """Convert Arrow strings to (n,) numbers; NaN for null and for infinite values."""
    value = np.asarray(pc.cast(digits, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    return np.where(np.isfinite(value), value, np.nan)


def looks_numeric(entry: str) -> bool:
    """Whether an entry starts like a number and holds only digits, marks and an exponent."""
    return bool(_NUMERIC.match(entry.strip()))


def missing_of(stated: tuple[str, ...] | None) -> Missing:
    """Return the codes for "no value": the default ones and the numbers that a person states;
    "none" alone means that every number is a measurement. Raise `DataError` for anything else."""
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
    """Find possible codes for "no value" in (n,) finite values. Report numbers such as 9999 and
    -99.9 whose distance from all others exceeds the spread of these; the smallest and the largest
    other number if its distance is three spreads and it repeats, or a hundred spreads; and -1 and
    -9 if they repeat and no other number is negative. Report nothing if fewer than five other
    numbers remain."""
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
    outliers: list[float] = []
    for sign, extreme, other in ((1.0, high, low), (-1.0, low, high)):
        inner = _next(values, extreme, -sign, met)
        spread, gap = abs(inner - other), abs(extreme - inner)
        enough = _REPEATED_GAP if _count(values, extreme) > 1 else _ALONE_GAP
        if np.isfinite(inner) and spread > 0 and gap > enough * spread:
            outliers.append(extreme)
            low, high = (low, inner) if sign > 0 else (inner, high)
    if _others(values, met, outliers) < 5:
        return ()
    return (*outliers, *_far_codes(met, low, high))


def repeated(values: NDArray[np.float64], numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Return those of `numbers` that occur often enough to be a code: at least OFTEN times and in a
    SHARE of (n,) values.

    Fewer occurrences only cause a note, because one or two records must not decide whether a file
    loads."""
    threshold = max(OFTEN, SHARE * values.size)
    return tuple(number for number in numbers if _count(values, number) >= threshold)


def _far_codes(met: set[float], low: float, high: float) -> list[float]:
    spread = high - low
    return sorted(code for code in met if spread > 0 and max(low - code, code - high) > _CODE_GAP * spread)


def _least(part: NDArray[np.float64]) -> float:
    return float(part.min()) if part.size else np.nan


def _count(values: NDArray[np.float64], number: float) -> int:
    return sum(int(np.count_nonzero(values[rows] == number)) for rows in strides(values.size))


def _others(values: NDArray[np.float64], met: set[float], outliers: list[float]) -> int:
    left_out = [*met, *outliers]
    return sum(int(np.count_nonzero(~np.isin(values[rows], left_out))) for rows in strides(values.size))


def _next(values: NDArray[np.float64], number: float, sign: float, met: set[float]) -> float:
    """Return the nearest value above (sign 1) or below (sign -1) a number that is no code; else
    infinity."""
    nearest = np.inf
    for rows in strides(values.size):
        part = np.asarray(values[rows])
        beyond = sign * part[(sign * part > sign * number) & ~np.isin(part, list(met))]
        nearest = min(nearest, _least(beyond)) if beyond.size else nearest
    return sign * nearest


@dataclass(frozen=True, eq=False)
class Censored:
    """A column of n measurements, some of them below or above a limit."""

    # (n,) values, limits for those beyond one; NaN if missing, unreadable or below an unnamed limit
    value: NDArray[np.float64]
    missing: NDArray[np.bool_]
    below: NDArray[np.bool_]  # measurements below a limit; `above` likewise
    above: NDArray[np.bool_]
    grouped: int  # entries with thousands separators

    def with_limits(self, limits: NDArray[np.float64] | None) -> Censored:
        """The column with (n,) limits of another one, where a measurement below a limit names none."""
        if limits is None:
            return self
        unnamed = self.below & np.isnan(self.value)
        return replace(self, value=np.where(unnamed, limits, self.value))


def parse_censored(
    column: Any, read: Numbers, decimal: Decimal, missing: Missing, condition: Any | None = None
) -> Censored:
    """Find the measurements below or above a limit in a column of n Arrow strings without nulls.
    `read` is the result of `parse_numbers`; `condition` is another column with marks such as "<" or
    "Not Detected"."""
    value, absent = read.value.copy(), read.missing.copy()
    below, above = np.zeros(value.size, dtype=bool), np.zeros(value.size, dtype=bool)
    grouped = read.grouped
    odd = np.flatnonzero(np.isnan(value) & ~absent)
    if odd.size:
        entries = pc.utf8_lower(column.take(pa.array(odd)))
        less, greater = _says(entries, _LESS), _says(entries, _MORE)
        marked = _says(entries, rf"[0-9.,]{_UNDETECTED_NUMBER}")
        words = _says(entries, _WORDS)
        for pattern in (_LESS, _MORE, _UNDETECTED_NUMBER):
            entries = pc.replace_substring_regex(entries, pattern, "")
        limits = parse_numbers(entries, decimal, missing)
        has_limit = (less | greater | marked) & np.isfinite(limits.value)
        value[odd[has_limit]] = limits.value[has_limit]
        below[odd[(has_limit & ~greater) | words]] = True
        above[odd[has_limit & greater]] = True
        grouped += limits.grouped
    if condition is not None:
        lowered = pc.utf8_lower(condition)
        low = _says(lowered, _LOW_SAYS)
        high = _says(lowered, _HIGH_SAYS) & ~low
        below |= low
        above |= high & np.isfinite(value)
    return Censored(value, absent & ~below, below, above, grouped)


def _says(entries: Any, pattern: str) -> NDArray[np.bool_]:
    return mask(pc.match_substring_regex(entries, pattern))
