"""Opens whatever a user hands in as one or many bounded streams of CSV text, and refuses the rest."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias

from data_loaders.errors import DataError, unopened
from data_loaders.files.drivers import PYARROW, Format, driver_of, driver_of_zip
from data_loaders.files.guarded import (
    DAMAGE,
    HEAD_LINES,
    LIMITS,
    GuardedStream,
    Limits,
    Meter,
    damage_sentence,
    open_zip,
    refusal,
)
from data_loaders.files.layers import read_layer

Source: TypeAlias = "str | os.PathLike[str] | bytes | IO[bytes]"
_SUFFIXES = (".csv", ".txt", ".tsv")


@dataclass(frozen=True)
class Table:
    """One CSV text, or a sheet or layer that was made into one."""

    name: str  # what messages call it
    head: bytes  # its first bytes: `guarded.HEAD` at least and `guarded.HEAD_LINES` lines, or all of it
    stream: io.RawIOBase  # delivers it from the beginning
    folder: str = ""  # where in an archive it lies
    # a sheet or layer: numbers have a decimal point, columns a comma; nothing needs guessing
    typed: bool = False
    layers: tuple[str, ...] = ()  # all sheets or layers of its file; () for CSV
    points: bool = False  # whether the columns `layers.POINT_X` and `layers.POINT_Y` hold points
    crs: str = ""  # the system that the file states for its points, "" where none
    layer: str = ""  # which of `layers` it is, "" where they have no names
    notes: tuple[str, ...] = ()  # what was filled in, or is hidden, in the file
    texts: tuple[str, ...] = ()  # columns of a layer that are text by their type: read as those of a CSV file


@dataclass(frozen=True)
class _Asked:
    """Which sheet or layer is wanted, and what a load may unpack."""

    layer: str | None
    ask: bool
    meter: Meter
    path: Path | None = None


def source_name(source: Source) -> str:
    """Return the file's own name without its folder, or "the table"."""
    if isinstance(source, (str, os.PathLike)):
        return Path(source).name or str(source)
    name = getattr(source, "name", None)
    return Path(name).name if isinstance(name, str) and name else "the table"


def as_sources(source: Source | Sequence[Source]) -> tuple[Source, ...]:
    """Return one source or several as a tuple; raise `DataError` where there is none."""
    if isinstance(source, (str, os.PathLike, bytes, bytearray, memoryview)) or hasattr(source, "read"):
        return (source,)  # type: ignore[return-value]
    try:
        many = tuple(source)
    except TypeError:
        raise DataError("Give a file path, bytes or an open binary file.") from None
    if not many:
        raise DataError("No file was given: choose at least one.")
    return many


def open_tables(
    source: Source,
    limits: Limits = LIMITS,
    *,
    layer: str | None = None,
    ask: bool = True,
    folders: bool = False,
) -> Generator[Table, None, None]:
    """Open the tables of a path, bytes or open binary file one after another; each must be read before the
    next. A file or a folder with a CSV file, plain or packed (.gz, .zip, .tar.gz), or a file that a driver
    reads (`drivers.DRIVERS`): all are recognised by content, not by name. `layer` chooses a sheet or
    layer; `ask` refuses several where None is chosen, otherwise the first is opened. `folders` allows a
    folder with several CSV files, at any depth: what lies there by chance is no data. Raise `DataError` for
    anything else."""
    asked = _Asked(layer, ask, Meter(limits))
    name = source_name(source)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        try:
            handle = None if path.is_dir() else path.open("rb")
        except (OSError, ValueError):
            raise unopened(name) from None
        if handle is None:
            yield from _folder(path, asked.meter, folders)
            return
        with handle:
            yield from _file(name, handle, replace(asked, path=path))
    elif isinstance(source, (bytes, bytearray, memoryview)):
        yield from _file(name, io.BytesIO(source), asked)
    elif hasattr(source, "read"):
        yield from _file(name, _rewound(name, source, asked.meter), asked)
    else:
        raise DataError("Give a file path, bytes or an open binary file.")


