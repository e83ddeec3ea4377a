"""Answers of a search as plain JSON: read back without running anything, every number to its last digit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dpgp_core.errors import CoreError
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import design_from_mapping
from hexcursion.errors import WorkflowError
from hexcursion.project.response import ResponseScale
from hexcursion.search.problem.task import Scored, Utility

_NONE = (
    "A worker of the Dask cluster sent no answer of this search: let every worker run the same version of "
    "this program."
)
_PLAIN = (type(None), bool, int, float, str)


def scored_mapping(scored: Scored) -> dict[str, Any]:
    """Return a scored design as plain values, without figures that are unknown.

    `scored_from` reads it back.
    """
    utility = asdict(scored.utility)
    if math.isnan(scored.utility.low):
        del utility["low"], utility["high"]
    return {
        "design": scored.design.to_mapping(),
        "response": asdict(scored.response),
        "epsilon": scored.epsilon,
        "utility": utility,
    }


def scored_from(told: Mapping[str, Any]) -> Scored:
    """The scored design that `scored_mapping` wrote; a `CoreError` where its design is none."""
    return Scored(design_from_mapping(told["design"]), *judged_from(told))


def judged_from(told: Mapping[str, Any]) -> tuple[ResponseScale, float, Utility]:
    """Everything but the design of what `scored_mapping` wrote."""
    utility = {name: float(value) for name, value in told["utility"].items()}
    return ResponseScale(**told["response"]), float(told["epsilon"]), Utility(**utility)


def answer_bytes(answer: Any) -> bytes:
    """Write numbers, texts, None, designs and scored designs, in lists and tuples, as JSON.

    Else `TypeError`.
    """
    return json.dumps(_written(answer)).encode()


def answer_from(content: object) -> Any:
    """Read what `answer_bytes` wrote, and make no other objects than those.

    Raise `WorkflowError` for anything else.
    """
    if isinstance(content, bytes):
        try:
            return _read(json.loads(content))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, CoreError):
            pass
    raise WorkflowError(_NONE)


def _written(answer: Any) -> Any:
    if type(answer) in _PLAIN:
        return answer
    if isinstance(answer, float):  # a number of NumPy's
        return float(answer)
    if isinstance(answer, list):
        return [_written(each) for each in answer]
    if isinstance(answer, tuple):
        return {"tuple": [_written(each) for each in answer]}
    if isinstance(answer, Design):
        return {"design": answer.to_mapping()}
    if type(answer) is Scored:
        return {"scored": scored_mapping(answer)}
    raise TypeError(f"An answer of a search is made of numbers, texts and designs, not {type(answer)}.")


def _read(told: Any) -> Any:
    if type(told) in _PLAIN:
        return told
    if isinstance(told, list):
        return [_read(each) for each in told]
    ((kind, inner),) = told.items()
    if kind == "tuple":
        return tuple(_read(each) for each in inner)
    if kind == "design":
        return design_from_mapping(inner)
    if kind == "scored":
        return scored_from(inner)
    raise WorkflowError(_NONE)
