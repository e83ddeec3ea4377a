"""New places for what a command writes: nothing stands there yet, and nothing is overwritten."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from workflow.errors import WorkflowError

PlaceKind = Literal["folder", "file"]


def new_place(place: str | Path, kind: PlaceKind = "folder") -> Path:
    """The path of a file or folder that is still to be made.

    Parameters
    ----------
    place
        As somebody typed it.
    kind
        For the sentence.

    Raises
    ------
    WorkflowError
        Where it has no name, exists, or lies where one cannot write: before anything is computed.
    """
    path = Path(place)
    if "\0" in str(path):
        raise WorkflowError(f"Name a new {kind} without NUL characters: {str(path)!r} has one.")
    if path.name in ("", ".."):
        raise WorkflowError(f"Name a new {kind}: {path} is none.")
    if os.path.lexists(path):
        raise WorkflowError(f"{path} exists already: name a new {kind}, nothing is overwritten.")
    nearest = next(parent for parent in path.absolute().parents if parent.exists())
    try:  # rights alone do not tell: some folders refuse even the administrator
        with TemporaryDirectory(prefix=".hexcursion-", dir=nearest):
            pass
    except OSError:
        raise WorkflowError(
            f"Nothing can be written in {nearest}: name a new {kind} in another place."
        ) from None
    return path
