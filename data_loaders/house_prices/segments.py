"""Which sales are meant: named market segments and the filters a load applies to Price Paid rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from data_loaders.errors import DataError, closest

PROPERTY_TYPES = {"D": "detached", "S": "semi-detached", "T": "terraced", "F": "flat", "O": "other"}
TENURES = {"F": "freehold", "L": "leasehold", "U": "unknown"}
CATEGORIES = {"A": "standard", "B": "additional"}
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
    """What a load keeps; None means "any"."""

    title: str  # what it keeps, for people
    years: frozenset[int] | None = None  # of transfer
    districts: frozenset[str] | None = None  # names in capitals; `counties` likewise
    counties: frozenset[str] | None = None
    property_types: frozenset[str] | None = None  # codes in capitals; `tenures` and `categories` likewise
    tenures: frozenset[str] | None = None
    new_build: bool | None = None  # newly built, or existing
    categories: frozenset[str] | None = None

    @property
    def reads(self) -> frozenset[str]:
        """Fields of a row that decide whether it is kept."""
        asked = {
            "date": self.years,
            "district": self.districts,
            "county": self.counties,
            "property_type": self.property_types,
            "tenure": self.tenures,
            "new_build": self.new_build,
            "category": self.categories,
        }
        return frozenset(field for field, given in asked.items() if given is not None)


def sales_filter(
    segment: str = "all",
    *,
    years: int | str | Iterable[int | str] | None = None,
    districts: str | Iterable[str] | None = None,
    counties: str | Iterable[str] | None = None,
    property_types: str | Iterable[str] | None = None,
    tenures: str | Iterable[str] | None = None,
    new_build: bool | None = None,
    categories: str | Iterable[str] | None = None,
) -> SalesFilter:
    """Combine a named segment of SEGMENTS with further filters, of which a row must satisfy all: years of
    transfer, names in any capitals, letters ("F") or words ("flat"). Raise `DataError` for unknown words, and
    for filters that leave nothing."""
    if segment not in SEGMENTS:
        raise DataError(
            f"There is no segment {segment!r}{closest(segment, SEGMENTS) or '.'} "
            f"Choose one of: {', '.join(SEGMENTS)}."
        )
    chosen = SEGMENTS[segment]
    built = chosen.new_build
    if new_build is not None:
        if built is not None and built != new_build:
            raise DataError(
                f"Segment {segment!r} and the new-build filter exclude each other: drop one of them."
            )
        built = new_build
    title = chosen.title
    wanted_years = _years(years)
    if wanted_years is not None:
        title += f", {_span(wanted_years)}"
    return SalesFilter(
        title,
        wanted_years,
        _names("districts", districts),
        _names("counties", counties),
        _both(
            segment,
            "property type",
            chosen.property_types,
            _codes("property type", property_types, PROPERTY_TYPES),
        ),
        _both(segment, "tenure", chosen.tenures, _codes("tenure", tenures, TENURES)),
        built,
        _both(segment, "category", chosen.categories, _codes("category", categories, CATEGORIES)),
    )


def _items(given: object) -> list[object]:
    if isinstance(given, (str, int)):
        return [given]
    if isinstance(given, Iterable):
        return list(given)
    raise DataError("A filter takes one value or a list of values.")


def _years(given: int | str | Iterable[int | str] | None) -> frozenset[int] | None:
    if given is None:
        return None
    years: set[int] = set()
    for item in _items(given):
        word = str(item).strip()
        if not (word.isascii() and word.isdigit() and FIRST_YEAR <= int(word[:9]) <= LAST_YEAR):
            raise DataError(
                f"A year of Price Paid Data has four digits and is {FIRST_YEAR} or later, "
                f"which {word[:20]!r} is not."
            )
        years.add(int(word))
    return frozenset(years) or None


def _span(years: frozenset[int]) -> str:
    first, last = min(years), max(years)
    whole = len(years) == last - first + 1
    return (
        str(first) if first == last else f"{first} to {last}" if whole else ", ".join(map(str, sorted(years)))
    )


def _names(what: str, given: str | Iterable[str] | None) -> frozenset[str] | None:
    if given is None:
        return None
    names = frozenset(" ".join(str(item).upper().split()) for item in _items(given)) - {""}
    if not names:
        raise DataError(f"The list of {what} is empty: leave it out to keep all {what}.")
    return names


def _codes(what: str, given: str | Iterable[str] | None, known: dict[str, str]) -> frozenset[str] | None:
    if given is None:
        return None
    words = {word: code for code, word in known.items()}
    codes: set[str] = set()
    for item in _items(given):
        word = str(item).strip()
        code = word.upper() if word.upper() in known else words.get(word.lower())
        if code is None:
            listed = ", ".join(f"{code} ({word})" for code, word in known.items())
            raise DataError(f"There is no {what} {word[:20]!r}: choose from {listed}.")
        codes.add(code)
    if not codes:
        raise DataError(f"The list for {what} is empty: leave it out to keep every {what}.")
    return frozenset(codes)


def _both(
    segment: str, what: str, first: frozenset[str] | None, second: frozenset[str] | None
) -> frozenset[str] | None:
    if first is None or second is None:
        return first if second is None else second
    if not first & second:
        raise DataError(f"Segment {segment!r} and the {what} filter exclude each other: drop one of them.")
    return first & second
