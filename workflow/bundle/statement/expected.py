"""How right a published map was expected to be, in numbers and in words, and on what that rests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workflow.bundle.untrusted.text import clean
from workflow.record import Expected
from workflow.words import error_words, ratio_words, right_words

NOT_KNOWN = "How right this map is was not estimated before it was drawn."
BASES = {
    "simulated": "simulated data",
    "reference data": "reference data that were set aside",
    "public reference data": "public reference data",
    "private selection": "the private records, at a cost that is inside epsilon",
}


def expected_block(expected: Expected | None) -> dict[str, Any] | None:
    """The block as it stands in a statement; None where nobody looked."""
    if expected is None:
        return None
    numbers = {name: _known(getattr(expected, name)) for name in ("agreement", "area_error", "right")}
    stated = {**numbers, "basis": clean(expected.basis, 60, "What the expected agreement rests on")}
    return {**stated, "in_words": expected_words(stated)}


def expected_words(stated: Mapping[str, Any] | None) -> str:
    """One sentence or two: agreement, area, share of right hexagons, and what they rest on."""
    if stated is None:
        return NOT_KNOWN
    basis = BASES.get(stated["basis"], stated["basis"])
    said = []
    if stated["agreement"] is not None:
        said.append(
            f"agreement (intersection over union) {ratio_words(stated['agreement'])} with the map without "
            "privacy"
        )
    if stated["area_error"] is not None:
        said.append(f"area wrong by {error_words(stated['area_error'])}")
    if stated["right"] is not None:
        said.append(f"{right_words(stated['right'])} of the shown hexagons right")
    if not said:
        return f"Expected agreement: undefined, because the map of {basis} has one side only."
    return f"Expected, from {basis}: {', '.join(said)}."


def _known(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
