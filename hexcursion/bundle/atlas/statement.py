"""The one privacy statement of an atlas: what all layers share, and a list of what each has for itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args

from dpgp_core.atlas.design import AtlasDesign
from hexcursion.bundle import layout
from hexcursion.bundle.statement.designs import (
    ATLAS,
    StatementValidator,
    design_from,
    refuse_misfit,
    whole_schema,
)
from hexcursion.bundle.statement.guarantee import surest_of
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.untrusted import BundleError, clean
from hexcursion.promises import protected_word
from hexcursion.record import AtlasRelease
from hexcursion.settings.derived import Kind
from hexcursion.words import even_odds

SCHEMA_ID = "hexcursion-atlas-1"
# Of schemas as an earlier version put them into atlases.
_EARLIER = frozenset(
    {
        "89d82b22ef804ac664e45ea3498f45c716cba3ff1d01effac3c9e5d2e6911279",
        "4635d5c43793897ea9fd5f15edb60731e06f89ac87e422b6141ca67f093acd67",
        "2fd41550186387783a17dd95fa633c3b2803ea534cc9b6cac308045f0be4d8fa",
        "e250a3649abb2e67132c897c072d9169f14852fb110052680b97170e0c75844c",
    }
)
OWN = ("subject", "response", "expected", "told", "evaluation", "products")
"""Members of a statement that each layer has for itself, with its name, title, cutoff and receipt."""
OF_SUMS = "reference"
"""Member of `sums` that each layer has for itself: the published records that its reading starts from."""
LEFT_OUT = (*OWN, "exports", "trip", "covariates")
ANY_CUTOFF = 0.5
"""Cutoff of the shared design: each layer has its own."""
TOGETHER = (
    "Each map was read beside the others: the released sums are likelier if their columns are related, and "
    "chose this at no cost."
)
LEFT_APART = (
    "Each map was read by itself: the released sums are not likelier if their columns are related, and chose "
    "this at no cost."
)
BESIDE_ANSWERS = (
    "Maps of amounts were read beside each other: the released sums are likelier if they are related, and "
    "chose this at no cost. Each map of answers was read by itself."
)
APART = "Each map was read by itself."
FROM_MAPS = "Each map was read by itself, from the published map of its column and the drift since."
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
Statement = Mapping[str, Any]


def fold(
    statements: Sequence[Statement],
    names: Sequence[str],
    title: str,
    derived: Sequence[Statement] = (),
) -> dict[str, Any]:
    """One statement of all layers from a statement of one column for each, in their order; `derived` are the
    blocks of layers that follow from others.

    Raise `BundleError` where layers of one release would state different facts.
    """
    first = statements[0]
    shared = [
        line for line in first["receipt"] if all(line in statement["receipt"] for statement in statements)
    ]
    joint_statement: dict[str, Any] = {
        "schema": SCHEMA_ID,
        "release": {**first["release"], "title": clean(title, 200, "The title")},
        **{key: first[key] for key in first if key not in (*OWN, "schema", "release", "design", "receipt")},
        "design": {**first["design"], "cutoff": ANY_CUTOFF},
        "sums": {key: value for key, value in first["sums"].items() if key != OF_SUMS},
        "receipt": shared,
        "atlas": _atlas_block(statements),
        "layers": [
            {
                "name": clean(name, 100, "The name of a column"),
                "title": statement["release"]["title"],
                "cutoff": statement["design"]["cutoff"],
                **{key: statement[key] for key in OWN if key in statement},
                **({OF_SUMS: statement["sums"][OF_SUMS]} if OF_SUMS in statement["sums"] else {}),
                "receipt": [
                    {"at": at, **line} for at, line in enumerate(statement["receipt"]) if line not in shared
                ],
            }
            for name, statement in zip(names, statements, strict=True)
        ],
        **({"derived": [dict(statement) for statement in derived]} if derived else {}),
    }
    for number, statement in enumerate(statements):
        if unfold(joint_statement, number) != statement:
            raise BundleError("The layers of this atlas state different facts: they are not one release.")
    return joint_statement


def unfold(joint_statement: Statement, number: int) -> dict[str, Any]:
    """The statement of one layer, as if its column had been released alone at the price of all."""
    layer = joint_statement["layers"][number]
    receipt = list(joint_statement["receipt"])
    for line in layer["receipt"]:
        receipt.insert(line["at"], {key: value for key, value in line.items() if key != "at"})
    return {
        **{
            key: member
            for key, member in joint_statement.items()
            if key not in ("atlas", "layers", "derived")
        },
        **{key: layer[key] for key in OWN if key in layer},
        "schema": "hexcursion-statement-2",
        "release": {**joint_statement["release"], "title": layer["title"]},
        "design": {**joint_statement["design"], "cutoff": layer["cutoff"]},
        "sums": {**joint_statement["sums"], **({OF_SUMS: layer[OF_SUMS]} if OF_SUMS in layer else {})},
        "receipt": receipt,
    }


def read_together(statement: Statement) -> bool:
    """Return whether the released sums chose to read the columns together. Other columns then inform the
    field of a layer, and the map of its records alone decides its set."""
    return statement["design"]["reading"] != "apart" and "cut_by_map" in statement["products"]


def _atlas_block(statements: Sequence[Statement]) -> dict[str, Any]:
    first, count = statements[0], len(statements)
    if any(map(read_together, statements)):
        sentence = TOGETHER if all(map(read_together, statements)) else BESIDE_ANSWERS
    elif first["design"].get("drift"):
        sentence = FROM_MAPS
    else:
        sentence = APART if first["design"]["reading"] == "apart" else LEFT_APART
    return {"columns": count, "in_words": headline(first["guarantee"], count), "read": sentence}


def headline(guarantee: Statement, columns: int) -> str:
    """What all maps together promise, and that one alone promises no more."""
    count = NUMBERS[columns] if columns < len(NUMBERS) else str(columns)
    return (
        f"All {count} maps together: a 50:50 guess about one {protected_word(guarantee)} becomes at most "
        f"{even_odds(surest_of(guarantee))}; one of them alone is not promised more."
    )


def layer_names(joint_statement: Statement) -> tuple[str, ...]:
    """The columns, in order."""
    return tuple(layer["name"] for layer in joint_statement["layers"])


def check_atlas_statement(
    joint_statement: Any, *, earlier: bool = False
) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """Return a valid statement and that of each layer; raise `BundleError` with the first fault.

    Beyond the schema: the design has as many columns as there are layers, every layer is a valid statement
    by itself, and the headline follows from the guarantee. `earlier`: whether its schema is that of an
    earlier version, whose words are said in today's.
    """
    refuse_misfit(joint_statement, _validator())
    names, design = layer_names(joint_statement), design_from(joint_statement["design"])
    assert isinstance(design, AtlasDesign)
    if design.columns != len(names):
        raise BundleError(
            f"The privacy statement lists {len(names)} layers, and its design has "
            f"{joint_statement['design']['columns']} columns: one was left out or added."
        )
    if len(set(names)) < len(names):
        raise BundleError("The privacy statement names a layer twice.")
    if joint_statement["design"]["cutoff"] != ANY_CUTOFF or joint_statement["atlas"]["columns"] != len(names):
        raise BundleError("The privacy statement contradicts itself about its layers.")
    if joint_statement["atlas"]["in_words"] != headline(joint_statement["guarantee"], len(names)):
        raise BundleError("The privacy statement's words about all maps together do not follow from it.")
    if OF_SUMS in joint_statement["sums"]:
        raise BundleError("The privacy statement contradicts itself about what its layers start from.")
    for number, layer in enumerate(joint_statement["layers"]):
        if ("answers" in layer["subject"]) != (number in design.answers):
            raise BundleError(f"Statement and design disagree about answers: {layer['name'][:60]!r}.")
    layers = tuple(
        check_statement(unfold(joint_statement, number), earlier=earlier) for number in range(len(names))
    )
    if len({read_together(layers[number]) for number in design.ball.amounts}) > 1:
        raise BundleError("Some layers of this atlas were read together, and others were not.")
    atlas_block = {
        **({"read": APART} if earlier else {}),
        **joint_statement["atlas"],
    }  # which earlier ones did not say
    if atlas_block != _atlas_block(layers):
        raise BundleError("The privacy statement contradicts itself about how its maps were read.")
    # Lines of a receipt are marked anew by the check: the statement is made of the checked lines.
    return fold(
        layers, names, joint_statement["release"]["title"], joint_statement.get("derived", ())
    ), layers


def atlas_statement(
    release: AtlasRelease, layers: Sequence[Statement], derived: Sequence[Statement] = ()
) -> dict[str, Any]:
    """The statement of a release from those of its layers and of what follows from them, checked."""
    return check_atlas_statement(fold(layers, release.names, release.title, derived))[0]


def todays_atlas(schema: bytes) -> bool:
    """Whether the schema of an atlas is today's, and no earlier one. Raise `BundleError` if it is neither."""
    today = schema == atlas_schema_bytes()
    if not today and hashlib.sha256(schema).hexdigest() not in _EARLIER:
        raise BundleError(f"{layout.ATLAS_SCHEMA} is not the schema of this program's atlases.")
    return today


