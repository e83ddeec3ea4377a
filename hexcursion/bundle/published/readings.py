"""Readings: what installed packages read from several bundles together.

A site lists their pages, the viewer has a tab for each, and `import hexcursion` offers them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dpgp_core.errors import PluginError
from dpgp_core.plugins import Registry
from hexcursion.bundle.read import Bundle

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class ReadTogether:
    """What several bundles say together."""

    question: str  # as a reader would ask it
    newest: Bundle
    files: Mapping[str, bytes]  # by name, the page among them


@dataclass(frozen=True, eq=False)
class Reading:
    """A way to read several bundles of one area and value together; an installed package offers it."""

    name: str  # as in `hexcursion site --NAME`, which asks for it, and `hexcursion.NAME`, which is `read`
    needs: str  # what to name when there are too few: "bundles of several periods"
    about: str  # what the page shows, for the index of a site
    page: str  # the file that a browser opens
    read: Callable[..., Any]  # for programs
    files: Callable[[Sequence[Path]], ReadTogether]  # raises `BundleError` for bundles that do not fit
    script: Callable[[], str]  # of the page: the app's policy lets the viewer run it
    tab: str  # title of its tab in the viewer
    show: Callable[[Any], None]  # draws that tab of an opened bundle


READINGS: Registry[Reading] = Registry("hexcursion.readings", {}, Reading)


def of_each(ask: Callable[[Reading], Found]) -> tuple[list[Found], list[PluginError]]:
    """What a function finds in each reading, and why others cannot be used: a damaged package takes nothing
    away but what it brought."""
    answers: list[Found] = []
    refused: list[PluginError] = []
    try:
        names = tuple(READINGS)
    except PluginError as error:  # two packages offer one name
        return [], [error]
    for name in names:
        try:
            answers.append(READINGS.use(name, ask))
        except PluginError as error:
            refused.append(error)
    return answers, refused
