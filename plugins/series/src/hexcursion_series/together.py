"""Bundles of several periods, read together: their checks, the question, and the common field."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpgp_core.atlas.design import AtlasDesign
from dpgp_core.errors import CoreError
from dpgp_core.excursion import Direction
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.series import SeriesReading, read_series
from dpgp_core.yardstick import LIKELY, judged_domain
from geo import Domain
from hexcursion.bundle import layout
from hexcursion.bundle.again import check_again, stored_sums, sums_design, sums_facts
from hexcursion.bundle.areas import named_areas_of
from hexcursion.bundle.atlas.read import AtlasBundle, any_from_contents, atlas_doubts
from hexcursion.bundle.layout import contents_of
from hexcursion.bundle.products import UNLIKELY, Floats
from hexcursion.bundle.published.series import periods_of, prior_of, refuse_unreadable
from hexcursion.bundle.read import Bundle, bundle_from_contents
from hexcursion.bundle.untrusted import BundleError

WHOLE = "all hexagons"
_YEAR = r"(1[5-9]\d\d|2\d\d\d)"
_PARTS = (
    (re.compile(rf"\D*{_YEAR}\D*[qQ]([1-4])\D*"), 4),
    (re.compile(rf"\D*\b[qQ]([1-4])\D*{_YEAR}\D*"), -4),
    (re.compile(rf"\D*{_YEAR}-(0[1-9]|1[0-2])(?:-\d\d)?\D*"), 12),
    (re.compile(rf"(?:year)?\s*{_YEAR}", re.IGNORECASE), 1),
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(rf"({'|'.join(_MONTHS)})[a-z]*\.?\s+{_YEAR}", re.IGNORECASE)


Read = TypeVar("Read")


@dataclass(frozen=True, eq=False)
class Series:
    """Bundles of one place and question, in order of time, and their common field."""

    bundles: tuple[Bundle, ...]
    digests: tuple[str, ...]  # SHA-256 of each bundle's SHA256SUMS
    labels: tuple[str, ...]  # names of the periods
    times: Floats  # (T,) of the periods; in years if all labels have one, else counted from 0
    dated: bool  # whether the times are such years or were passed as numbers
    threshold: float  # in the data's unit
    direction: Direction
    by: float  # rise of the question: in the unit of values, or a share for logarithms of values
    reading: SeriesReading  # the field of every period given all releases
    areas: tuple[str, ...]  # names of the areas of `reading.areas`

    @property
    def last(self) -> Bundle:
        """The newest release, which provides title, question, layers and outline."""
        return self.bundles[-1]

    @property
    def domain(self) -> Domain:
        """The hexagons of all releases."""
        return self.last.domain

    @property
    def logarithms(self) -> bool:
        """Whether the field is that of the values' logarithms."""
        return self.last.response.transform == "log"

    @property
    def chance(self) -> Floats:
        """(T, N) probability of the question's side of the threshold."""
        above = self.reading.above(math.log(self.threshold) if self.logarithms else self.threshold)
        return above if self.direction == "above" else 1.0 - above

    @property
    def risen(self) -> Floats:
        """(T, N) probability of a rise by more than `by` since the previous period; the first row
        is over all periods."""
        return self.reading.risen(math.log1p(self.by) if self.logarithms else self.by)

    @property
    def fallen(self) -> Floats:
        """(T, N) probability of a fall by more than `by`, in the same order."""
        return 1.0 - self.reading.risen(math.log1p(-self.by) if self.logarithms else -self.by)

    @property
    def empty(self) -> NDArray[np.bool_]:
        """(T, N) hexagons that are not judged in a period."""
        return ~np.stack([judged_domain(expected) for expected in self.reading.records])

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Indices of the two periods of each row of `risen`: first and last, then each step."""
        steps = range(1, len(self.labels))
        return ((0, len(self.labels) - 1), *((place - 1, place) for place in steps))

    @property
    def unseen(self) -> NDArray[np.bool_]:
        """(T, N) hexagons in which neither end of a change expects a record."""
        return np.array([self.empty[start] & self.empty[end] for start, end in self.spans])

    def values(self, field: Floats) -> Floats:
        """Field values of any shape in the data's unit; for logarithms the median value."""
        return np.exp(np.minimum(field, 700.0)) if self.logarithms else field


def classes_of(chance: Floats, empty: NDArray[np.bool_]) -> NDArray[np.int64]:
    """0 likely, 1 open, 2 likely not, 3 no record expected, for chances of any shape."""
    classes = np.where(chance >= LIKELY, 0, np.where(chance > UNLIKELY, 1, 2))
    return np.where(empty, 3, classes)


