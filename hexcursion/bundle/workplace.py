"""A hidden folder next to a bundle's place, held by a living process; and rehearsing to write there."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

from hexcursion.bundle.untrusted import BundleError

LOCK = "lock"
_NAME = re.compile(r"\..+\.work-[a-z0-9_]{8}")


class Workplace:
    """A work folder of this process. Its lock ends with the process, however that ends. `folder`: where to
    work, on the file system of the bundle's place, so that a rename puts it there; `lock`: descriptor of the
    open file that holds the folder's lock."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock = lock

    @classmethod
    def make(cls, target: Path) -> Workplace:
        """A new work folder next to `target`. Raise `BundleError` if none can be made."""
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            while True:
                folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.work-", dir=target.parent))
                place = cls._hold(folder)
                if place is not None:  # else another process took the folder for a dead one's
                    return place
        except OSError as error:
            raise BundleError(f"No bundle can be written in {target.parent}: {error.strerror}.") from error

    @classmethod
    def abandoned(cls, parent: Path) -> Iterator[Workplace]:
        """The work folders in `parent` whose processes are dead, one after the other, each held meanwhile."""
        try:
            names = sorted(entry.name for entry in os.scandir(parent) if _NAME.fullmatch(entry.name))
        except OSError:  # no such folder, so no process works there
            return
        for name in names:
            with contextlib.suppress(OSError):  # it is gone, or not ours to touch
                place = cls._hold(parent / name)
                if place is not None:
                    with place:
                        yield place

    @classmethod
    def _hold(cls, folder: Path) -> Workplace | None:
        """Take the folder's lock; None if a living process has it, or if the folder is (being) deleted."""
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:
            return None
        with contextlib.suppress(OSError):  # held by another process, or deleted by the one that held it
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_ino == os.stat(folder / LOCK).st_ino:
                return cls(folder, lock)
        os.close(lock)
        return None

    def empty(self) -> None:
        """Delete everything in it but the lock."""
        for entry in os.scandir(self.folder):
            if entry.name != LOCK:
                path = Path(entry.path)
                shutil.rmtree(path) if entry.is_dir(follow_symlinks=False) else path.unlink()

    def remove(self) -> None:
        """Delete it; the lock is let go last."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Workplace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._lock)


SPARE_BYTES = 2_000_000  # what the ledger and others may need meanwhile
_BLOCK = 1 << 20


def rehearse_writing(contents: Mapping[str, bytes], target: Path, work: Path) -> None:
    """Write files of these very sizes at the bundle's place, flush and delete them. What is written is
    incompressible and says nothing, so nothing private is left behind wherever this ends; the zip is as large
    as all files together, and at least SPARE_BYTES must be left. Raise `BundleError` if the disk is full or
    nearly so, or refuses to write, to flush or to rename."""
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
            for leftover in (folder, work / "rehearsed"):
                shutil.rmtree(leftover, ignore_errors=True)
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
