"""A curator's basemap: a PMTiles archive of map tiles, checked before a map is drawn over it."""

from __future__ import annotations

import json
import math
import re
import stat
import zlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import unescape
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pmtiles.tile import (
    Compression,
    MagicNumberNotFound,
    SpecVersionUnsupported,
    TileType,
    deserialize_header,
    zxy_to_tileid,
)

from geo.context.own_layers import clean
from geo.domains.domain import Domain
from geo.domains.view import Box, region_box
from geo.errors import DomainError

SUFFIX = "pmtiles"
LONGEST = 200  # letters of its source
_MOST = 8 << 20  # bytes read or unpacked at once: a tile has a few hundred thousand
_MOST_DIRECTORIES = 64 << 20  # unpacked bytes of all directories of one lookup
_MOST_LEAVES = 4  # directories from the root to a tile, both included
_DEEPEST = 24
_FARTHEST = 1 << 50  # tiles of all zooms; the sum of a directory's numbers stays within 64 bits
_SIGNS = {TileType.PNG: b"\x89PNG", TileType.JPEG: b"\xff\xd8", TileType.WEBP: b"RIFF"}


@dataclass(frozen=True)
class Basemap:
    """An archive of tiles that can be drawn."""

    path: Path
    kind: Literal["vector", "raster"]
    source: str  # credits that the archive asks for, or ""
    zooms: tuple[int, int]  # the least and the deepest zoom of its tiles
    box: Box  # where it has tiles: west, south, east, north, degrees

    def covers(self, box: Box) -> bool:
        """Whether the box of the tiles touches this box."""
        west, south, east, north = box
        return any(
            self.box[0] <= east + turn and west + turn <= self.box[2] for turn in (-360.0, 0.0, 360.0)
        ) and (self.box[1] <= north and south <= self.box[3])

    def refuse_elsewhere(self, domain: Domain) -> None:
        """Raise `DomainError` if there is no tile at the middle of a domain, nor at the corners of
        its box."""
        west, south, east, north = region_box(domain)
        spots = [domain.middle, (west, south), (west, north), (east, south), (east, north)]
        reader = _Archive(self.path)
        if self.covers(region_box(domain)) and any(
            _tile_at(self, *spot, reader) is not None for spot in spots
        ):
            return
        raise DomainError(
            f"{self.path.name[:60]} has no tiles of this area: choose a basemap of the same place, or cut "
            "one out that holds it."
        )


def read_basemap(path: str | Path) -> Basemap:
    """Read the header and metadata of a PMTiles archive, and try one of its tiles. Raise
    `DomainError` for another file, a damaged one, or one with a packing that browsers cannot
    open."""
    place = Path(path)
    try:
        facts = place.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("a folder, a pipe or a device")
    except (OSError, ValueError):  # the latter also for a name that no file can have
        raise DomainError(f"the basemap {place.name[:60]} cannot be found: name its file again.") from None
    return _read(place, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=32)
def _read(path: Path, size: int, _changed: int) -> Basemap:
    name = path.name[:60]
    damaged = DomainError(f"{name} is damaged or was cut off: copy or make it again.")
    reader = _Archive(path)
    try:
        header = reader.header
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
    packings = (header["internal_compression"], header["tile_compression"])
    if packings[0] is not Compression.GZIP or packings[1] in (Compression.BROTLI, Compression.ZSTD):
        raise DomainError(f"{name} is not packed with gzip, so browsers cannot open it: pack it with gzip.")
    low, high = int(header["min_zoom"]), int(header["max_zoom"])
    box = tuple(header[f"{end}_e7"] / 1e7 for end in ("min_lon", "min_lat", "max_lon", "max_lat"))
    parts = ("root", "metadata", "leaf_directory", "tile_data")
    ends = [header[f"{part}_offset"] + header[f"{part}_length"] for part in parts]
    if max(ends) > size or not low <= high <= _DEEPEST or not _proper(box):
        raise damaged
    try:
        metadata = reader.metadata()
    except (OSError, ValueError, zlib.error, RecursionError):
        raise damaged from None
    drawing: Literal["vector", "raster"] = "vector" if kind is TileType.MVT else "raster"
    basemap = Basemap(path, drawing, _source(metadata), (low, high), box)
    centre = header["center_lon_e7"] / 1e7, header["center_lat_e7"] / 1e7
    _tile_at(basemap, *centre, reader)
    return basemap


def _tile_at(basemap: Basemap, longitude: float, latitude: float, reader: _Archive) -> bytes | None:
    """The deepest tile over a spot, unpacked; None without a tile."""
    try:
        for zoom in range(basemap.zooms[1], basemap.zooms[0] - 1, -1):
            tile = reader.tile(zoom, *_column_row(longitude, latitude, zoom))
            if tile is None:
                continue
            if reader.header["tile_compression"] is Compression.GZIP:
                tile = _unpacked(tile)
            if not tile.startswith(_SIGNS.get(reader.header["tile_type"], b"")):
                raise ValueError("a tile is no picture of the kind stated")
            return tile
    except (OSError, ValueError, IndexError, OverflowError, zlib.error):
        raise DomainError(
            f"{basemap.path.name[:60]} is damaged or was cut off: copy or make it again."
        ) from None
    return None


