"""Tells from written numbers whether a comma or a point marks their decimals, and where that stays open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Decimal: TypeAlias = Literal[".", ","]

_SIGN = r"^[<>≤≥=~ ]*[+-]?"
_END = r"([eE][+-]?[0-9]{1,3})?$"
_CUT = r"[1-9][0-9]{0,2}"  # what stands before a first group of thousands: never a 0
# One or the other mark alone, where the other mark cannot group these digits; and both of them.
_POINT = (
    rf"{_SIGN}([0-9]*\.[0-9]{{0,2}}|[0-9]*\.[0-9]{{4,}}|(0[0-9]*|[0-9]{{4,}})?\.[0-9]{{3}}){_END}"
    rf"|{_SIGN}{_CUT}(,[0-9]{{3}})+\.[0-9]+{_END}|{_SIGN}{_CUT}(,[0-9]{{3}}){{2,}}{_END}"
)
_COMMA = (
    rf"{_SIGN}([0-9]*,[0-9]{{0,2}}|[0-9]*,[0-9]{{4,}}|(0[0-9]*|[0-9]{{4,}})?,[0-9]{{3}}){_END}"
    rf"|{_SIGN}{_CUT}(\.[0-9]{{3}})+,[0-9]+{_END}|{_SIGN}{_CUT}(\.[0-9]{{3}}){{2,}}{_END}"
)
_GROUPED = {".": rf"{_SIGN}{_CUT},[0-9]{{3}}$", ",": rf"{_SIGN}{_CUT}\.[0-9]{{3}}$"}
_OUTWEIGHED = 10  # as many numbers must speak for one mark as for the other, for the others to be slips


@dataclass
class Evidence:
    """Counts of how the numbers of one column are written."""

    point: int = 0  # entries that are numbers only with a decimal point
    comma: int = 0  # ... only with a decimal comma
    grouped_by_comma: int = 0  # entries such as "1,234", which either mark can read
    grouped_by_point: int = 0  # ... such as "1.234"

    def add(self, column: Any) -> None:
        """Count the entries of a block of Arrow strings without nulls."""
        commas = bool(pc.any(pc.match_substring(column, ",")).as_py())
        if not commas and self.point > 1:  # a column of decimal points, as most are: need no patterns
            self.point += int(pc.sum(pc.match_substring(column, ".")).as_py() or 0)
            return
        self.point += _count(column, _POINT)
        self.comma += _count(column, _COMMA)
        self.grouped_by_comma += _count(column, _GROUPED["."])
        self.grouped_by_point += _count(column, _GROUPED[","])

    def mark(self, typed: bool = False) -> Decimal | None:
        """Return the decimal mark of the column, None where either is possible; `typed` numbers have a point.
        No single entry, exchanged for another, changes one mark into the other where that would change what
        further entries mean."""
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


def _count(column: Any, pattern: str) -> int:
    return int(pc.sum(pc.match_substring_regex(column, pattern)).as_py() or 0)


def evidence_of(entries: list[str]) -> Evidence:
    """The evidence of a sample of written numbers."""
    found = Evidence()
    found.add(pa.array([entry.strip() for entry in entries], pa.string()))
    return found
