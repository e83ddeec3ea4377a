"""Public numbers of the hexagons: covariates, the exposure of counts, and the field of a
question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data_loaders import Observations
from dpgp_core.errors import InvalidValue
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import make_prior
from dpgp_core.spectral.prior import standardised
from geo import Domain, GeoError
from geo.context.covariates import (
    distances,
    layer_numbers,
    public_values,
    table_columns,
    table_totals,
    totals,
)
from geo.context.own_layers import own_layer
from geo.errors import DomainError
from hexcursion.errors import WorkflowError
from hexcursion.project.area import document_of, layer_name, refuse_private_layers
from hexcursion.project.records import PlacedObservations, cell_medians
from hexcursion.project.response import ResponseScale
from hexcursion.settings.model import ReleaseSettings

Floats = NDArray[np.float64]
Per = Literal["population", "area"]
UNITS: dict[Per, str] = {"population": "times the average", "area": "per km²"}
"""Units of a rate."""

LEAST = 0.002
"""The least number of people in a hexagon, as a share of the mean: cases occur where a census
counts no people."""

ALIKE = 0.95
"""The correlation with the number of records from which a column reveals their places."""

APART = 0.995
"""The probability that a hexagon with records has a larger number than one without, from which a
column also reveals the places."""

REPEATED, COPIED = 0.2, 0.999
"""The largest share of private medians in a column, and the correlation from which it is a copy."""

LONGEST = 80
"""Characters of the names of a column and of a file, both of which are in the statement."""

FEWEST = 8
"""The number of hexagons with records below which a similarity is chance."""


@dataclass(frozen=True, eq=False)
class Covariates:
    """Public numbers of the hexagons of an area."""

    names: tuple[str, ...]  # k, as in the statement
    origins: tuple[str, ...]  # k, the ends of sentences about their sources
    values: Floats  # (N, k) finite, none constant

    @property
    def sentence(self) -> str:
        """A sentence about them for a receipt."""
        return f"Public numbers of each hexagon, which the bundle holds: {'; '.join(self.origins)}."

    def refuse_private(self, observations: PlacedObservations, *, places_public: bool) -> None:
        """Raise `WorkflowError` for columns that reveal the places or the values of private
        records.

        Answers are 100 and 0. Columns may reveal places that were declared public.
        """
        occupied, median = cell_medians(observations)
        if occupied.size < FEWEST:
            return
        counts = np.bincount(observations.index, minlength=len(self.values)).astype(np.float64)
        total = np.bincount(observations.index, weights=observations.value, minlength=len(self.values))
        mean = total[occupied] / counts[occupied]
        for name, column in zip(self.names, self.values.T, strict=True):
            if not places_public and (_alike(column, counts) >= ALIKE or _apart(column, counts > 0)):
                raise WorkflowError(
                    f"The covariate {name!r} shows where the private records lie, and covariates are "
                    "published: leave it out, or declare the places public with `places_public`."
                )
            if any(_repeats(column[occupied], private_values) for private_values in (median, mean)):
                raise WorkflowError(
                    f"The covariate {name!r} repeats the private values, and covariates are published: "
                    "leave it out."
                )


@dataclass(frozen=True, eq=False)
class Exposure:
    """The public numbers over which records are counted."""

    per: Per  # "population", or "area"
    origin: str  # the end of a sentence about their source
    values: Floats  # (N,) > 0: people in each hexagon, or records at an even density
    # of the rate: 1 of a relative risk, else public records per square kilometre
    average: float = 1.0

    @property
    def law(self) -> Literal["rate", "density"]:
        """The law of the design for these counts."""
        return "rate" if self.per == "population" else "density"

    @property
    def unit(self) -> str:
        """The unit of a threshold."""
        return UNITS[self.per]

    @property
    def scale(self) -> ResponseScale:
        """The scale of the logarithm of the rate."""
        what = f"the average over {self.origin}" if self.per == "population" else "public records per area"
        return ResponseScale("log", float(np.log(self.average)), 1.0, what)

    def block(self) -> dict[str, Any]:
        """Return the member `counts` of a statement's subject."""
        return {"per": self.per, "origin": self.origin}

    def ones(self, observations: PlacedObservations) -> PlacedObservations:
        """Return counted records: each has the value whose response is 1."""
        return replace(observations, value=np.full(observations.index.size, float(self.scale.value(1.0))))

    def refuse_private(self, observations: PlacedObservations) -> None:
        """Raise `WorkflowError` if the numbers are those of the private records."""
        counts = np.bincount(observations.index, minlength=self.values.size).astype(np.float64)
        occupied = np.flatnonzero(counts)
        if occupied.size >= FEWEST and (
            _repeats(self.values[occupied], counts[occupied]) or _nowhere_else(self.values, counts)
        ):
            raise WorkflowError(
                "The population repeats the number of private records in each hexagon, and it is published: "
                "name a public one."
            )


def even_exposure(domain: Domain, n: int) -> Exposure:
    """Return the exposure without a population: n records, spread evenly over the area."""
    area = domain.areas
    return Exposure("area", "the area of each hexagon", n * area / area.sum(), n / float(area.sum()))


