"""The JSON Schema of the statement, with a variant for each mechanism."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.statement.designs import variants

SCHEMA_NAME = "hexcursion-statement-2"
# Of schemas without their variants, as an earlier version put them into bundles.
_EARLIER = frozenset({
    "4b067dfff6ed41f4ea35ed1aca823b6131303a0f8aa442b7d8699bd7aa464863",
    "94706c66ffdc637f4d3daf6e8bbcf19878b34cc479d7e25b20e90ff4aa30f52e",
    "24b1cd5373ee6d7b832f820c5f165d7884b8c0a0adb7e3b99ac1d08c0c6c7800",
    "a5575d2227637822e13c9fabd4e3537504d19d33e3aba2ae6bc92c059b76539e",
    "5f5485350cf0220bf61576109fa4350155d1f44078db22cc756552840538a0d1",
    "20c97d6f04e922b2ce6e5ca2a4c5a781fbcc8f005e1df04ae9b12d8ec34a4c89",
    "c8d3f9a1dc253e91610a5675b1df0d2503a121825ee85688fdcc137b237988b9",
    "e049251868cd1abc9fa633d880a0c308d091f81ac8e74e4e4c65499f9b33b242",
    "e454f523ff3dcde64dcf3dcffedcaec5ac9e6c591c6d139bd2b29eb52031dbf6",
    "965cd3a5eb8b549a19137f565ab933125c17b45223fce699fd84fffeb34108c7",
    "d36c54012ef5e9a85b0a805219d26cc8513f301dd26d9f372705eedc16d71b12",
    "0c1d34d9b2d48e895c5d4fd6a2b1674007952fb23ea387014a0b2e3eb62ac84d",
    "b1013bd732bd1677a1962501aa37387867a354ab0a20e0c65b7eddbc1b7b945f",
    "ee1855dfd3b47890bc9651ae400e3846efb5c67cdb22eb6a462450295a3146ee",
})  # fmt: skip
_FOLDER = Path(__file__).parent / "schema"


@cache
def _base() -> bytes:
    return (_FOLDER / "statement-2.json").read_bytes()


def schema_bytes(mechanism: str | None = None) -> bytes:
    """The schema as it goes into a bundle. `mechanism`: the one mechanism whose designs are described; all
    registered ones by default."""
    names = None if mechanism is None else (mechanism,)
    return (json.dumps(_whole(names), indent=1, ensure_ascii=False) + "\n").encode()


def without_designs(schema: Any) -> Any:
    """A schema without its variants: these may differ where a mechanism was known or not."""
    if not isinstance(schema, dict):
        return None
    return {name: part for name, part in schema.items() if name != "$defs"}


def earlier_schema(rest: Any) -> bool:
    """Whether this is a schema, without its variants, of an earlier version of the program."""
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest() in _EARLIER


def check_schema(statement: Any) -> None:
    """Raise BundleError, naming the first place at which a statement does not fit the schema."""
    design = statement.get("design") if isinstance(statement, dict) else None
    mechanism = design.get("mechanism") if isinstance(design, dict) else None
    if isinstance(mechanism, str) and mechanism not in MECHANISMS:
        raise BundleError(
            f"The mechanism {mechanism[:60]!r} is not known here: install the package that brings it, or a "
            "newer version of this program."
        )
    errors = _validator(tuple(MECHANISMS)).iter_errors(statement)
    problem = next(iter(sorted(errors, key=lambda error: list(map(str, error.path)))), None)
    if problem is not None:
        told = _of_its_variant(problem)
        place = ".".join(str(part) for part in told.absolute_path) or "the statement"
        raise BundleError(f"The privacy statement is not valid at {place}: {told.message[:200]}.")


def _of_its_variant(problem: ValidationError) -> ValidationError:
    """Of a union's errors the first of the variant whose tag fits; the error itself where none does."""
    variants_tried: dict[Any, list[ValidationError]] = {}
    for error in problem.context or ():
        variants_tried.setdefault(error.relative_schema_path[0], []).append(error)
    for errors in variants_tried.values():
        if all(list(error.relative_path) != ["mechanism"] for error in errors):
            return errors[0]
    return problem


def _whole(names: tuple[str, ...] | None) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_base())
    made = variants(names)
    union = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in made]}
    return {**schema, "$defs": {"design": union, **made}}


@cache
def _validator(names: tuple[str, ...]) -> Draft202012Validator:
    """`names` are part of the key: a mechanism that is registered later has its variant as well."""
    return Draft202012Validator(_whole(names))
