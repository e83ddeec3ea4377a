"""Answers for areas: how much of each lies beyond the threshold, with an interval, from a bundle alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion.joint import joint_excursions
from dpgp_core.excursion.sets import excursion
from dpgp_core.noise.entropy import SimulationEntropy
from dpgp_core.spectral.areas import area_shares
from geo import GeoError
from geo.areas import Areas, named_areas
from geo.region import Source
from workflow import words
from workflow.bundle.errors import BundleError
from workflow.bundle.view import Viewer

SEED = 20270101  # the same bundle and areas always give the same answers
SETS = 1_000
FEWEST = 10  # draws that can tell how hexagons vary together
CONFIDENCE = 0.9


@dataclass(frozen=True)
class AreaAnswer:
    """What a release says of one area.

    Parameters
    ----------
    name
        Of the area.
    share
        Expected share of the area beyond the threshold; None where no hexagon lies in it.
    low, high
        Interval that holds that share with `confidence`.
    covered
        Share of the area in which there are hexagons; the others are left out of its answer.
    """

    name: str
    share: float | None
    low: float | None
    high: float | None
    confidence: float
    covered: float

    def row(self) -> dict[str, str | float | None]:
        """Columns of a table, shares with four decimals."""
        found = {"share": self.share, "low": self.low, "high": self.high}
        shares = {name: None if value is None else round(value, 4) for name, value in found.items()}
        return {
            "area": self.name, **shares, "confidence": self.confidence, "covered": round(self.covered, 4)
        }  # fmt: skip


def answers_from(
    viewer: Viewer,
    source: Source,
    *,
    threshold: float | None = None,
    confidence: float = CONFIDENCE,
    name: str = "",
) -> tuple[Areas, list[AreaAnswer]]:
    """The areas of a GeoJSON file and one answer for each; costs nothing, as all of it is published.

    Parameters
    ----------
    viewer
        Of a bundle with a field or with at least `FEWEST` paths.
    source
        Path, bytes or mapping of a GeoJSON file with polygons.
    threshold
        In the data's own unit; as published without it.
    confidence
        Of the intervals, in (0, 1).
    name
        Property that names the areas.

    Raises
    ------
    BundleError
        One sentence, for areas that cannot be read or a release that cannot answer.
    """
    if not 0.0 < confidence < 1.0:
        raise BundleError("The confidence must lie strictly between 0 and 1.")
    try:
        areas = named_areas(source, viewer.domain, name)
    except GeoError as error:
        raise BundleError(f"The areas cannot be read: {error}") from error
    return areas, area_answers(viewer, areas, threshold=threshold, confidence=confidence)


def area_answers(
    viewer: Viewer, areas: Areas, *, threshold: float | None = None, confidence: float = CONFIDENCE
) -> list[AreaAnswer]:
    """One answer for each of the areas; see `answers_from`."""
    some = areas.weights.sum(axis=1) > 0.0
    found = iter(area_shares(_sets(viewer, threshold), areas.weights[some], confidence))
    answers = []
    for name, covered, inside in zip(areas.names, areas.covered.tolist(), some.tolist(), strict=True):
        if inside:
            each = next(found)
            answers.append(AreaAnswer(name, each.mean, each.low, each.high, confidence, covered))
        else:
            answers.append(AreaAnswer(name, None, None, None, confidence, 0.0))
    return answers


def _sets(viewer: Viewer, threshold: float | None) -> Iterable[NDArray[np.bool_]]:
    bundle, level = viewer.bundle, viewer.level(threshold)
    draws = bundle.paths if bundle.draws is None else bundle.draws
    if draws.shape[0] < FEWEST:
        raise BundleError(
            f"This release has {words.plural(draws.shape[0], 'draw')} of its field, too few for intervals: "
            f"that takes {FEWEST}."
        )
    if bundle.field is None:
        return [excursion(draws, level, viewer.direction)]
    return joint_excursions(*bundle.field, draws, level, viewer.direction, SETS, SimulationEntropy(SEED))


def question_words(viewer: Viewer, answers: Sequence[AreaAnswer], threshold: float | None) -> str:
    """One sentence above a table of answers."""
    value = viewer.bundle.threshold if threshold is None else threshold
    side = f"{viewer.direction} {words.quantity(value, viewer.unit)}"
    share = f"{answers[0].confidence * 100:.0f} %" if answers else ""
    return (
        f"Share of each area that lies {side}, and the interval that holds it with {share} confidence, given "
        "the release."
    )
