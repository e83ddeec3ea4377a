"""Kept choices: what is public among the choices, held by the browser's tab over a reload, and read back."""

from __future__ import annotations

import json
from typing import Any

from hexcursion.errors import WorkflowError
from hexcursion.settings import field
from hexcursion.words import quantity
from pages.shared.session.workspace import Workspace

# What a reader of a release would be told anyway; no file, no column, nothing computed from private data.
OF_THE_VALUES = ("threshold", "direction", "centre", "clip", "values", "yes_above")
NAMES = (
    *OF_THE_VALUES, "bbox", "resolution", "crosses_date_line", "land_only", "unit", "relation",
    "records_about", "epsilon", "delta", "paths", "mechanisms", "priors", "objective", "quick",
)  # fmt: skip
ABOUT = ("kind", "value_name", "value_unit")
LONGEST = 4_000  # characters


def text_of(work: Workspace) -> str:
    """The public choices as a text for the browser's tab; "" while there are no data to choose for."""
    if work.kind in ("", "example"):
        return ""
    about = {"kind": work.kind, **{name: work.choices.get(name, "") for name in ABOUT[1:]}}
    # A threshold relative to a file, or to reference data, means another thing without them.
    counted = work.choices.get("values") == "count"
    relative = counted or work.choices.get("limits") is not None or work.choices.get("change")
    names = [name for name in NAMES if not (relative and name in OF_THE_VALUES)]
    chosen = {name: work.choices[name] for name in names if work.choices.get(name) is not None}
    return json.dumps({"about": about, "choices": chosen})


def read(text: str) -> dict[str, Any]:
    """What a tab gives back: a person may have changed it, so each choice is checked, and a bad one left."""
    try:
        found = json.loads(text[:LONGEST])
        about, chosen = dict(found["about"]), dict(found["choices"])
    except (ValueError, TypeError, KeyError):
        return {}
    good: dict[str, Any] = {name: str(about.get(name, "")) for name in ABOUT}
    for name in NAMES:
        if name in chosen:
            value = chosen[name]
            try:
                good[name] = field(name).check(tuple(value) if isinstance(value, list) else value)
            except WorkflowError:
                continue
    return good


def give_back(work: Workspace, kept: dict[str, Any]) -> None:
    """Put kept choices under those that came with data of the same kind; the question for the same values."""
    about = {"kind": work.kind, **{name: work.choices.get(name, "") for name in ABOUT[1:]}}
    if kept.get("kind") != work.kind:
        return
    same = all(kept.get(name) == about[name] for name in ABOUT)
    names = [name for name in NAMES if same or name not in OF_THE_VALUES]
    work.choices = {**{name: kept[name] for name in names if name in kept}, **work.choices}


def words_of(kept: dict[str, Any]) -> str:
    """What is kept, in one line; "" for nothing."""
    said = []
    if "threshold" in kept:
        unit = "% of yes" if kept.get("values") == "yes-no" else kept.get("value_unit", "")
        said.append(f"the threshold {quantity(kept['threshold'], unit)}")
    if "centre" in kept or "clip" in kept:
        said.append("what is usual")
    if "bbox" in kept:
        said.append("the bounding box")
    if "resolution" in kept:
        said.append(f"resolution {kept['resolution']}")
    if "epsilon" in kept:
        said.append(f"ε {kept['epsilon']:g}")
    return ", ".join(said)