@cache
def atlas_schema_bytes() -> bytes:
    """The JSON Schema of the statement of an atlas."""
    return (json.dumps(_schema(), indent=1, ensure_ascii=False) + "\n").encode()


def _schema() -> dict[str, Any]:
    """The schema of one column's statement, with what each layer has in a list."""
    schema = whole_schema((ATLAS,))
    of_column = schema["properties"]
    shared = {key: member for key, member in of_column.items() if key not in LEFT_OUT}
    atlas = {
        "description": "What all maps of this release promise together.",
        "type": "object",
        "additionalProperties": False,
        "required": ["columns", "in_words"],
        "properties": {
            "columns": {"type": "integer", "minimum": 2, "maximum": 20},
            "in_words": {"type": "string", "maxLength": 500},
            "read": {
                "description": "How the maps were read from the released sums.",
                "enum": [TOGETHER, BESIDE_ANSWERS, LEFT_APART, APART, FROM_MAPS],
            },
        },
    }
    properties = {
        **shared,
        "schema": {"const": SCHEMA_ID},
        "atlas": atlas,
        "layers": {"type": "array", "minItems": 2, "maxItems": 20, "items": _layer_schema(of_column)},
        "derived": {"type": "array", "minItems": 1, "maxItems": 20, "items": _derived_schema()},
    }
    required = [key for key in schema["required"] if key not in OWN]
    return {
        **schema,
        "title": "Privacy statement of an atlas",
        "$id": schema["$id"].replace("statement-2", "atlas-1"),
        "description": "Facts that all layers share, and a list of what each layer has for itself.",
        "required": [*required, "sums", "atlas", "layers"],
        "properties": properties,
    }


