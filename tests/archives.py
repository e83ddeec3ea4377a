"""Small PMTiles archives, made for a test: vector tiles of one pattern, or pictures of one colour."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image
from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import Writer

Box = tuple[float, float, float, float]
Corner = tuple[int, int]
SIDE = 4096  # units along a vector tile
POINT, LINE, AREA = 1, 2, 3


def tiles_of(box: Box, zoom: int) -> Iterable[tuple[int, int]]:
    """Column and row of the tiles that a box touches."""

    def spot(lon: float, lat: float) -> tuple[int, int]:
        row = (1 - math.asinh(math.tan(math.radians(lat))) / math.pi) / 2
        return int((lon + 180) / 360 * 2**zoom), int(row * 2**zoom)

    (left, bottom), (right, top) = spot(box[0], box[1]), spot(box[2], box[3])
    return ((x, y) for x in range(left, right + 1) for y in range(top, bottom + 1))


def archive(path: Path, tile: bytes, box: Box, zooms: Sequence[int] = range(9), **how: Any) -> Path:
    """Write an archive with one and the same tile everywhere in a box."""
    header = {
        "tile_type": TileType.MVT,
        "tile_compression": Compression.GZIP,
        "min_zoom": min(zooms),
        "max_zoom": max(zooms),
    }
    for name, value in zip(("min_lon", "min_lat", "max_lon", "max_lat"), box, strict=True):
        header[f"{name}_e7"] = round(value * 1e7)
    for name, value in (("lon", (box[0] + box[2]) / 2), ("lat", (box[1] + box[3]) / 2)):
        header[f"center_{name}_e7"] = round(value * 1e7)
    metadata = how.pop("metadata", {"attribution": "<a href='https://x.org'>© Survey &amp; Sons</a>"})
    with path.open("wb") as file:
        writer = Writer(file)
        for zoom in zooms:
            for x, y in tiles_of(box, zoom):
                writer.write_tile(zxy_to_tileid(zoom, x, y), tile)
        writer.finalize({**header, **how}, metadata)
    return path


def vector_tile() -> bytes:
    """Sea in the west half, land in the east half, a motorway from north to south through the land."""
    west = [(0, 0), (SIDE // 2, 0), (SIDE // 2, SIDE), (0, SIDE)]
    east = [(SIDE // 2, 0), (SIDE, 0), (SIDE, SIDE), (SIDE // 2, SIDE)]
    road = [(3 * SIDE // 4, 0), (3 * SIDE // 4, SIDE)]
    layers = (
        ("earth", AREA, "earth", east),
        ("water", AREA, "ocean", west),
        ("roads", LINE, "highway", road),
    )
    return gzip.compress(b"".join(_layer(*one) for one in layers), mtime=0)


def picture_tile(colour: tuple[int, int, int], form: str = "PNG") -> bytes:
    """A picture of one colour."""
    stream = io.BytesIO()
    Image.new("RGB", (256, 256), colour).save(stream, form)
    return stream.getvalue()


def raster_archive(path: Path, box: Box, colour: tuple[int, int, int], form: str = "PNG") -> Path:
    """An archive of such pictures."""
    kind, plain = TileType[form], Compression.NONE
    return archive(path, picture_tile(colour, form), box, tile_type=kind, tile_compression=plain)


def _layer(name: str, shape: int, kind: str, corners: Sequence[Corner]) -> bytes:
    """One layer with one feature (Mapbox Vector Tile specification 2.1)."""
    steps, at = [9], (0, 0)  # move to one corner
    for number, (x, y) in enumerate(corners):
        if number == 1:
            steps.append((len(corners) - 1) << 3 | 2)  # lines to the others
        steps += [_zigzag(x - at[0]), _zigzag(y - at[1])]
        at = (x, y)
    if shape == AREA:
        steps.append(15)  # close
    feature = _bytes(2, b"\0\0") + _number(3, shape) + _bytes(4, b"".join(map(_varint, steps)))
    value = _bytes(1, kind.encode())
    parts = (
        _number(15, 2),
        _bytes(1, name.encode()),
        _bytes(2, feature),
        _bytes(3, b"kind"),
        _bytes(4, value),
    )
    return _bytes(3, b"".join(parts) + _number(5, SIDE))


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else -value * 2 - 1


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)
