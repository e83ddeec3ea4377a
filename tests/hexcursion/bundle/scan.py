"""Searching files for planted canaries, however they might be spelt: a check, not a proof."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

Canary = str | int | float
MAX_DEPTH = 4
MAX_INFLATED = 500_000_000
MIN_DIGITS = 6
_PLAIN = re.compile(r"(?<![\d.])(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
_GROUPED = re.compile(r"(?<![\d.])\d{1,3}(?:[,_' \u00a0\u202f]\d{3})+(?:\.\d+)?(?!\d)")
# Contents of these are compressed: their own bytes are as good as random, and short needles occur by chance.
# A ledger holds keyed hashes among its page offsets, where four bytes were once met by chance; SQLite itself
# stores numbers in eight.
_PACKED = (b"PK", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"PAR1", b"\x89PNG", b"%PDF", b"SQLite format 3\0")


@dataclass(frozen=True)
class Hit:
    """A canary that was found: its value, the file (with `!` before a member of an archive), and how."""

    value: Canary
    file: str
    how: str


def scan_for(values: Iterable[Canary], path: str | Path) -> list[Hit]:
    """Every canary found in a file, or in any file below a folder; an empty list means none was found.

    Text is sought in several encodings (UTF-8, UTF-16, UTF-32, base64, hexadecimal, URL and HTML escapes),
    without regard to case, blanks and punctuation; numbers in any decimal notation with at least six
    significant digits, rounded or cut off, also as logarithms, and as binary integers and floating-point
    numbers. Zip, gzip, bz2, xz, zlib streams (as in PNG and PDF) and Parquet are opened. File names are
    searched as well.

    Plant canaries that cannot occur by chance: numbers with at least six significant digits, texts with at
    least five characters; shorter ones raise ValueError. For places take projected coordinates, or points
    outside the region: a map's outlines hold thousands of degrees, and one may agree to seven decimals.
    """
    wanted = [_Pattern(value) for value in values]
    root = Path(path)
    files = sorted(file for file in root.rglob("*") if file.is_file()) if root.is_dir() else [root]
    found: dict[tuple[Canary, str, str], Hit] = {}
    for file in files:
        name = file.relative_to(root).as_posix() if root.is_dir() else file.name
        for place, content in _layers(name, file.read_bytes(), 0):
            layer = _Layer(place, content)
            for pattern in wanted:
                for how in pattern.traces(layer):
                    found.setdefault((pattern.value, place, how), Hit(pattern.value, place, how))
    return list(found.values())


class _Layer:
    """One content with everything about it that is asked for each canary."""

    def __init__(self, place: str, content: bytes) -> None:
        self.content = content
        self.packed = content.startswith(_PACKED)
        text = content.decode("utf-8", "ignore")
        self.text = f"{place}\n{unescape(text)}".lower()
        self.squeezed = _squeezed(self.text)
        self.numbers: dict[str, list[tuple[float, float]]] = {}
        for pattern in (_PLAIN, _GROUPED):
            for match in pattern.finditer(f"{place}\n{text}"):
                self._add(match.group())

    def _add(self, token: str) -> None:
        token = re.sub(r"[,_' \u00a0\u202f]", "", token).lower()
        mantissa, _, power = token.partition("e")
        digits = len(mantissa.replace(".", "").lstrip("0"))
        value = float(token) if len(token) < 400 else 0.0
        if digits < MIN_DIGITS or not 0 < value < math.inf:
            return
        decimals = len(mantissa.partition(".")[2])
        unit = 10.0 ** (int(power or 0) - decimals)  # of the last digit written
        self.numbers.setdefault(_bucket(value), []).append((value, unit))

    def holds(self, value: float) -> bool:
        """Whether some written number is `value`, rounded or cut off at its last digit."""
        size = abs(value)
        return any(
            abs(written - size) < unit or abs(written - size) <= 1e-12 * size
            for bucket in {_bucket(size * (1 - 1e-5)), _bucket(size), _bucket(size * (1 + 1e-5))}
            for written, unit in self.numbers.get(bucket, ())
        )


class _Pattern:
    """All spellings of one canary."""

    def __init__(self, value: Canary) -> None:
        self.value = value
        self.needles: dict[bytes, str] = {}
        self.numbers: dict[float, str] = {}
        if isinstance(value, str):
            if len(_squeezed(value)) < 5:
                raise ValueError(f"the canary {value!r} is too short to be told from chance.")
            self._text(value)
        else:
            if isinstance(value, bool) or not math.isfinite(value) or _digits(value) < MIN_DIGITS:
                raise ValueError(f"the canary {value!r} needs at least {MIN_DIGITS} significant digits.")
            self._number(value)

    def _text(self, value: str) -> None:
        for form in {value, value.lower(), value.upper(), value.replace(" ", "")}:
            raw = form.encode()
            for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
                self.needles[form.encode(encoding)] = encoding
            self.needles[raw.hex().encode()] = self.needles[raw.hex().upper().encode()] = "hexadecimal"
            self.needles[quote(form).encode()] = "URL escapes"
            self.needles[form.encode("unicode_escape")] = "Unicode escapes"
            for core in _base64_cores(raw):
                self.needles[core] = "base64"

    def _number(self, value: float) -> None:
        self.numbers[float(value)] = "number"
        if value > 0:
            self.numbers[math.log(value)] = "logarithm"
            self.numbers[math.log10(value)] = "logarithm to base 10"
        for kind in ("<d", ">d", "<f", ">f"):
            packed = _packed(kind, value)
            if packed is not None:
                self.needles[packed] = f"binary {kind}"
        if float(value).is_integer():
            for kind in ("<q", ">q", "<i", ">i"):
                packed = _packed(kind, int(value))
                # A small integer is mostly zero bytes and would be found everywhere.
                if packed is not None and len(packed.strip(b"\0\xff")) >= 3:
                    self.needles[packed] = f"binary {kind}"
        for core in _base64_cores(repr(value).encode()):
            self.needles[core] = "base64"

    def traces(self, layer: _Layer) -> Iterator[str]:
        """How this canary shows in a file's name or content, possibly in several ways."""
        for needle, how in self.needles.items():
            if needle in layer.content and not (layer.packed and len(needle) <= 5):
                yield how
        if isinstance(self.value, str):
            if self.value.lower() in layer.text:
                yield "text"
            elif _squeezed(self.value) in layer.squeezed:
                yield "text with other blanks or punctuation"
        for number, how in self.numbers.items():
            if layer.holds(number):
                yield how


