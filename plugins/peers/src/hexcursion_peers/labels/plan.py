"""Sums over records at public places: the released numbers, and their cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import Direction, exceedance_probability
from dpgp_core.features.gridded import GRID_BITS, Features
from dpgp_core.linalg import Floats, Ints
from dpgp_core.noise import Entropy, rounded_normal
from dpgp_core.posterior.records import UNIT, CollapsedRecords
from dpgp_core.public_places import PublicPlaces, SumsReading, read_label_sums

_SCALE = 1.0 - 2.0**-18  # rows of length 1 stay within it after rounding towards zero
_UNIT = 2.0**-GRID_BITS * UNIT  # of features times responses
_UP = 1.0 + 2.0**-48


@dataclass(frozen=True, eq=False)
class Reading:
    """The field at P places given released numbers."""

    mean: Floats  # (P,) its mean
    covariance: Floats  # (P, P) its covariance

    @property
    def deviation(self) -> Floats:
        """(P,) standard deviations."""
        return np.sqrt(np.maximum(self.covariance.diagonal(), 0.0))

    def probability(self, level: float, direction: Direction = "above") -> Floats:
        """(P,) probability that the field is on the asked side of `level`."""
        return exceedance_probability(self.mean, self.deviation, level, direction)


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """Public features of the occupied cells, whole numbers, and what they cost."""

    places: PublicPlaces
    # one row for each occupied cell: what a unit of response of one of its records contributes
    features: Features

    @classmethod
    def of(cls, places: PublicPlaces, rows: Floats, name: str) -> LabelPlan:
        """From rows (k, p) of any scale: divided by the longest, then rounded towards zero to 2^-20.

        Raises InvalidValue if all rows are zero or one is not finite.
        """
        longest = math.sqrt(float(np.einsum("ij,ij->i", rows, rows).max()))
        if not (math.isfinite(longest) and longest > 0.0):
            raise InvalidValue("no value moves what would be released: use a smaller ridge.")
        scaled = rows * (_SCALE / longest) * 2.0**GRID_BITS
        return cls(places, Features(name, np.trunc(scaled)))

    def mu(self, noise: float) -> float:
        """Gaussian-DP parameter of the sums at this noise, for one value changed within [-1, 1]; upwards.

        `2 max |phi|/noise`, with the squared length of the rounded features taken exactly.
        """
        return 2.0 * math.sqrt(self.features.largest_square * _UP) * _UP / positive("noise", noise)

    def noise_for(self, mu: float) -> float:
        """The least noise that costs at most mu, rounded upwards."""
        return 2.0 * math.sqrt(self.features.largest_square * _UP) * _UP**3 / positive("mu", mu)

    def exact(self, records: CollapsedRecords) -> Ints:
        """(p,) sums in units of 2^-30, exact whole numbers, PRIVATE; InvalidValue for records elsewhere."""
        if not np.array_equal(records.index, self.places.index):
            raise InvalidValue("the plan was made for other places than the records'.")
        return np.asarray(records.units @ self.features.whole)

    def release(self, records: CollapsedRecords, noise: float, entropy: Entropy) -> Floats:
        """(p,) sums with rounded normal noise: a Gaussian mechanism of parameter `mu(noise)`.

        The exact sums are whole numbers, so `T + round(s w) = round(T + s w)`: rounding is post-processing.
        """
        units = self.exact(records) + rounded_normal(noise / _UNIT, self.features.size, entropy)
        return np.asarray(units.astype(np.float64) * _UNIT)

    def reading(self, ridge: float, scale: float, variance: Floats) -> SumsReading:
        """The field given sums with independent noise of these variances (p,), response units."""
        return read_label_sums(self.places, self.features.values, ridge, scale, variance)
