"""The shelf: bundles that this installation has published, newest first, and their files."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from workflow.bundle import read_bundle
from workflow.bundle.layout import CELLS, MAP, REGIONS, STATEMENT
from workflow.errors import WorkflowError
from workflow.ledger.places import home
from workflow.viewer import Viewer

VARIABLE = "HEXCURSION_BUNDLES"
_ID = re.compile(r"[0-9a-f]{16}")
_OFFERED = (
    (CELLS, "Hexagons as GeoJSON", "application/geo+json"),
    (REGIONS, "Regions as GeoJSON", "application/geo+json"),
    (MAP, "Map as a picture", "image/png"),
    (STATEMENT, "Privacy statement (JSON)", "application/json"),
)


@dataclass(frozen=True)
class ShelvedBundle:
    """A published bundle on disk: the release id, its title with its date, and its zip."""

    name: str
    title: str
    path: Path


@dataclass(frozen=True)
class OfferedFile:
    """A file to download: what it is, its name, its type, its size in words."""

    title: str
    name: str
    mime: str
    path: Path
    size: str


def bundles_folder() -> Path:
    """Where published bundles lie: $HEXCURSION_BUNDLES, else `releases` in this installation's home."""
    return Path(os.environ.get(VARIABLE) or home() / "releases")


def shelf() -> tuple[ShelvedBundle, ...]:
    """Every bundle on the shelf, newest first; only their titles are read."""
    folder = bundles_folder()
    if not folder.is_dir():
        return ()
    archives = [path for path in folder.glob("*.zip") if path.with_suffix("").is_dir()]
    archives.sort(key=lambda path: (-path.stat().st_mtime_ns, path.name))
    return tuple(ShelvedBundle(path.stem, _title(path.with_suffix("")), path) for path in archives)


def find_bundle(name: str) -> Viewer:
    """The bundle of a release id from the shelf; `WorkflowError` if there is none."""
    archive = bundles_folder() / f"{name}.zip"
    if not _ID.fullmatch(name) or not archive.is_file():
        raise WorkflowError(
            "There is no release of this address on this machine: open its bundle file instead."
        )
    return open_bundle(archive)


def open_bundle(source: str | Path | bytes | BinaryIO) -> Viewer:
    """A checked bundle, ready to be looked at; `WorkflowError` with one sentence if it is not one."""
    try:
        return Viewer(read_bundle(source))
    except OSError as error:
        raise WorkflowError(f"The bundle cannot be read: {error.strerror}.") from error


def bundle_files(name: str) -> tuple[OfferedFile, ...]:
    """The zip of a release and the files most readers ask for; the zip comes first."""
    find_bundle(name)  # nothing is offered that would not open
    folder = bundles_folder()
    archive = folder / f"{name}.zip"
    rest = tuple(
        _offered(title, folder / name / file, f"{name}-{file}", mime) for file, title, mime in _OFFERED
    )
    return (_offered("The bundle", archive, f"hexcursion-{name}.zip", "application/zip"), *rest)


def _offered(title: str, path: Path, name: str, mime: str) -> OfferedFile:
    size = path.stat().st_size
    words = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{max(1, round(size / 1e3))} kB"
    return OfferedFile(title, name, mime, path, words)


def _title(folder: Path) -> str:
    """Title and date from a bundle's statement; its name where that cannot be read."""
    try:
        release = json.loads((folder / STATEMENT).read_text(encoding="utf-8"))["release"]
        return f"{release['title'] or folder.name} ({str(release['created'])[:16].replace('T', ' ')} UTC)"
    except (OSError, ValueError, KeyError, TypeError):
        return folder.name