def read_together(
    sources: Sequence[str | Path | bytes],
    *,
    threshold: float | None = None,
    by: float = 0.0,
    times: Sequence[float] | None = None,
    layer: str | None = None,
    checked: bool = True,
) -> Series:
    """Read the released sums of at least two bundles together; free.

    The bundles are ordered by `times`, else by their periods, else as passed. `threshold` is in the
    data's unit, by default that of the newest. `by` >= 0 is the rise (or fall) of the question, in
    the unit of values, or a share (.05 is 5 %) for logarithms of values. `layer` is the column to
    read if the bundles are atlases. `checked` bundles have their maps computed again from their
    sums first. Raise `BundleError` for a bundle that cannot be read, has no sums, or does not fit
    the others.
    """
    if len(sources) < 2:
        raise BundleError("A series needs at least two bundles: name one for each period.")
    bundles, digests = open_bundles(sources, partial(_question_of, layer=layer, checked=checked))
    periods = [str(bundle.statement["subject"].get("scope", {}).get("period", "")) for bundle in bundles]
    unordered, dated = _times(periods, times)
    labels = _labels(bundles, periods)
    order = np.argsort(unordered, kind="stable").tolist()
    ordered = tuple(bundles[k] for k in order)
    _refuse_others(ordered)
    last = ordered[-1]
    level = _level(last, threshold)
    _refuse_rise(last, by)
    facts: list[PublicFacts] = []
    for bundle in ordered:
        facts.append(sums_facts(bundle, facts[0] if facts else None))
        if checked and not isinstance(sums_design(bundle.statement), AtlasDesign):
            check_again(bundle, facts[-1])
    areas = named_areas_of(last.layers, last.domain)
    weights = np.full((1, last.domain.size), 1.0 / last.domain.size)
    if areas is not None:
        weights = np.vstack([weights, areas.weights / areas.weights.sum(axis=1, keepdims=True)])
    moments = unordered[order]
    try:  # memories are for usual distances of time: months may forget as much as years
        readings, model = periods_of(ordered, facts, (moments / np.median(np.diff(moments))).tolist())
        prior, around = prior_of(ordered, model)
        reading = read_series(model, readings, prior, around=around, areas=weights)
    except (CoreError, ArithmeticError) as error:
        raise BundleError(f"These bundles cannot be read together: {str(error).rstrip('.')}.") from error
    return Series(
        ordered,
        tuple(digests[k] for k in order),
        tuple(labels[k] for k in order),
        moments,
        dated,
        level,
        last.statement["subject"]["direction"],
        float(by),
        reading,
        (WHOLE, *(() if areas is None else areas.names)),
    )


def _level(bundle: Bundle, threshold: float | None) -> float:
    """The threshold, by default that of a bundle; `BundleError` for an impossible number."""
    level = bundle.threshold if threshold is None else float(threshold)
    log = bundle.response.transform == "log"
    if not math.isfinite(level) or (log and level <= 0):
        raise BundleError(f"A threshold must be a finite number{' above 0' if log else ''}, got {level:g}.")
    return level


def _refuse_rise(bundle: Bundle, by: float) -> None:
    """Raise `BundleError` for a rise that is no number for the bundle's scale of values."""
    log = bundle.response.transform == "log"
    if not (math.isfinite(by) and by >= 0.0 and (by < 1.0 or not log)):
        remedy = ", and below 1: .05 is 5 %." if log else ", in the unit of values."
        raise BundleError(f"A rise must be at least 0{remedy}")


def _question_of(contents: Mapping[str, bytes], layer: str | None, *, checked: bool) -> Bundle:
    """The bundle of one column, or this layer of an atlas, whose maps are computed again as a whole."""
    found = any_from_contents(contents)
    if not isinstance(found, AtlasBundle):
        return found
    if layer is None:
        raise BundleError(
            f"This bundle is an atlas: name one of its columns with --layer, {' or '.join(found.names)}."
        )
    for doubt in atlas_doubts(found) if checked else ():
        raise BundleError(doubt)
    return found.layer(layer)


def open_bundles(
    sources: Sequence[str | Path | bytes],
    read: Callable[[Mapping[str, bytes]], Bundle] = bundle_from_contents,
) -> tuple[list[Bundle], list[str]]:
    """Return bundles with released sums, checked by `read`, and the SHA-256 of each bundle's SHA256SUMS.

    Raise `BundleError`, naming the file, for a bundle that cannot be read, and for a release that
    is named twice.
    """
    contents = [_named(contents_of, source, source) for source in sources]
    bundles = [_named(read, files, source) for files, source in zip(contents, sources, strict=True)]
    names = [bundle.statement["release"]["id"] for bundle in bundles]
    if len(set(names)) < len(names):
        raise BundleError(f"Release {_twice(names)} is named twice: name each release once.")
    for bundle in bundles:
        stored_sums(bundle)
    return bundles, [hashlib.sha256(files[layout.SUMS]).hexdigest() for files in contents]


