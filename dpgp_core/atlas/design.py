"""The design of an atlas: spectral statistics of several columns of the same records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from dpgp_core.errors import DesignError
from dpgp_core.mechanisms.spectral_design import FIXED_RIDGE, SpectralStatisticsDesign, fixed_design
from dpgp_core.spectral.ball import Ball
from dpgp_core.spectral.public_field import CLIP as CLIP_ABOUT_MAP

Columns = Literal["likelier", "apart"]
"""How the columns of an atlas are read: by themselves or beside each other, whichever the released sums make
likelier; or each by itself whatever they say."""

CLIP = 1.6
"""Clip bound of each column that an atlas reckons with, in standard deviations of its records."""

SHORT, LONG, MANY = 0.8, 1.2, 2_000
"""Radius of the ball in deviations of a record times the root of the number of columns: the first, or the
second from this number of records on, which lose more to clipping than to noise."""


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

    def __post_init__(self) -> None:
        super().__post_init__()
        Ball(self.columns, self.radius, self.presence)
        if self.law != "amount":
            raise DesignError("an atlas is of amounts: release answers and counted records one by one.")
        self.refuse_unless_among("reading", get_args(Columns))
        if self.drift and self.reading != "apart":
            raise DesignError("columns that start from published maps are read apart: set reading to apart.")
        if self.presence and self.reading != "apart":
            raise DesignError("columns whose presence is summed are read apart: set reading to apart.")
        if self.first:
            raise DesignError("an atlas has one look: set looks to 1.")

    @property
    def ball(self) -> Ball:
        return Ball(self.columns, self.radius, self.presence)


def atlas_design(
    spacing: float, columns: int, records: int, presence: bool = False, drift: bool = False
) -> AtlasDesign:
    """Return the design for several columns of which nothing is known, its noise still open.

    `spacing` of the cells is in metres; `records` is their public number, or a guess. A response is the value
    less its public centre, in units of CLIP public deviations; with `drift` it is the value less the
    published map of its column, in units of that field's `bound`.
    """
    one = fixed_design(spacing)
    wide = CLIP_ABOUT_MAP if drift else CLIP
    radius = min((SHORT if records < MANY else LONG) / wide, 1.0) * math.sqrt(columns)
    spread = 1.0 / (wide * math.hypot(1.0, FIXED_RIDGE))
    if columns == 1:
        radius = 1.0
    return AtlasDesign(
        one.strategy, one.prior, one.lengthscale, one.signal, one.middle, spread, one.amplitude, one.ridge,
        one.mu, common=0.0 if drift else one.common, cutoff_from=one.cutoff_from, drift=drift,
        paths=one.paths, columns=columns, radius=radius, presence=presence,
    )  # fmt: skip
