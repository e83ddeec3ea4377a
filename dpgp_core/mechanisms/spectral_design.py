"""The design of spectral statistics: the released sums, the model of their reading, and the
cutoff."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from dpgp_core.errors import DesignError
from dpgp_core.excursion import Direction
from dpgp_core.features.strategies import STRATEGIES
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Design
from dpgp_core.releasing import Released
from dpgp_core.spectral.ball import ONE_COLUMN, Ball
from dpgp_core.spectral.prior import Law

CutoffFrom = Literal["design", "release"]

FIXED_RANGE = 8.0
"""Range of the design for a release without reference data, in spacings of the cells."""

FIXED_RIDGE = 1.28
"""Scatter of one record around its cell's value in that design, in units of the field's
deviation."""

FIXED_SPREAD = 0.5
"""Deviation of the field in that design, and the assumed signal of its sums, in clip bounds."""


FIRST, TIGHT = 0.3, 0.9
"""For two looks: share of mu^2 for the first, and clip bound of the second in deviations."""

SPREAD_OF_ANSWERS = 1.2
"""Deviation of the probit of the share of yes over the area: four fifths of shares are 6 to 94
%."""


SPREADS_OF_COUNTS = {"rate": 0.5, "density": 1.2}
"""Deviation over the area of the logarithm of a relative risk, and of a density."""


@dataclass(frozen=True)
class SpectralStatisticsDesign(Design):
    """Sums of public features over the records with Gaussian noise, and the model of their
    reading."""

    mechanism: ClassVar[str] = "spectral-statistics"

    strategy: str  # name in `STRATEGIES`: which sums are released
    prior: str  # name in `PRIORS`, for the strategy and for the reading
    lengthscale: float  # range of the prior, metres, > 0
    # standard deviation of the clipped field, response units, > 0, for choosing the sums: a larger
    # signal gives more sums
    signal: float
    middle: float  # mean of the field before clipping, response units, from public knowledge
    # standard deviation of the field before clipping by the reference, response units, > 0
    spread: float
    amplitude: float  # standard deviation in the reading, in units of `spread`, > 0
    ridge: float  # scatter of one record around its cell's value, in units of that deviation
    mu: float  # Gaussian-DP parameter that the release may cost, > 0: smaller is safer
    # share of the field's variance common to the whole domain, in [0, 1): above 0 if reference data
    # do not determine the mean, which the release then estimates
    common: float = 0.0
    # "design", or "release": the release then chooses the cutoff with the best expected agreement
    # with the map without privacy noise, and `cutoff` is a placeholder until the draw
    cutoff_from: CutoffFrom = "design"
    # whether the release starts from a published reference and weighs the field's drift since: the
    # reading then ignores middle, spread, amplitude, ridge and common
    drift: bool = False
    # share of the variance that the public columns of the area explain together, if they explain
    # anything, in [0, 1); 0 without columns. It adds to the field's own variance.
    covariates: float = 0.0
    # kind of a record's response: "amount", or "yes-no" for answers; the field is then the probit
    # of their share, around which an answer scatters with deviation 1. Or "rate" and "density" for
    # records counted over public numbers: the field is the logarithm of their rate, and counts
    # scatter by chance.
    law: Law = "amount"
    # share of mu^2 for a first look, in [0, 1); 0 for a single look. The released first look
    # determines centre, clip bound and features of the second.
    first: float = 0.0
    # clip bound of the second look, in deviations of a record about the map of the first, > 0
    tight: float = TIGHT
    # If several holders of records release the same sums, which readers add: records of all
    # holders, and the Gaussian-DP parameter at which one holder would need the added noise. The
    # sums are chosen for both, so that they do not depend on a single holder. 0: for this release
    # alone.
    pool_records: float = 0.0
    pool_mu: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("lengthscale", "signal", "spread", "amplitude", "ridge", "mu", "tight")
        self.refuse_unless_share("common", "covariates", "first")
        self.refuse_unless_among("strategy", STRATEGIES)
        self.refuse_unless_among("law", get_args(Law))
        self.refuse_unless_among("cutoff_from", get_args(CutoffFrom))
        self.refuse_smoothing()
        pool = (self.pool_records, self.pool_mu)
        if pool != (0.0, 0.0) and not all(0.0 < number < np.inf for number in pool):
            raise DesignError("pool_records and pool_mu must both be positive, or both 0.")
        if self.pool_mu and self.first:
            raise DesignError("the second look differs between holders: set first to 0.")
        if not np.isfinite(self.middle):
            raise DesignError(f"middle must be a finite number, got {self.middle!r}.")
        if self.first and (self.drift or self.law != "amount"):
            raise DesignError(
                "two looks are for amounts that start from no published reference: set first to 0."
            )
        if self.law != "amount" and abs(self.ridge * self.spread * self.amplitude - 1.0) > 1e-6:
            what = "answers of yes and no" if self.law == "yes-no" else "counted records"
            raise DesignError(f"{what} scatter by 1: ridge, spread and amplitude disagree.")
        if self.drift and self.law in SPREADS_OF_COUNTS:
            raise DesignError("the drift of a published map is not weighed of counted records: leave it out.")

    @property
    def ball(self) -> Ball:
        """The vectors of responses that a record may have: here one response."""
        return ONE_COLUMN

    @property
    def held(self) -> tuple[str, ...]:
        return () if self.law == "amount" else ("ridge", "amplitude")

    def for_law(self, law: Law) -> SpectralStatisticsDesign:
        """Adapt the design to a law of responses; answers and counts have fixed priors."""
        if law == "amount":
            return replace(self, law=law)
        spread = SPREADS_OF_COUNTS.get(law, SPREAD_OF_ANSWERS)
        fitted = replace(self, law=law, middle=0.0, spread=spread, amplitude=1.0, ridge=1.0 / spread)
        if law not in SPREADS_OF_COUNTS:
            return fitted
        # E exp(u) = exp(mean + spread^2 / 2): with this mean the mean rate is 1.
        return replace(fitted, middle=-0.5 * spread**2, common=0.0)

    @property
    def looks(self) -> tuple[float, float]:
        """Gaussian-DP parameters of the first look and of the second, which may be 0: together at
        most mu."""
        # Corollary 4 (docs/spectral-statistics.md, section 4): squares of mu add. The factors below
        # 1 make up for rounding.
        second = self.mu * np.sqrt(1.0 - self.first) * (1.0 - 2.0**-40) if self.first else 0.0
        return (self.mu * np.sqrt(self.first) * (1.0 - 2.0**-40) if self.first else self.mu), float(second)

    def with_cutoff(self, cutoff: float) -> SpectralStatisticsDesign:
        return replace(self, cutoff=cutoff, cutoff_from="design")

    def settled(
        self, released: Released, level: Floats | float, direction: Direction
    ) -> SpectralStatisticsDesign:
        if self.cutoff_from == "design":
            return self
        return replace(self, cutoff=released.own_cutoff(level, direction))


def fixed_design(spacing: float) -> SpectralStatisticsDesign:
    """Return the design for data without reference, its noise still open; lengths in metres.

    On surveys without reference data it beats or equals designs searched on simulated fields in 14
    of 17 cases. The release chooses its own cutoff.
    """
    return SpectralStatisticsDesign(
        "water-filled",
        "exponential",
        FIXED_RANGE * spacing,
        signal=FIXED_SPREAD,
        middle=0.0,
        spread=FIXED_SPREAD,
        amplitude=1.0,
        ridge=FIXED_RIDGE,
        mu=1.0,
        common=0.3,
        cutoff_from="release",
        paths=100,
    )
