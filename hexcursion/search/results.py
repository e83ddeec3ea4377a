"""A finished search moved to another budget, or kept as a text without a private value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any, cast

import numpy as np

from dpgp_core.errors import CoreError
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import mechanism_of
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.record import Yardsticks
from hexcursion.search.choice import (
    Choice,
    expected_of,
    typed_choice,
    yardsticks_of,
)
from hexcursion.search.public_map import answered
from hexcursion.search.task import (
    Edge,
    FrontierPoint,
    Scored,
    SearchResult,
    Unconstrained,
    family_of,
    judged_from,
    scored_from,
    scored_mapping,
)
from hexcursion.search.tuning import Tuned, concluded

FORMAT = 1
_PLACES = ("data", "reference", "region", "layers", "covariates")  # settings that name files
_WORDS = ("record_word", "population", "period", "source")  # that only say what the data are


def question_of(project: Project) -> str:
    """Digest all that a search depends on: settings, hexagons, reference data, the number of records.

    Settings at their defaults are left out: a new setting asks no other question.
    """
    values = asdict(project.settings)
    settings = {
        field.name: values[field.name]
        for field in fields(project.settings)
        if field.name not in (*_PLACES, *_WORDS) and values[field.name] != field.default
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    digest.update(json.dumps([project.domain.cells, project.public_n]).encode())
    shared = () if project.covariates is None else (project.covariates.values,)
    for column in (project.reference.index, project.reference.value, *shared):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def text_of(project: Project, tuned: Tuned) -> str:
    """What `tuned_from` reads back, every number to its last digit."""
    result = tuned.result
    return json.dumps(
        {
            "format": FORMAT,
            "question": question_of(project),
            "unconstrained": scored_mapping(result.unconstrained),
            "chosen": scored_mapping(result.chosen),
            "frontier": [
                {"epsilon": point.epsilon, "scored": scored_mapping(point.scored)}
                for point in result.frontier
            ],
            "cutoffs": [scored_mapping(candidate) for candidate in result.cutoffs],
            "baseline": "".join("01"[int(inside)] for inside in result.baseline),
            "evaluated": result.evaluated,
            "objective": result.objective,
            "on_edge": result.on_edge,
            "public_mean": result.public_mean,
            "further": result.further,
            "free_worlds": result.free_worlds,
            "free_agreement": tuned.free_agreement,
            "starts": tuned.starts,
        },
        indent=1,
    )


def tuned_from(project: Project, text: str) -> Tuned:
    """Read the search that `text_of` wrote; `WorkflowError` if it is damaged or answers another question."""
    try:
        stored = json.loads(text)
        fits = (stored["format"], stored["question"]) == (FORMAT, question_of(project))
        result, free = _result(stored), stored["free_agreement"]
    except (ValueError, KeyError, TypeError, CoreError) as error:
        raise WorkflowError("The stored search is damaged: search for the design anew.") from error
    if not fits:
        raise WorkflowError("The stored search answers another question: search for the design anew.")
    return concluded(answered(project, result), result, free, str(stored.get("starts", "")))


def _result(stored: Mapping[str, Any]) -> SearchResult:
    free = stored["unconstrained"]
    return SearchResult(
        unconstrained=Unconstrained(PosteriorSamplingDesign.from_mapping(free["design"]), *judged_from(free)),
        chosen=scored_from(stored["chosen"]),
        frontier=tuple(
            FrontierPoint(float(point["epsilon"]), scored_from(point["scored"]))
            for point in stored["frontier"]
        ),
        baseline=np.array([letter == "1" for letter in stored["baseline"]]),
        evaluated=int(stored["evaluated"]),
        objective=stored["objective"],
        on_edge=tuple((str(what), cast("Edge", str(end))) for what, end in stored["on_edge"]),
        public_mean=bool(stored["public_mean"]),
        cutoffs=tuple(scored_from(design) for design in stored["cutoffs"]),
        further=tuple(float(share) for share in stored.get("further", ())),
        free_worlds=tuple(float(number) for number in stored["free_worlds"]),
    )


def as_searched(project: Project, tuned: Tuned) -> Project:
    """The project with the number of paths it was searched with; a typed design may have changed it since."""
    paths = tuned.result.unconstrained.design.paths
    return replace(project, settings=project.settings.with_changes(paths=paths))


def settle_on(project: Project, tuned: Tuned, point: FrontierPoint) -> tuple[Project, Choice]:
    """The project and choice that release the design of a dot, at that dot's epsilon."""
    searched = as_searched(project, tuned)
    settled = replace(searched, settings=searched.settings.with_changes(epsilon=point.epsilon))
    return settled, Choice(
        point.scored.design,
        point.scored.response,
        tuned.choice.tuning,
        tuned.choice.public_map,  # all designs of a search that starts from it have one response scale
        expected_of(project, point.scored),
        _yardsticks(settled, tuned, point.scored),
    )


def _yardsticks(project: Project, tuned: Tuned, candidate: Scored) -> Yardsticks | None:
    """Those of the search, with the design's own."""
    yardsticks, public = tuned.choice.yardsticks, tuned.choice.public_map is not None
    return yardsticks and yardsticks_of(
        project, candidate, yardsticks.one_colour, yardsticks.free, public=public
    )


def at_budget(tuned: Tuned, epsilon: float) -> FrontierPoint | None:
    """Return the best design that the search found at exactly this budget; None where it looked at none."""
    result = tuned.result
    points = [point for point in result.frontier if point.epsilon == epsilon]
    return min(points, key=lambda point: result.loss_of(point.scored.utility), default=None)


def with_frontier(tuned: Tuned, points: Iterable[FrontierPoint]) -> Tuned:
    """Return the answer with further designs to show, epsilon increasing; its own ones remain as they are."""
    by_family = {
        (point.epsilon, *family_of(point.scored.design)): point for point in (*points, *tuned.result.frontier)
    }
    frontier = tuple(by_family[key] for key in sorted(by_family))
    return replace(tuned, result=replace(tuned.result, frontier=frontier))


def settle_on_typed(project: Project, tuned: Tuned, candidate: Scored) -> tuple[Project, Choice]:
    """The project and choice that release a typed design within the settings' epsilon."""
    choice = replace(
        typed_choice(project, tuned.result, candidate), yardsticks=_yardsticks(project, tuned, candidate)
    )
    settings = project.settings
    if "paths" in mechanism_of(candidate.design).reads:  # where they are free, the design has its own number
        settings = settings.with_changes(paths=candidate.design.paths)
    return replace(project, settings=settings), choice
