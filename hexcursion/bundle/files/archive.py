"""Bytes of a bundle's files from a folder or a zip, without ever trusting a name, a size or a link."""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, BinaryIO

from data_loaders.files.guarded import LIMITS, open_zip
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.files import layout

_CHUNK = 1 << 20
# A bundle deflates to about a tenth; archives that swell a thousandfold are built to fill memory.
MAX_RATIO = 200
_DOS_EPOCH = (1980, 1, 1, 0, 0, 0)
NO_ZIP = "This file is no zip of a bundle: name a bundle's folder, or its zip as it was written."


def zip_bytes_to(target: BinaryIO, folder: str, contents: Mapping[str, bytes]) -> None:
    """Write a zip with one top folder; the same contents always give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(f"{folder}/{name}", _DOS_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, contents[name])


def contents_of(source: str | Path | bytes | BinaryIO) -> dict[str, bytes]:
    """The files of a bundle by name, each within its size. Nothing is unpacked to disk, so a path inside an
    archive has no meaning beyond its last part. `source`: a folder, a zip file, the bytes of a zip, or an
    open binary stream of one. Raise `BundleError`, one sentence, for what cannot be read, is no bundle, lacks
    files or holds files that no bundle has."""
    if isinstance(source, bytes):
        return _from_zip(io.BytesIO(source))
    if not isinstance(source, str | Path):
        return _from_zip(source)
    path = Path(source)
    unreadable = BundleError(f"No bundle can be read at {path.name!r}: name a bundle's folder or zip file.")
    if not str(source) or "\0" in str(path):  # an empty name would stand for the folder one is in
        raise unreadable
    if os.path.isdir(path):
        return _from_folder(path)
    if not os.path.isfile(path):  # nor would a device or a pipe ever come to an end
        raise unreadable
    try:
        with path.open("rb") as stream:
            return _from_zip(stream)
    except OSError as error:
        raise unreadable from error


def _from_folder(folder: Path) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
        _check_names(names)
        for name in names:
            # Without O_NOFOLLOW a link named like a bundle's file would show any file of this machine.
            handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as stream:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise BundleError(f"{name} is not a plain file.")
                contents[name] = _limited(stream, name)
    except OSError as error:
        raise BundleError(
            "A file of the bundle cannot be read: it is a link, or access is denied."
        ) from error
    return _complete(contents)


def _from_zip(stream: BinaryIO) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    try:
        allowed = max(layout.MEGABYTE, MAX_RATIO * stream.seek(0, io.SEEK_END))
        with open_zip("The zip", stream, LIMITS) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            names = [_plain_name(entry) for entry in entries]
            _check_names(names)
            total = 0
            for name, entry in zip(names, entries, strict=True):
                with archive.open(entry) as member:
                    contents[name] = _limited(member, name)
                total += len(contents[name])
                if total > allowed:
                    raise BundleError("The zip swells beyond all measure when unpacked: it is not a bundle.")
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError) as error:
        raise BundleError(NO_ZIP) from error
    except (ValueError, UnicodeError, OverflowError, KeyError, IndexError) as error:
        if isinstance(error, BundleError):
            raise
        raise BundleError(NO_ZIP) from error
    return _complete(contents)


def _plain_name(entry: zipfile.ZipInfo) -> str:
    """The file's own name, after at most one folder; anything cleverer is refused."""
    parts = entry.filename.split("/")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise BundleError("The zip holds a link or a device: it is not a bundle.")
    if entry.flag_bits & 0x1:
        raise BundleError("The zip is encrypted: unpack it first.")
    # zipfile cuts a name at a zero byte: the rest must not pass unseen.
    hidden = "\0" in entry.orig_filename
    if hidden or len(parts) > 2 or any(part in ("", ".", "..") or "\\" in part for part in parts):
        raise BundleError("The zip holds a file outside its folder: it is not a bundle.")
    return parts[-1]


def _check_names(names: list[str]) -> None:
    if len(names) > layout.most_files():
        raise BundleError("The folder or zip holds more files than a bundle has.")
    added = layout.added_files(names) if layout.STATEMENT not in names else []  # nothing lists them
    for name in names:
        if name in added or layout.most_bytes(name) is None:
            raise BundleError(
                f"A bundle has no file named {name[:60]!r}: name the folder or zip of one bundle, as it was "
                "written."
            )
    if len(set(names)) != len(names):
        raise BundleError("The zip holds a file twice.")


def _limited(stream: IO[bytes], name: str) -> bytes:
    """Read to the end, but never beyond the size the file may have."""
    limit, parts, size = layout.most_bytes(name) or 0, [], 0
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise BundleError(f"{name} is larger than {limit // layout.MEGABYTE:,} MB: it is not a bundle's.")
        parts.append(chunk)
    return b"".join(parts)


def _complete(contents: dict[str, bytes]) -> dict[str, bytes]:
    layout.check_names(contents)
    if sum(map(len, contents.values())) > layout.MAX_TOTAL_BYTES:
        raise BundleError("The bundle is larger than anything this program writes.")
    return contents
