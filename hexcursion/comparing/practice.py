"""Rules by which agencies publish a table of hexagons today: minimum counts and kernel smoothing.

Minimum frequency is the rule of most statistical offices; smoothing with masking is that of de Jonge and de
Wolf (2016). A hexagon is in the set where the median of its values, or most of its weighted records, are
beyond the threshold; of answers of yes and no, where their share is. Tables are private data, made for the
curator's eyes and for studies.
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
AT_ONCE = 1_000  # hexagons for which the nearest shown one is sought together


@dataclass(frozen=True, eq=False)
class Records:
    """Private records on N hexagons."""

    cell: Ints  # (n,) hexagon of each
    value: Floats  # (n,) its value
    threshold: float  # in the unit of the values
    centres: Floats  # (N, 2) centres of the hexagons, metres
    spacing: float  # between neighbouring centres, metres
    below: bool = False  # whether the question is where values lie at or under the threshold
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
        """Whether values of any shape lie on the asked side of the threshold; NaN does not."""
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
        found = np.full(self.size, np.nan)
        if self.shares:
            some = self.count > 0
            found[some] = self.total[some] / self.count[some]
            return found
        order = np.lexsort((self.value, self.cell))
        places, first = np.unique(self.cell[order], return_index=True)
        for place, values in zip(places, np.split(self.value[order], first[1:]), strict=True):
            found[place] = np.median(values)
        return found

    @cached_property
    def kernel(self) -> csr_array:
        """(N, N) weights of records for the hexagons around them: normal, one spacing wide, cut off."""
        tree = KDTree(self.centres / self.spacing)
        found = tree.sparse_distance_matrix(tree, REACH, output_type="ndarray")
        weight = np.exp(-0.5 * np.square(found["v"]))
        return csr_array((weight, (found["i"], found["j"])), shape=(self.size, self.size))


@dataclass(frozen=True, eq=False)
class Table:
    """What a rule publishes."""

    shown: Bools  # (N,) hexagons that are not blank
    inside: Bools  # (N,) those that it says are beyond the threshold
    # (N,) published numbers, as mean and median; None where the rule publishes none
    count: Floats | None = None
    mean: Floats | None = None
    median: Floats | None = None


def minimum(records: Records, least: float) -> Table:
    """Count, mean and median of the hexagons with at least so many records."""
    count, median = records.count, records.typical
    shown = count >= least
    mean = records.total / np.maximum(count, 1.0)
    return Table(shown, shown & records.beyond(median), count, mean, median)


def smoothed(records: Records, least: float) -> Table:
    """Weighted counts and means around each hexagon where the weighted count is at least so much."""
    weights = records.kernel
    count, total = weights @ records.count, weights @ records.total
    beyond = records.beyond(records.value).astype(np.float64)
    share = weights @ np.bincount(records.cell, weights=beyond, minlength=records.size)
    shown = count >= least
    return Table(shown, shown & (share > records.quorum * count), count, total / np.maximum(count, 1e-12))


@dataclass(frozen=True)
class Rule:
    """A rule of disclosure control as it is in use today."""

    kind: Literal["minimum", "smoothed"]  # how a hexagon's numbers are made
    least: float  # a hexagon with fewer records, or a smaller weighted number, stays blank
    numbers: bool = True  # whether counts, means and medians are published beside the classes

    def apply(self, records: Records) -> Table:
        """What it publishes of these records."""
        made = smoothed(records, self.least) if self.kind == "smoothed" else minimum(records, self.least)
        return made if self.numbers else Table(made.shown, made.inside)


def filled(table: Table, records: Records) -> Bools:
    """(N,) blank hexagons with the class of the nearest shown one: what a careful reader takes them for."""
    if not table.shown.any():
        return table.inside
    shown = np.flatnonzero(table.shown)
    parts = np.array_split(records.centres, -(-records.size // AT_ONCE))
    nearest = shown[np.concatenate([cdist(part, records.centres[shown]).argmin(axis=1) for part in parts])]
    return np.asarray(np.where(table.shown, table.inside, table.inside[nearest]))


def by_model(project: Project, model: FieldModel, table: Table) -> Bools:
    """(N,) what the model of the map without privacy makes of published numbers, each counted as often.

    Medians, or means where there are none; without numbers the classes themselves.
    """
    numbers = table.mean if table.median is None else table.median
    if numbers is None or table.count is None:
        return table.inside
    shown = np.flatnonzero(table.shown & (table.count > 0))
    scale, found = project.response, numbers[shown]
    responses = scale.response(found) if project.answers is None else found / 50.0 - 1.0
    records = CollapsedRecords(shown, np.maximum(np.round(table.count[shown]), 1.0), responses)
    prior = make_prior(model.prior, project.lattice, model.lengthscale)
    level = scale.seen(project.level)
    return excursion(fit(prior, records, model.ridge).mean, level, project.settings.direction)


def careful(
    project: Project, model: FieldModel, records: Records, table: Table, truth: Bools, judged: Bools
) -> float:
    """Agreement with (N,) `truth`, over `judged` hexagons, of what a careful reader makes of a table: the
    better way to fill it."""
    read = filled(table, records), by_model(project, model, table)
    return max(iou(each & judged, truth & judged) for each in read)
