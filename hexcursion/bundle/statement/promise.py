"""The two numbers that a map promises: how often orange is right, and which share of the places
above it finds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dpgp_core.excursion import Direction
from dpgp_core.yardstick import promise_of, tempered
from hexcursion.bundle.products import Products
from hexcursion.record import promises_nothing, tells_tempered
from hexcursion.words import side_words

TOO_FEW = "Too few records to say how right this map is."
FIGURES = ("agreement", "area_error", "right")
"""Members of a statement's expectation that are null where unknown; others are then left out."""


def says_nothing(statement: Mapping[str, Any]) -> bool:
    """`promises_nothing` of a statement's release."""
    return promises_nothing(statement["guarantee"]["n"], public=bool(statement["prior_mean_used"]))


def without_figures(expected: Mapping[str, Any]) -> dict[str, Any]:
    """An expectation of too few records: what simulated worlds gave is no figure of its map."""
    return {**dict.fromkeys(FIGURES), "basis": expected["basis"], "in_words": expected["in_words"]}


def promise_block(products: Products, statement: Mapping[str, Any]) -> dict[str, Any] | None:
    """The member `judged` of what a statement tells; None where its mechanism gives no
    probabilities.

    It holds the number of judged hexagons, both numbers, and the expected share of records in
    hexagons whose typical value is on the side that the map shows (a single record scatters about
    it): null where too few records are, or nothing is shown. They follow from the published
    chances, the expected and the public number of records, and `tells_tempered`.
    """
    if products.probability is None:
        return None
    block: dict[str, Any] = {
        "cells": int(products.judged.sum()),
        "orange": None,
        "finds": None,
        "right": None,
    }
    if says_nothing(statement):
        return {**block, "in_words": TOO_FEW}
    chance = tempered(products.probability) if _tempers(statement) else products.probability
    promise = promise_of(chance, products.classes == 0, products.judged, products.records)
    block |= {
        "orange": _known(promise.orange),
        "finds": _known(promise.finds),
        "right": _known(promise.right),
    }
    return {**block, "in_words": promise_words(block, products.direction)}


def _tempers(statement: Mapping[str, Any]) -> bool:
    """`tells_tempered` of a statement, or of a part of one that says less."""
    return tells_tempered(
        statement.get("response", {}).get("origin", ""),
        public=bool(statement["prior_mean_used"]),
        simulated=(statement.get("expected") or {}).get("basis") == "simulated",
    )


def promise_words(block: Mapping[str, Any], direction: Direction) -> str:
    """Both numbers of a promise in two short sentences."""
    side = side_words(direction)
    if block["orange"] is None:
        return f"No hexagon is likely {side} the threshold."
    return f"{orange_words(block['orange'])} {finds_words(block['finds'] or 0.0, direction)}"


def orange_words(orange: float) -> str:
    """How often a hexagon that is shown as likely is right.

    Examples
    --------
    >>> orange_words(0.834)
    'Orange is right about 83 times in 100.'
    """
    return f"Orange is right {times_words(orange)} in 100."


def times_words(share: float) -> str:
    """A share as a number of times in 100: "about 83 times", "over 99 times"."""
    if share >= 0.995:
        return "over 99 times"
    return f"about {round(100.0 * share)} times"


def finds_words(finds: float, direction: Direction) -> str:
    """How many of the places on the asked side are shown, in tenths or quarters.

    Examples
    --------
    >>> finds_words(0.76, "above")
    'It shows about 3 in 4 of the places that are above.'
    >>> finds_words(0.02, "above")
    'It shows almost none of the places that are above.'
    """
    where = "above" if direction == "above" else "at or below the threshold"
    tenths, quarters = round(10.0 * finds), round(4.0 * finds)
    many = {0: "almost none", 10: "nearly all"}.get(tenths, f"about {tenths} in 10")
    if quarters in (1, 3) and abs(quarters / 4.0 - finds) < abs(tenths / 10.0 - finds):
        many = f"about {quarters} in 4"
    return f"It shows {many} of the places that are {where}."


def _known(value: float) -> float | None:
    return round(float(value), 6) if math.isfinite(value) else None
