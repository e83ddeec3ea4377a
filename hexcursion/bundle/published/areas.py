"""Answers for areas: how much of each lies beyond the threshold, with an interval, from a bundle alone."""

from __future__ import annotations

from collections.abc import Sequence

from geo import GeoError
from geo.domains.areas import Areas, named_areas
from geo.errors import Progress, part_of, silent
from geo.region import Source
from hexcursion import words
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.products.area_shares import CONFIDENCE, AreaAnswer, shares_of
from hexcursion.bundle.published.view import Viewer


def answers_from(
    viewer: Viewer,
    source: Source,
    *,
    threshold: float | None = None,
    confidence: float = CONFIDENCE,
    name: str = "",
    progress: Progress = silent,
) -> tuple[Areas, list[AreaAnswer]]:
    """The areas of a GeoJSON file and one answer for each; costs nothing, as all of it is published.
    `viewer`: of a bundle with a field or with at least `FEWEST` paths; `source`: path, bytes or mapping of a
    GeoJSON file with polygons; `threshold`: in the data's own unit; as published without it; `confidence`: of
    the intervals, in (0, 1); `name`: property that names the areas; `progress`: told the share done; what it
    raises ends the work. Raise `BundleError`, one sentence, for areas that cannot be read or a release that
    cannot answer."""
    if not 0.0 < confidence < 1.0:
        raise BundleError("The confidence must lie strictly between 0 and 1.")
    try:
        areas = named_areas(source, viewer.domain, name, part_of(progress, 0.0, 0.8))
    except GeoError as error:
        raise BundleError(f"The areas cannot be read: {error}") from error
    progress(0.8, "Reading the shares off the release")
    return areas, area_answers(viewer, areas, threshold=threshold, confidence=confidence)


def area_answers(
    viewer: Viewer, areas: Areas, *, threshold: float | None = None, confidence: float = CONFIDENCE
) -> list[AreaAnswer]:
    """One answer for each of the areas; parameters as of `answers_from`. Raise `BundleError` for a release
    with too few draws."""
    bundle, level = viewer.bundle, viewer.level(threshold)
    draws = bundle.paths if bundle.draws is None else bundle.draws
    return shares_of(areas, bundle.field, draws, level, viewer.direction, confidence)


def question_words(viewer: Viewer, answers: Sequence[AreaAnswer], threshold: float | None) -> str:
    """One sentence above a table of answers; `threshold` as for `answers_from`."""
    value = viewer.bundle.threshold if threshold is None else threshold
    side = f"{words.side_words(viewer.direction)} {words.quantity(value, viewer.unit)}"
    share = f"{answers[0].confidence * 100:.0f} %" if answers else ""
    return (
        f"Share of each area that lies {side}, and the interval that holds it with {share} confidence, given "
        "the release."
    )
