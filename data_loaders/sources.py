"""Opens whatever a user hands in as one or many bounded streams of CSV text, and refuses the rest."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias

from data_loaders.errors import DataError

Source: TypeAlias = "str | os.PathLike[str] | bytes | IO[bytes]"
HEAD = 1 << 16  # bytes looked at before a table is parsed
_SUFFIXES = (".csv", ".txt", ".tsv")

# What a read from a damaged or hostile archive can raise; RuntimeError and NotImplementedError are
# zipfile's words for passwords and unknown methods, ValueError and the like come out of damaged headers.
_DAMAGE = (
    OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError,
    RuntimeError, NotImplementedError, ValueError, LookupError, OverflowError, MemoryError,
)  # fmt: skip

# (first bytes, what it is and the remedy)
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "a PDF document: export the table as CSV"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook: save it as CSV"),
    (b"PAR1", "a Parquet file: export it as CSV"),
    (b"SQLite format 3", "a database: export the table as CSV"),
    (b"\x89PNG", "a picture: choose the CSV file"),
    (b"\xff\xd8\xff", "a picture: choose the CSV file"),
    (b"\xff\xfe", "text in UTF-16: save it as CSV in UTF-8"),
    (b"\xfe\xff", "text in UTF-16: save it as CSV in UTF-8"),
    (b"PK\x03\x04", "a zip file inside another archive: unpack it once"),
    (b"\x1f\x8b", "a gzip file inside another archive: unpack it once"),
    (b"BZh", "a bzip2 file: unpack it, or pack it as .gz or .zip"),
    (b"\xfd7zXZ", "an xz file: unpack it, or pack it as .gz or .zip"),
    (b"7z\xbc\xaf", "a 7-Zip file: unpack it, or pack it as .gz or .zip"),
)
_MARKUP: tuple[tuple[bytes, str], ...] = (
    (b"<!doctype", "a web page, perhaps an error page of a download: fetch the file again"),
    (b"<html", "a web page, perhaps an error page of a download: fetch the file again"),
    (b"<?xml", "an XML document: export the table as CSV"),
    (b"{\n", "a JSON document: export the table as CSV"),
    (b'{"', "a JSON document: export the table as CSV"),
    (b"[{", "a JSON document: export the table as CSV"),
)


@dataclass(frozen=True)
class Limits:
    """What one load may unpack: a hostile file must end in a sentence, not in a full disk or memory.

    max_bytes    most bytes of text, all tables of a source together (the complete Price Paid file has 5 GB)
    max_ratio    most unpacked bytes per packed byte (Price Paid packs about 10 to 1) ...
    free_bytes   ... counted only beyond this much text, since small files can be very regular
    max_members  most files in an archive or folder
    """

    max_bytes: int = 16 << 30
    max_ratio: float = 200.0
    free_bytes: int = 64 << 20
    max_members: int = 5000


LIMITS = Limits()


class _Meter:
    """Bytes unpacked so far, over all tables of one source."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.total = 0

    def add(self, name: str, count: int, unpacked: int, packed: int | None) -> None:
        self.total += count
        if self.total > self.limits.max_bytes:
            raise DataError(
                f"{name} holds more than {self.limits.max_bytes:,} bytes of text: split it into smaller ones."
            )
        if packed is not None and unpacked > self.limits.free_bytes + self.limits.max_ratio * packed:
            raise DataError(
                f"{name} unpacks to more than {self.limits.max_ratio:g} times its packed size and is refused "
                "as a possible zip bomb: unpack it yourself if you trust it."
            )


