"""Rehearsing the writing of a bundle with real bytes, before anything is charged for it."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from hexcursion.bundle.errors import BundleError

SPARE_BYTES = 2_000_000  # what the ledger and others may need meanwhile
_BLOCK = 1 << 20


def rehearse_writing(contents: Mapping[str, bytes], target: Path, work: Path) -> None:
    """Write files of the very sizes to the disk of the bundle's place, flush them, and delete them again.
    `contents`: the files of a bundle as it will be. Only their sizes are used: what is written is
    incompressible and says nothing, so that nothing private is left behind wherever this ends; `target`: the
    bundle's place, for the message; `work`: a folder on the same file system. Raise `BundleError` if the disk
    is full or nearly so, or refuses to write, to flush or to rename. The zip is written at the size of all
    files together, although it will be smaller. The room that is left with everything written must be at
    least SPARE_BYTES: another program may fill a disk at any time, but not this one."""
    folder = work / "rehearsal"
    sizes = {name: len(content) for name, content in contents.items()}
    try:
        try:
            folder.mkdir()
            for name, size in {**sizes, "rehearsal.zip": sum(sizes.values())}.items():
                _write(folder / name, size)
            folder.rename(work / "rehearsed")
            free = shutil.disk_usage(work).free
        finally:
            for made in (folder, work / "rehearsed"):
                shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise BundleError(
            f"A bundle cannot be written to {target} ({error.strerror}): nothing was charged. Make room, or "
            "name another place."
        ) from error
    if free < SPARE_BYTES:
        raise BundleError(
            f"The disk of {target} would be full with this bundle: nothing was charged. Make room, or name "
            "another place."
        )


def _write(path: Path, size: int) -> None:
    noise = hashlib.shake_256(path.name.encode()).digest(min(size, _BLOCK))
    with path.open("xb") as stream:
        for start in range(0, size, _BLOCK):
            stream.write(noise[: size - start])
        stream.flush()
        os.fsync(stream.fileno())
