"""Uploads: files a person hands to the app, kept in a folder only this process's user can read."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import stat
import tempfile
import weakref
from functools import cache
from pathlib import Path

from data_loaders.registry import forget_postcodes
from hexcursion.project.record_store import UPLOADS

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80
# A process's uploads are in one folder, whose lock it holds while it lives: the operating system lets go of
# the lock however the process ends, and whoever starts next takes the folder away.
_PREFIX, _BEGINNING, _LOCK = UPLOADS, "hexcursion-beginning-", "lock"


def sweep_uploads() -> int:
    """Remove the uploads of processes that were killed, not of living ones in other containers; return how
    many there were."""
    swept = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if not stat.S_ISDIR(folder.lstat().st_mode) or folder.lstat().st_uid != os.getuid():
                continue
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # somebody else's, or being removed right now
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
            swept += 1
        except BlockingIOError:  # its process lives
            pass
        finally:
            os.close(handle)
    return swept


@cache
def _own_folder(process: int) -> Path:
    """The folder of this process, locked until it ends; the lock is there before the folder has its name."""
    beginning = Path(tempfile.mkdtemp(prefix=_BEGINNING))  # readable by its owner only
    handle = os.open(beginning / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    folder = beginning.with_name(f"{_PREFIX}{beginning.name.removeprefix(_BEGINNING)}")
    beginning.rename(folder)
    weakref.finalize(_own_folder, _leave, folder, process)
    return folder


def _leave(folder: Path, process: int) -> None:
    """At the end of the process that made the folder, not of one that was forked from it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _forget(folder: Path) -> None:
    """Remove the uploads of one session, and their lookups."""
    shutil.rmtree(folder, ignore_errors=True)
    forget_postcodes(folder)


class PrivateFolder:
    """A folder for one session's uploads, removed with everything in it when the session is forgotten."""

    def __init__(self) -> None:
        parent = _own_folder(os.getpid())
        if not parent.is_dir():  # a cleaner of old temporary files was there
            _own_folder.cache_clear()
            parent = _own_folder(os.getpid())
        self.path = Path(tempfile.mkdtemp(dir=parent))  # readable by its owner only
        weakref.finalize(self, _forget, self.path)

    def keep(self, name: str, data: bytes) -> Path:
        """Write an upload, equal ones as one file: in a folder named by the hash of its content, under the
        harmless characters of the last part of its name: inside this folder whatever the browser sends."""
        tail = _UNSAFE.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).lstrip(".")[-_LONGEST:]
        target = self.path / hashlib.sha256(data).hexdigest()[:16] / (tail or "upload")
        if not target.exists():
            target.parent.mkdir(mode=0o700, exist_ok=True)
            target.write_bytes(data)
            target.chmod(0o600)
        return target

    def holds(self, path: str | Path) -> bool:
        """Whether a path names something in this folder."""
        return Path(path).is_relative_to(self.path)
