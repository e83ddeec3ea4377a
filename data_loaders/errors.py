"""The one error of this room: a sentence that says what is wrong with an input and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DataError(ValueError):
    """Input that cannot be used, told in one sentence that names the remedy. The text may reach a log or a
    screen: it names files, columns and row numbers, never a value of a row."""


def unopened(name: str) -> DataError:
    """The error for a file of this name that is not there or may not be read."""
    return DataError(f"{name} cannot be opened: check that the file exists and may be read.")


def closest(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the known word most like another, "" where none is near; capitals do
    not count. Known words are public (column names, codes), never values of rows."""
    by_lower = {item.lower(): item for item in known}
    near = difflib.get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.6)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""
