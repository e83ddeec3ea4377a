"""Links or copies a file to plain names in a temporary folder, since GDAL interprets paths as
commands."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from data_loaders.errors import DataError
from data_loaders.files.drivers import SHAPEFILE_PARTS, Driver, OpenFile, check_xml
from data_loaders.files.guarded import DAMAGE, GuardedStream, Limits, Meter, damage_sentence, open_zip

_ZIP = b"PK"


@contextmanager
def laid_out(file: OpenFile, limits: Limits) -> Iterator[Mapping[str, Path]]:
    """Link the file if it has a path, otherwise copy it, and yield its paths by the names of its
    layers; the name is "" for a format that lists its layers. Unpack a packed Shapefile or KMZ
    file. Raise `DataError` if the file is too large, damaged, incomplete, or XML with a document
    type."""
    with tempfile.TemporaryDirectory(prefix="hexcursion-read-") as folder:
        try:
            places = _placed(file, Path(folder), limits)
        except OSError:
            failure = DataError(f"{file.name} cannot be read: check that the file exists and may be read.")
        else:
            yield places
            return
        raise failure


def check_size(driver: Driver, name: str, size: int, limits: Limits) -> None:
    """Raise `DataError` if a file of `size` bytes is larger than its driver or the limits allow."""
    limit = min(driver.most_bytes, limits.max_bytes)
    if size > limit:
        raise DataError(
            f"{name} is larger than {limit >> 20:,} MiB, the most that is read of a {driver.words}: "
            "export it as CSV."
        )


def _placed(file: OpenFile, folder: Path, limits: Limits) -> Mapping[str, Path]:
    driver, path, handle = file.driver, file.path, file.handle
    handle.seek(0)
    packed = handle.read(2) == _ZIP
    if packed and file.kind in ("ESRI Shapefile", "LIBKML"):
        places = _unpacked(file, folder, limits)
    elif file.kind == "ESRI Shapefile":
        places = _with_siblings(file.name, path, folder)
    else:
        size = os.path.getsize(path) if path is not None else int(handle.seek(0, os.SEEK_END))
        check_size(driver, file.name, size, limits)
        places = {"": folder / f"table{driver.suffix}"}
        if path is not None:
            _link(path, places[""])
        else:
            handle.seek(0)
            with places[""].open("wb") as copy:
                shutil.copyfileobj(handle, copy)
    if driver.xml:
        for place in places.values():
            with place.open("rb") as document:
                check_xml(file.name, document)
    return places


def _link(path: Path, place: Path) -> None:
    try:
        place.symlink_to(path.absolute())
    except OSError:  # a system without links
        shutil.copyfile(path, place)


def _with_siblings(name: str, path: Path | None, folder: Path) -> Mapping[str, Path]:
    """Link the files of a Shapefile in one folder."""
    beside = () if path is None else path.absolute().parent.iterdir()
    parts = {
        file.suffix.lower(): file
        for file in beside
        if path and file.stem == path.stem and file.suffix.lower() in SHAPEFILE_PARTS and file.is_file()
    }
    if not {".shp", ".dbf"} <= set(parts):
        raise DataError(
            f"{name} is one part of a Shapefile: pack its .shp, .shx, .dbf and .prj files into one .zip file."
        )
    for suffix, part in parts.items():
        _link(part, folder / f"layer0{suffix}")
    return {path.stem if path is not None else "": folder / "layer0.shp"}


def _unpacked(file: OpenFile, folder: Path, limits: Limits) -> Mapping[str, Path]:
    """Unpack the Shapefiles of a zip file, by name, or the first document of a KMZ file."""
    kind, name = file.kind, file.name
    limit = min(file.driver.most_bytes, limits.max_bytes)
    meter = Meter(Limits(limit, limits.max_ratio, limits.free_bytes))
    suffixes = SHAPEFILE_PARTS if kind == "ESRI Shapefile" else (".kml",)
    failure: DataError | None = None
    places: dict[str, Path] = {}
    try:
        with open_zip(name, file.handle, limits) as archive:
            members = [item for item in archive.infolist() if _suffix(item) in suffixes and _visible(item)]
            if len(members) > limits.max_members:
                raise DataError(f"{name} holds too many files: pack the one layer that is meant.")
            if kind == "LIBKML":
                members = sorted(members, key=lambda item: item.filename.lower() != "doc.kml")[:1]
            stems = list(dict.fromkeys(item.filename[: -len(_suffix(item))] for item in members))
            for member in members:
                at = stems.index(member.filename[: -len(_suffix(member))])
                place = folder / f"layer{at}{_suffix(member)}"
                with archive.open(member) as part, place.open("wb") as copy:
                    _copy(name, part, copy, meter, member)
                if _suffix(member) == suffixes[0]:
                    key = "" if kind == "LIBKML" else PurePosixPath(stems[at]).name
                    places[key if key not in places else stems[at]] = place
    except DataError:
        raise
    except DAMAGE as error:
        failure = damage_sentence(name, error)
    if failure is not None:
        raise failure
    lacking = [
        place for place in places.values() if kind != "LIBKML" and not place.with_suffix(".dbf").exists()
    ]
    if not places or lacking:
        raise DataError(
            f"{name} lacks the .dbf file of its Shapefile: pack .shp, .shx, .dbf and .prj together."
        )
    return places


def _copy(name: str, part: Any, copy: IO[bytes], meter: Meter, member: zipfile.ZipInfo) -> None:
    shutil.copyfileobj(GuardedStream(name, part, meter, lambda: member.compress_size), copy, 1 << 20)


def _suffix(member: zipfile.ZipInfo) -> str:
    return PurePosixPath(member.filename).suffix.lower()


def _visible(member: zipfile.ZipInfo) -> bool:
    """Whether a member is not one of the hidden files that some systems add to an archive."""
    return "__MACOSX" not in member.filename and not PurePosixPath(member.filename).name.startswith(".")
