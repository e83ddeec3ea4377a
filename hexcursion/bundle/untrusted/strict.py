"""JSON as a stranger may have written it: parsed without NaN, infinities, repeated keys or deep nesting."""

from __future__ import annotations

import json
import math
from typing import Any

from hexcursion.bundle.errors import BundleError


def strict_json(content: bytes, name: str) -> Any:
    """Parse JSON without NaN, infinities, repeated keys or deep nesting.

    Raises
    ------
    BundleError
        One sentence, which calls the file `name`.
    """

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
