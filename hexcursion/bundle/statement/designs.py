"""Designs in a statement, and the JSON Schema of the statement with a variant for each mechanism."""

from __future__ import annotations

import hashlib
import json
import operator
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from dpgp_core.atlas.design import AtlasDesign
from dpgp_core.bounds.registry import BOUNDS
from dpgp_core.errors import DesignError
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import MECHANISMS, mechanism_named
from dpgp_core.mechanisms.spectral_design import SPREADS_OF_COUNTS, SpectralStatisticsDesign
from dpgp_core.numbers import significant
from hexcursion import words
from hexcursion.bundle import layout
from hexcursion.bundle.untrusted import BundleError, strict_json

LONGEST_TEXT, MOST_ITEMS = 500, 10_000
# What every design has, with the ranges of its own checks.
_SHARED: dict[str, dict[str, Any]] = {
    "paths": {"type": "integer", "minimum": 1, "maximum": 10_000},
    "smoothing": {"type": "integer", "minimum": 0, "maximum": 1000},
    "cutoff": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
}


def plain_design(design: Design) -> dict[str, Any]:
    """The design as JSON values, tagged with its mechanism: its own fields and nothing else."""
    members: dict[str, Any] = _plain(design.to_mapping())
    return members


def design_from(values: Mapping[str, Any]) -> Design:
    """The design that `plain_design` wrote. Raise `BundleError` for an unknown mechanism or impossible
    values."""
    try:
        kind = _kind(_variant_of(values))
        hints = _types_of(kind)
        members = {name: value for name, value in values.items() if name != "mechanism"}
        return kind.from_mapping(
            {name: _typed(value, hints.get(name, Any)) for name, value in members.items()}
        )
    except ValueError as error:
        raise BundleError(f"The privacy statement describes an impossible design: {error}") from error


ATLAS = "atlas"
"""The variant of designs of several columns; all others have the name of their mechanism."""


def _variant_of(values: Mapping[str, Any]) -> str:
    """The name of the variant that a statement's design is of."""
    name = str(values.get("mechanism"))
    return ATLAS if name == AtlasDesign.mechanism and "columns" in values else name


def _kind(name: str) -> type[Design]:
    """The class of the designs of a variant."""
    return AtlasDesign if name == ATLAS else mechanism_named(name).design_type


def values_of(design: Design) -> int:
    """How many values a record has: none where records are counted, one, or one for each column."""
    if isinstance(design, AtlasDesign):
        return design.columns
    return 0 if isinstance(design, SpectralStatisticsDesign) and design.law in SPREADS_OF_COUNTS else 1


def design_line(values: Mapping[str, Any], cutoffs: Mapping[str, float] | None = None) -> str:
    """A statement's design in one line: its mechanism's words, and what every design has; of an atlas the
    `cutoffs` of all layers by their names. Raise `BundleError` as `design_from`."""
    design = design_from(values)
    parts = [
        mechanism_named(design.mechanism).describe(design),
        words.plural(design.paths, "path"),
        f"smoothing {words.plural(design.smoothing, 'round')}",
        *(
            [f"cutoff {significant(design.cutoff, 4)}"]
            if cutoffs is None
            else [f"cutoff {significant(cutoff, 4)} of {name}" for name, cutoff in cutoffs.items()]
        ),
    ]
    return ", ".join(parts)


def variant(kind: type[Design]) -> dict[str, Any]:
    """JSON Schema of one mechanism's designs, from the dataclass itself. Raise `DesignError` if a field has a
    type that has no JSON form."""
    hints = _types_of(kind)
    own_properties = {
        item.name: _SHARED.get(item.name) or _schema(hints[item.name], item.name) for item in fields(kind)
    }
    needed = [item.name for item in fields(kind) if item.default is item.default_factory is MISSING]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["mechanism", *needed, *(name for name in _SHARED if name in own_properties)],
        "properties": {"mechanism": {"const": kind.mechanism}, **own_properties},
    }


_TYPES: dict[Any, dict[str, Any]] = {}


def _types_of(kind: Any) -> dict[str, Any]:
    """The types of a class's fields by their names, found once: every reading asks for them."""
    if kind not in _TYPES:
        _TYPES[kind] = get_type_hints(kind)
    return _TYPES[kind]