class _Stream(io.RawIOBase):
    """A readable that meters what passes and turns every failure into a DataError."""

    def __init__(self, name: str, inner: Any, meter: _Meter, packed: Any = None) -> None:
        super().__init__()
        self._name, self._inner, self._meter, self._packed = name, inner, meter, packed
        self._seen = 0
        self._kept = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._take(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _take(self, size: int) -> bytes:
        if self._kept:
            data, self._kept = self._kept[:size], self._kept[size:]
            return data
        failure: DataError
        try:
            data = self._inner.read(size) or b""
        except DataError:
            raise
        except _DAMAGE as error:
            failure = _damaged(self._name, error)
        else:
            if not isinstance(data, bytes):
                raise DataError(f"{self._name} was opened as text: open it in binary mode.")
            self._seen += len(data)
            self._meter.add(self._name, len(data), self._seen, self._packed() if self._packed else None)
            return data
        raise failure  # outside the handler, so that no damaged bytes travel with the error

    def head(self) -> bytes:
        """The first bytes, which a later read delivers again."""
        parts: list[bytes] = []
        missing = HEAD
        while missing > 0 and (part := self._take(missing)):
            parts.append(part)
            missing -= len(part)
        self._kept = b"".join(parts) + self._kept
        return self._kept


def _damaged(name: str, error: BaseException) -> DataError:
    if isinstance(error, EOFError):
        return DataError(f"{name} is cut short: fetch or copy it again.")
    if isinstance(error, RuntimeError) and "password" in str(error):
        return DataError(f"{name} is protected by a password: unpack it first.")
    if isinstance(error, NotImplementedError):
        return DataError(f"{name} uses a packing method that cannot be read: pack it as .gz or plain .zip.")
    return DataError(f"{name} is damaged or not the archive it claims to be: fetch or copy it again.")


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


def open_tables(source: Source, limits: Limits = LIMITS) -> Iterator[Table]:
    """Yield the CSV tables in `source` one after another; each must be read before the next is asked for.

    `source` is a path (a file, or a folder of CSV files), bytes, or an open binary file; plain text, .gz,
    .zip or .tar.gz, recognised by content and not by name. Raises DataError for anything else.
    """
    meter = _Meter(limits)
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


def _rewound(name: str, source: Any, meter: _Meter) -> Any:
    """`source` at its beginning; one that cannot seek is read into memory, since zip files need it."""
    try:
        if source.seekable():
            source.seek(0)
            return source
    except (AttributeError, OSError, ValueError):
        pass
    stream = _Stream(name, source, meter)
    held = io.BytesIO(stream.read())
    meter.total = 0
    return held


def _folder(path: Path, meter: _Meter) -> Iterator[Table]:
    files = sorted(item for item in path.rglob("*") if item.suffix.lower() in _SUFFIXES and item.is_file())
    _check_members(path.name, len(files), meter)
    for item in files:
        with item.open("rb") as handle:
            yield _table(item.name, handle, meter)


def _check_members(name: str, count: int, meter: _Meter) -> None:
    if count == 0:
        raise DataError(f"{name} holds no CSV file: choose the file with the table.")
    if count > meter.limits.max_members:
        raise DataError(
            f"{name} holds more than {meter.limits.max_members:,} files: choose the one with the table."
        )


def _file(name: str, handle: Any, meter: _Meter) -> Iterator[Table]:
    start = _Stream(name, handle, _Meter(meter.limits)).head()
    handle.seek(0)
    if start[:2] == b"\x1f\x8b":
        yield from _gzip(name, handle, meter)
    elif start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        yield from _zip(name, handle, meter)
    elif start[257:262] == b"ustar":
        yield from _tar(name, handle, meter)
    else:
        yield _table(name, handle, meter)


def _gzip(name: str, handle: Any, meter: _Meter) -> Iterator[Table]:
    with gzip.GzipFile(fileobj=handle, mode="rb") as unpacked:
        stream = _Stream(name, unpacked, meter, handle.tell)
        if stream.head()[257:262] == b"ustar":
            yield from _tar(name, stream, meter)
        else:
            yield _checked(name, stream)


def _tar(name: str, handle: Any, meter: _Meter) -> Iterator[Table]:
    # The bytes of a packed archive are metered by the stream below; the members need no meter of their own.
    inner = _Meter(meter.limits)
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
    except _DAMAGE as error:
        failure = _damaged(name, error)
    else:
        _check_members(name, found, meter)
        return
    raise failure


def _zip(name: str, handle: Any, meter: _Meter) -> Iterator[Table]:
    try:
        archive = zipfile.ZipFile(handle)
        members = archive.infolist()
    except _DAMAGE as error:
        failure = _damaged(name, error)
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


def _zip_member(name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo, meter: _Meter) -> Table:
    try:
        unpacked = archive.open(member)
    except _DAMAGE as error:
        failure = _damaged(name, error)
    else:
        path = PurePosixPath(member.filename)
        stream = _Stream(path.name, unpacked, meter, lambda: member.compress_size)
        return _checked(path.name, stream, str(path.parent))
    raise failure


def _wanted(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    return not any(part.startswith((".", "__MACOSX")) for part in parts) and parts[-1].lower().endswith(
        _SUFFIXES
    )


def _table(name: str, handle: Any, meter: _Meter) -> Table:
    return _checked(name, _Stream(name, handle, meter))


def _checked(name: str, stream: _Stream, folder: str = "") -> Table:
    head = stream.head()
    if not head.strip():
        raise DataError(f"{name} is empty: choose a file with rows.")
    for magic, words in _MAGIC:
        if head.startswith(magic):
            raise DataError(f"{name} is not a CSV file but {words}.")
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for magic, words in _MARKUP:
        if start.startswith(magic):
            raise DataError(f"{name} is not a CSV file but {words}.")
    if b"\0" in head:
        raise DataError(f"{name} is not a CSV file but binary data: export the table as CSV.")
    return Table(name, head, stream, folder)
