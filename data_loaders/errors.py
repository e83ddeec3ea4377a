"""The error of this room: one sentence that states the fault of an input and its remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from dpgp_core.errors import HexcursionError


class DataError(HexcursionError, ValueError):
    """Unusable input, described in one sentence that names the remedy. The text may reach a log or
    a screen, so it names files, columns and row numbers, never a value of a row."""


def unopened(name: str) -> DataError:
    """Return the error for a file that is missing or unreadable."""
    return DataError(f"{name} cannot be opened: check that the file exists and may be read.")


def closest(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" with the known word nearest to `word`, ignoring capitals, or ""
    if no word is near. Known words are public (column names, codes), never values of rows."""
    by_lower = {item.lower(): item for item in known}
    near = difflib.get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.6)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""
