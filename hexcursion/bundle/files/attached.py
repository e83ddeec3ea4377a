"""The files of a bundle that are shown or run as they are: the picture, and the script that redraws it."""

from __future__ import annotations

import hashlib
import zlib
from functools import cache
from pathlib import Path

from hexcursion.bundle.errors import BundleError

REDRAW_PATH = Path(__file__).parents[1] / "resources" / "redraw.py"
# SHA-256 of scripts that an earlier version put into bundles.
_EARLIER_SCRIPTS = frozenset({
    "8108d7ef0acfd9a0945c87f24d8be6883b275c07aa382652e74eb5df178d9f2b",
    "51205b83ae5948621c7d481f0478227399d249cbbac78cde523fcd7853ad7a45",
    "72da072914571d793998526a75c41a22e64bfb669ead26249edb8df3e6c824f0",
    "6183d7662cb90be2f02be10b13220a6161f5ac03619b16a622aadb77e1585205",
})  # fmt: skip
PNG_START = b"\x89PNG\r\n\x1a\n"
_CHUNKS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"pHYs", b"tEXt", b"gAMA", b"sRGB", b"cHRM", b"sBIT")
MOST_PIXELS = 100_000_000


@cache
def script_bytes() -> bytes:
    """The script as it goes into a bundle."""
    return REDRAW_PATH.read_bytes()


def check_script(content: bytes) -> None:
    """Raise BundleError unless the program itself put this very script into bundles: people run it."""
    if content != script_bytes() and hashlib.sha256(content).hexdigest() not in _EARLIER_SCRIPTS:
        raise BundleError("redraw.py is not the script that this program puts into bundles: do not run it.")


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
            width, height = (int.from_bytes(content[place + 8 + k : place + 12 + k], "big") for k in (0, 4))
            if not 0 < width * height <= MOST_PIXELS:
                raise BundleError("map.png is too large a picture.")
        kinds.append(kind)
        place = end
        if kind == b"IEND":
            break
    if place != len(content) or kinds[:1] != [b"IHDR"] or kinds[-1] != b"IEND":
        raise BundleError("map.png does not end where its picture ends.")
