"""The encoding of a text: decoding its bytes, and detecting the encoding without depending on one
row.

In UTF-8 every invalid byte is read as Windows-1252, so that a bad byte affects only its own cell.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import re
from collections import Counter
from typing import Literal, TypeAlias, get_args

import numpy as np

from data_loaders.errors import DataError
from data_loaders.files.guarded import HEAD_LINES, Pieces, wide

_Unicode: TypeAlias = Literal["utf-8", "utf-16-le", "utf-16-be"]
_OneByte: TypeAlias = Literal["windows-1252", "windows-1250", "windows-1251", "koi8-r"]
_EastAsian: TypeAlias = Literal["shift_jis", "euc-jp", "cp949", "gb18030", "big5"]
Encoding: TypeAlias = Literal[_Unicode, _OneByte, _EastAsian]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)

_CHUNK = 4 << 20  # as much as the parser takes at a time, since it parses the result of one read
_MARKS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Python's codecs for encodings that programs extend with further letters.
_CODECS = {"shift_jis": "cp932", "utf-8": "utf-8"}
_GROUPS, _AGREED = 7, 5
_FOREIGN = 2  # rows with letters beyond the Western ones that are needed to guess an encoding
# The single-byte encodings that `charset_normalizer` distinguishes, and their names here.
_ONE_BYTE: dict[str, Encoding] = {"cp1250": "windows-1250", "cp1251": "windows-1251", "koi8_r": "koi8-r"}
# Two adjacent letters beyond ASCII are rare in Western words, and three do not occur.
_NEARLY, _LETTERS = 0.97, 6
_PAIR = re.compile(rb"[\x80-\xff][\x40-\x7e\x80-\xff]")
_RUN = re.compile(rb"[\x80-\xff]{3,}")
# Signs of Windows-1252 within a word that are letters in the encoding of Central Europe.
_WITHIN = re.compile(rb"[a-zA-Z][\xa3\xa5\xaa\xaf\xb3\xb9\xba\xbc\xbe\xbf][a-z]|[\x8d\x8f\x9d]")


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "data_loaders.control"), error.end


def _as_control(error: UnicodeError) -> tuple[str, int]:
    """Decode the five bytes undefined in Windows-1252 as Latin-1."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("data_loaders.windows", _as_windows)
codecs.register_error("data_loaders.control", _as_control)


def _errors(encoding: Encoding) -> str:
    if encoding == "utf-8":
        return "data_loaders.windows"
    return "data_loaders.control" if encoding == "windows-1252" else "replace"


def decode(head: bytes, encoding: Encoding = "utf-8") -> str:
    """Decode the first bytes of a text, which may end inside a character, with line feeds at the
    ends of lines, as `Utf8Stream` does."""
    for mark, marked in _MARKS:
        if marked == encoding:
            head = head.removeprefix(mark)
    decoder = codecs.getincrementaldecoder(_CODECS.get(encoding, encoding))(errors=_errors(encoding))
    return decoder.decode(head).replace("\r\n", "\n").replace("\r", "\n")


def marked_coding(head: bytes) -> Encoding | None:
    """Return the encoding shown by a byte order mark or by zeros in every second byte; None
    otherwise."""
    return "utf-8" if head.startswith(codecs.BOM_UTF8) else wide(head)


def coding_of(head: bytes, where: str) -> Encoding:
    """Detect the encoding of a text from its first bytes. The first line joins every group; the
    content of each other line assigns it to one group, and groups vote. An encoding needs `_AGREED`
    of `_GROUPS` votes, and adding, removing or exchanging a row changes two groups at most, so no
    single row turns one answer into another. Raise `DataError` if the groups do not agree."""
    if (marked := marked_coding(head)) is not None:
        return marked
    lines = [line for line in head.splitlines()[:HEAD_LINES] if not _is_utf8(line)]
    odd = [line for line in lines if _foreign(line)]
    first = next(iter(head.splitlines()), b"")
    evidence = first if _foreign(first) else b""
    if not evidence and len(odd) < _FOREIGN:
        return "utf-8"
    groups: list[list[bytes]] = [[evidence] if evidence else [] for _ in range(_GROUPS)]
    for line in lines:
        groups[hashlib.blake2b(line, digest_size=2).digest()[0] % _GROUPS].append(line)
    votes = Counter(_guess(b"\n".join(group)) for group in groups if group)
    best, count = max(votes.items(), key=lambda pair: pair[1])
    if best is None or count < _AGREED or (not evidence and len(odd) == _FOREIGN):
        raise DataError(
            f"{where} is not written in UTF-8, and its letters do not tell the coding: state the encoding "
            "with `encoding` (--encoding shift_jis, windows-1250, ...), or save the file as CSV in UTF-8."
        )
    return best


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _foreign(line: bytes) -> bool:
    """Whether a line is not UTF-8 and holds letters beyond those of Western Europe."""
    return not _is_utf8(line) and bool(_RUN.search(line) or _WITHIN.search(line) or line.count(b"\x81"))