def flags_of(bundles: Sequence[Bundle]) -> dict[str, bool]:
    """Whether any release is a simulation, and whether any data are generated."""
    names = ("simulation", "generated")
    return {name: any(bundle.statement["release"][name] for bundle in bundles) for name in names}


def credits_of(bundles: Sequence[Bundle]) -> list[str]:
    """The credits of all bundles without repetitions."""
    return list(dict.fromkeys(text for bundle in bundles for text in bundle.statement["attribution"]))


def _named(read: Callable[[Any], Read], content: Any, source: object) -> Read:
    """Read a bundle; a refusal names its file."""
    try:
        return read(content)
    except BundleError as error:
        name = Path(source).name if isinstance(source, str | Path) else ""
        raise BundleError(str(error) if not name or name in str(error) else f"{name}: {error}") from error


def _twice(names: Sequence[str]) -> str:
    return next(name for name in names if names.count(name) > 1)


def _labels(bundles: Sequence[Bundle], periods: Sequence[str]) -> list[str]:
    """The period of each release, or the day of its making; equal labels get the id as well."""
    releases = [bundle.statement["release"] for bundle in bundles]
    names = [period or release["created"][:10] for period, release in zip(periods, releases, strict=True)]
    return [
        label if names.count(label) == 1 else f"{label} ({release['id']})"
        for label, release in zip(names, releases, strict=True)
    ]


def time_of(label: str) -> float | None:
    """The beginning of a period in years, if its words name a year, a quarter or a month.

    Examples
    --------
    >>> time_of("2018"), time_of("2018 Q3"), time_of("Q1 2019"), time_of("2018-04"), time_of("April 2018")
    (2018.0, 2018.5, 2019.0, 2018.25, 2018.25)
    """
    month = _MONTH.fullmatch(label)
    if month is not None:
        return float(month[2]) + _MONTHS.index(month[1].lower()) / 12
    for pattern, parts in _PARTS:
        match = pattern.fullmatch(label)
        if match is None:
            continue
        if parts == 1:
            return float(match[1])
        year, part = (match[2], match[1]) if parts < 0 else (match[1], match[2])
        return float(year) + (int(part) - 1) / abs(parts)
    return None


def _times(periods: Sequence[str], times: Sequence[float] | None) -> tuple[Floats, bool]:
    """Times of releases, from `times` or from their periods ("" for none), and whether these are
    dates."""
    count = len(periods)
    if times is not None:
        if len(times) != count or not all(math.isfinite(time) for time in times):
            raise BundleError(f"Give one finite time for each of the {count} bundles, in their order.")
        moments = np.array(times, dtype=np.float64)
        if np.unique(moments).size < moments.size:
            raise BundleError("Two bundles have the same time: give each period its own.")
        return moments, True
    named_periods = [period for period in periods if period]
    if len(set(named_periods)) < len(named_periods):
        raise BundleError(
            f"Two bundles are of {_twice(named_periods)!r}: name one of each period, or their times."
        )
    years = [time for time in map(time_of, periods) if time is not None]
    if len(years) == count and len(set(years)) == count:
        return np.array(years), True
    return np.arange(count, dtype=np.float64), False


def _refuse_others(bundles: Sequence[Bundle]) -> None:
    """Raise `BundleError` for bundles that differ in question or place."""
    last = bundles[-1]
    for bundle in bundles[:-1]:
        statement, newest = bundle.statement, last.statement
        title = statement["release"]["title"]
        if bundle.domain.resolution != last.domain.resolution:
            raise BundleError(
                f"{title!r} has hexagons of resolution {bundle.domain.resolution}, the newest of "
                f"{last.domain.resolution}: release all periods at one resolution."
            )
        if bundle.domain.cells != last.domain.cells:
            raise BundleError(f"{title!r} covers other hexagons than the newest: release one area each time.")
        if bundle.response.transform != last.response.transform:
            raise BundleError(f"{title!r} reads values plainly or as logarithms, the newest the other way.")
        for name in ("value", "unit"):
            if statement["subject"][name] != newest["subject"][name]:
                raise BundleError(
                    f"{title!r} is of {statement['subject'][name]!r}, the newest of "
                    f"{newest['subject'][name]!r}: a series has one {name}, so leave one of them out."
                )
        scopes = [part["subject"].get("scope", {}).get("population", "") for part in (statement, newest)]
        if all(scopes) and scopes[0] != scopes[1]:
            raise BundleError(
                f"{title!r} is of {scopes[0]!r}, the newest of {scopes[1]!r}: a series has one population: "
                "leave one of them out."
            )
        if statement["guarantee"]["unit"] != newest["guarantee"]["unit"]:
            raise BundleError(f"{title!r} has other records than the newest: single ones, or one a hexagon.")
    for bundle in bundles:
        refuse_unreadable(bundle)
