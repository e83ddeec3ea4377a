"""Bin means: sums of the values in public bins with Laplace noise, pure epsilon, and their
smoothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpgp_core._checks import positive
from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.discrete_laplace import discrete_laplace
from dpgp_core.linalg import Floats, Ints
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget, Parameter
from dpgp_core.mechanisms.label_sums import (
    PARAMETERS,
    PATHS,
    LabelDesign,
    LabelSpace,
    LabelSums,
    PreparedSums,
    model_words,
)
from dpgp_core.noise import Entropy
from dpgp_core.numbers import significant
from dpgp_core.posterior.records import UNIT, CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.public_places import read_label_sums
from dpgp_core.releasing import PublicFacts

WIDTHS = (2.0, 4.0)  # candidate widths of bins, in cell spacings
_CHANGE = 2.0  # largest change of one value within [-1, 1]
_UP = 1.0 + 2.0**-40  # rounds the noise up


def noise_variance(epsilon: float, change: float) -> float:
    """Variance `2 (change/epsilon)^2` of Laplace noise on one bin's sum."""
    return 2.0 * (positive("change", change) / positive("epsilon", epsilon)) ** 2


@dataclass(frozen=True)
class BinMeansDesign(LabelDesign):
    """Means of square bins of public width, with Laplace noise."""

    mechanism: ClassVar[str] = "bin-means"

    width: float  # side of the square bins, metres, > 0
    pure_epsilon: float  # pure epsilon of the release, > 0: the noise of a bin's sum has scale 2/pure_epsilon

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("width", "pure_epsilon")


def square_bins(lattice: Lattice, width: float) -> Ints:
    """(N,) bin of every cell: squares of the given width from the domain's south-west corner, half
    open."""
    centres = lattice.domain_centres
    steps = np.floor((centres - centres.min(axis=0)) / width).astype(np.int64)
    return np.unique(steps, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


class BinSpace(LabelSpace):
    """A few models of the field, each with a few widths of bins."""

    def shapes(
        self, facts: PublicFacts, models: Sequence[tuple[str, float, float, float]]
    ) -> tuple[BinMeansDesign, ...]:
        return tuple(
            BinMeansDesign(*model, width * facts.lattice.spacing, 1.0, paths=PATHS)
            for model in models
            for width in WIDTHS
        )


class BinMeans(LabelSums):
    """Release every bin's sum of values with Laplace noise and read them by a Gaussian process on
    bins."""

    name = "bin-means"
    title = "Bin means"
    summary = (
        "For public places: adds Laplace noise to the mean value of every square of a public grid, and "
        "smooths it; where the records are is not hidden."
    )
    source = "docs/public-places.md, bin means"
    design_type = BinMeansDesign
    space = BinSpace
    parameters = (
        *PARAMETERS[:-1],
        Parameter("width", "bin_width", "length"),
        Parameter("pure_epsilon", "pure_epsilon", "positive"),
        PARAMETERS[-1],
    )

    def guarantee(self, design: BinMeansDesign, facts: PublicFacts) -> Guarantee:
        """Bins are disjoint and one value moves one bin's sum by at most 2: pure epsilon, on
        integers."""
        return Guarantee.pure(design.pure_epsilon, "laplace-mechanism", self.source, "values-only")

    def calibrate(self, design: BinMeansDesign, facts: PublicFacts, budget: Budget) -> BinMeansDesign:
        """The budget's epsilon itself: a pure guarantee costs no more at any delta."""
        return replace(design, pure_epsilon=budget.epsilon)

    def prepare(self, design: BinMeansDesign, facts: PublicFacts, records: CollapsedRecords) -> PreparedSums:
        places = self.places_of(design, facts, records)
        bins = np.unique(square_bins(facts.lattice, design.width)[records.index], return_inverse=True)[1]
        rows = np.eye(int(bins.max()) + 1)[bins.ravel()]
        variance = np.full(rows.shape[1], noise_variance(design.pure_epsilon, _CHANGE))
        reading = read_label_sums(places, rows, design.ridge, design.scale, variance)
        totals = np.zeros(rows.shape[1], dtype=np.int64)
        np.add.at(totals, bins.ravel(), records.units)
        scale = _CHANGE / UNIT / design.pure_epsilon * _UP

        def noisy(entropy: Entropy) -> Floats:
            integers = totals + discrete_laplace(scale, totals.size, entropy)
            return np.asarray(integers.astype(np.float64) * UNIT)

        return PreparedSums(design, places, rows, variance, reading, noisy)

    def describe(self, design: BinMeansDesign) -> str:
        return (
            f"bins of {significant(design.width, 4)} m, pure epsilon {significant(design.pure_epsilon, 4)}; "
            f"{model_words(design)}"
        )


@questions.least_cost.register
def _least_cost(design: BinMeansDesign) -> Cost:
    return Cost.pure(design.pure_epsilon).among("values-only")