def _guess(text: bytes) -> Encoding | None:
    """Guess the encoding of a few lines. Recognise those of East Asia by the range of the first
    bytes of their letters (GB 2312, KS X 1001 and JIS X 0208 order theirs by frequency), and leave
    others to `charset_normalizer`."""
    pairs = np.frombuffer(b"".join(_PAIR.findall(text)), np.uint8).reshape(-1, 2)
    if not pairs.size:
        return None
    first, second = pairs.T
    runs = np.array([len(run) for run in re.findall(rb"[\x80-\xff]+", text)])

    def share(*ranges: tuple[int, int]) -> float:
        within = [(first >= low) & (first <= high) for low, high in ranges]
        return float(np.mean(np.logical_or.reduce(within)))

    if share((0x81, 0x84), (0x88, 0x9F), (0xE0, 0xEA)) >= _NEARLY and share((0x81, 0x9F)) > 0.5:
        return "shift_jis"
    signs = (first >= 0xA1) & (first <= 0xAF) & (first != 0xA4) & (first != 0xA5) & (second >= 0xA1)
    if np.count_nonzero(~signs) >= _LETTERS:
        first, second = first[~signs], second[~signs]
    if first.size >= _LETTERS and np.mean(runs % 2 == 0) >= _NEARLY and np.mean(second >= 0xA1) >= _NEARLY:
        if share((0xB0, 0xC8)) >= _NEARLY:
            return "cp949"
        if share((0xA4, 0xA5)) >= 0.1 or share((0xA1, 0xCF)) >= _NEARLY:
            return "euc-jp"
        return "gb18030" if share((0xA1, 0xD7)) >= 0.9 else None
    if first.size >= _LETTERS and share((0xA1, 0xC6)) >= 0.9 and np.mean(second <= 0x7E) >= 0.2:
        return "big5"
    from charset_normalizer import from_bytes  # slow to import, and rarely needed

    letters = re.sub(rb"[0-9.,;\t|\"-]+", b" ", text)
    best = from_bytes(letters, cp_isolation=list(_ONE_BYTE), threshold=0.5, language_threshold=0.05).best()
    high = np.frombuffer(b"".join(re.findall(rb"[\x80-\xff]+", text)), np.uint8)
    small = {"cp1250": 0x00, "cp1251": 0xE0, "koi8_r": 0xC0}  # the first small letter
    if best is None or best.encoding not in small:
        return None
    if best.encoding == "cp1250":  # within words of ASCII letters
        neighbours = len(re.findall(rb"[a-zA-Z][\x80-\xff]|[\x80-\xff][a-z]", text))
        return "windows-1250" if neighbours >= 0.8 * runs.size else None
    low = small[best.encoding]
    usual = np.mean(high >= 0xC0) >= 0.95 and np.mean((high >= low) & (high < low + 0x20)) >= 0.6
    return _ONE_BYTE[best.encoding] if usual else None


class Utf8Stream(Pieces):
    """A byte stream as valid UTF-8 with line feeds at the ends of lines, without a byte order mark.
    Read invalid bytes of UTF-8 one by one as Windows-1252; replace those of another encoding by
    U+FFFD. The parser of this stream must never see invalid bytes, since it would print a message
    for each such row."""

    def __init__(self, inner: io.RawIOBase, encoding: Encoding = "utf-8") -> None:
        super().__init__()
        self._inner = inner
        self._plain = encoding == "utf-8"
        self._second = {"utf-16-le": 8, "utf-16-be": 0}.get(encoding)
        codec = codecs.getincrementaldecoder(_CODECS.get(encoding, encoding))
        self._decoder = codec(errors=_errors(encoding))
        self._pending = self._ended = self._return = False
        self._begun = False
        self._ready = b""
        self._last = b"\n"
        self.lines = 0  # non-empty lines so far

    def _take(self, size: int) -> bytes:
        while not self._ready and not self._ended:
            data = self._inner.read(_CHUNK) or b""
            self._ended = not data
            if not (self._plain and data.isascii() and not self._pending):
                text = self._decoder.decode(data, final=self._ended)
                if self._second is not None and (
                    _shifted(text, self._second) or (self._ended and self._pending)
                ):
                    raise DataError(
                        "This text in UTF-16 has a row that is written in another way, so that rows after it "
                        "cannot be separated: save the file as CSV in UTF-8."
                    )
                data = text.encode("utf-8", "replace")
                self._pending = bool(self._decoder.getstate()[0])
            if not self._begun and data:
                data, self._begun = data.removeprefix(codecs.BOM_UTF8), True
            self._ready = self._ends(data)
        part, self._ready = self._ready[:size], self._ready[size:]
        return part

    def _ends(self, data: bytes) -> bytes:
        """Replace carriage returns by line feeds, and count the lines."""
        if self._return or b"\r" in data:
            data = b"\r" * self._return + data
            self._return = data.endswith(b"\r") and not self._ended
            if self._return:
                data = data[:-1]
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if data:
            self.lines += _feeds(data) - (data[:1] == self._last == b"\n")
            self._last = data[-1:]
        if self._ended and self._last != b"\n":
            self.lines, self._last = self.lines + 1, b"\n"
        return data


