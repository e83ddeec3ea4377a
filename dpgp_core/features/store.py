"""A folder that keeps public arrays between runs."""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

_KEY = re.compile(r"[0-9a-f]{64}")


class FolderStore:
    """Arrays as files `KEY.npz` in one folder, which the caller names.

    Only public numbers are kept: they depend on geography and on a prior. A file that is missing, damaged or
    of the wrong shape counts as absent; a wrong one cannot harm a guarantee, because features are priced by
    what they are, only the map's quality.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise InvalidValue("a key must be 64 hex digits.")
        return self._folder / f"{key}.npz"

    def arrays(self, key: str, names: tuple[str, ...]) -> tuple[Floats, ...] | None:
        path = self._path(key)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                parts = tuple(np.asarray(kept[name]) for name in names)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return None if any(part.dtype != np.float64 for part in parts) else parts

    def put_arrays(self, key: str, arrays: Mapping[str, Floats]) -> None:
        path = self._path(key)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
        except OSError:
            return  # a cache that cannot be written costs time, nothing else
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, allow_pickle=False, **arrays)
            os.replace(name, path)
        except OSError:
            Path(name).unlink(missing_ok=True)
