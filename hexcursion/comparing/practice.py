"""Rules by which agencies publish a table of hexagons today: minimum counts and kernel smoothing.

Minimum frequency is the rule of most statistical offices; smoothing with masking is that of de
Jonge and de Wolf (2016). A hexagon is in the set where the median of its values, or most of its
weighted records, are beyond the threshold; of answers of yes and no, where their share is. Tables
are private data, made for the curator's eyes and for studies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from dpgp_core.excursion import excursion, iou
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.registry import make_prior
from hexcursion.project.baseline import FieldModel
from hexcursion.project.model import Project

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

REACH = 3.0  # bandwidths at which a kernel ends
AT_ONCE = 1_000  # blank hexagons whose nearest neighbours are searched together


@dataclass(frozen=True, eq=False)
class Records:
    """Private records on N hexagons."""

    cell: Ints  # (n,) hexagon of each record
    value: Floats  # (n,) its value
    threshold: float  # in the unit of the values
    centres: Floats  # (N, 2) centres of the hexagons, metres
    spacing: float  # between neighbouring centres, metres
    below: bool = False  # whether values at or under the threshold are in the set, or those above
    # values are answers, 100 for yes and 0 for no; the threshold is a share of yes, per cent
    shares: bool = False

    @classmethod
    def of(cls, project: Project, threshold: float | None = None) -> Records:
        """A project's private records, at its own threshold or another one."""
        placed, lattice, settings = project.private.placed, project.lattice, project.settings
        return cls(
            placed.index,
            placed.value,
            settings.threshold if threshold is None else threshold,
            lattice.domain_centres,
            lattice.spacing,
            settings.direction == "below",
            project.answers is not None,
        )

    def beyond(self, values: Floats | float) -> Bools:
        """Whether values of any shape are on the question's side of the threshold; NaN is not."""
        with np.errstate(invalid="ignore"):
            return np.asarray(values <= self.threshold if self.below else values > self.threshold)

    @property
    def size(self) -> int:
        """N."""
        return len(self.centres)

    @cached_property
    def count(self) -> Floats:
        """(N,) records in each hexagon."""
        return np.bincount(self.cell, minlength=self.size).astype(np.float64)

    @cached_property
    def total(self) -> Floats:
        """(N,) sums of values."""
        return np.bincount(self.cell, weights=self.value, minlength=self.size).astype(np.float64)

    @property
    def quorum(self) -> float:
        """Share of the records beyond the threshold from which a hexagon is in the set."""
        if not self.shares:
            return 0.5
        return 1.0 - self.threshold / 100.0 if self.below else self.threshold / 100.0

    @cached_property
    def typical(self) -> Floats:
        """(N,) medians of values, or shares of yes in per cent; NaN where there is no record."""
        medians = np.full(self.size, np.nan)
        if self.shares:
            occupied = self.count > 0
            medians[occupied] = self.total[occupied] / self.count[occupied]
            return medians
        order = np.lexsort((self.value, self.cell))
        places, first = np.unique(self.cell[order], return_index=True)
        for place, values in zip(places, np.split(self.value[order], first[1:]), strict=True):
            medians[place] = np.median(values)
        return medians

    @cached_property
    def kernel(self) -> csr_array:
        """(N, N) weights of records for the hexagons around them: normal, one spacing wide, cut off
        at `REACH`."""
        tree = KDTree(self.centres / self.spacing)
        pairs = tree.sparse_distance_matrix(tree, REACH, output_type="ndarray")
        weight = np.exp(-0.5 * np.square(pairs["v"]))
        return csr_array((weight, (pairs["i"], pairs["j"])), shape=(self.size, self.size))


@dataclass(frozen=True, eq=False)
class Table:
    """What a rule publishes."""

    shown: Bools  # (N,) hexagons that are not blank
    inside: Bools  # (N,) hexagons published as beyond the threshold
    # (N,) published numbers, as mean and median; None where the rule publishes none
    count: Floats | None = None
    mean: Floats | None = None
    median: Floats | None = None


def minimum(records: Records, fewest: float) -> Table:
    """Count, mean and median of the hexagons with at least `fewest` records."""
    count, median = records.count, records.typical
    visible = count >= fewest
    mean = records.total / np.maximum(count, 1.0)
    return Table(visible, visible & records.beyond(median), count, mean, median)


def smoothed(records: Records, fewest: float) -> Table:
    """Weighted counts and means around each hexagon whose weighted count is at least `fewest`."""
    weights = records.kernel
    count, total = weights @ records.count, weights @ records.total
    beyond = records.beyond(records.value).astype(np.float64)
    share = weights @ np.bincount(records.cell, weights=beyond, minlength=records.size)
    visible = count >= fewest
    inside = visible & (share > records.quorum * count)
    return Table(visible, inside, count, total / np.maximum(count, 1e-12))


@dataclass(frozen=True)
class Rule:
    """A rule of disclosure control as it is in use today."""

    kind: Literal["minimum", "smoothed"]  # how a hexagon's numbers are made
    least: float  # hexagons with fewer records, or a smaller weighted number, stay blank
    numbers: bool = True  # whether counts, means and medians are published with the classes

    def apply(self, records: Records) -> Table:
        """The table that the rule publishes of these records."""
        publish = smoothed if self.kind == "smoothed" else minimum
        table = publish(records, self.least)
        return table if self.numbers else Table(table.shown, table.inside)


def filled(table: Table, records: Records) -> Bools:
    """(N,) classes, where a blank hexagon has that of the nearest shown one, as a careful reader
    assumes."""
    if not table.shown.any():
        return table.inside
    visible = np.flatnonzero(table.shown)
    parts = np.array_split(records.centres, -(-records.size // AT_ONCE))
    centres = records.centres[visible]
    nearest = visible[np.concatenate([cdist(part, centres).argmin(axis=1) for part in parts])]
    return np.asarray(np.where(table.shown, table.inside, table.inside[nearest]))


def by_model(project: Project, model: FieldModel, table: Table) -> Bools:
    """(N,) excursion set of published numbers by the model of the map without privacy.

    Each number weighs as many records as its hexagon has. The numbers are medians, or means for a
    rule without medians; a table without numbers keeps its classes.
    """
    numbers = table.mean if table.median is None else table.median
    if numbers is None or table.count is None or not table.shown.any():
        return table.inside
    visible = np.flatnonzero(table.shown & (table.count > 0))
    scale, published = project.response, numbers[visible]
    responses = scale.response(published) if project.answers is None else published / 50.0 - 1.0
    records = CollapsedRecords(visible, np.maximum(np.round(table.count[visible]), 1.0), responses)
    prior = make_prior(model.prior, project.lattice, model.lengthscale)
    level = scale.seen(project.level)
    return excursion(fit(prior, records, model.ridge).mean, level, project.settings.direction)


@dataclass(frozen=True, eq=False)
class Target:
    """The map to be reached, and the hexagons over which a map is judged by it."""

    truth: Bools  # (N,)
    judged: Bools  # (N,)

    def agreement(self, inside: Bools) -> float:
        """Intersection over union of a set, (N,), with the truth over the judged hexagons."""
        return iou(inside & self.judged, self.truth & self.judged)


def careful(project: Project, model: FieldModel, records: Records, table: Table, target: Target) -> float:
    """Agreement with the target of the better of two ways to fill the blanks of a table."""
    return max(map(target.agreement, (filled(table, records), by_model(project, model, table))))
