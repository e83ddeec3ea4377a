"""A second look at a large file: its rows and their hexagons as they were read before, from the store.

What is kept is a function of the file's content and of what was said of it, and so is its name: another file
or another setting is another table. Files that a person uploaded are the session's and are never kept.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from data_loaders import LoadReport, Observations
from geo import Domain
from hexcursion.project import custody
from hexcursion.settings.source import SourceSettings
from hexcursion.version import VERSION

LARGE = 64 << 20
"""Bytes of a file from which its rows are kept; a smaller one is read again in a second or two."""

SUFFIXES = (".csv", ".tsv", ".txt", ".gz", ".zip")
"""Files that hold all there is to read: others, like .shp, lie beside files that belong to them."""

OWN_LOADERS = ("price-paid", "sensor-table")
"""What these read is a function of the file, its postcodes and the settings; of others that is not known."""

UPLOADS = "hexcursion-uploads-"
"""How the folders of uploaded files begin."""

FORMAT = f"4 of {VERSION}"
"""Another version of the program may read a file otherwise."""

_COLUMNS = ("x", "y", "value", "identifier", "time", "owner", "place_sd", "spot", "row")
_ABOUT = ("crs", "unit", "kind", "title", "generated", "owner_word")
_KNOWN: WeakKeyDictionary[Observations, str] = WeakKeyDictionary()

Rows: TypeAlias = "tuple[Observations, LoadReport]"


def read_or_remembered(
    source: SourceSettings, unit: str, owner: str | None, read: Callable[[], Rows]
) -> Rows:
    """Return the rows of a source and the report: from the store, otherwise by `read`, and then kept."""
    if not is_kept(source):
        return read()
    name = custody.name_of("rows", FORMAT, _facts(source), unit, owner)
    if name is None:
        return read()
    found = custody.find(name)
    if found is not None:
        rows = _rows(*found)
    else:
        rows = read()
        custody.keep(name, _columns(rows[0]), _about(*rows))
    _KNOWN[rows[0]] = name
    return rows


def is_kept(source: SourceSettings) -> bool:
    """Whether the rows of a source are kept: those of a large file of the curator's own."""
    path = Path(source.path)
    if source.read_by.name not in OWN_LOADERS or path.suffix.lower() not in SUFFIXES:
        return False
    try:
        large = path.is_file() and path.stat().st_size >= LARGE
    except (OSError, ValueError):
        return False
    uploaded = any(part.startswith(UPLOADS) for part in path.resolve().parts)
    return large and not uploaded and custody.is_on()


def cells_or_remembered(
    observations: Observations, domain: Domain, locate: Callable[[], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Return each row's position in the cell array, (n,), -1 outside: from the store, else by `locate`."""
    rows = _KNOWN.get(observations)
    if rows is None:
        return locate()
    cells = hashlib.sha256("\n".join(domain.cells).encode()).hexdigest()
    name = custody.name_of("cells", FORMAT, rows, cells)
    if name is None:
        return locate()
    found = custody.find(name)
    if found is not None:
        return found[0]["cell"]
    index = locate()
    custody.keep(name, {"cell": index}, {})
    return index


def _facts(source: SourceSettings) -> dict[str, Any]:
    """What the rows are a function of: the content of the files, and everything that is said of them."""
    said = asdict(source) | {"path": Path(source.path).name, "loader": source.read_by.name}
    files = [source.path, *([source.postcodes] if source.postcodes else [])]
    return {"said": said, "files": [file_fingerprint(Path(path)) for path in files]}


def file_fingerprint(path: Path) -> str:
    """SHA-256 of a file's content, or of all files of a folder with their places in it; "" for none."""
    if not os.path.exists(path):
        return ""
    digest = hashlib.sha256()
    for each in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if each.is_file():
            with each.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
            digest.update(str(each.relative_to(path)).encode() + b"\0" + content)
    return digest.hexdigest()


def _columns(observations: Observations) -> dict[str, NDArray[Any]]:
    given = {name: getattr(observations, name) for name in _COLUMNS}
    return {name: column for name, column in given.items() if column is not None}


def _about(observations: Observations, report: LoadReport) -> dict[str, Any]:
    about = {name: getattr(observations, name) for name in _ABOUT}
    return about | {"attribution": observations.attribution, "report": asdict(report)}


def _rows(columns: dict[str, NDArray[Any]], about: dict[str, Any]) -> Rows:
    said = about["report"]
    dropped = tuple((reason, count) for reason, count in said["dropped"])
    report = LoadReport(said["source"], said["rows_read"], said["kept"], dropped, tuple(said["notes"]))
    given: dict[str, Any] = {**columns, **{name: about[name] for name in _ABOUT}}
    return Observations(**given, attribution=tuple(about["attribution"])), report
