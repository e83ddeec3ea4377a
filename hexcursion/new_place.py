"""New places for what a command writes: nothing is there yet, and nothing is overwritten."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkstemp
from typing import Literal

from hexcursion.errors import WorkflowError

PlaceKind = Literal["folder", "file"]
LONGEST = 200  # bytes of UTF-8 in a name: file systems take 255, and work in progress has a longer name


def new_place(place: str | Path, kind: PlaceKind = "folder") -> Path:
    """Return the path, as typed, of a file or folder that is still to be made; `kind` is for the sentence.

    Raise `WorkflowError` where it has no name or one that no other program could use, exists, or lies where
    one cannot write; for a file, also where its folder is missing: before anything is computed.
    """
    path = Path(place)
    if "\0" in str(path):
        raise WorkflowError(f"Name a new {kind} without NUL characters: {str(path)!r} has one.")
    if path.name in ("", ".."):
        raise WorkflowError(f"Name a new {kind}: {path} is none.")
    try:
        longest = max(len(part.encode()) for part in path.parts)
    except UnicodeEncodeError:  # bytes that are no text: statements and maps could not quote them
        raise WorkflowError(f"Name a new {kind} in UTF-8: {str(path)!r} is not.") from None
    if longest > LONGEST:
        raise WorkflowError(f"A name of {longest} bytes is too long: name a new {kind} in at most {LONGEST}.")
    if os.path.lexists(path):
        raise WorkflowError(f"{path} exists already: name a new {kind}, nothing is overwritten.")
    nearest = next(parent for parent in path.absolute().parents if os.path.exists(parent))
    try:  # rights alone do not tell: some folders refuse even the administrator
        with TemporaryDirectory(prefix=".hexcursion-", dir=nearest):
            pass
    except OSError:
        raise WorkflowError(
            f"Nothing can be written in {nearest}: name a new {kind} in another place."
        ) from None
    if kind == "file" and nearest != path.absolute().parent:
        raise WorkflowError(f"There is no folder {path.parent}: make it first, or name a file elsewhere.")
    return path


@contextmanager
def made_whole(place: Path) -> Iterator[Path]:
    """Yield a hidden place beside `place`, at which a file or folder is made, and put it there when complete.

    Folders above it are made as well; the hidden one is gone afterwards, whatever happened. Raise
    `WorkflowError` where it cannot be written, or something is at `place` by then.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as work:
            made = Path(work) / place.name
            yield made
            if os.path.lexists(place):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))
            os.rename(made, place)
    except OSError as error:
        raise WorkflowError(
            f"{place} cannot be written ({error.strerror or error}): name another place."
        ) from error


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder of files, by name."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def sync_folder(folder: Path) -> None:
    """Make new, renamed and linked files of a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def private_file(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read: whole or not at all, and never over another one.

    Raise `FileExistsError` if something is there, `OSError` if it cannot be written.
    """
    handle, draft = mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
        sync_folder(path.parent)
    finally:
        os.unlink(draft)
