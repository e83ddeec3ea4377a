"""Shares of areas beyond a threshold, with intervals, from what a release published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion import Direction, area_shares, excursion, joint_excursions
from dpgp_core.noise import SimulationEntropy
from geo.domains.areas import Areas
from hexcursion import words
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.products.at_threshold import Floats

SEED = 20270101  # the same bundle and areas always give the same answers
SETS = 1_000
FEWEST = 10  # draws that can tell how hexagons vary together
CONFIDENCE = 0.9


@dataclass(frozen=True)
class AreaAnswer:
    """What a release says of one area."""

    name: str  # Of the area
    share: float | None  # Expected share of the area beyond the threshold; None where no hexagon lies in it
    low: float | None  # with `high`: Interval that holds that share with `confidence`
    high: float | None
    confidence: float
    covered: float  # Share of the area in which there are hexagons; the others are left out of its answer

    def row(self) -> dict[str, str | float | None]:
        """Columns of a table, shares with four decimals."""
        found = {"share": self.share, "low": self.low, "high": self.high}
        shares = {name: None if value is None else round(value, 4) for name, value in found.items()}
        return {
            "area": self.name, **shares, "confidence": self.confidence, "covered": round(self.covered, 4)
        }  # fmt: skip


def shares_of(
    areas: Areas,
    field: tuple[Floats, Floats] | None,
    draws: Floats,
    level: float,
    direction: Direction,
    confidence: float = CONFIDENCE,
) -> list[AreaAnswer]:
    """One answer for each of the areas. `areas`: with the (A, N) parts of the hexagons that lie in each;
    `field`: (N,) mean and standard deviation, response units, where the mechanism has them; `draws`: (J, N)
    joint draws of the field, response units; `level`: the threshold, response units; `confidence`: of the
    intervals, in (0, 1). Raise `BundleError` for fewer than `FEWEST` draws."""
    if draws.shape[0] < FEWEST:
        raise BundleError(
            f"This release has {words.plural(draws.shape[0], 'draw')} of its field, too few for intervals: "
            f"that takes {FEWEST}."
        )
    sets: Iterable[NDArray[np.bool_]] = [excursion(draws, level, direction)]
    if field is not None:
        sets = joint_excursions(*field, draws, level, direction, SETS, SimulationEntropy(SEED))
    some = areas.weights.sum(axis=1) > 0.0
    found = iter(area_shares(sets, areas.weights[some], confidence))
    answers = []
    for name, covered, inside in zip(areas.names, areas.covered.tolist(), some.tolist(), strict=True):
        if inside:
            each = next(found)
            answers.append(AreaAnswer(name, each.mean, each.low, each.high, confidence, covered))
        else:
            answers.append(AreaAnswer(name, None, None, None, confidence, 0.0))
    return answers
