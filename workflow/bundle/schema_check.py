"""Whether a statement is valid: against its JSON Schema, and against itself."""

from __future__ import annotations

import json
import math
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from jsonschema import Draft202012Validator

from dpgp_core.conversion import epsilon_from_rdp, group_privacy
from dpgp_core.design import Design
from workflow.bundle.errors import BundleError
from workflow.released import ResponseScale

SCHEMA_PATH = Path(__file__).parent / "schema" / "statement-1.json"
# A number that was rounded on its way through JSON or another machine's logarithm is still the same.
SLACK = 1e-9


@cache
def schema_bytes() -> bytes:
    """The schema as shipped, byte for byte as it goes into a bundle."""
    return SCHEMA_PATH.read_bytes()


@cache
def _validator() -> Draft202012Validator:
    schema = json.loads(schema_bytes())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def strict_json(content: bytes, name: str) -> Any:
    """Parse JSON without NaN, infinities, repeated keys or deep nesting; BundleError with one sentence."""

    def constant(text: str) -> Any:
        raise BundleError(f"{name} holds {text}, which is not JSON.")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise BundleError(f"{name} gives a key twice.")
        return made

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise BundleError(f"{name} holds a number too large to read.")
        return value

    def whole(text: str) -> int:
        if len(text) > 18:
            raise BundleError(f"{name} holds a number too large to read.")
        return int(text)

    try:
        return json.loads(
            content.decode("utf-8"),
            parse_constant=constant,
            object_pairs_hook=unique,
            parse_float=number,
            parse_int=whole,
        )
    except BundleError:
        raise
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{name} is damaged: it cannot be read as JSON.") from error


def check_statement(statement: Any) -> dict[str, Any]:
    """The statement itself if it is valid; otherwise BundleError says what is wrong first.

    Beyond the schema: the design is valid, the threshold maps to the stated response, the cutoff and the
    numbers of paths agree, epsilon is not below what its own RDP curve proves, and the group lines follow.
    """
    problem = next(
        iter(sorted(_validator().iter_errors(statement), key=lambda e: list(map(str, e.path)))), None
    )
    if problem is not None:
        place = ".".join(str(part) for part in problem.absolute_path) or "the statement"
        raise BundleError(f"The privacy statement is not valid at {place}: {problem.message[:200]}.")
    checked: dict[str, Any] = statement
    for check in (_design, _threshold, _epsilon, _group):
        check(checked)
    return checked


def _design(statement: dict[str, Any]) -> None:
    try:
        design = Design(**statement["design"])
    except ValueError as error:
        raise BundleError(f"The privacy statement describes an impossible design: {error}") from error
    if statement["paths"]["count"] != design.paths or statement["products"]["cutoff"] != design.cutoff:
        raise BundleError("The privacy statement contradicts itself about its paths or its cutoff.")
    if statement["products"]["smoothing"] != design.smoothing:
        raise BundleError("The privacy statement contradicts itself about its smoothing.")


def _threshold(statement: dict[str, Any]) -> None:
    response, subject = statement["response"], statement["subject"]
    try:
        scale = ResponseScale(response["transform"], response["centre"], response["clip"], response["origin"])
        level = float(scale.forward(subject["threshold"]))
    except (ValueError, OverflowError) as error:
        raise BundleError(f"The privacy statement's threshold makes no sense: {error}") from error
    stated = subject["threshold_response"]
    if not math.isfinite(level) or abs(level - stated) > SLACK * max(1.0, abs(level)):
        raise BundleError("The privacy statement gives two different thresholds.")


def _epsilon(statement: dict[str, Any]) -> None:
    protection = statement["protection"]
    orders, values = protection["rdp"]["orders"], protection["rdp"]["values"]
    if len(orders) != len(values) or any(b <= a for a, b in pairwise(orders)):
        raise BundleError("The privacy statement's RDP curve is damaged.")
    if protection["order"] is None or not orders:
        return  # an exact Gaussian conversion is sharper than any order
    proved = epsilon_from_rdp(np.array(orders), np.array(values), protection["delta"]).epsilon
    if protection["epsilon"] < proved * (1.0 - SLACK) - SLACK:
        raise BundleError(
            "The privacy statement's epsilon is smaller than what its own RDP curve proves: do not trust it."
        )


def _group(statement: dict[str, Any]) -> None:
    protection = statement["protection"]
    for line in protection["group"]:
        epsilon, delta = group_privacy(protection["epsilon"], protection["delta"], line["records"])
        if line["epsilon"] < epsilon * (1.0 - SLACK) or line["delta"] < min(1.0, delta) * (1.0 - SLACK):
            raise BundleError(
                "A group line of the privacy statement promises more than follows from epsilon."
            )
