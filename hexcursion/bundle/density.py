"""Where there are many records: chances, intervals and the table of a release's density."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaincinv

from dpgp_core.excursion import agreed, cutoff_for_map
from geo import Domain
from geo.domains.hexagons import cell_polygons
from hexcursion.bundle.areas import new_table, write_table
from hexcursion.bundle.products import CONFIDENCE, Floats
from hexcursion.words import plural

LEAST = 1e-6  # expected records of a hexagon, and relative deviation of a number that is known


@dataclass(frozen=True, eq=False)
class Density:
    """The records of N hexagons per square kilometre, given a release: each number by a gamma law.

    Counts are skewed: where one is hardly known, a normal law would give few records and none much
    the same chance as many.
    """

    domain: Domain  # the hexagons
    above: float  # the density that is asked about, records per square kilometre
    mean: Floats  # (N,) expected number of records of each hexagon
    sd: Floats  # (N,) its standard deviation
    record: str  # what one of them is

    @cached_property
    def probability(self) -> Floats:
        """(N,) chance that the hexagon has more records than make the density: whole ones."""
        largest_count = np.floor(self.above * self.domain.areas) + 0.5
        shape, scale = self._law
        return np.asarray(gammaincc(shape, largest_count / scale))

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
        """A table of them: densities to three digits, an interval that holds with a chance of 90
        %."""
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
        """The counted things: "sales"."""
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
        """The columns as rows: for each hexagon a mapping from the names to its values."""
        columns = self.columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def save(self, path: str | Path) -> Path:
        """Write a new table, `.csv`, or hexagons with the same columns, `.geojson`. Raise
        `BundleError` or `WorkflowError` for another ending, a file that is there already, and one
        that cannot be written."""
        place = new_table(path)
        write_table(place, self.rows(), cell_polygons(self.domain.cells))
        return place


def _short(values: Floats) -> list[float]:
    return [float(f"{value:.3g}") for value in values]
