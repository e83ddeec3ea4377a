"""Whether the values differ from those of the public map, as a release tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpgp_core.numbers import significant
from dpgp_core.spectral.model_check import Change
from hexcursion.bundle.untrusted import BundleError
from hexcursion.project.response import ResponseScale
from hexcursion.words import per_cent, quantity

CHANGED = 0.01
"""Chance, had nothing changed, of a difference from the public map that is said to be more than chance.
A larger chance does not show that nothing has changed."""

HALF_WIDTH = 1.645  # deviations on each side that a 90 % interval holds
LEAST_POINTS = 0.05  # a smaller difference of shares, in percentage points, reads as 0
CHANCE_SLACK, WIDTH_SLACK = 1e-4, 1e-3  # of a told chance, and of the width of the interval


def change_block(change: Change, scale: ResponseScale, unit: str) -> dict[str, Any]:
    """Whether the values differ from those of the public map by more than chance, and how much on average.

    `unit`: of the values. The mean of logarithms is told as a ratio of geometric means, in per cent above 1,
    and that of answers as a difference of shares, in percentage points.
    """

    def higher(deviations: float) -> float:
        level = change.level + deviations * change.level_sd
        if scale.transform == "probit":
            return 100.0 * level
        return float(100.0 * np.expm1(scale.clip * level) if scale.transform == "log" else scale.clip * level)

    found: dict[str, Any] = {"chance": round(change.chance, 6)}
    for name, deviations in (("higher", 0.0), ("low", -HALF_WIDTH), ("high", HALF_WIDTH)):
        found[name] = float(f"{higher(deviations):.6g}")
    return {**found, "in_words": change_words(found, scale.transform, unit)}


def change_words(change: Mapping[str, Any], transform: str, unit: str) -> str:
    """Whether the values differ from those of the public map, and by how much on average."""
    what, unit = ("shares", "percentage points") if transform == "probit" else ("values", unit)

    def level(value: float) -> str:
        shown = 0.0 if transform == "probit" and abs(value) < LEAST_POINTS else abs(value)
        return f"{quantity(shown, unit, 2)} {'lower' if value < 0.0 else 'higher'}"

    higher, low, high = (change[name] for name in ("higher", "low", "high"))
    if transform == "log":
        now, least, most = (significant(1.0 + each / 100.0, 3) for each in (higher, low, high))
        mean = f"In the geometric mean they are {now} times as high (90 % interval: {least} to {most} times)."
    else:
        mean = f"On average they are {level(higher)} (90 % interval: {level(low)} to {level(high)})."
    shown = change["chance"] <= CHANGED
    differ = f"The {what} differ" if shown else f"The release does not show that the {what} differ"
    return (
        f"{differ} from those of the public map by more than chance: had nothing changed, so "
        f"large a difference had a chance of {per_cent(change['chance'])}. {mean}"
    )


def change_told(statement: Mapping[str, Any]) -> str:
    """Whether the values have changed since the public map, in one plain sentence; "" where a release starts
    from none. The statement's own words say how surely."""
    change = (statement.get("told") or {}).get("change")
    if change is None:
        return ""
    transform, subject = statement["response"]["transform"], statement["subject"]
    unit = {"log": "%", "probit": "percentage points"}.get(transform, subject["unit"])
    higher, low, high = (
        quantity(0.0 if abs(change[name]) < LEAST_POINTS else change[name], unit, 2)
        for name in ("higher", "low", "high")
    )
    if change["chance"] > CHANGED:
        unsure = change["low"] * change["high"] > 0.0
        said = "It is not sure whether there was a change" if unsure else "No change seen"
        return f"{said} since the public map (between {low} and {high})."
    name = "share" if transform == "probit" else subject["value"] or "value"
    moved = f"rose by about {higher}" if change["higher"] > 0.0 else f"fell by about {higher.lstrip('-−')}"
    return f"On average the {name} {moved} since the public map; that is not chance."


def check_change(statement: Mapping[str, Any]) -> None:
    """Raise `BundleError` if the words about a change do not follow from its numbers, or if the design starts
    from no public map. Whether its numbers follow is seen in `check_again`."""
    change = (statement.get("told") or {}).get("change")
    if change is None:
        return
    said = change_words(change, statement["response"]["transform"], statement["subject"]["unit"])
    if change["in_words"] != said or not statement["design"].get("drift", False):
        raise BundleError("The privacy statement's words about a change do not follow from its numbers.")


def change_follows(stated: Mapping[str, Any], made: Mapping[str, Any]) -> bool:
    """Whether the numbers of a change are those that a reader computes, but for what machines differ by."""
    width = max(made["high"] - made["low"], 1e-9)
    return abs(stated["chance"] - made["chance"]) <= CHANCE_SLACK and all(
        abs(stated[name] - made[name]) <= WIDTH_SLACK * width for name in ("higher", "low", "high")
    )
