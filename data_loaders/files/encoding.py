"""Makes text in UTF-8 or Latin-1, or in a mixture of both, into valid UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import Literal, TypeAlias

from data_loaders.files.guarded import HEAD, Pieces

Encoding: TypeAlias = Literal["utf-8", "utf-8-sig", "latin-1"]
_CHUNK = 4 << 20  # as much as the parser takes at a time: it works on what one read gives it


def _as_latin1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("data_loaders.latin1", _as_latin1)


class Utf8Stream(Pieces):
    """A byte stream as valid UTF-8: bytes that are none are taken for Latin-1, one by one. The CSV parser
    behind it must never meet another encoding: it would print about each such row."""

    def __init__(self, inner: io.RawIOBase) -> None:
        super().__init__()
        self._inner = inner
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="data_loaders.latin1")
        self._pending = False
        self._ready = b""
        self._ended = False

    def _take(self, size: int) -> bytes:
        while not self._ready and not self._ended:
            data = self._inner.read(_CHUNK) or b""
            self._ended = not data
            if data.isascii() and not self._pending:
                self._ready = data
            else:
                self._ready = self._decoder.decode(data, final=self._ended).encode()
                self._pending = bool(self._decoder.getstate()[0])
        part, self._ready = self._ready[:size], self._ready[size:]
        return part


def decode(head: bytes) -> tuple[str, Encoding]:
    """Decode the first bytes of a text, which may end inside a character."""
    encoding: Encoding = "utf-8"
    if head.startswith(b"\xef\xbb\xbf"):
        head, encoding = head[3:], "utf-8-sig"
    try:
        return head.decode("utf-8"), encoding
    except UnicodeDecodeError as error:
        # The block may end inside a character; anything earlier is not UTF-8.
        if error.start >= len(head) - 3 and len(head) >= HEAD - 3:
            return head[: error.start].decode("utf-8"), encoding
        return head.decode("latin-1"), "latin-1"
