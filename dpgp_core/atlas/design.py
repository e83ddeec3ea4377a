"""The design of an atlas: spectral statistics of several columns of the same records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dpgp_core.errors import DesignError
from dpgp_core.mechanisms.spectral_design import FIXED_RIDGE, SpectralStatisticsDesign, fixed_design
from dpgp_core.posterior.records import RESPONSE_BITS
from dpgp_core.spectral.ball import Ball
from dpgp_core.spectral.prior import Law, PublicPrior
from dpgp_core.spectral.public_field import CLIP as CLIP_ABOUT_MAP

Columns = Literal["likelier", "apart"]
"""How the columns of an atlas are read: by themselves or together, whichever the released sums make
likelier; or each by itself whatever they say."""

CLIP = 1.6
"""Clip bound of each column that an atlas reckons with, in standard deviations of its records."""

SHORT, LONG, MANY = 0.8, 1.2, 2_000
"""Radius of the ball in deviations of a record times the root of the number of columns: the first, or the
second from this number of records on, which lose more to clipping than to noise."""


ALONE = 1.23
"""Clip bound of one column of amounts beside answers, in deviations of its records: with no other column the
ball is an interval."""

UNITS = 1 << RESPONSE_BITS


@dataclass(frozen=True)
class AtlasDesign(SpectralStatisticsDesign):
    """Sums of public features over records with several responses, and the model by which each is read.

    It has every parameter of the design for one column, the same for all columns.
    """

    columns: int = 2  # number of columns, from 1 on
    radius: float = 1.0  # the longest vector of responses that a record may have, response units
    # whether the records that have each column are counted apart: some columns are missing in some records
    presence: bool = False
    reading: Columns = "apart"
    # the largest response of each column, () for 1 in all: a column counts as much as its reach says
    reaches: tuple[float, ...] = ()
    # the columns, from 0, that are answers of yes and no; all others are amounts
    answers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        Ball(self.columns, self.radius, self.presence, self.reaches, self.answers)
        if self.law != "amount":
            raise DesignError("an atlas names its answers by their numbers, and counts no records.")
        self.refuse_unless_among("reading", get_args(Columns))
        if self.reading != "apart" and not self.alike:
            raise DesignError(
                "amounts of different reach, or one alone, are read apart: set reading to apart."
            )
        if self.reaches and self.drift:
            raise DesignError("columns of different reach start from no published maps: set drift to false.")
        if self.drift and self.reading != "apart":
            raise DesignError("columns that start from published maps are read apart: set reading to apart.")
        if self.presence and self.reading != "apart":
            raise DesignError("columns whose presence is summed are read apart: set reading to apart.")
        if self.first:
            raise DesignError("an atlas has one look: set looks to 1.")

    @property
    def ball(self) -> Ball:
        return Ball(self.columns, self.radius, self.presence, self.reaches, self.answers)

    @property
    def alike(self) -> bool:
        """Whether amounts may be read beside each other: two or more of reach 1, or a column that is all."""
        ball = self.ball
        several = len(ball.amounts) > 1 or self.columns == 1
        return several and all(ball.reach(column) == 1.0 for column in ball.amounts)

    def law_of(self, column: int) -> Law:
        """The law of a column, from 0."""
        return "yes-no" if column in self.answers else "amount"

    def field_of(self, column: int) -> PublicPrior:
        """The public belief on a column, from 0, in units of its reach."""
        design = fixed_design(1.0).for_law("yes-no") if column in self.answers else self
        spread = design.spread * design.amplitude
        return PublicPrior(design.middle, spread, design.ridge, self.law_of(column), self.ball, column)


def atlas_design(
    spacing: float,
    columns: int,
    records: int,
    presence: bool = False,
    drift: bool = False,
    answers: Sequence[int] = (),
    weights: Sequence[float] = (),
) -> AtlasDesign:
    """Return the design for several columns of which nothing is known, its noise still open.

    `spacing` of the cells is in metres; `records` is their public number, or a guess. A response is the value
    less its public centre, in units of CLIP public deviations; with `drift` it is the value less the
    published map of its column, in units of that field's `bound`. The columns of `answers`, from 0, are 1 for
    yes and -1 for no. `weights` are public priorities, one for each column: twice the weight is half the
    noise.
    """
    of_column = fixed_design(spacing)
    wide = CLIP_ABOUT_MAP if drift else CLIP
    amounts = columns - len(answers)
    long = min((SHORT if records < MANY else LONG) / wide, 1.0)
    spread = 1.0 / (wide * math.hypot(1.0, FIXED_RIDGE))
    if amounts == 1 and columns > 1:
        long = ALONE / wide
    radius = 1.0 if columns == 1 else long * math.sqrt(columns)
    reaches: tuple[float, ...] = ()
    if answers or len(set(weights)) > 1:
        # Answers alone: no rounding may make their vector longer than the root of their number.
        below_one = 1.0 - 1.0 / UNITS
        radius, reaches = _reaching(columns, long if amounts else below_one, answers, weights)
    return AtlasDesign(
        of_column.strategy,
        of_column.prior,
        of_column.lengthscale,
        of_column.signal,
        of_column.middle,
        spread,
        of_column.amplitude,
        of_column.ridge,
        of_column.mu,
        common=0.0 if drift else of_column.common,
        cutoff_from=of_column.cutoff_from,
        drift=drift,
        paths=of_column.paths,
        columns=columns,
        radius=radius,
        presence=presence,
        reaches=reaches,
        answers=tuple(answers),
    )


def _reaching(
    columns: int, long: float, answers: Sequence[int], weights: Sequence[float]
) -> tuple[float, tuple[float, ...]]:
    """The longest vector, and the largest response of each column, a multiple of 2^-10.

    An amount of weight 1 adds `long` squared to the square of the longest vector, as an answer does, whose
    response always has that size. All weights are over the largest, squares of responses go as theirs.
    """
    shares = [weight / max(weights) for weight in weights] if len(weights) else [1.0] * columns
    sizes = [share * (long if column in answers else 1.0) for column, share in enumerate(shares)]
    reaches = tuple(max(1, math.floor(size * UNITS)) / UNITS for size in sizes)
    lengths = [reach if column in answers else reach * long for column, reach in enumerate(reaches)]
    return math.sqrt(sum(length**2 for length in lengths)) * (1.0 + 2.0**-50), reaches