def load_population(path: str, column: str, domain: Domain) -> Exposure:
    """Read the exposure of counts from `population_file` and `population_column`.

    Raise `WorkflowError`, `GeoError` or `DataError` for a file without such numbers, or without any
    above 0.
    """
    column, file_name = column or "population", Path(path).name
    if Path(path).suffix.lower() != ".csv":
        numbers = totals(document_of(path), domain, layer_name(path), column)
    elif _of_hexagons(path):
        numbers = public_values(path, domain, column, summed=True)
    else:
        numbers = table_totals(path, domain, column)
    if np.any(numbers < 0) or not np.any(numbers > 0):
        wrong = "is negative" if np.any(numbers < 0) else "is 0 in every hexagon"
        where = "somewhere in the area" if np.any(numbers < 0) else "of the area"
        raise WorkflowError(f"The population of {file_name} {wrong} {where}: name another file or column.")
    if len(column) > LONGEST or len(file_name) > LONGEST:
        raise WorkflowError(f"The names of a population and of its file have at most {LONGEST} characters.")
    return Exposure(
        "population", f"{column}, a column of {file_name}", np.maximum(numbers, LEAST * float(numbers.mean()))
    )


def _of_hexagons(path: str) -> bool:
    """Whether a table identifies hexagons, and not places."""
    try:
        return bool(table_columns(path))
    except DomainError:
        return False


def _repeats(column: Floats, records: Floats) -> bool:
    """Whether (k,) numbers repeat those of the records (k,); a few equal ones, 0 or 1, are
    chance."""
    same = np.isclose(column, records, rtol=1e-6, atol=0.0)
    distinct = np.unique(np.round(records[same], 9)).size
    ordered = _alike(_ranks(column), _ranks(records))  # a logarithm of them is also a copy
    return bool(
        (same.mean() > REPEATED and distinct >= FEWEST) or max(_alike(column, records), ordered) >= COPIED
    )


def _nowhere_else(people: Floats, records: Floats) -> bool:
    """Whether people (N,) live only in the hexagons of the records (N,), in proportion to them."""
    occupied = records > 0
    ratio = people[occupied] / records[occupied]
    return bool(
        np.ptp(ratio) <= 1e-6 * ratio.max() and np.all(people[~occupied] <= 0.1 * people[occupied].min())
    )


def _apart(column: Floats, occupied: NDArray[np.bool_]) -> bool:
    """Whether hexagons with records have the largest or the smallest numbers, as a distance to them
    has."""
    inside, outside = int(occupied.sum()), int((~occupied).sum())
    if min(inside, outside) < FEWEST:
        return False
    chance = (_ranks(column)[occupied].sum() - inside * (inside + 1) / 2) / (inside * outside)
    return bool(max(chance, 1.0 - chance) >= APART)


def _ranks(column: Floats) -> Floats:
    """Return (N,) ranks from 1; equal numbers share their mean rank."""
    return np.asarray(pd.Series(column).rank())


def _alike(first: Floats, second: Floats) -> float:
    """Return the size of the correlation of two columns, 0 if one is constant."""
    first, second = first / max(float(np.abs(first).max()), 1e-300), second - second.mean()
    first = first - first.mean()
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    return abs(float(first @ second)) / size if size > 0 else 0.0


def _covariate(
    path: str, column: str, domain: Domain, private: Observations | None, places_public: bool
) -> tuple[str, Floats, str]:
    """Name, numbers (N,) and origin of one public column: of a table, a layer, or the distance to it."""
    name, what = Path(path).name, layer_name(path)
    if name.lower().endswith(".csv"):
        column = column or _only_column(path)
        return column, public_values(path, domain, column), f"{column}, a column of {name}"
    layer = own_layer(document_of(path), domain, what, column)
    if private is not None:
        refuse_private_layers((layer,), private, places_public=places_public)
    if column:
        return column, layer_numbers(layer, domain), f"{column}, a column of {name}"
    column = f"distance to {what}"
    return column, np.sqrt(distances(layer, domain)), f"the square root of the {column} in metres"


def load_covariates(
    paths: Sequence[str],
    columns: Sequence[str],
    domain: Domain,
    private: Observations | None = None,
    *,
    places_public: bool = False,
) -> Covariates | None:
    """Read public numbers for every hexagon; return None without a file.

    Refuse a layer of the private rows' places, unless they are public. Raise `WorkflowError`,
    `GeoError` or `DataError` for a file without a number for some hexagon, or with equal numbers
    for all.
    """
    if not paths:
        return None
    names, origins, values = list[str](), list[str](), list[Floats]()
    column_names = [*columns] * len(paths) if len(columns) == 1 else [*columns] or [""] * len(paths)
    for path, column in zip(paths, column_names, strict=True):
        file_name = Path(path).name
        column, numbers, origin = _covariate(path, column, domain, private, places_public)
        if len(column) > LONGEST or len(file_name) > LONGEST:
            raise WorkflowError(f"Names of covariates and their files have at most {LONGEST} characters.")
        if column in names:
            raise WorkflowError(f"Two covariates are called {column!r}: rename a column or a file.")
        try:
            standardised(numbers[:, None])
        except InvalidValue:
            raise WorkflowError(
                f"The covariate {column!r} is the same in every hexagon of the area: leave it out."
            ) from None
        names.append(column)
        origins.append(origin)
        values.append(numbers)
    return Covariates(tuple(names), tuple(origins), np.column_stack(values))


