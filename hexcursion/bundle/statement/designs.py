"""Designs in a statement: a tagged union whose variants follow from the registry's dataclasses."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from dpgp_core.bounds.registry import BOUNDS
from dpgp_core.errors import DesignError
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import MECHANISMS, mechanism_named
from dpgp_core.numbers import significant
from hexcursion import words
from hexcursion.bundle.errors import BundleError

LONGEST_TEXT, MOST_ITEMS = 500, 10_000
# What every design has, with the ranges of its own checks.
_SHARED: dict[str, dict[str, Any]] = {
    "paths": {"type": "integer", "minimum": 1, "maximum": 10_000},
    "smoothing": {"type": "integer", "minimum": 0, "maximum": 1000},
    "cutoff": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
}


def plain_design(design: Design) -> dict[str, Any]:
    """The design as JSON values, tagged with its mechanism: its own fields and nothing else."""
    made: dict[str, Any] = _plain(design.to_mapping())
    return made


def design_from(values: Mapping[str, Any]) -> Design:
    """The design that `plain_design` wrote. Raise `BundleError` for an unknown mechanism or impossible
    values."""
    try:
        kind = mechanism_named(str(values.get("mechanism"))).design_type
        hints = get_type_hints(kind)
        given = {name: value for name, value in values.items() if name != "mechanism"}
        return kind.from_mapping({
            name: _typed(value, hints.get(name, Any)) for name, value in given.items()
        })  # fmt: skip
    except ValueError as error:
        raise BundleError(f"The privacy statement describes an impossible design: {error}") from error


def design_line(values: Mapping[str, Any]) -> str:
    """A statement's design in one line: its mechanism's words, and what every design has. Raise `BundleError`
    as `design_from`."""
    design = design_from(values)
    parts = [
        mechanism_named(design.mechanism).describe(design),
        words.plural(design.paths, "path"),
        f"smoothing {words.plural(design.smoothing, 'round')}",
        f"cutoff {significant(design.cutoff, 4)}",
    ]
    return ", ".join(parts)


def variant(kind: type[Design]) -> dict[str, Any]:
    """JSON Schema of one mechanism's designs, from the dataclass itself. Raise `DesignError` if a field has a
    type that has no JSON form."""
    hints = get_type_hints(kind)
    own = {item.name: _SHARED.get(item.name) or _schema(hints[item.name], item.name) for item in fields(kind)}
    needed = [item.name for item in fields(kind) if item.default is item.default_factory is MISSING]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["mechanism", *needed, *(name for name in _SHARED if name in own)],
        "properties": {"mechanism": {"const": kind.mechanism}, **own},
    }


def variants(names: tuple[str, ...] | None = None) -> dict[str, dict[str, Any]]:
    """The variants of the named mechanisms, of all registered ones by default, in the registry's order."""
    chosen = tuple(MECHANISMS) if names is None else names
    return {name: variant(mechanism_named(name).design_type) for name in chosen}


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
        hints = get_type_hints(hint)
        own = {item.name: _schema(hints[item.name], f"{name}.{item.name}") for item in fields(hint)}
        return {"type": "object", "additionalProperties": False, "required": list(own), "properties": own}
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
        hints = get_type_hints(hint)
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
    "gaussian-mechanism", "discrete-gaussian-mechanism", "laplace-mechanism", "discrete-laplace-mechanism",
    "exponential-mechanism", "randomised-response", "rkhs",
)  # fmt: skip


def proved_bounds(mechanism: str) -> frozenset[str]:
    """Names of the proved bounds that can back a release of a mechanism, its own `bounds` among them."""
    own = mechanism_named(mechanism).bounds
    return frozenset({*GENERAL, *own, *(name for name, bound in BOUNDS.items() if bound.proved)})
