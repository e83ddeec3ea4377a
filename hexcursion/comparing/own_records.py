"""The yardstick after a release: how many of the curator's own records a map shows on their right
side.

It is computed from private records for the curator alone: no file and no public page has it. The
program advises by it and withholds nothing. A stop that follows from private records would have to
be paid for, and at a tenth of epsilon a third of the stops would be false.
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
    """Shares of private records, in judged hexagons, on the side that a map shows (curator
    only)."""

    number: int  # of the records in judged hexagons
    release: float
    colour: float  # the better map of one colour
    table: float  # a table of means of at least `LEAST` records, filled by the nearest shown hexagon
    public: float | None = None  # the map of public data alone, if there is one

    @property
    def gain(self) -> float:
        """How much the release gains over the better of the public map and one colour."""
        return self.release - max(self.colour, self.public or 0.0)

    @property
    def words(self) -> str:
        """The four shares in one sentence."""
        public = "" if self.public is None else f" public map {_hundred(self.public)};"
        return (
            f"Of your {self.number:,} records where the map is judged {_hundred(self.release)} in 100 are on "
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
    """Judge released products and simpler maps by the project's private records.

    `public` is the (N,) set of the public map, if there is one, and `threshold` that of the
    products, by default the project's. Return None for answers and counts, where a single record
    has no side, and if no record is in a judged hexagon.
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
    """The share that a table of means shows right: each fifth of the records is judged by a table
    of the others."""
    part, right = np.arange(records.cell.size) % FOLDS, 0
    countable = judged[records.cell]
    for fold in range(FOLDS):
        mine = part == fold
        training = replace(records, cell=records.cell[~mine], value=records.value[~mine])
        table = minimum(training, LEAST)
        assert table.mean is not None  # as every table of counts
        classes = filled(replace(table, inside=table.shown & training.beyond(table.mean)), training)
        tested = mine & countable
        right += int((classes[records.cell[tested]] == records.beyond(records.value[tested])).sum())
    return right / int(countable.sum())


def _hundred(share: float) -> int:
    return round(100.0 * share)