def _schema(hint: Any, name: str) -> dict[str, Any]:
    """JSON Schema of a type; `name` is for the message."""
    simple: dict[Any, dict[str, Any]] = {
        bool: {"type": "boolean"},
        int: {"type": "integer", "minimum": -(2**53), "maximum": 2**53},
        float: {"type": "number"},
        str: {"type": "string", "maxLength": LONGEST_TEXT},
        type(None): {"type": "null"},
    }
    if hint in simple:
        return simple[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(part, name) for part in inner]}
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        return {"type": "array", "maxItems": MOST_ITEMS, "items": _schema(inner[0], name)}
    if origin is tuple:
        parts = [_schema(part, name) for part in inner]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
    if isinstance(hint, type) and is_dataclass(hint):
        hints = _types_of(hint)
        properties = {item.name: _schema(hints[item.name], f"{name}.{item.name}") for item in fields(hint)}
        return {
            "type": "object",
            "additionalProperties": False,
            "required": list(properties),
            "properties": properties,
        }
    raise DesignError(f"the design's field {name!r} has a type that a statement cannot hold: {hint}.")


def _typed(value: Any, hint: Any) -> Any:
    """A JSON value as the type that a design's field asks for; the rest is left to its own checks."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if origin in (Union, types.UnionType):
        kinds = [part for part in inner if part is not type(None)]
        return _typed(value, kinds[0]) if len(kinds) == 1 and value is not None else value
    if origin is tuple and isinstance(value, list):
        kinds = [inner[0]] * len(value) if inner[-1:] == (Ellipsis,) else list(inner)
        return tuple(_typed(part, kind) for part, kind in zip(value, kinds, strict=False))
    if isinstance(hint, type) and is_dataclass(hint) and isinstance(value, dict):
        hints = _types_of(hint)
        return hint(**{name: _typed(part, hints.get(name, Any)) for name, part in value.items()})
    return value


def _plain(value: Any) -> Any:
    """The same with lists for tuples and Python's numbers for numpy's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


# Theorems that hold for a kind of noise, whatever is released with it; "rkhs" rests on an assumption that its
# source states.
GENERAL = (
    "gaussian-mechanism",
    "discrete-gaussian-mechanism",
    "laplace-mechanism",
    "discrete-laplace-mechanism",
    "exponential-mechanism",
    "randomised-response",
    "rkhs",
)


def proved_bounds(mechanism: str) -> frozenset[str]:
    """Names of the proved bounds that can back a release of a mechanism, its own `bounds` among them."""
    mechanisms_own = mechanism_named(mechanism).bounds
    return frozenset({*GENERAL, *mechanisms_own, *(name for name, bound in BOUNDS.items() if bound.proved)})


SCHEMA_NAME = "hexcursion-statement-2"
# Of schemas without their variants, as an earlier version put them into bundles.
_EARLIER = frozenset(
    {
        "9f7e574ca4292f5d3e64f4e5d5458d3e09e8b6cb7a47aa3b7ae3f3686ae796f1",
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
        "e7f1b3a071a2d009cf1f58be09eaf5546deac6e19ce6975d684937dad6bea654",
        "bdc6b54aff90c135adf49dfb5d57470fcd6127cdab99bd7a40ae0a0710e91891",
        "6bc5b65e99553fce4e704ac45cca367e6fc4d45ef3855bfdc478492fee0c936f",
        "093510426938ce1df1907fa1413c222d39e73b06f56718d1ac202ab138ad8c30",
        "65ede148e72c3eb9594dda38aedeea0314ffb8da36f4e9fa05ad49093e2b0927",
        "23b84b2d97db482a47b2fbad6df6ed39bd8cfa39a2cae0014a2fbb69f07b5ffb",
        "4b269a1c2d4df6abfce3384b8f20e37582dc9435f4b67511d838d1ab49162ba4",
        "0ce7eeea5a0b84fc81d331dc03467d3e78fdd6d288b646777a5564b50a5fec3d",
        "b4b4cf5ccb7ce45cbd19b268e801451e11507ecd90d3620faa055de100b642cc",
        "3b692d8388136e2cdddc4162dfd54478bad21a38ce7607029a1b92585e676253",
    }
)
_FOLDER = Path(__file__).parent / "schema"


@cache
def _base() -> bytes:
    return (_FOLDER / "statement-2.json").read_bytes()


