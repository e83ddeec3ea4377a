"""The files of a bundle: their names, sizes, checksums, and the reading of folder or zip.

No name, size or link of a folder or zip is ever trusted.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import IO, BinaryIO

from data_loaders.files.guarded import LIMITS, open_zip
from dpgp_core.spectral.ball import MOST_COLUMNS
from hexcursion.bundle.exports import EXPORTS
from hexcursion.bundle.untrusted import BundleError

CELLS = "cells.geojson"
REGIONS = "regions.geojson"
BOUNDARY = "boundary.geojson"
PATHS = "paths.parquet"
DRAWS = "draws.parquet"
RELEASED_SUMS = "sums.parquet"
LAYERS = "layers.geojson"
PUBLIC_FIELD = "public_field.csv"
COVARIATES = "covariates.csv"
STATEMENT = "statement.json"
SCHEMA = "statement-2.schema.json"
LABEL = "label.html"
MAP = "map.png"
PAGE = "map.html"
REDRAW = "redraw.py"
README = "README.txt"
ATTRIBUTION = "ATTRIBUTION.txt"
SUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"
ATLAS_SCHEMA = "atlas-1.schema.json"  # in the bundle of an atlas, and in no other
GEOPACKAGE = "release.gpkg"
_AGAIN = "get the bundle again from where it was published"

MEGABYTE = 1_000_000
# Largest accepted size of each file, bytes: generous for 200,000 cells, small enough to be read into memory.
MAX_BYTES: dict[str, int] = {
    **dict.fromkeys((CELLS, REGIONS), 300 * MEGABYTE),
    **dict.fromkeys((RELEASED_SUMS, PUBLIC_FIELD), 20 * MEGABYTE),
    **dict.fromkeys((SCHEMA, REDRAW, README, ATTRIBUTION, SUMS), MEGABYTE),
    PATHS: 400 * MEGABYTE,
    DRAWS: 200 * MEGABYTE,
    COVARIATES: 60 * MEGABYTE,
    BOUNDARY: 50 * MEGABYTE,
    MAP: 30 * MEGABYTE,
    LABEL: 10 * MEGABYTE,
    LAYERS: 3 * MEGABYTE,
    PAGE: 3 * MEGABYTE,
    STATEMENT: 2 * MEGABYTE,
    SIGNATURE: 1_000,
}
# A file of a format that a package adds (`hexcursion.exports`). Readers without that package pass it over.
# Its name ends as files of data do: web servers serve bundles, and no browser runs these.
_ADDED = re.compile(
    r"[a-z0-9][a-z0-9._-]{0,55}\.(?:arrow|csv|fgb|geojson|gpkg|json|jsonl|nc|parquet|tif|tsv|txt)"
)
_MOST_ADDED, _MOST_ADDED_BYTES = 20, 60 * MEGABYTE
_NAMES_IN_SMALL = frozenset(name.lower() for name in MAX_BYTES)  # the same files on some machines
# These may be left out; a file that is neither required nor optional is refused.
_SOME = {DRAWS, RELEASED_SUMS, PUBLIC_FIELD, COVARIATES, LAYERS, PAGE, SIGNATURE}
REQUIRED = frozenset(MAX_BYTES) - _SOME


LAYER_FILES = (CELLS, REGIONS, PATHS, LABEL, MAP)
"""Files that each layer of an atlas has for itself, numbered as `cells-1.geojson`."""
ATLAS_FILES = frozenset(
    {BOUNDARY, RELEASED_SUMS, STATEMENT, ATLAS_SCHEMA, LABEL, PAGE, GEOPACKAGE, README, ATTRIBUTION, SUMS}
)
"""Files that an atlas has once; `LAYERS` and `SIGNATURE` may be there besides."""
IS_ATLAS = (
    "This bundle is an atlas of several columns, which is not read here yet: its `map.html` shows them all, "
    "`hexcursion view` and `areas` read one with --layer COLUMN, a program all by `hexcursion.open_atlas`."
)
_NUMBERED = re.compile(r"([a-z]+)-([1-9][0-9]?)\.([a-z]+)")


def of_layer(name: str, number: int) -> str:
    """The name of a file of one layer of an atlas, numbered from 1."""
    stem, _, ending = name.partition(".")
    return f"{stem}-{number}.{ending}"


def is_atlas(names: Collection[str]) -> bool:
    """Whether these are the files of an atlas."""
    return ATLAS_SCHEMA in names


def plain_name(name: str) -> str:
    """The name of the file of one column that a numbered file of an atlas corresponds to."""
    match = _NUMBERED.fullmatch(name)
    plain = f"{match[1]}.{match[3]}" if match is not None else ""
    return plain if plain in LAYER_FILES else name


def check_atlas_names(names: Collection[str], layers: int) -> None:
    """Raise BundleError unless an atlas has exactly the files of this number of layers."""
    required = ATLAS_FILES | {of_layer(name, 1 + at) for at in range(layers) for name in LAYER_FILES}
    if missing := sorted(required - set(names)):
        raise BundleError(f"This is not a complete atlas of {layers} layers: it has no {missing[0]}.")
    if strange := sorted(set(names) - required - {LAYERS, SIGNATURE}):
        raise BundleError(f"An atlas of {layers} layers has no file named {strange[0]!r}.")


def optional_files() -> frozenset[str]:
    """The files that a bundle may have besides."""
    return frozenset(_SOME | set(EXPORTS.own))


def added_files(names: Collection[str]) -> list[str]:
    """The files of formats that the program itself does not write, by name; the statement lists them."""
    return sorted(set(names) - set(MAX_BYTES) - set(EXPORTS.own))


def may_be_added(name: str) -> bool:
    """Whether a package may add a file of that name: it ends as files of data do, and is not ours."""
    return _ADDED.fullmatch(name) is not None and name not in _NAMES_IN_SMALL


def most_bytes(name: str) -> int | None:
    """Largest accepted size of a file, bytes; None for a file that no bundle may have."""
    if name in EXPORTS:
        return EXPORTS[name].most_bytes
    if name == ATLAS_SCHEMA:
        return MEGABYTE
    name = plain_name(name)
    return MAX_BYTES.get(name, _MOST_ADDED_BYTES if may_be_added(name) else None)


def most_files() -> int:
    """More files than this no bundle has."""
    return len(MAX_BYTES) + len(EXPORTS.own) + _MOST_ADDED


MAX_TOTAL_BYTES = 600 * MEGABYTE

_SUM_LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9][A-Za-z0-9._-]{0,63})")


def sums_text(contents: Mapping[str, bytes]) -> str:
    """`SHA256SUMS` for `sha256sum -c`: one line a file, sorted by name, itself left out."""
    lines = [f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents)]
    return "".join(lines)


def check_names(names: Collection[str]) -> None:
    """Raise BundleError if a file is missing, or one is there that no bundle has."""
    if missing := sorted(REQUIRED - set(names)):
        raise BundleError(f"This is not a complete bundle: it has no {missing[0]}.")
    added_names = [name for name in added_files(names) if may_be_added(name)]
    if strange := sorted(set(names) - REQUIRED - optional_files() - set(added_names)):
        raise BundleError(f"A bundle has no file named {strange[0]!r}.")


def check_added(names: Collection[str], listed: Collection[str]) -> None:
    """Raise BundleError, naming the first file of another format that is not listed, or is listed and not
    there."""
    for name in sorted(set(added_files(names)) ^ set(listed)):
        why = "is listed by the privacy statement and not there" if name in listed else "is not listed there"
        raise BundleError(f"The privacy statement and the bundle disagree about {name}: it {why}; {_AGAIN}.")


def check_sums(contents: Mapping[str, bytes]) -> None:
    """Raise BundleError, naming the first file that differs from `SHA256SUMS`, is missing or not listed. The
    signature of that file itself is left out."""
    listed: dict[str, str] = {}
    for line in contents[SUMS].decode("utf-8", "replace").splitlines():
        match = _SUM_LINE.fullmatch(line)
        if match is None or match[2] in listed:
            raise BundleError(
                f"{SUMS} is damaged: one of its lines is not a checksum and a file name; {_AGAIN}."
            )
        listed[match[2]] = match[1]
    present = set(contents) - {SUMS, SIGNATURE}
    if missing := sorted(set(listed) - present):
        raise BundleError(
            f"The bundle is incomplete: {missing[0]} is listed in {SUMS} but not there; {_AGAIN}."
        )
    if extra := sorted(present - set(listed)):
        raise BundleError(f"The bundle has a file that {SUMS} does not list: {extra[0]}; {_AGAIN}.")
    for name in sorted(listed):
        if hashlib.sha256(contents[name]).hexdigest() != listed[name]:
            raise BundleError(
                f"{name} was changed after the bundle was made, as its checksum differs: {_AGAIN}."
            )


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
    """The files of a bundle by name, each within its size, from a folder, a zip, its bytes or a stream of it.
    Nothing is unpacked to disk, so a path inside an archive has no meaning beyond its last part. Raise
    `BundleError` for what cannot be read, is no bundle, lacks files or holds files that no bundle has."""
    if isinstance(source, bytes):
        return _from_zip(io.BytesIO(source))
    if not isinstance(source, str | Path):
        return _from_zip(source)
    path = Path(source)
    unreadable = BundleError(f"No bundle can be read at {path.name!r}: name a bundle's folder or zip file.")
    if not str(source) or "\0" in str(path):  # an empty name would mean the current folder
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
        within = () if STATEMENT in names else names
        if inner := [name for name in within if (folder / name / STATEMENT).is_file()]:
            raise BundleError(
                f"{str(folder)!r} is a folder of bundles: name one of them, such as "
                f"{str(folder / inner[0])!r}."
            )
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


_TWISTED = (OverflowError, KeyError, IndexError)  # what twisted headers lead to


def _from_zip(stream: BinaryIO) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    try:
        most_unpacked = max(MEGABYTE, MAX_RATIO * stream.seek(0, io.SEEK_END))
        with open_zip("The zip", stream, LIMITS) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            names = [_plain_name(entry) for entry in entries]
            _check_names(names)
            total = 0
            for name, entry in zip(names, entries, strict=True):
                with archive.open(entry) as member:
                    contents[name] = _limited(member, name)
                total += len(contents[name])
                if total > most_unpacked:
                    raise BundleError("The zip swells beyond all measure when unpacked: it is not a bundle.")
    except BundleError:
        raise
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError, *_TWISTED) as error:
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
    if len(names) > most_files() + (MOST_COLUMNS * len(LAYER_FILES) if is_atlas(names) else 0):
        raise BundleError("The folder or zip holds more files than a bundle has.")
    numbered = [name for name in names if plain_name(name) != name and is_atlas(names)]
    added_names = [name for name in added_files(names) if name not in (*numbered, ATLAS_SCHEMA)]
    added_names = added_names if STATEMENT not in names or is_atlas(names) else []  # nothing lists them
    for name in names:
        if name in added_names or most_bytes(name) is None:
            raise BundleError(
                f"A bundle has no file named {name[:60]!r}: name the folder or zip of one bundle, as it was "
                "written."
            )
    if len(set(names)) != len(names):
        raise BundleError("The zip holds a file twice.")


def seal(contents: dict[str, bytes]) -> None:
    """Add the checksums of all files; raise `BundleError` for a file too large to be read again."""
    contents[SUMS] = sums_text(contents).encode()
    for name, content in contents.items():
        if len(content) > (most_bytes(name) or 0):
            raise BundleError(f"{name} would be too large to be read again: use a coarser resolution.")


def _limited(stream: IO[bytes], name: str) -> bytes:
    """Read to the end, but never beyond the size the file may have."""
    limit, parts, size = most_bytes(name) or 0, [], 0
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise BundleError(f"{name} is larger than {limit // MEGABYTE:,} MB: it is not a bundle's.")
        parts.append(chunk)
    return b"".join(parts)


def _complete(contents: dict[str, bytes]) -> dict[str, bytes]:
    if not is_atlas(contents):
        check_names(contents)
    if sum(map(len, contents.values())) > MAX_TOTAL_BYTES:
        raise BundleError("The bundle is larger than anything this program writes.")
    return contents


REDRAW_PATH = Path(__file__).parent / "resources" / "redraw.py"
PNG_START = b"\x89PNG\r\n\x1a\n"
_CHUNKS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"pHYs", b"tEXt", b"gAMA", b"sRGB", b"cHRM", b"sBIT")
MOST_PIXELS = 100_000_000


@cache
def script_bytes() -> bytes:
    """The script as it goes into a bundle."""
    return REDRAW_PATH.read_bytes()


_EARLIER_SCRIPTS = frozenset(
    {"1ba2787abd9e13ab3e5365f0fad41232367df0da29d069b5707f9108d51224a1"}
)  # SHA-256 of those of earlier versions


def check_script(content: bytes) -> None:
    """Raise BundleError unless the program itself put this very script into bundles: people run it."""
    if content != script_bytes() and hashlib.sha256(content).hexdigest() not in _EARLIER_SCRIPTS:
        raise BundleError("redraw.py is not the script that this program puts into bundles: do not run it.")


def png_size(content: bytes) -> tuple[int, int]:
    """Width and height of a PNG, pixels, from its header."""
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


def check_picture(content: bytes) -> None:
    """Raise BundleError for anything but one PNG of at most `MOST_PIXELS` with only known parts and nothing
    after it."""
    if not content.startswith(PNG_START):
        raise BundleError("map.png is not a PNG picture.")
    place, kinds = len(PNG_START), list[bytes]()
    while place + 12 <= len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        kind, end = content[place + 4 : place + 8], place + 12 + length
        if end > len(content) or kind not in _CHUNKS:
            raise BundleError("map.png holds something that belongs to no picture.")
        if zlib.crc32(content[place + 4 : end - 4]) != int.from_bytes(content[end - 4 : end], "big"):
            raise BundleError("map.png is damaged.")
        if not kinds and kind == b"IHDR" and length == 13:
            width, height = png_size(content)
            if not 0 < width * height <= MOST_PIXELS:
                raise BundleError("map.png is too large a picture.")
        kinds.append(kind)
        place = end
        if kind == b"IEND":
            break
    if place != len(content) or kinds[:1] != [b"IHDR"] or kinds[-1] != b"IEND":
        raise BundleError("map.png does not end where its picture ends.")
