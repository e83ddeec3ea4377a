"""Frozen values whose fields are held against their annotations before the value exists."""

from __future__ import annotations

import difflib
from dataclasses import MISSING, dataclass, fields
from typing import Any, get_type_hints

from hexcursion.errors import WorkflowError
from hexcursion.settings.field import Field, Required, field_of


@dataclass(frozen=True)
class Checked:
    """A frozen dataclass that is valid or does not exist.

    Every field of a subclass is annotated `Annotated[TYPE, Setting(...)]`. A value that may not stand there
    is refused with one sentence (`WorkflowError`); what no single field can tell stands in `agree`.
    """

    def __post_init__(self) -> None:
        for item in fields_of(type(self)).values():
            object.__setattr__(self, item.key, item.check(getattr(self, item.key)))
        self.agree()

    def agree(self) -> None:
        """Raise `WorkflowError` where fields that are valid alone do not fit together."""


_KNOWN: dict[tuple[type[Checked], str], dict[str, Field]] = {}


def fields_of(kind: type[Checked], table: str = "") -> dict[str, Field]:
    """Return the fields of a class of settings by their key, in order; a `table` begins their names."""
    if (kind, table) not in _KNOWN:
        hints = get_type_hints(kind, include_extras=True)
        prefix = f"{table}." if table else ""
        _KNOWN[kind, table] = {
            item.name: field_of(
                prefix + item.name, hints[item.name], Required if item.default is MISSING else item.default
            )
            for item in fields(kind)
        }
    return _KNOWN[kind, table]


def refuse_unknown(values: dict[str, Any], kind: type[Checked], where: str) -> None:
    """Raise `WorkflowError` for a key that the class does not have, naming the nearest one it has."""
    known = fields_of(kind)
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(known)}."
            raise WorkflowError(f"Unknown {where} key {key!r}: {remedy}")