def schema_bytes(mechanism: str | None = None) -> bytes:
    """The schema as it goes into a bundle. `mechanism`: the one mechanism whose designs are described; all
    registered ones by default."""
    return _schema_bytes(tuple(MECHANISMS) if mechanism is None else (mechanism,))


@cache
def _schema_bytes(names: tuple[str, ...]) -> bytes:
    return (json.dumps(whole_schema(names), indent=1, ensure_ascii=False) + "\n").encode()


def without_designs(schema: Any) -> Any:
    """A schema without its variants: these may differ where a mechanism was known or not."""
    if not isinstance(schema, dict):
        return None
    return {name: part for name, part in schema.items() if name != "$defs"}


def earlier_schema(without_variants: Any) -> bool:
    """Whether this is a schema, without its variants, of an earlier version of the program."""
    return hashlib.sha256(json.dumps(without_variants, sort_keys=True).encode()).hexdigest() in _EARLIER


def todays_schema(shipped: bytes, mechanism: str) -> bool:
    """Whether a schema is today's, and no earlier one. Raise `BundleError` if it is neither."""
    if shipped == schema_bytes(mechanism):
        return True
    without_variants = without_designs(strict_json(shipped, layout.SCHEMA))
    today = bool(without_variants == without_designs(json.loads(schema_bytes(mechanism))))
    if not (today or earlier_schema(without_variants)):
        raise BundleError(f"{layout.SCHEMA} is not the schema of {SCHEMA_NAME}.")
    return today


def check_schema(statement: Any) -> None:
    """Raise BundleError, naming the first place at which a statement does not fit the schema."""
    design = statement.get("design") if isinstance(statement, dict) else None
    mechanism = design.get("mechanism") if isinstance(design, dict) else None
    if isinstance(mechanism, str) and mechanism not in MECHANISMS:
        raise BundleError(
            f"The mechanism {mechanism[:60]!r} is not known here: install the package that brings it, or a "
            "newer version of this program."
        )
    names = (_variant_of(design or {}),) if isinstance(mechanism, str) else tuple(MECHANISMS)
    refuse_misfit(statement, _validator(names))


def refuse_misfit(statement: Any, validator: Any) -> None:
    """Raise BundleError, naming the first place at which a statement does not fit a validator's schema."""
    errors = validator.iter_errors(statement)
    problem = next(iter(sorted(errors, key=lambda error: list(map(str, error.path)))), None)
    if problem is not None:
        misfit = _of_its_variant(problem)
        place = ".".join(str(part) for part in misfit.absolute_path) or "the statement"
        raise BundleError(f"The privacy statement is not valid at {place}: {misfit.message[:200]}.")


def _of_its_variant(problem: ValidationError) -> ValidationError:
    """Of a union's errors the first of the variant whose tag fits; the error itself where none does."""
    variants_tried: dict[Any, list[ValidationError]] = {}
    for error in problem.context or ():
        variants_tried.setdefault(error.relative_schema_path[0], []).append(error)
    for errors in variants_tried.values():
        if all(list(error.relative_path) != ["mechanism"] for error in errors):
            return errors[0]
    return problem


def whole_schema(names: tuple[str, ...]) -> dict[str, Any]:
    """The schema with a variant for each of the named mechanisms, in their order."""
    schema: dict[str, Any] = json.loads(_base())
    variants = {name: variant(_kind(name)) for name in names}
    union = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in variants]}
    return {**schema, "$defs": {"design": union, **variants}}


_LEAST = {"minimum": operator.ge, "exclusiveMinimum": operator.gt}


def _items(validator: Any, items: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Check `items` as the standard says, but pass a list of good numbers at once: a curve has thousands."""
    limits = dict(items) if isinstance(items, dict) else {}
    if (
        limits.pop("type", None) == "number"
        and limits.keys() <= _LEAST.keys()
        and isinstance(instance, list)
        and set(map(type, instance)) <= {int, float}
        and all(_LEAST[name](number, limit) for name, limit in limits.items() for number in instance)
    ):
        return
    yield from Draft202012Validator.VALIDATORS["items"](validator, items, instance, schema)


StatementValidator = extend(Draft202012Validator, {"items": _items})


@cache
def _validator(names: tuple[str, ...]) -> Any:
    """`names` are part of the key: a mechanism that is registered later has its variant as well."""
    return StatementValidator(whole_schema(names))
