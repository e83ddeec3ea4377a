"""The guest's reading: two bundles side by side, by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hexcursion.bundle import BundleError, read_bundle
from hexcursion.bundle.published.readings import Reading, ReadTogether


def pairs(paths: Sequence[Path]) -> ReadTogether:
    if len(paths) != 2:
        raise BundleError("A pair is two bundles: name two.")
    first, second = (read_bundle(path) for path in paths)
    names = " and ".join(each.statement["release"]["id"] for each in (first, second))
    return ReadTogether("Which two?", second, {"pair.html": names.encode()})


def show(opened: Any) -> None:
    """Nothing to draw."""


PAIRS = Reading(
    name="pairs",
    needs="two bundles",
    about="Two & no more.",
    page="pair.html",
    read=pairs,
    files=pairs,
    script=lambda: "'pairs'",
    tab="Pairs",
    show=show,
)
