"""Selections of sales: named market segments and the filters of Price Paid rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from data_loaders.errors import DataError, closest

FIRST_YEAR, LAST_YEAR = 1995, 2100

_HOUSES = frozenset("DST")


@dataclass(frozen=True)
class Segment:
    """A named part of the market; None means "any"."""

    name: str
    title: str
    # codes of Price Paid Data; `tenures` and `categories` likewise
    property_types: frozenset[str] | None = None
    tenures: frozenset[str] | None = None
    new_build: bool | None = None  # newly built, or existing
    categories: frozenset[str] | None = None


SEGMENTS: dict[str, Segment] = {
    segment.name: segment
    for segment in (
        Segment("all", "all sales"),
        Segment(
            "existing-leasehold-flats", "existing leasehold flats", frozenset("F"), frozenset("L"), False
        ),
        Segment("existing-flats", "existing flats", frozenset("F"), None, False),
        Segment("existing-freehold-houses", "existing freehold houses", _HOUSES, frozenset("F"), False),
        Segment("existing-homes", "existing homes", _HOUSES | {"F"}, None, False),
        Segment("new-homes", "newly built homes", _HOUSES | {"F"}, None, True),
        Segment("standard", "standard entries (category A)", categories=frozenset("A")),
    )
}


@dataclass(frozen=True)
class SalesFilter:
    """A filter of sales by segment and by years of transfer."""

    segment: Segment
    years: frozenset[int] | None = None

    @property
    def title(self) -> str:
        """The selection in words."""
        return (
            self.segment.title
            if self.years is None
            else f"{self.segment.title}, {years_in_words(self.years)}"
        )

    @property
    def reads(self) -> frozenset[str]:
        """The fields of a row that the filter reads."""
        criteria = {
            "date": self.years,
            "property_type": self.segment.property_types,
            "tenure": self.segment.tenures,
            "new_build": self.segment.new_build,
            "category": self.segment.categories,
        }
        return frozenset(field for field, value in criteria.items() if value is not None)


def sales_filter(segment: str = "all", years: int | str | Iterable[int | str] | None = None) -> SalesFilter:
    """Return the filter of a named segment of SEGMENTS and of years of transfer. Raise `DataError`
    for an unknown segment or year."""
    if segment not in SEGMENTS:
        raise DataError(
            f"There is no segment {segment!r}{closest(segment, SEGMENTS) or '.'} "
            f"Choose one of: {', '.join(SEGMENTS)}."
        )
    return SalesFilter(SEGMENTS[segment], _years(years))


def _years(selection: int | str | Iterable[int | str] | None) -> frozenset[int] | None:
    if selection is None:
        return None
    if not isinstance(selection, Iterable):
        selection = [selection]
    years: set[int] = set()
    for item in [selection] if isinstance(selection, str) else selection:
        word = str(item).strip()
        if not (word.isascii() and word.isdigit() and FIRST_YEAR <= int(word[:9]) <= LAST_YEAR):
            raise DataError(
                f"A year of Price Paid Data has four digits and is {FIRST_YEAR} or later, "
                f"which {word[:20]!r} is not."
            )
        years.add(int(word))
    return frozenset(years) or None


def years_in_words(years: Iterable[int]) -> str:
    """Write years, one at least, as in "2018", "2016 to 2018" or "2012, 2018"."""
    ordered = sorted(set(years))
    if len(ordered) > 1 and len(ordered) == ordered[-1] - ordered[0] + 1:
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(map(str, ordered))
