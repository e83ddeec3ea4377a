"""Opens a user's file as one or many bounded streams of CSV text, and refuses unsupported
formats."""

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
from data_loaders.files.drivers import PYARROW, Format, OpenFile, driver_of, driver_of_zip
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
from data_loaders.files.layers import LayerChoice, read_layer

Source: TypeAlias = "str | os.PathLike[str] | bytes | IO[bytes]"
_SUFFIXES = (".csv", ".txt", ".tsv")


@dataclass(frozen=True)
class Table:
    """One CSV text, or a sheet or layer converted to CSV."""

    name: str  # in messages
    # its first bytes: `guarded.HEAD` at least and `guarded.HEAD_LINES` lines, or all of it
    head: bytes
    stream: GuardedStream  # delivers it from the beginning
    folder: str = ""  # in its archive
    # a sheet or layer: a decimal point and commas between columns, without guessing
    typed: bool = False
    layers: tuple[str, ...] = ()  # all sheets or layers of its file; () for CSV
    points: bool = False  # whether the columns `layers.POINT_X` and `layers.POINT_Y` hold points
    crs: str = ""  # the system that the file states for its points, "" unless stated
    layer: str = ""  # its name among `layers`, "" if they have no names
    notes: tuple[str, ...] = ()  # sentences about filled cells and hidden rows in the file
    # columns of a layer with the type text, read like those of a CSV file
    texts: tuple[str, ...] = ()
    lonely: tuple[str, ...] = ()  # columns that exist because one row alone has them
    # first and last row, and column, from 0, of cells merged over several rows of a sheet
    merged: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class _Request:
    """The selected sheet or layer, and the meter of unpacked bytes."""

    layer: str | None
    ask: bool
    meter: Meter
    path: Path | None = None


def source_name(source: Source) -> str:
    """Return the name of the file without its folder, or "the table"."""
    if isinstance(source, (str, os.PathLike)):
        return Path(source).name or str(source)
    name = getattr(source, "name", None)
    return Path(name).name if isinstance(name, str) and name else "the table"


def as_sources(source: Source | Sequence[Source]) -> tuple[Source, ...]:
    """Return one source or several as a tuple; raise `DataError` without a source."""
    if isinstance(source, (str, os.PathLike, bytes, bytearray, memoryview)) or hasattr(source, "read"):
        return (source,)  # type: ignore[return-value]
    try:
        sources = tuple(source)
    except TypeError:
        raise DataError("Give a file path, bytes or an open binary file.") from None
    if not sources:
        raise DataError("No file was given: choose at least one.")
    return sources


def open_tables(
    source: Source,
    limits: Limits = LIMITS,
    *,
    layer: str | None = None,
    ask: bool = True,
    folders: bool = False,
) -> Generator[Table, None, None]:
    """Open the tables of a path, bytes or open binary file one after another; each must be read
    before the next. Accept a file or a folder with a CSV file, plain or packed (.gz, .zip,
    .tar.gz), and a file that a driver reads (`drivers.DRIVERS`); content decides, not the name.
    `layer` selects a sheet or layer; with `ask`, refuse several layers if it is None, otherwise
    open the first. `folders` allows a folder with several CSV files at any depth; by default it is
    refused, since it may hold unrelated files. Raise `DataError` for anything else."""
    request = _Request(layer, ask, Meter(limits))
    name = source_name(source)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        try:
            handle = None if path.is_dir() else path.open("rb")
        except (OSError, ValueError):
            raise unopened(name) from None
        if handle is None:
            yield from _folder(path, request.meter, folders)
            return
        with handle:
            yield from _file(name, handle, replace(request, path=path))
    elif isinstance(source, (bytes, bytearray, memoryview)):
        yield from _file(name, io.BytesIO(source), request)
    elif hasattr(source, "read"):
        yield from _file(name, _rewound(name, source, request.meter), request)
    else:
        raise DataError("Give a file path, bytes or an open binary file.")


def _rewound(name: str, source: Any, meter: Meter) -> Any:
    """Rewind `source`, or read one that cannot seek into memory, since zip files need seeking."""
    try:
        if source.seekable():
            source.seek(0)
            return source
    except (AttributeError, OSError, ValueError):
        pass
    stream = GuardedStream(name, source, meter)
    buffer = io.BytesIO(stream.read())
    meter.total = 0
    return buffer


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