def _layers(name: str, content: bytes, depth: int) -> Iterator[tuple[str, bytes]]:
    """The content itself and, level by level, everything packed inside it."""
    yield name, content
    if depth >= MAX_DEPTH:
        return
    for inner, unpacked in _unpacked(content):
        yield from _layers(f"{name}!{inner}", unpacked, depth + 1)


def _unpacked(content: bytes) -> Iterator[tuple[str, bytes]]:
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.infolist():
                yield entry.filename, archive.read(entry)[:MAX_INFLATED]
            if archive.comment:
                yield "zip comment", archive.comment
    elif content.startswith(b"\x1f\x8b"):
        yield "gzip", gzip.decompress(content)
    elif content.startswith(b"BZh"):
        yield "bz2", bz2.decompress(content)
    elif content.startswith(b"\xfd7zXZ"):
        yield "xz", lzma.decompress(content)
    elif content.startswith(b"PAR1"):
        yield "parquet", _parquet_text(content)
    else:
        yield from _zlib_streams(content)


def _parquet_text(content: bytes) -> bytes:
    """Every value and every piece of metadata of a Parquet file as text, one a line."""
    file = pq.ParquetFile(io.BytesIO(content))
    lines = [str(file.schema_arrow), str(file.metadata), str(file.metadata.metadata)]
    table: pa.Table = file.read()
    for name in table.column_names:
        lines.append(name)
        lines += [repr(value) for value in table.column(name).to_pylist()]
    return "\n".join(lines).encode()


def _zlib_streams(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Deflated streams inside other formats (PNG text and pixels, PDF)."""
    for match in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", content):
        try:
            inflated = zlib.decompressobj().decompress(content[match.start() :], 50_000_000)
        except zlib.error:
            continue
        if len(inflated) >= 8:
            yield f"zlib at {match.start()}", inflated


def _bucket(value: float) -> str:
    """The first four significant digits and the power of ten: a coarse key of a positive number."""
    return f"{value:.3e}"


def _digits(value: float) -> int:
    """Significant decimal digits of a number as Python writes it."""
    mantissa = repr(float(value)).lower().partition("e")[0].replace("-", "").replace(".", "")
    return len(mantissa.lstrip("0")) if not float(value).is_integer() else len(str(abs(int(value))))


def _packed(kind: str, value: float) -> bytes | None:
    try:
        return struct.pack(kind, value)
    except (struct.error, OverflowError):
        return None


def _base64_cores(raw: bytes) -> Iterator[bytes]:
    """The part of a text's base64 that is the same whatever surrounds it, for each of three alignments."""
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + raw).rstrip(b"=")
        core = coded[math.ceil(shift * 8 / 6) : -1]
        if len(core) >= 6:
            yield core


def _squeezed(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())
