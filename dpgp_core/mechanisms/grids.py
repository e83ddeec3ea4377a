"""Lengthscales and ridges that a search tries, and their private choice where the places are public."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import cholesky, solve_lower
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.private_choice import Choice, Fold, ValueSums, choose_candidate, largest_sensitivity
from dpgp_core.public_places import PublicPlaces

ACROSS = (2.5, 5.0, 10.0, 20.0, 40.0)  # candidate ranges: so many of them fit across the area
RECORD_RIDGES = (0.7, 1.5, 3.0)
"""Scatter of one record around its cell's value, in units of the field's deviation."""

FOLDS = 5


@dataclass(frozen=True)
class FieldModel:
    """One candidate: the range of the field, metres, and a record's scatter in units of its deviation."""

    lengthscale: float
    ridge: float


def field_models(lattice: Lattice) -> tuple[FieldModel, ...]:
    """The public candidates for an area, each once; no range is shorter than two cells."""
    extent = float(np.ptp(lattice.domain_centres, axis=0).max())
    ranges = dict.fromkeys(max(extent / across, 2.0 * lattice.spacing) for across in ACROSS)
    return tuple(FieldModel(lengthscale, ridge) for lengthscale in ranges for ridge in RECORD_RIDGES)


def place_folds(places: PublicPlaces, ridge: float) -> tuple[Fold, ...]:
    """Every fifth occupied cell predicted from all others, in turn: public, as the places are.

    The posterior mean at cells f given all others is `y_f - B_ff^-1 (B y)_f` with B the inverse of the
    covariance of all cells' means: one factorisation for all folds.

    Raises InvalidValue if fewer cells are occupied than there are folds.
    """
    covariance = places.cross[places.index] + np.diag(places.noise(ridge))
    if covariance.shape[0] < FOLDS:
        raise InvalidValue(f"a range is told from at least {FOLDS} hexagons with records: take smaller ones.")
    root = solve_lower(
        cholesky(covariance, "The covariance of the places", "take larger hexagons"),
        np.eye(covariance.shape[0]),
    )
    inverse, everywhere = root.T @ root, np.arange(covariance.shape[0])
    made = []
    for part in range(FOLDS):
        test = everywhere[part::FOLDS]
        train = np.setdiff1d(everywhere, test)
        weights = -np.linalg.solve(inverse[np.ix_(test, test)], inverse[np.ix_(test, train)])
        made.append(Fold(train, test, weights / places.count[train]))
    return tuple(made)


@dataclass(frozen=True, eq=False)
class RangeChoice:
    """A planned choice: candidates, their folds, and how far one value can move their errors; all public."""

    models: tuple[FieldModel, ...]
    folds: tuple[tuple[Fold, ...], ...]
    sensitivity: float  # in squared units of response

    @classmethod
    def plan(
        cls, lattice: Lattice, records: CollapsedRecords, made: Callable[[float], PublicPlaces]
    ) -> RangeChoice:
        """From the places of the records alone; `made` gives them under the prior of a range in metres."""
        models = field_models(lattice)
        kept = {each.lengthscale: made(each.lengthscale) for each in models}
        folds = tuple(place_folds(kept[each.lengthscale], each.ridge) for each in models)
        sums = _sums(records)
        return cls(models, folds, largest_sensitivity(folds, sums) * 2.0**-100)

    def sharpness(self, n: int, epsilon: float) -> float:
        """By how much mean squared errors of two candidates must differ for odds of e: smaller is sharper."""
        return 2.0 * self.sensitivity / (epsilon * n)

    def draw(
        self, records: CollapsedRecords, epsilon: float, entropy: Entropy, *, simulation: bool = False
    ) -> tuple[FieldModel, Choice]:
        """The chosen model, and the choice with its cost."""
        found = choose_candidate(self.folds, _sums(records), epsilon, entropy, simulation=simulation)
        return self.models[found.index], found


def _sums(records: CollapsedRecords) -> ValueSums:
    return ValueSums(records.units, records.count)


FRONTIER_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 10.0)

CELL_SCALES = (0.25, 0.5, 1.0)
"""Standard deviations of the field, response units, where every cell is observed."""

SCALES = (0.3, 0.6)
"""Standard deviations of the field, response units, where each model needs a dense factorisation."""

CUTOFFS = (0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2)
"""Cutoffs on exceedance probabilities: lower than a half where the map is meant to miss little."""

FEW_CUTOFFS = CUTOFFS[:4]


@dataclass(frozen=True)
class Grid:
    """Coarse grid: lengthscales in metres and ridges, both increasing."""

    lengthscales: tuple[float, ...]
    ridges: tuple[float, ...]


def tried(values: tuple[float, ...], thorough: bool, usual: int = 1) -> tuple[float, ...]:
    """All values in a thorough search, else the one at position `usual` alone."""
    return values if thorough else values[usual : usual + 1]


def coarse_grid(lattice: Lattice, n: int, quick: bool = False) -> Grid:
    """Lengthscales from two cell spacings to the domain's extent; ridges from 0.3 to about sqrt(n).

    A ridge far above sqrt(n) forgets the data, one far below 0.3 is never private: public facts both.
    """
    extent = float(np.ptp(lattice.domain_centres, axis=0).max())
    shortest = 2.0 * lattice.spacing
    longest = max(extent, 2.0 * shortest)
    lengthscales = np.geomspace(shortest, longest, 3 if quick else 5)
    ridges = np.geomspace(0.3, max(4.0, 0.8 * math.sqrt(n)), 7 if quick else 11)
    return Grid(tuple(float(x) for x in lengthscales), tuple(float(x) for x in ridges))


def steps_around(value: float, ratio: float) -> tuple[float, ...]:
    """The local refinement of one positive parameter: a step down and a step up in log scale."""
    return (value / ratio, value, value * ratio)
