"""Opens whatever a user hands in as one or many bounded streams of CSV text, and refuses the rest."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias

from data_loaders.content import refusal
from data_loaders.errors import DataError
from data_loaders.guarded import DAMAGE, LIMITS, GuardedStream, Limits, Meter, damage_sentence

Source: TypeAlias = "str | os.PathLike[str] | bytes | IO[bytes]"
_SUFFIXES = (".csv", ".txt", ".tsv")


@dataclass(frozen=True)
class Table:
    """One CSV text: its name, its first bytes and the stream that delivers it from the beginning.

    folder  where in an archive it lies, "" elsewhere
    """

    name: str
    head: bytes
    stream: io.RawIOBase
    folder: str = ""


def source_name(source: Source) -> str:
    """A name for messages: the file's own name without its folder, or "the uploaded data"."""
    if isinstance(source, (str, os.PathLike)):
        return Path(source).name or str(source)
    name = getattr(source, "name", None)
    return Path(name).name if isinstance(name, str) and name else "the uploaded data"


def as_sources(source: Source | Sequence[Source]) -> tuple[Source, ...]:
    """One source or a sequence of sources, as a tuple; raises DataError on an empty sequence."""
    if isinstance(source, (str, os.PathLike, bytes, bytearray, memoryview)) or hasattr(source, "read"):
        return (source,)  # type: ignore[return-value]
    try:
        many = tuple(source)
    except TypeError:
        raise DataError("Give a file path, bytes or an open binary file.") from None
    if not many:
        raise DataError("No file was given: choose at least one.")
    return many


def open_tables(source: Source, limits: Limits = LIMITS) -> Generator[Table, None, None]:
    """Yield the CSV tables in `source` one after another; each must be read before the next is asked for.

    `source` is a path (a file, or a folder of CSV files), bytes, or an open binary file; plain text, .gz,
    .zip or .tar.gz, recognised by content and not by name. Raises DataError for anything else.
    """
    meter = Meter(limits)
    name = source_name(source)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        try:
            if path.is_dir():
                yield from _folder(path, meter)
                return
            handle = path.open("rb")
        except (OSError, ValueError):
            raise DataError(f"{name} cannot be opened: check that the file exists and may be read.") from None
        with handle:
            yield from _file(name, handle, meter)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        yield from _file(name, io.BytesIO(source), meter)
    elif hasattr(source, "read"):
        yield from _file(name, _rewound(name, source, meter), meter)
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


def _folder(path: Path, meter: Meter) -> Iterator[Table]:
    files = sorted(item for item in path.rglob("*") if item.suffix.lower() in _SUFFIXES and item.is_file())
    _check_members(path.name, len(files), meter)
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


def _file(name: str, handle: Any, meter: Meter) -> Iterator[Table]:
    start = GuardedStream(name, handle, Meter(meter.limits)).head()
    handle.seek(0)
    if start[:2] == b"\x1f\x8b":
        yield from _gzip(name, handle, meter)
    elif start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        yield from _zip(name, handle, meter)
    elif start[257:262] == b"ustar":
        yield from _tar(name, handle, meter)
    else:
        yield _table(name, handle, meter)


def _gzip(name: str, handle: Any, meter: Meter) -> Iterator[Table]:
    with gzip.GzipFile(fileobj=handle, mode="rb") as unpacked:
        stream = GuardedStream(name, unpacked, meter, handle.tell)
        if stream.head()[257:262] == b"ustar":
            yield from _tar(name, stream, meter)
        else:
            yield _checked(name, stream)


def _tar(name: str, handle: Any, meter: Meter) -> Iterator[Table]:
    # The bytes of a packed archive are metered by the stream below; the members need no meter of their own.
    inner = Meter(meter.limits)
    found = 0
    try:
        with tarfile.open(fileobj=handle, mode="r|") as archive:
            for member in archive:
                if not member.isfile() or not _wanted(member.name):
                    continue
                found += 1
                _check_members(name, found, meter)
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


def _zip(name: str, handle: Any, meter: Meter) -> Iterator[Table]:
    try:
        archive = zipfile.ZipFile(handle)
        members = archive.infolist()
    except DAMAGE as error:
        failure = damage_sentence(name, error)
    else:
        if any(member.filename == "[Content_Types].xml" for member in members):
            raise DataError(f"{name} is an Excel or Word file: save the sheet as CSV.")
        chosen = sorted(
            (m for m in members if not m.is_dir() and _wanted(m.filename)), key=lambda m: m.filename
        )
        _check_members(name, len(chosen), meter)
        for member in chosen:
            yield _zip_member(name, archive, member, meter)
        return
    raise failure


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
    """CSV files, but not the hidden ones that some systems pack beside them."""
    name = PurePosixPath(path).name.lower()
    return name.endswith(_SUFFIXES) and not name.startswith(".") and "__MACOSX" not in path


def _table(name: str, handle: Any, meter: Meter) -> Table:
    return _checked(name, GuardedStream(name, handle, meter))


def _checked(name: str, stream: GuardedStream, folder: str = "") -> Table:
    head = stream.head()
    if (words := refusal(head)) is not None:
        raise DataError(f"{name} {words}")
    return Table(name, head, stream, folder)
