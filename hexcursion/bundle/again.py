"""What is computed anew from released sums: the field of a bundle, and the density of its records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaincinv

from dpgp_core.errors import CoreError
from dpgp_core.excursion import agreed, cutoff_for_map
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_release import read_again, records_again
from dpgp_core.releasing import GRID, PublicFacts
from dpgp_core.spectral.model_check import ModelCheck
from geo import Domain
from geo.domains.hexagons import cell_polygons
from hexcursion.bundle import layout
from hexcursion.bundle.areas import new_table, write_table
from hexcursion.bundle.products import CONFIDENCE
from hexcursion.bundle.read import Bundle
from hexcursion.bundle.statement.designs import design_from
from hexcursion.bundle.tables import StoredSums
from hexcursion.bundle.untrusted import BundleError
from hexcursion.project.load import build_lattice
from hexcursion.words import plural

Floats = NDArray[np.float64]

TOLERANCE = 16.0 * GRID  # response units: far above what machines differ by
RELATIVE = 1e-4  # of a cell's deviation, likewise
CHANCE_TOLERANCE = 0.02  # of a chance that is a share of 400 replicates, a few of which may tie elsewhere


NO_SUMS = "{title!r} holds no released sums: {why}."
TOO_OLD = "it was written by an earlier version of this program"
NO_MECHANISM = "its mechanism, {name}, releases none"


def stored_sums(bundle: Bundle) -> StoredSums:
    """The released sums of a bundle. Raise `BundleError` if it holds none: it says why."""
    if bundle.sums is None:
        name = bundle.statement["design"]["mechanism"]
        spectral = name == SpectralStatisticsDesign.mechanism
        why = TOO_OLD if spectral else NO_MECHANISM.format(name=name)
        raise BundleError(NO_SUMS.format(title=bundle.statement["release"]["title"], why=why))
    return bundle.sums


def sums_design(statement: Mapping[str, Any]) -> SpectralStatisticsDesign:
    """The design of a release that keeps sums. Raise `BundleError` if its mechanism releases none."""
    design = design_from(statement["design"])
    if not isinstance(design, SpectralStatisticsDesign):
        raise BundleError(f"{layout.RELEASED_SUMS} belongs to no release of {design.mechanism}.")
    return design


def sums_facts(bundle: Bundle, shared: PublicFacts | None = None) -> PublicFacts:
    """The public facts by which the sums of a bundle were made and are read. `shared`: those of another
    bundle of the same cells, whose work is used again."""
    guarantee = bundle.statement["guarantee"]
    lattice = build_lattice(bundle.domain) if shared is None else shared.lattice
    return PublicFacts(
        lattice,
        guarantee["n"],
        guarantee["relation"],
        places_public=guarantee["protects"] == "values",
        single=guarantee["unit"] == "cell",
        covariates=bundle.covariates,
        law=sums_design(bundle.statement).law,
        cache=None if shared is None else shared.cache,  # type: ignore[arg-type]
    )


def field_again(
    bundle: Bundle, facts: PublicFacts | None = None
) -> tuple[tuple[Floats, Floats], ModelCheck | None]:
    """(N,) mean and deviation of the field, response units, and the model's check, from released sums.
    `facts`: as `sums_facts` makes them, where they are at hand. Raise `BundleError` if there are no sums, if
    they are not those of the statement's design, or if this machine makes other features from it."""
    stored, design = stored_sums(bundle), sums_design(bundle.statement)
    try:
        mean, sd, check = read_again(design, sums_facts(bundle) if facts is None else facts, stored.kept)
    except (CoreError, ArithmeticError) as error:
        raise BundleError(
            f"{layout.RELEASED_SUMS} cannot be read again: {str(error).rstrip('.')}."
        ) from error
    return (mean if stored.public_mean is None else mean + stored.public_mean, sd), check


def check_again(bundle: Bundle, facts: PublicFacts | None = None) -> None:
    """Refuse a bundle whose published field does not follow from its released sums. Raise `BundleError` as
    `field_again`, and if what they state is something else than what is published."""
    made, check = field_again(bundle, facts)
    if bundle.field is None or not all(
        np.all(np.abs(again - told) <= TOLERANCE + RELATIVE * bundle.field[1])  # what is NaN does not follow
        for again, told in zip(made, bundle.field, strict=True)
    ):
        raise BundleError(f"The map does not follow from {layout.RELEASED_SUMS}: one of them was changed.")
    stated = (bundle.statement.get("told") or {}).get("model")
    if stated is not None and (check is None or abs(stated["chance"] - check.chance) > CHANCE_TOLERANCE):
        raise BundleError(f"What is told of the model does not follow from {layout.RELEASED_SUMS}.")


LEAST = 1e-6  # expected records of a hexagon, and relative deviation of a number that is known


