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
    """Public arrays as files `KEY.npz` in a folder; one that is missing, damaged or misshapen counts as
    absent.

    A wrong file harms no guarantee, only the map: features are priced by what they are.
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