def _shifted(text: str, shift: int) -> bool:
    """Whether a text in UTF-16 has letters that one byte would end a line in, as the second of two
    bytes; `shift` are the bits below this byte. A row of single bytes has such an end."""
    units = np.frombuffer(text.encode("utf-16-le", "replace"), "<u2")
    return bool(np.any(np.isin((units >> shift) & 0xFF, (10, 13)) & ~np.isin(units, (10, 13))))


def _feeds(data: bytes) -> int:
    """Count the line feeds that end a non-empty line of a block, if the block begins within one.
    Compare whole blocks, since `bytes.count` stops at every line."""
    feeds = int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))
    for at in (0, 1):  # pairs that begin at even places, and at odd ones
        pairs = np.frombuffer(data, np.uint16, (len(data) - at) // 2, at)
        feeds -= int(np.count_nonzero(pairs == 0x0A0A))
    return feeds


_MOST = 4 << 20  # bytes of one row


class JoinedLines(Pieces):
    """A text in UTF-8 with one line for each row: line breaks within quotes become blanks. Raise
    `DataError` for a quote that does not close, or is not at the start or end of a cell, because
    the lines of a row would then depend on another row."""

    def __init__(self, name: str, inner: Utf8Stream, delimiter: str) -> None:
        super().__init__()
        self._name, self._inner = name, inner
        cell = rf'(?:"[^"]*+(?:""[^"]*+)*+"|[^"\n{re.escape(delimiter)}]*+)'
        self._row = re.compile(rf"{cell}(?:{re.escape(delimiter)}{cell})*+\n".encode())
        self._held = self._ready = b""
        self._ended = False

    def _take(self, size: int) -> bytes:
        while not self._ready and not (self._ended and not self._held):
            data = self._inner.read(_CHUNK) or b""
            self._ended = self._ended or not data
            self._held += data
            if self._ended and self._held and not self._held.endswith(b"\n"):
                self._held += b"\n"
            rows, at = [], 0
            while (row := self._row.match(self._held, at)) is not None:
                text = row[0][:-1]
                rows.append(text.replace(b"\n", b" ") if b"\n" in text else text)
                at = row.end()
            self._held = self._held[at:]
            if (self._ended and self._held) or len(self._held) > 2 * _MOST:
                raise unclosed(self._name)
            self._ready = b"".join(row + b"\n" for row in rows)
        part, self._ready = self._ready[:size], self._ready[size:]
        return part


def unclosed(name: str) -> DataError:
    """Return the error for a text in which a quote does not close on its line."""
    return DataError(
        f"{name} has a quote that does not close on its own line, so other rows would become part of one "
        "cell: correct that row; where cells hold line breaks, state so with `quoting` (--quoting lines)."
    )


def first_text(head: bytes, encoding: Encoding, delimiter: str | None, name: str) -> str:
    """Decode the first bytes of a text with line feeds at the ends of lines. With a `delimiter`,
    quoted cells may hold line breaks: return each row on one line, up to the last whole one."""
    text = decode(head, encoding)
    if delimiter is None:
        return text
    stream = JoinedLines(name, Utf8Stream(io.BytesIO(text.encode())), delimiter)  # type: ignore[arg-type]
    parts: list[bytes] = []
    try:
        while part := stream.read(_CHUNK):
            parts.append(part)
    except DataError:  # the head ends within a row, or the reader of all rows refuses it
        pass
    return b"".join(parts).decode()
