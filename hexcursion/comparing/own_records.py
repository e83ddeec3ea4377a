"""The yardstick after a release: how many of the curator's own records a map shows on their right side.

Computed from private records for the curator's eyes alone: it stands in no file and on no public page. The
program advises by it and withholds nothing: a stop that follows from private records would have to be paid
for, and at a tenth of epsilon a third of the stops would be false.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpgp_core.yardstick import Sides
from hexcursion.bundle.products import Products
from hexcursion.comparing.practice import Records, filled, minimum
from hexcursion.project.model import Project
from hexcursion.project.records import cell_medians

Bools = NDArray[np.bool_]
LEAST = 5  # records of a hexagon in a table of means
FOLDS = 5  # a table without noise fits the records that made it: each part is judged by the others


@dataclass(frozen=True)
class OwnRecords:
    """Shares of private records, in judged hexagons, on the side that a map shows (curator only)."""

    number: int  # of the records in judged hexagons
    release: float
    colour: float  # the better map of one colour
    table: float  # a table of means of at least `LEAST` records, filled by the nearest shown hexagon
    public: float | None = None  # the map of public data alone; None where there is none

    @property
    def gain(self) -> float:
        """How much the release gains over the better of the public map and one colour."""
        return self.release - max(self.colour, self.public or 0.0)

    @property
    def words(self) -> str:
        """The four shares in one sentence."""
        public = "" if self.public is None else f" public map {_hundred(self.public)};"
        return (
            f"Of your {self.number:,} records where the map is judged {_hundred(self.release)} in 100 lie on "
            f"the side the map shows;{public} one colour {_hundred(self.colour)}; a table of means "
            f"{_hundred(self.table)}."
        )

    @property
    def advice(self) -> str:
        """Advice against publishing where the release gains less than nothing; "" otherwise."""
        if self.gain >= 0.0:
            return ""
        which = "the public map" if (self.public or 0.0) >= self.colour else "a map of one colour"
        return f"Do not publish this map: {which} shows more of your records on their right side."


def own_records(
    project: Project, products: Products, public: Bools | None = None, threshold: float | None = None
) -> OwnRecords | None:
    """Judge released products, and maps beside them, by the project's private records.

    `public`: (N,) the set of the public map, where there is one; `threshold`: that of the products, by
    default the project's. None for answers and counts, of which one record has no side, and without a record
    that is judged.
    """
    if project.answers is not None or project.exposure is not None:
        return None
    records, judged = Records.of(project, threshold), products.judged
    cell, value = records.cell, records.value
    if project.settings.unit == "cell":
        cell, value = cell_medians(project.private.placed)
    sides = Sides.of(cell, records.beyond(value), records.size)
    number = sides.total(judged)
    if not number:
        return None
    return OwnRecords(
        number,
        sides.right(products.in_set, judged),
        sides.one_colour(judged),
        _by_table(records, judged),
        None if public is None else sides.right(public, judged),
    )


def _by_table(records: Records, judged: Bools) -> float:
    """The share that a table of means shows right, each fifth of the records by a table of the others."""
    part, right = np.arange(records.cell.size) % FOLDS, 0
    counted = judged[records.cell]
    for fold in range(FOLDS):
        mine = part == fold
        others = Records(
            records.cell[~mine], records.value[~mine], records.threshold, records.centres, records.spacing,
            records.below,
        )  # fmt: skip
        table = minimum(others, LEAST)
        assert table.mean is not None  # as every table of counts
        shown = filled(replace(table, inside=table.shown & others.beyond(table.mean)), others)
        there = mine & counted
        right += int((shown[records.cell[there]] == records.beyond(records.value[there])).sum())
    return right / int(counted.sum())


def _hundred(share: float) -> int:
    return round(100.0 * share)
