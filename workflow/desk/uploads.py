"""Uploads: files a person hands to the app, kept in a folder only this process's user can read."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import weakref
from pathlib import Path

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80


class PrivateFolder:
    """A folder for one session's uploads, removed with everything in it when the session is forgotten."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="hexcursion-"))  # readable by its owner only
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def keep(self, name: str, data: bytes) -> Path:
        """Write an upload under its own content's name, so that equal uploads are one file.

        Only the last part of the given name is used, and only its harmless characters: the file lies in
        this folder whatever the browser sends.
        """
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