def _only_column(path: str) -> str:
    """Return the only column of a table apart from its hexagons."""
    columns = table_columns(path)
    if len(columns) != 1:
        raise WorkflowError(
            f"{Path(path).name} has {len(columns)} columns beside h3: name the one that is meant with "
            "`covariate_columns`."
        )
    return columns[0]


FieldKind = Literal["limits", "public map"]
RANGES = (2.0, 4.0, 8.0, 16.0)  # of the public map's prior, in cell spacings
RIDGES = (0.3, 1.0, 3.0)
FOLDS = 4
CLIP_QUANTILE = 0.9


@dataclass(frozen=True, eq=False)
class BaselineField:
    """The public field to which the question is relative; finite, and positive under a ratio."""

    field: Floats  # (N,) in the unit of the data
    ratio: bool  # whether values are divided by it (log scale) or it is subtracted
    kind: FieldKind  # "limits" given in a file, or the "public map" of the reference data
    origin: str  # its source, in words
    # transformed units around a public map that cover 90 % of the reference
    clip: float | None = None
    # (m,) cells of the m reference records behind a public map
    places: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.field)):
            raise WorkflowError("The public field needs a finite value for every hexagon.")
        if self.ratio and not np.all(self.field > 0):
            raise WorkflowError("On the log scale every public value must be positive: correct the others.")

    def of(self, observations: PlacedObservations) -> PlacedObservations:
        """Return the observations relative to the field in their cell: as multiples, or as the
        excess."""
        public_values = self.field[observations.index]
        return replace(
            observations,
            value=observations.value / public_values if self.ratio else observations.value - public_values,
        )

    def unit(self, own_unit: str) -> str:
        """Return the unit of a relative value, in words."""
        what = "the limit there" if self.kind == "limits" else "the public map"
        return f"times {what}" if self.ratio else f"{own_unit} more than {what}".strip()

    @property
    def sentence(self) -> str:
        """A sentence about the public field for a receipt."""
        by = "divided by" if self.ratio else "less"
        return f"Every value is taken {by} a public field, which the bundle holds: {self.origin}."


def relative_field(
    settings: ReleaseSettings, domain: Domain, lattice: Lattice, reference: PlacedObservations | None
) -> BaselineField | None:
    """Return the field of the settings; None if the question is about absolute values.

    The field does not depend on the private records. Raise `WorkflowError` for an unusable file of
    limits.
    """
    if settings.limits is not None:
        try:
            field = public_values(settings.limits, domain)
        except GeoError as error:
            raise WorkflowError(f"The limits cannot be used: {error}") from error
        return BaselineField(field, settings.uses_log, "limits", "limits given by the curator as public")
    if not settings.change or reference is None:
        return None
    scale = ResponseScale("log" if settings.uses_log else "identity", 0.0, 1.0, "")
    value = scale.forward(reference.value)
    fitted = smooth_map(lattice, *_medians(scale, reference))
    clip = float(np.quantile(np.abs(value - fitted[reference.index]), CLIP_QUANTILE))
    origin = "the smoothed map of the published reference data's median values"
    return BaselineField(
        np.asarray(scale.value(fitted)), settings.uses_log, "public map", origin, clip, reference.index
    )


def _medians(scale: ResponseScale, observations: PlacedObservations) -> tuple[NDArray[np.int64], Floats]:
    cells, medians = cell_medians(observations)
    return cells, np.asarray(scale.forward(medians))


def smooth_map(lattice: Lattice, cells: NDArray[np.int64], values: Floats) -> Floats:
    """Smooth public values, (k,) at k cells, in transformed units, to all N cells.

    Choose among a few ranges and ridges by the error of prediction on left-out cells.
    """
    centre = float(np.median(values))
    reach = max(float(np.max(np.abs(values - centre))), 1e-9)
    unit = (values - centre) / reach
    fold = np.arange(cells.size) * 7919 % FOLDS
    best, smallest = (RANGES[1], RIDGES[1]), np.inf
    if cells.size >= 2 * FOLDS:
        for steps in RANGES:
            prior = make_prior("car", lattice, steps * lattice.spacing)
            for ridge in RIDGES:
                error = 0.0
                for part in range(FOLDS):
                    training = fold != part
                    records = CollapsedRecords(
                        cells[training], np.ones(int(training.sum()), np.int64), unit[training]
                    )
                    mean = fit(prior, records, ridge).mean
                    error += float(np.square(unit[~training] - mean[cells[~training]]).sum())
                if error < smallest:
                    best, smallest = (steps, ridge), error
    prior = make_prior("car", lattice, best[0] * lattice.spacing)
    records = CollapsedRecords(cells, np.ones(cells.size, np.int64), unit)
    return np.asarray(centre + reach * fit(prior, records, best[1]).mean)
