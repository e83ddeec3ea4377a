"""Whether the values differ from those of the public map, as a release tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpgp_core.spectral.model_check import Change
from hexcursion.bundle.untrusted import BundleError
from hexcursion.project.response import ResponseScale
from hexcursion.record import Release
from hexcursion.words import quantity

CHANGED = 0.01
"""Chance, had nothing changed, of a difference from the public map that is said to be more than chance.
A larger chance does not show that nothing has changed."""

HALF_WIDTH = 1.645  # deviations on each side that a 90 % interval holds
LEAST_POINTS = 0.05  # a smaller difference of shares, in percentage points, reads as 0
CHANCE_SLACK, WIDTH_SLACK = 1e-4, 1e-3  # of a stated chance, and of the width of the interval


def change_block(change: Change, scale: ResponseScale, subject: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the values differ from those of the public map by more than chance, and how much on average.

    `subject`: of a statement. The mean of logarithms is given as a ratio of geometric means, in per cent
    above 1, and that of answers as a difference of shares, in percentage points.
    """

    def higher(deviations: float) -> float:
        level = change.level + deviations * change.level_sd
        if scale.transform == "probit":
            return 100.0 * level
        return float(100.0 * np.expm1(scale.clip * level) if scale.transform == "log" else scale.clip * level)

    numbers: dict[str, Any] = {"chance": round(change.chance, 6)}
    for name, deviations in (("higher", 0.0), ("low", -HALF_WIDTH), ("high", HALF_WIDTH)):
        numbers[name] = float(f"{higher(deviations):.6g}")
    return {**numbers, "in_words": change_words(numbers, scale.transform, subject)}


def change_of(release: Release, subject: Mapping[str, Any]) -> dict[str, Any] | None:
    """The change since the public map; None for a release that starts from no map."""
    change = None if release.model_check is None else release.model_check.change
    return None if change is None else change_block(change, release.response, subject)


def change_words(change: Mapping[str, Any], transform: str, subject: Mapping[str, Any]) -> str:
    """Whether the values have changed since the public map, and by how much on average."""
    unit = {"log": "%", "probit": "percentage points"}.get(transform, subject["unit"])
    since = f"since {subject.get('scope', {}).get('since') or 'the public map'}"
    name = "share" if transform == "probit" else subject["value"] or "value"
    sure, moves = change["chance"] <= CHANGED, change["low"] * change["high"] > 0.0
    if not (sure and moves):
        sentence = "It is not sure whether there was a change" if moves else "No change seen"
        if sure:
            sentence = f"The {name} changed in places by more than chance, on average not"
        least_points = LEAST_POINTS if transform in ("log", "probit") else 0.0
        low, high = (_signed(change[bound], unit, least_points) for bound in ("low", "high"))
        return f"{sentence} {since} (between {low} and {high})."
    verb = "rose" if change["higher"] > 0.0 else "fell"
    much = quantity(abs(change["higher"]), unit, 2)
    return f"On average the {name} {verb} by about {much} {since}; that is not chance."


def _signed(value: float, unit: str, least_shown: float) -> str:
    """A difference with its sign; one of at most `least_shown` reads as 0 and has none."""
    if abs(value) <= least_shown:
        return quantity(0.0, unit)
    return f"{'-' if value < 0.0 else '+'}{quantity(abs(value), unit, 2)}"


def change_sentence(statement: Mapping[str, Any]) -> str:
    """Whether the values have changed since the public map; "" where a release starts from none."""
    change = (statement.get("told") or {}).get("change")
    return "" if change is None else str(change["in_words"])


def check_change(statement: Mapping[str, Any]) -> None:
    """Raise `BundleError` if the words about a change do not follow from its numbers, or if the design starts
    from no public map. Whether its numbers follow is seen in `check_again`."""
    change = (statement.get("told") or {}).get("change")
    if change is None:
        return
    sentence = change_words(change, statement["response"]["transform"], statement["subject"])
    if change["in_words"] != sentence or not statement["design"].get("drift", False):
        raise BundleError("The privacy statement's words about a change do not follow from its numbers.")


def change_follows(change: Mapping[str, Any], computed: Mapping[str, Any]) -> bool:
    """Whether the numbers of a change are those that a reader computes, but for what machines differ by."""
    width = max(computed["high"] - computed["low"], 1e-9)
    return abs(change["chance"] - computed["chance"]) <= CHANCE_SLACK and all(
        abs(change[name] - computed[name]) <= WIDTH_SLACK * width for name in ("higher", "low", "high")
    )