def _rewound(name: str, source: Any, meter: Meter) -> Any:
    """`source` at its beginning; one that cannot seek is read into memory, since zip files need it."""
    try:
        if source.seekable():
            source.seek(0)
            return source
    except (AttributeError, OSError, ValueError):
        pass
    stream = GuardedStream(name, source, meter)
    held = io.BytesIO(stream.read())
    meter.total = 0
    return held


def _folder(path: Path, meter: Meter, several: bool) -> Iterator[Table]:
    files = sorted(item for item in path.rglob("*") if item.suffix.lower() in _SUFFIXES and item.is_file())
    _check_members(path.name, len(files), meter)
    if len(files) > 1 and not several:
        raise DataError(
            f"{source_name(path)} is a folder with {len(files):,} CSV files: name the one to read, or pack "
            "those that belong together into a .zip file."
        )
    for item in files:
        with item.open("rb") as handle:
            yield _table(item.name, handle, meter)


def _check_members(name: str, count: int, meter: Meter) -> None:
    if count == 0:
        raise DataError(f"{name} holds no CSV file: choose the file with the table.")
    if count > meter.limits.max_members:
        raise DataError(
            f"{name} holds more than {meter.limits.max_members:,} files: choose the one with the table."
        )


def _file(name: str, handle: Any, asked: _Asked) -> Iterator[Table]:
    start = GuardedStream(name, handle, Meter(asked.meter.limits)).head()
    handle.seek(0)
    kind = driver_of(start)
    if kind is not None:
        yield _layer(kind, name, handle, asked)
        return
    zipped = start[:4] in (b"PK\x03\x04", b"PK\x05\x06")
    kind = driver_of_zip(_members(name, handle, asked.meter.limits)[1]) if zipped else None
    if kind is not None:
        yield _layer(kind, name, handle, asked)
        return
    if zipped and (inner := _single(name, handle, asked.meter)) is not None:
        with inner.content:
            yield from _file(inner.name, inner.content, replace(asked, path=None))
        return
    if asked.layer is not None:
        raise DataError(f"{name} has neither sheets nor layers: leave the name of one out.")
    if start[:2] == b"\x1f\x8b":
        yield from _gzip(name, handle, asked.meter)
    elif zipped:
        yield from _zip(name, handle, asked.meter)
    elif start[257:262] == b"ustar":
        yield from _tar(name, handle, asked.meter)
    else:
        yield _table(name, handle, asked.meter)


def _layer(kind: Format, name: str, handle: Any, asked: _Asked) -> Table:
    limits = asked.meter.limits
    found = read_layer(kind, name, asked.path, handle, asked.layer, asked.ask, limits)
    packed = _size(handle) if kind in PYARROW else None
    stream = GuardedStream(name, found.stream, asked.meter, None if packed is None else lambda: packed)
    head = stream.head(HEAD_LINES)
    if not head.strip(b",\n"):
        raise DataError(f"{name} holds an empty sheet or layer: choose one with rows.")
    return Table(
        name,
        head,
        stream,
        typed=True,
        layers=found.layers,
        points=found.points,
        crs=found.crs,
        layer=asked.layer or found.layers[0],
        notes=found.notes,
        texts=found.texts,
    )


def _size(handle: Any) -> int:
    at = handle.tell()
    size = int(handle.seek(0, os.SEEK_END))
    handle.seek(at)
    return size


def _gzip(name: str, handle: Any, meter: Meter) -> Iterator[Table]:
    with gzip.GzipFile(fileobj=handle, mode="rb") as unpacked:
        stream = GuardedStream(name, unpacked, meter, handle.tell)
        head = stream.head()
        if head[257:262] == b"ustar":
            yield from _tar(name, stream, meter)
        elif driver_of(head) is not None:
            with tempfile.SpooledTemporaryFile(max_size=16 << 20) as content:
                shutil.copyfileobj(stream, content)
                content.seek(0)
                yield from _file(name, content, _Asked(None, False, Meter(meter.limits)))
        else:
            yield _checked(name, stream)