def _column_row(longitude: float, latitude: float, zoom: int) -> tuple[int, int]:
    """The tile over a spot in Web Mercator, by its column from the west and its row from the
    north."""
    count = 1 << zoom
    high = math.radians(min(85.05, max(-85.05, latitude)))
    row = (1.0 - math.asinh(math.tan(high)) / math.pi) / 2.0 * count
    column = ((longitude + 180.0) / 360.0 % 1.0) * count
    return min(count - 1, int(column)), min(count - 1, int(row))


class _Archive:
    """Parts of an archive, unpacked within bounds, which the reader of the package does not
    have."""

    def __init__(self, path: Path) -> None:
        self._path, self._unpacked = path, 0
        self._directories: dict[tuple[int, int], NDArray[np.int64]] = {}

    @cached_property
    def header(self) -> dict[str, Any]:
        """The first 127 bytes; ValueError or an error of the package for another file."""
        return dict(deserialize_header(self._part(0, 127)))

    def metadata(self) -> Any:
        """Metadata of the archive."""
        return json.loads(
            _unpacked(self._part(self.header["metadata_offset"], self.header["metadata_length"]))
        )

    def tile(self, zoom: int, column: int, row: int) -> bytes | None:
        """A packed tile, None if it is missing."""
        tile_id, header = zxy_to_tileid(zoom, column, row), self.header
        offset, length = header["root_offset"], header["root_length"]
        for _ in range(_MOST_LEAVES):
            ids, runs, lengths, offsets = self._directory(offset, length)
            at = int(np.searchsorted(ids, tile_id, "right")) - 1
            if at < 0 or (runs[at] and tile_id - ids[at] >= runs[at]):
                return None
            length = int(lengths[at])
            if runs[at]:
                return self._part(header["tile_data_offset"] + int(offsets[at]), length)
            offset = header["leaf_directory_offset"] + int(offsets[at])
        return None

    def _directory(self, offset: int, length: int) -> NDArray[np.int64]:
        """(4, n) first tiles, runs (0 for a further directory), lengths and offsets in bytes."""
        if (offset, length) not in self._directories:
            content = _unpacked(self._part(offset, length))
            self._unpacked += len(content)
            if self._unpacked > _MOST_DIRECTORIES:
                raise ValueError("the directories are too large")
            self._directories[offset, length] = _entries(content)
        return self._directories[offset, length]

    def _part(self, offset: int, length: int) -> bytes:
        if length > _MOST:
            raise ValueError("a part of the archive is too long")
        with self._path.open("rb") as file:
            file.seek(offset)
            content = file.read(length)
        if len(content) < length and offset:
            raise ValueError("the archive ends before its part")
        return content


def _unpacked(packed: bytes) -> bytes:
    """Unpack gzip content of at most `_MOST` bytes; ValueError or zlib.error otherwise."""
    machine = zlib.decompressobj(wbits=31)
    content = machine.decompress(packed, _MOST + 1)
    if len(content) > _MOST or not machine.eof:
        raise ValueError("a part of the archive unpacks to too much, or is cut off")
    return content


def _entries(content: bytes) -> NDArray[np.int64]:
    """The (4, n) numbers of a directory (PMTiles 3, section 4): varints, tiles by their
    differences."""
    raw = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(raw < 128)
    starts = np.concatenate([[0], ends[:-1] + 1])
    sizes = ends - starts + 1
    if not ends.size or ends[-1] != raw.size - 1 or sizes.max() > 8:
        raise ValueError("a directory is cut off, or has numbers that no archive needs")
    steps = 7 * (np.arange(raw.size) - np.repeat(starts, sizes))
    values = np.add.reduceat((raw & 127).astype(np.int64) << steps, starts)
    if values.size != 4 * values[0] + 1 or not values[0]:
        raise ValueError("a directory has another length than it says")
    numbers = values[1:].reshape(4, -1).copy()
    if numbers[0].max() > _FARTHEST or numbers[2].max() > _FARTHEST:
        raise ValueError("a directory names tiles beyond the deepest zoom")
    numbers[0] = np.cumsum(numbers[0])
    ahead = np.concatenate([[0], np.cumsum(numbers[2])[:-1]])  # bytes of all earlier entries
    offsets = np.flatnonzero(numbers[3])
    if not offsets.size or offsets[0]:
        raise ValueError("the first entry of a directory has no offset")
    last = np.maximum.accumulate(np.where(numbers[3] > 0, np.arange(numbers.shape[1]), 0))
    numbers[3] = numbers[3][last] - 1 - ahead[last] + ahead
    return numbers


def _proper(box: tuple[float, ...]) -> bool:
    west, south, east, north = box
    return bool((np.abs(box) <= (180.0, 90.0, 180.0, 90.0)).all()) and west < east and south < north


def _source(metadata: Any) -> str:
    """The credits in the metadata, which are HTML, as a plain line."""
    text = metadata.get("attribution") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        return ""
    return clean(unescape(re.sub(r"<[^<>]*>", " ", text[:2000])), LONGEST)