@dataclass(frozen=True, eq=False)
class Density:
    """The records of N hexagons per square kilometre, given a release: each number by a gamma law.

    Counts are skewed: where one is hardly known, a normal law would give few records and none much the same
    chance as many.
    """

    domain: Domain  # the hexagons
    above: float  # the density that is asked about, records per square kilometre
    mean: Floats  # (N,) expected number of records of each hexagon
    sd: Floats  # (N,) its standard deviation
    record: str  # what one of them is

    @cached_property
    def probability(self) -> Floats:
        """(N,) chance that more records lie in the hexagon than make the density: whole ones."""
        most = np.floor(self.above * self.domain.areas) + 0.5
        shape, scale = self._law
        return np.asarray(gammaincc(shape, most / scale))

    @property
    def denser(self) -> NDArray[np.bool_]:
        """(N,) the set that is expected to agree best with that of the hexagons that are denser."""
        return agreed(self.probability, cutoff_for_map(self.probability, self.probability))

    @property
    def _law(self) -> tuple[Floats, Floats]:
        """(N,) shape and scale of the gamma laws."""
        mean = np.maximum(self.mean, LEAST)
        sd = np.maximum(self.sd, LEAST * np.maximum(mean, 1.0))
        return np.square(mean / sd), np.square(sd) / mean

    def columns(self) -> dict[str, list[Any]]:
        """A table of them: densities to three digits, an interval that holds with a chance of 90 %."""
        (shape, scale), areas = self._law, self.domain.areas
        low, high = (gammaincinv(shape, 0.5 + side * CONFIDENCE / 2.0) * scale for side in (-1.0, 1.0))
        return {
            "h3": list(self.domain.cells),
            "denser": self.denser.tolist(),
            "probability": np.round(self.probability, 4).tolist(),
            "per_km2": _short(self.mean / areas),
            "low": _short(low / areas),
            "high": _short(high / areas),
        }

    @property
    def many(self) -> str:
        """What is counted: "sales"."""
        return plural(2, self.record)[2:]

    @property
    def sentence(self) -> str:
        """What the map says, in one line."""
        count = self.domain.size
        likely, sure = (int((self.probability > chance).sum()) for chance in (0.5, CONFIDENCE))
        return (
            f"{likely:,} of {count:,} hexagons likely hold more than {self.above:g} {self.many} per square "
            f"kilometre; {sure:,} with a probability above {CONFIDENCE * 100:.0f} %."
        )

    def rows(self) -> list[dict[str, Any]]:
        """The same, a mapping for each hexagon."""
        columns = self.columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def save(self, path: str | Path) -> Path:
        """Write a new table, `.csv`, or hexagons with the same columns, `.geojson`. Raise `BundleError` or
        `WorkflowError` for another ending, a file that is there already, and one that cannot be written."""
        place = new_table(path)
        write_table(place, self.rows(), cell_polygons(self.domain.cells))
        return place


def holds_counts(bundle: Bundle) -> bool:
    """Whether a bundle can be asked where many records lie: whether it holds sums of single records."""
    return bundle.sums is not None and bundle.statement["guarantee"]["unit"] != "cell"


def density_if_any(bundle: Bundle) -> Density | None:
    """The density of a bundle's records, about one per square kilometre; None where it holds no counts, or
    none that can be read: `density_of` says why."""
    if not holds_counts(bundle):
        return None
    try:
        return density_of(bundle, 1.0)
    except BundleError:  # a release is not lost for this: its page then shows the value alone
        return None


def density_of(bundle: Bundle, above: float) -> Density:
    """Where more than `above` records lie per square kilometre, from the released counts of a bundle.
    `bundle`: checked; `above`: records per square kilometre, > 0. Raise `BundleError`, one sentence: for no
    density, and for a bundle without released counts of single records."""
    number = isinstance(above, Real) and not isinstance(above, bool)
    if not (number and math.isfinite(above) and above > 0):
        raise BundleError(
            "A density is a number of records per square kilometre, above 0: ask about another."
        )
    stored, design, guarantee = (
        stored_sums(bundle),
        sums_design(bundle.statement),
        bundle.statement["guarantee"],
    )
    if guarantee["unit"] == "cell":
        raise BundleError(
            "The records of this release are hexagons, so they have no density: ask about places."
        )
    try:
        mean, sd = records_again(design, sums_facts(bundle), stored.kept)
    except (CoreError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise BundleError(
            f"{layout.RELEASED_SUMS} cannot be read again: {str(error).rstrip('.')}."
        ) from error
    return Density(bundle.domain, float(above), mean, sd, guarantee["unit_word"])


def _short(values: Floats) -> list[float]:
    return [float(f"{value:.3g}") for value in values]