@dataclass(frozen=True)
class _Single:
    """The only file of an archive."""

    name: str
    content: IO[bytes]


def _single(name: str, handle: Any, meter: Meter) -> _Single | None:
    """The only file of a zip archive where that is a layer or a workbook; None for tables and all else."""
    archive, members = _members(name, handle, meter.limits)
    files = [one for one in members if not one.filename.endswith("/") and "__MACOSX" not in one.filename]
    if (
        len(files) != 1
        or not files[0].filename
        or _wanted(files[0].filename)
        or files[0].filename == "[Content_Types].xml"
    ):
        return None
    called = PurePosixPath(files[0].filename).name
    failure: DataError | None = None
    content = tempfile.SpooledTemporaryFile(max_size=16 << 20)  # noqa: SIM115 - the caller closes it
    try:
        with archive.open(files[0]) as part:
            stream = GuardedStream(called, part, Meter(meter.limits), lambda: files[0].compress_size)
            head = stream.head()
            if driver_of(head) is None and head[:4] != b"PK\x03\x04":
                content.close()
                return None
            shutil.copyfileobj(stream, content)
    except DAMAGE as error:
        failure = damage_sentence(name, error)
    if failure is not None:
        raise failure
    content.seek(0)
    return _Single(called, content)


def _tar(name: str, handle: Any, meter: Meter) -> Iterator[Table]:
    # The bytes of a packed archive are metered by the stream below; the members need no further meter.
    inner = Meter(meter.limits)
    found = 0
    try:
        with tarfile.open(fileobj=handle, mode="r|") as archive:
            for number, member in enumerate(archive, start=1):
                archive.members = []  # type: ignore[attr-defined]  # it would keep all of them
                _check_members(name, number, meter)
                if not member.isfile() or not _wanted(member.name):
                    continue
                found += 1
                stream = archive.extractfile(member)
                if stream is not None:
                    yield _table(PurePosixPath(member.name).name, stream, inner)
    except DataError:
        raise
    except DAMAGE as error:
        failure = damage_sentence(name, error)
    else:
        _check_members(name, found, meter)
        return
    raise failure


def _members(name: str, handle: Any, limits: Limits) -> tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]:
    archive = open_zip(name, handle, limits)
    return archive, archive.infolist()


def _zip(name: str, handle: Any, meter: Meter) -> Iterator[Table]:
    archive, members = _members(name, handle, meter.limits)
    if any(member.filename == "[Content_Types].xml" for member in members):
        raise DataError(f"{name} is a Word file or a damaged Excel workbook: save the sheet as CSV.")
    chosen = sorted((m for m in members if _wanted(m.filename)), key=lambda m: m.filename)
    _check_members(name, len(chosen), meter)
    for member in chosen:
        yield _zip_member(name, archive, member, meter)


def _zip_member(name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo, meter: Meter) -> Table:
    try:
        unpacked = archive.open(member)
    except DAMAGE as error:
        failure = damage_sentence(name, error)
    else:
        path = PurePosixPath(member.filename)
        stream = GuardedStream(path.name, unpacked, meter, lambda: member.compress_size)
        return _checked(path.name, stream, str(path.parent))
    raise failure


def _wanted(path: str) -> bool:
    """CSV files, but not folders, nor the hidden ones that some systems pack beside them."""
    if path.endswith("/"):
        return False
    name = PurePosixPath(path).name.lower()
    return name.endswith(_SUFFIXES) and not name.startswith(".") and "__MACOSX" not in path


def _table(name: str, handle: Any, meter: Meter) -> Table:
    return _checked(name, GuardedStream(name, handle, meter))


def _checked(name: str, stream: GuardedStream, folder: str = "") -> Table:
    head = stream.head(HEAD_LINES)
    if (words := refusal(head)) is not None:
        raise DataError(f"{name} {words}")
    return Table(name, head, stream, folder)
