"""Rules by which agencies publish a table of hexagons today: minimum counts, rounding, kernel smoothing.

Minimum frequency is the rule of most statistical offices; smoothing with masking is that of de Jonge and de
Wolf (2016). A hexagon is above where the median of its values, or the weighted share of its records, is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

CAP = 0.95  # quantile at which the rounding rule caps values
TO = 5.0  # to which it rounds counts
REACH = 3.0  # bandwidths at which a kernel ends


@dataclass(frozen=True, eq=False)
class Records:
    """Private records on N hexagons.

    Parameters
    ----------
    cell
        (n,) hexagon of each
    value
        (n,) its value
    threshold
        in the unit of the values
    centres
        (N, 2) centres of the hexagons, metres
    spacing
        between neighbouring centres, metres
    """

    cell: Ints
    value: Floats
    threshold: float
    centres: Floats
    spacing: float

    @property
    def size(self) -> int:
        """N."""
        return len(self.centres)

    @property
    def count(self) -> Floats:
        """(N,) records in each hexagon."""
        return np.bincount(self.cell, minlength=self.size).astype(np.float64)

    @property
    def total(self) -> Floats:
        """(N,) sums of values."""
        return np.bincount(self.cell, weights=self.value, minlength=self.size).astype(np.float64)

    @property
    def median(self) -> Floats:
        """(N,) medians of values; NaN where there is no record."""
        found = np.full(self.size, np.nan)
        order = np.lexsort((self.value, self.cell))
        places, first = np.unique(self.cell[order], return_index=True)
        for place, values in zip(places, np.split(self.value[order], first[1:]), strict=True):
            found[place] = np.median(values)
        return found

    def kernel(self) -> Floats:
        """(N, N) weights of records for the hexagons around them: normal, one spacing wide, cut off."""
        apart = cdist(self.centres, self.centres) / self.spacing
        return np.where(apart <= REACH, np.exp(-0.5 * apart**2), 0.0)


@dataclass(frozen=True, eq=False)
class Table:
    """What a rule publishes.

    Parameters
    ----------
    shown
        (N,) hexagons that are not blank
    inside
        (N,) those that it says are above the threshold
    count, mean, median
        (N,) published numbers; None where the rule publishes none
    """

    shown: Bools
    inside: Bools
    count: Floats | None = None
    mean: Floats | None = None
    median: Floats | None = None


def minimum(records: Records, least: int) -> Table:
    """Count, mean and median of the hexagons with at least so many records."""
    count, median = records.count, records.median
    shown = count >= least
    with np.errstate(invalid="ignore"):
        mean, inside = records.total / np.maximum(count, 1.0), shown & (median > records.threshold)
    return Table(shown, inside, count, mean, median)


def rounded(records: Records, least: int, cap: float | None = None) -> Table:
    """The same with capped values, counts to the nearest 5, and numbers of two digits.

    Parameters
    ----------
    cap
        where `records` are a part of all: the quantile of all values; None for that of these
    """
    top = np.quantile(records.value, CAP) if cap is None else cap
    capped = replace(records, value=np.minimum(records.value, top))
    table = minimum(capped, least)
    assert table.count is not None
    assert table.mean is not None
    assert table.median is not None
    median = two_digits(table.median)
    with np.errstate(invalid="ignore"):
        inside = table.shown & (median > records.threshold)
    return Table(table.shown, inside, TO * np.round(table.count / TO), two_digits(table.mean), median)


def smoothed(records: Records, least: float) -> Table:
    """Weighted counts and means around each hexagon where the weighted count is at least so much."""
    weights = records.kernel()
    count, total = weights @ records.count, weights @ records.total
    above = np.bincount(
        records.cell, weights=(records.value > records.threshold).astype(np.float64), minlength=records.size
    )
    shown = count >= least
    inside = shown & (weights @ above > 0.5 * count)
    return Table(shown, inside, count, total / np.maximum(count, 1e-12))


def class_only(table: Table) -> Table:
    """Its classes without any number."""
    return Table(table.shown, table.inside)


RULES: dict[str, Callable[[Records], Table]] = {
    "everything": lambda records: minimum(records, 1),
    "at least 3": lambda records: minimum(records, 3),
    "at least 5": lambda records: minimum(records, 5),
    "at least 10": lambda records: minimum(records, 10),
    "at least 5, rounded": lambda records: rounded(records, 5),
    "smoothed, at least 10": lambda records: smoothed(records, 10.0),
    "at least 5, class only": lambda records: class_only(minimum(records, 5)),
    "smoothed, class only": lambda records: class_only(smoothed(records, 10.0)),
}


def two_digits(values: Floats) -> Floats:
    """Rounded to two significant digits; NaN stays."""
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 10.0 ** (np.floor(np.log10(np.abs(values))) - 1.0)
        return np.where(values == 0.0, 0.0, np.round(values / unit) * unit)


def filled(table: Table, records: Records) -> Bools:
    """(N,) blank hexagons with the class of the nearest shown one: what a careful reader takes them for."""
    if not table.shown.any():
        return table.inside
    shown = np.flatnonzero(table.shown)
    nearest = shown[cdist(records.centres, records.centres[shown]).argmin(axis=1)]
    return np.asarray(np.where(table.shown, table.inside, table.inside[nearest]))
