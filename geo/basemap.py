"""A basemap of one's own: a PMTiles archive of map tiles, checked before a map is drawn over it."""

from __future__ import annotations

import gzip
import math
import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pmtiles.reader import Reader
from pmtiles.tile import Compression, MagicNumberNotFound, SpecVersionUnsupported, TileType

from geo.context.own_layers import clean
from geo.domains.domain import Domain
from geo.domains.framing import Box, region_box
from geo.errors import DomainError

SUFFIX = "pmtiles"
LONGEST = 200  # letters of its source
_MOST = 8 << 20  # bytes that are read at once: a tile has a few hundred thousand
_DEEPEST = 24
_SIGNS = {TileType.PNG: b"\x89PNG", TileType.JPEG: b"\xff\xd8", TileType.WEBP: b"RIFF"}


@dataclass(frozen=True)
class Basemap:
    """An archive of tiles that can be drawn.

    Parameters
    ----------
    path : Path
    kind : {"vector", "raster"}
    source : str
        Whom the archive asks to name; "" where it names nobody.
    zooms : (int, int)
        The least and the deepest zoom of its tiles.
    box : (west, south, east, north)
        Where it has tiles, degrees.
    """

    path: Path
    kind: Literal["vector", "raster"]
    source: str
    zooms: tuple[int, int]
    box: Box

    def covers(self, box: Box) -> bool:
        """Whether its box touches another one."""
        west, south, east, north = box
        return any(
            self.box[0] <= east + turn and west + turn <= self.box[2] for turn in (-360.0, 0.0, 360.0)
        ) and (self.box[1] <= north and south <= self.box[3])

    def refuse_elsewhere(self, domain: Domain) -> None:
        """Refuse a map of another place.

        Raises
        ------
        DomainError
            Where it has no tile at the middle of a domain, nor at the corners of the box around it.
        """
        west, south, east, north = region_box(domain)
        spots = [domain.middle, (west, south), (west, north), (east, south), (east, north)]
        if self.covers(region_box(domain)) and any(_tile_at(self, *spot) is not None for spot in spots):
            return
        raise DomainError(
            f"{self.path.name[:60]} has no tiles of this area: choose a basemap of the same place, or cut "
            "one out that holds it."
        )


def read_basemap(path: str | Path) -> Basemap:
    """Read what a PMTiles archive says of itself, and try one of its tiles.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    DomainError
        With one sentence, for what is no such archive, is damaged or is packed so that browsers cannot
        open it.
    """
    place = Path(path)
    try:
        facts = place.stat()
    except (OSError, ValueError):  # the latter for a name that no file can have
        raise DomainError(f"the basemap {place.name[:60]} cannot be found: name its file again.") from None
    return _read(place, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=32)
def _read(path: Path, size: int, _changed: int) -> Basemap:
    name = path.name[:60]
    damaged = DomainError(f"{name} is damaged or was cut off: copy or make it again.")
    reader = _reader(path)
    try:
        header = reader.header()
    except (MagicNumberNotFound, UnicodeDecodeError):
        raise DomainError(
            f"{name} is no PMTiles archive: make one with the program pmtiles, or choose another file."
        ) from None
    except SpecVersionUnsupported:
        raise DomainError(
            f"{name} is of another version of PMTiles than 3: convert it with `pmtiles convert`."
        ) from None
    except (OSError, ValueError, IndexError):
        raise damaged from None
    kind = header["tile_type"]
    if kind is not TileType.MVT and kind not in _SIGNS:
        raise DomainError(
            f"{name} holds tiles that cannot be drawn here: choose an archive of vector tiles (MVT) or of "
            "PNG, JPEG or WebP pictures."
        )
    packed = (header["internal_compression"], header["tile_compression"])
    if packed[0] is not Compression.GZIP or packed[1] in (Compression.BROTLI, Compression.ZSTD):
        raise DomainError(f"{name} is not packed with gzip, so browsers cannot open it: pack it with gzip.")
    low, high = int(header["min_zoom"]), int(header["max_zoom"])
    box = tuple(header[f"{end}_e7"] / 1e7 for end in ("min_lon", "min_lat", "max_lon", "max_lat"))
    parts = ("root", "metadata", "leaf_directory", "tile_data")
    ends = [header[f"{part}_offset"] + header[f"{part}_length"] for part in parts]
    if max(ends) > size or not low <= high <= _DEEPEST or not _proper(box):
        raise damaged
    try:
        said = reader.metadata()
    except (OSError, ValueError, EOFError, zlib.error, RecursionError):
        raise damaged from None
    drawn: Literal["vector", "raster"] = "vector" if kind is TileType.MVT else "raster"
    found = Basemap(path, drawn, _source(said), (low, high), box)
    centre = header["center_lon_e7"] / 1e7, header["center_lat_e7"] / 1e7
    _tile_at(found, *centre)
    return found


def _tile_at(basemap: Basemap, longitude: float, latitude: float) -> bytes | None:
    """The deepest tile over a spot, unpacked; None without one."""
    reader = _reader(basemap.path)
    try:
        header = reader.header()
        for zoom in range(basemap.zooms[1], basemap.zooms[0] - 1, -1):
            tile: bytes | None = reader.get(zoom, *_column_row(longitude, latitude, zoom))
            if tile is None:
                continue
            if header["tile_compression"] is Compression.GZIP:
                tile = gzip.decompress(tile)
            if not tile.startswith(_SIGNS.get(header["tile_type"], b"")):
                raise ValueError("a tile is no picture of the kind stated")
            return tile
    except (OSError, ValueError, EOFError, IndexError, OverflowError, zlib.error):
        raise DomainError(
            f"{basemap.path.name[:60]} is damaged or was cut off: copy or make it again."
        ) from None
    return None


def _column_row(longitude: float, latitude: float, zoom: int) -> tuple[int, int]:
    """The tile over a spot in Web Mercator, by its column from the west and its row from the north."""
    count = 1 << zoom
    high = math.radians(min(85.05, max(-85.05, latitude)))
    row = (1.0 - math.asinh(math.tan(high)) / math.pi) / 2.0 * count
    column = ((longitude + 180.0) / 360.0 % 1.0) * count
    return min(count - 1, int(column)), min(count - 1, int(row))


def _reader(path: Path) -> Any:
    def part(offset: int, length: int) -> bytes:
        if length > _MOST:
            raise ValueError("a part of the archive is too long")
        with path.open("rb") as file:
            file.seek(offset)
            found = file.read(length)
        if len(found) < length and offset:
            raise ValueError("the archive ends before its part")
        return found

    return Reader(part)


def _proper(box: tuple[float, ...]) -> bool:
    west, south, east, north = box
    return bool((np.abs(box) <= (180.0, 90.0, 180.0, 90.0)).all()) and west < east and south < north


def _source(said: Any) -> str:
    """Whom the metadata ask to name, as a plain line: they write it as HTML."""
    text = said.get("attribution") if isinstance(said, dict) else None
    if not isinstance(text, str):
        return ""
    return clean(unescape(re.sub(r"<[^<>]*>", " ", text[:2000])), LONGEST)