def _layer_schema(of_column: Mapping[str, Any]) -> dict[str, Any]:
    """What each layer has for itself, by the properties of one column's statement."""
    line = of_column["receipt"]["items"]
    at = {"description": "Its place in the whole receipt of this layer.", "type": "integer", "minimum": 0}
    own_line = {
        **line,
        "required": ["at", *line["required"]],
        "properties": {"at": at, **line["properties"]},
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "title", "cutoff", *OWN, "receipt"],
        "properties": {
            "name": {"description": "The column.", "type": "string", "minLength": 1, "maxLength": 100},
            "title": {"type": "string", "maxLength": 200},
            "cutoff": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            **{key: of_column[key] for key in OWN},
            OF_SUMS: of_column["sums"]["properties"][OF_SUMS],
            "receipt": {**of_column["receipt"], "items": own_line},
        },
    }


def _derived_schema() -> dict[str, Any]:
    return {
        "description": "Layers that follow from others at no cost, and what their maps say.",
        "type": "object",
        "additionalProperties": False,
        "required": ["kind", "of", "threshold", "in_words"],
        "properties": {
            "kind": {"enum": list(get_args(Kind))},
            "of": {"type": "array", "minItems": 2, "maxItems": 20, "items": {"type": "string"}},
            "threshold": {"type": ["number", "null"]},
            "in_words": {"type": "string", "maxLength": 4000},
        },
    }


@cache
def _validator() -> Any:
    return StatementValidator(_schema())
