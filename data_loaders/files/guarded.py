"""A safe stream: it meters the bytes it unpacks and turns every failure into one sentence.

This module also identifies files that are not CSV text by their first bytes.
"""

from __future__ import annotations

import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from data_loaders.errors import DataError

# The start of a GeoJSON object, with a type of RFC 7946 within the first bytes.
GEOJSON_TYPE = re.compile(
    rb'\A(?:\xef\xbb\xbf)?\s*\{.*"type"\s*:\s*"(?:Feature|FeatureCollection|GeometryCollection|'
    rb'(?:Multi)?(?:Point|LineString|Polygon))"',
    re.DOTALL,
)

# (first bytes, format and remedy)
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "a PDF document: export the table as CSV"),
    (b"\xd0\xcf\x11\xe0", "a workbook of an old Excel: save it as .xlsx or CSV"),
    (b"SQLite format 3", "a database: export the table as CSV"),
    (b"\x89PNG", "a picture: choose the CSV file"),
    (b"\xff\xd8\xff", "a picture: choose the CSV file"),
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

HEAD = 1 << 16  # bytes inspected before a table is parsed
# The number of lines in the head of a longer text, so that one long line does not displace others.
HEAD_LINES, MOST_HEAD = 1300, 32 << 20
# The errors of reading a damaged or hostile archive. zipfile raises RuntimeError for passwords and
# NotImplementedError for unknown methods; damaged headers cause ValueError and similar ones.
DAMAGE = (
    *(OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError),
    *(RuntimeError, NotImplementedError, ValueError, LookupError, OverflowError, MemoryError),
)
Tell: TypeAlias = "Callable[[int], None]"
_TELL: ContextVar[Tell | None] = ContextVar("hears how far reading is", default=None)


def refusal(head: bytes) -> str | None:
    """Identify a file that is not CSV by its first bytes. Return a predicate with the remedy ("is
    empty: choose a file with rows."), or None if it may be CSV."""
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        return "is empty: choose a file with rows."
    for magic, words in _MAGIC:
        if head.startswith(magic):
            return f"is not a CSV file but {words}."
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for markup, words in _MARKUP:
        if start.startswith(markup):
            return f"is not a CSV file but {words}."
    if b"\0" in head and wide(head) is None:
        return "is not a CSV file but binary data: export the table as CSV."
    return None


def wide(head: bytes) -> Literal["utf-16-le", "utf-16-be"] | None:
    """Return the UTF-16 encoding of a text, by its byte order mark or the zero bytes of its first
    letters."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16-le" if head[:1] == b"\xff" else "utf-16-be"
    even, odd = head[0:8:2], head[1:8:2]
    if len(odd) == 4 and not any(odd) and all(even):
        return "utf-16-le"
    return "utf-16-be" if len(odd) == 4 and not any(even) and all(odd) else None


@dataclass(frozen=True)
class Limits:
    """Bounds on unpacking in one load: a hostile file must cause an error, not a full disk or
    memory."""

    # of text, in all tables of a source together (the complete Price Paid file has 5 GB)
    max_bytes: int = 16 << 30
    max_ratio: float = 200.0  # unpacked bytes per packed byte (Price Paid packs about 10 to 1) ...
    # ... beyond this amount of text, since small files can be very regular
    free_bytes: int = 64 << 20
    max_members: int = 5000  # files in an archive or folder
    max_directory: int = 4 << 20  # bytes of a zip file's directory, which is read into memory


LIMITS = Limits()


class Meter:
    """Bytes unpacked so far, over all tables of one source."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.total = 0

    def add(self, name: str, count: int, unpacked: int, packed: int | None) -> None:
        """Count bytes read. `unpacked` are the bytes of this stream so far and `packed` their
        packed size, if known. Raise `DataError` beyond a limit."""
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


@contextmanager
def reading(tell: Tell) -> Iterator[None]:
    """In this thread, call `tell` every few megabytes with the number of bytes read of the file on
    disk; an exception from `tell` ends the reading."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


def tell_how_far(stream: io.RawIOBase) -> None:
    """Report the position of a `GuardedStream` to the callback of `reading`; ignore other
    streams."""
    tell = _TELL.get()
    if tell is not None and isinstance(stream, GuardedStream):
        tell(stream.position)


class Pieces(io.RawIOBase):
    """A byte stream that delivers the pieces from `_take`."""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into a buffer and return their number, 0 at the end. Raise
        `DataError` if the source is damaged or exceeds a limit."""
        data = self._take(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _take(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; an empty piece only at the end."""
        raise NotImplementedError


class GuardedStream(Pieces):
    """A readable stream that meters its bytes and turns every failure into a DataError."""

    def __init__(self, name: str, inner: Any, meter: Meter, packed: Callable[[], int] | None = None) -> None:
        super().__init__()
        self._name, self._inner, self._meter, self._packed = name, inner, meter, packed
        self._seen = 0
        self._kept = b""

    def _take(self, size: int) -> bytes:
        if self._kept:
            data, self._kept = self._kept[:size], self._kept[size:]
            return data
        failure: DataError
        try:
            data = self._inner.read(size) or b""
        except DataError:
            raise
        except DAMAGE as error:
            failure = damage_sentence(self._name, error)
        else:
            if not isinstance(data, bytes):
                raise DataError(f"{self._name} was opened as text: open it in binary mode.")
            self._seen += len(data)
            self._meter.add(self._name, len(data), self._seen, self._packed() if self._packed else None)
            return data
        raise failure  # outside the handler, so that no damaged bytes travel with the error

    @property
    def position(self) -> int:
        """The number of bytes read of the file on disk, packed or not."""
        return self._packed() if self._packed else self._seen

    def head(self, lines: int = 0) -> bytes:
        """Return the first `HEAD` bytes, or more (up to `MOST_HEAD`) until they hold `lines` lines;
        a later read delivers them again. Errors as `readinto`."""
        parts: list[bytes] = []
        size, feeds = 0, 0
        while size < HEAD or (feeds < lines and size < MOST_HEAD):
            part = self._take(HEAD if size >= HEAD else HEAD - size)
            if not part:
                break
            parts.append(part)
            size, feeds = size + len(part), feeds + max(part.count(b"\n"), part.count(b"\r"))
        self._kept = b"".join(parts) + self._kept
        return self._kept


def open_zip(name: str, handle: Any, limits: Limits) -> zipfile.ZipFile:
    """Open a zip file with a bounded directory: 300 MB of entries would take 4 GB of memory. Raise
    `DataError` for a larger directory, and for a file that is not a zip file."""
    try:
        end = zipfile._EndRecData(handle)  # type: ignore[attr-defined]  # as ZipFile will read it
        if end and end[5] > limits.max_directory:
            raise DataError(f"{name} holds too many files: unpack it, and choose the one with the table.")
        return zipfile.ZipFile(handle)
    except DataError:
        raise
    except DAMAGE as error:
        failure = damage_sentence(name, error)
    raise failure


def damage_sentence(name: str, error: BaseException) -> DataError:
    """Return a sentence for one of the `DAMAGE` errors of an archive, without the error's text,
    which may quote the file. Raise it outside the handler, so that no damaged bytes travel with
    it."""
    if isinstance(error, EOFError):
        return DataError(f"{name} is cut short: fetch or copy it again.")
    if isinstance(error, RuntimeError) and "password" in str(error):
        return DataError(f"{name} is protected by a password: unpack it first.")
    if isinstance(error, NotImplementedError):
        return DataError(f"{name} uses a packing method that cannot be read: pack it as .gz or plain .zip.")
    return DataError(f"{name} is damaged or not the archive it claims to be: fetch or copy it again.")