def _file(name: str, handle: Any, request: _Request) -> Iterator[Table]:
    start = GuardedStream(name, handle, Meter(request.meter.limits)).head()
    handle.seek(0)
    kind = driver_of(start)
    if kind is not None:
        yield _layer(kind, name, handle, request)
        return
    zipped = start[:4] in (b"PK\x03\x04", b"PK\x05\x06")
    kind = driver_of_zip(_members(name, handle, request.meter.limits)[1]) if zipped else None
    if kind is not None:
        yield _layer(kind, name, handle, request)
        return
    if zipped and (inner := _single(name, handle, request.meter)) is not None:
        with inner.content:
            yield from _file(inner.name, inner.content, replace(request, path=None))
        return
    if request.layer is not None:
        raise DataError(f"{name} has neither sheets nor layers: leave the name of one out.")
    if start[:2] == b"\x1f\x8b":
        yield from _gzip(name, handle, request.meter)
    elif zipped:
        yield from _zip(name, handle, request.meter)
    elif start[257:262] == b"ustar":
        yield from _tar(name, handle, request.meter)
    else:
        yield _table(name, handle, request.meter)


def _layer(kind: Format, name: str, handle: Any, request: _Request) -> Table:
    limits = request.meter.limits
    file = OpenFile(kind, name, handle, request.path)
    content = read_layer(file, LayerChoice(request.layer, request.ask), limits)
    packed = _size(handle) if kind in PYARROW else None
    stream = GuardedStream(name, content.stream, request.meter, None if packed is None else lambda: packed)
    head = stream.head(HEAD_LINES)
    if not head.strip(b",\n"):
        raise DataError(f"{name} holds an empty sheet or layer: choose one with rows.")
    return Table(
        name,
        head,
        stream,
        typed=True,
        layers=content.layers,
        points=content.points,
        crs=content.crs,
        layer=request.layer or content.layers[0],
        notes=content.notes,
        texts=content.texts,
        lonely=content.lonely,
        merged=content.merged,
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
                yield from _file(name, content, _Request(None, False, Meter(meter.limits)))
        else:
            yield _checked(name, stream)


@dataclass(frozen=True)
class _Single:
    """The only file of an archive."""

    name: str
    content: IO[bytes]


def _single(name: str, handle: Any, meter: Meter) -> _Single | None:
    """Return the only file of a zip archive if it is a layer or a workbook; None for tables and
    others."""
    archive, members = _members(name, handle, meter.limits)
    files = [
        member
        for member in members
        if not member.filename.endswith("/") and "__MACOSX" not in member.filename
    ]
    if (
        len(files) != 1
        or not files[0].filename
        or _wanted(files[0].filename)
        or files[0].filename == "[Content_Types].xml"
    ):
        return None
    file_name = PurePosixPath(files[0].filename).name
    failure: DataError | None = None
    content = tempfile.SpooledTemporaryFile(max_size=16 << 20)  # noqa: SIM115 - the caller closes it
    try:
        with archive.open(files[0]) as part:
            stream = GuardedStream(file_name, part, Meter(meter.limits), lambda: files[0].compress_size)
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
    return _Single(file_name, content)


def _tar(name: str, handle: Any, meter: Meter) -> Iterator[Table]:
    # The stream of a packed archive already meters its bytes, so the members get a separate meter.
    inner = Meter(meter.limits)
    count = 0
    try:
        with tarfile.open(fileobj=handle, mode="r|") as archive:
            for number, member in enumerate(archive, start=1):
                archive.members = []  # type: ignore[attr-defined]  # it would keep all of them
                _check_members(name, number, meter)
                if not member.isfile() or not _wanted(member.name):
                    continue
                count += 1
                stream = archive.extractfile(member)
                if stream is not None:
                    yield _table(PurePosixPath(member.name).name, stream, inner)
    except DataError:
        raise
    except DAMAGE as error:
        failure = damage_sentence(name, error)
    else:
        _check_members(name, count, meter)
        return
    raise failure


def _members(name: str, handle: Any, limits: Limits) -> tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]:
    archive = open_zip(name, handle, limits)
    return archive, archive.infolist()


def _zip(name: str, handle: Any, meter: Meter) -> Iterator[Table]:
    archive, members = _members(name, handle, meter.limits)
    if any(member.filename == "[Content_Types].xml" for member in members):
        raise DataError(f"{name} is a Word file or a damaged Excel workbook: save the sheet as CSV.")
    tables = sorted((m for m in members if _wanted(m.filename)), key=lambda m: m.filename)
    _check_members(name, len(tables), meter)
    for member in tables:
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
    """Whether a path is a CSV file, and not a folder or a hidden file that some systems add."""
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
