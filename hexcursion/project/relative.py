"""A question that varies over the map: values relative to a public field, a limit by zone or a public map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import make_prior
from geo import Domain, GeoError
from geo.context.covariates import public_values
from hexcursion.errors import WorkflowError
from hexcursion.project.records import PlacedObservations, cell_medians
from hexcursion.project.response import ResponseScale
from hexcursion.settings.model import ReleaseSettings

Floats = NDArray[np.float64]
FieldKind = Literal["limits", "public map"]
RANGES = (2.0, 4.0, 8.0, 16.0)  # of the public map's prior, in cell spacings
RIDGES = (0.3, 1.0, 3.0)
FOLDS = 4
CLIP_QUANTILE = 0.9


@dataclass(frozen=True, eq=False)
class Relative:
    """The public field to which the question is relative; finite, and positive under a ratio."""

    field: Floats  # (N,) in the data's own unit
    ratio: bool  # whether values are divided by it (log scale) or it is subtracted
    kind: FieldKind  # "limits" given in a file, or the "public map" of the reference data
    origin: str  # where it comes from, in words
    clip: float | None = None  # transformed units around a public map that hold 90 % of the reference records
    places: NDArray[np.int64] | None = None  # (m,) cells of the m reference records behind a public map

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.field)):
            raise WorkflowError("The public field needs a finite value for every hexagon.")
        if self.ratio and not np.all(self.field > 0):
            raise WorkflowError("On the log scale every public value must be positive: correct the others.")

    def of(self, placed: PlacedObservations) -> PlacedObservations:
        """The observations relative to the field at their cell: multiples of it, or the excess over it."""
        there = self.field[placed.index]
        return replace(placed, value=placed.value / there if self.ratio else placed.value - there)

    def unit(self, own: str) -> str:
        """The unit of a relative value, in words."""
        what = "the limit there" if self.kind == "limits" else "the public map"
        return f"times {what}" if self.ratio else f"{own} more than {what}".strip()

    @property
    def sentence(self) -> str:
        """What the question is relative to, for a receipt."""
        by = "divided by" if self.ratio else "less"
        return f"Every value is taken {by} a public field, which the bundle holds: {self.origin}."


def relative_field(
    settings: ReleaseSettings, domain: Domain, lattice: Lattice, reference: PlacedObservations | None
) -> Relative | None:
    """Return the field that the settings name, None where the question is about the values themselves.

    Of the private records nothing enters. Raise `WorkflowError` for a file of limits that cannot be used.
    """
    if settings.limits is not None:
        try:
            field = public_values(settings.limits, domain)
        except GeoError as error:
            raise WorkflowError(f"The limits cannot be used: {error}") from error
        return Relative(field, settings.uses_log, "limits", "limits given by the curator as public")
    if not settings.change or reference is None:
        return None
    scale = ResponseScale("log" if settings.uses_log else "identity", 0.0, 1.0, "")
    value = scale.forward(reference.value)
    fitted = smooth_map(lattice, *_medians(scale, reference))
    clip = float(np.quantile(np.abs(value - fitted[reference.index]), CLIP_QUANTILE))
    origin = "the smoothed map of the published reference data's median values"
    return Relative(
        np.asarray(scale.value(fitted)), settings.uses_log, "public map", origin, clip, reference.index
    )


def _medians(scale: ResponseScale, placed: PlacedObservations) -> tuple[NDArray[np.int64], Floats]:
    cells, medians = cell_medians(placed)
    return cells, np.asarray(scale.forward(medians))


def smooth_map(lattice: Lattice, cells: NDArray[np.int64], values: Floats) -> Floats:
    """Smooth public values, (k,) at k cells, in transformed units, to all N cells.

    Of a few ranges and ridges take the one that best foretells left-out cells.
    """
    centre = float(np.median(values))
    reach = max(float(np.max(np.abs(values - centre))), 1e-9)
    unit = (values - centre) / reach
    fold = np.arange(cells.size) * 7919 % FOLDS
    best, least = (RANGES[1], RIDGES[1]), np.inf
    if cells.size >= 2 * FOLDS:
        for steps in RANGES:
            prior = make_prior("car", lattice, steps * lattice.spacing)
            for ridge in RIDGES:
                error = 0.0
                for part in range(FOLDS):
                    kept = fold != part
                    records = CollapsedRecords(cells[kept], np.ones(int(kept.sum()), np.int64), unit[kept])
                    mean = fit(prior, records, ridge).mean
                    error += float(np.square(unit[~kept] - mean[cells[~kept]]).sum())
                if error < least:
                    best, least = (steps, ridge), error
    prior = make_prior("car", lattice, best[0] * lattice.spacing)
    records = CollapsedRecords(cells, np.ones(cells.size, np.int64), unit)
    return np.asarray(centre + reach * fit(prior, records, best[1]).mean)
