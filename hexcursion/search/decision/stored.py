"""A finished search as a text, and back: what the program ships of its example. No private value is in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, cast

import numpy as np

from dpgp_core.errors import CoreError
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.search.decision.tuning import Tuned, concluded
from hexcursion.search.problem.plain import judged_from, scored_from, scored_mapping
from hexcursion.search.problem.task import Edge, FrontierPoint, SearchResult, Unconstrained

FORMAT = 1
_PLACES = ("data", "reference", "region", "layers", "covariates")  # settings that name files
_WORDS = ("record_word", "population", "period", "source")  # that only say what the data are


def question_of(project: Project) -> str:
    """Digest all that a search depends on: settings, hexagons, reference data, the number of records.

    Settings at their defaults are left out: a new setting asks no other question.
    """
    said = asdict(project.settings)
    settings = {
        field.name: said[field.name]
        for field in fields(project.settings)
        if field.name not in (*_PLACES, *_WORDS) and said[field.name] != field.default
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
            "cutoffs": [scored_mapping(each) for each in result.cutoffs],
            "baseline": "".join("01"[int(inside)] for inside in result.baseline),
            "evaluated": result.evaluated,
            "objective": result.objective,
            "on_edge": result.on_edge,
            "public_mean": result.public_mean,
            "further": result.further,
            "free_agreement": tuned.free_agreement,
            "starts": tuned.starts,
        },
        indent=1,
    )


def tuned_from(project: Project, text: str) -> Tuned:
    """Read the search that `text_of` wrote; `WorkflowError` if it is damaged or answers another question."""
    try:
        told = json.loads(text)
        fits = (told["format"], told["question"]) == (FORMAT, question_of(project))
        result, free = _result(told), told["free_agreement"]
    except (ValueError, KeyError, TypeError, CoreError) as error:
        raise WorkflowError("The stored search is damaged: search for the design anew.") from error
    if not fits:
        raise WorkflowError("The stored search answers another question: search for the design anew.")
    return concluded(project, result, free, str(told.get("starts", "")))


def _result(told: Mapping[str, Any]) -> SearchResult:
    return SearchResult(
        unconstrained=_read_unconstrained(told["unconstrained"]),
        chosen=scored_from(told["chosen"]),
        frontier=tuple(
            FrontierPoint(float(point["epsilon"]), scored_from(point["scored"])) for point in told["frontier"]
        ),
        baseline=np.array([letter == "1" for letter in told["baseline"]]),
        evaluated=int(told["evaluated"]),
        objective=told["objective"],
        on_edge=tuple((str(what), cast("Edge", str(end))) for what, end in told["on_edge"]),
        public_mean=bool(told["public_mean"]),
        cutoffs=tuple(scored_from(each) for each in told["cutoffs"]),
        further=tuple(float(share) for share in told.get("further", ())),
    )


def _read_unconstrained(told: Mapping[str, Any]) -> Unconstrained:
    return Unconstrained(PosteriorSamplingDesign.from_mapping(told["design"]), *judged_from(told))
