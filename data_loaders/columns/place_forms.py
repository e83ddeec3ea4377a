"""Places written in one column: pairs, WKT and WKB, cells of H3, geohash and plus code, letters of
grids.

The first rows determine the form, and every row is read on its own in that form; a table of mixed
forms is refused. The short codes have parsers here, because no library among the dependencies reads
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import h3
import numpy as np
import pyarrow as pa
import shapely

from data_loaders.columns.numbers import parse_numbers
from data_loaders.columns.sensortable import Shape
from data_loaders.errors import DataError
from data_loaders.files.blocks import Block, text
from data_loaders.systems import WGS84, from_utm

# x, y and the width in metres of the cell with this centre, 0 for a point
Read = tuple[float, float, float]
_BASE32 = "0123456789bcdefghjkmnpqrstuvwxyz"
_PLUS = "23456789CFGHJMPQRVWX"
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # the letters of grids, without I and O
_METRES = 111_320.0  # of a degree of latitude
_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]+)?"
_HALVES = (
    "(?:" + "|".join(f"[0-9]{{{one}}} ?[0-9]{{{one}}}" for one in (2, 3, 4, 5)) + ")"
)  # of easting, northing
_LEAST, _SHARE = 3, 0.8  # entries of one form, and their share, that determine a column's form


@dataclass(frozen=True)
class Form:
    """A notation of places."""

    words: str
    pattern: re.Pattern[str]
    read: Callable[[str], Read]  # raises `ValueError` if the entry is not a place
    crs: str | None = WGS84  # None: the stated system


def _pair(entry: str) -> Read:
    latitude, longitude = re.findall(_NUMBER, entry)
    if abs(float(latitude)) > 90.0 or abs(float(longitude)) > 180.0:
        raise ValueError
    return float(longitude), float(latitude), 0.0


def _shape(entry: str) -> Read:
    point = shapely.from_wkt(re.sub(r"^SRID=[0-9]+;", "", entry))
    return float(point.x), float(point.y), 0.0


def _binary(entry: str) -> Read:
    point = shapely.from_wkb(entry)
    if point is None or point.geom_type != "Point" or point.is_empty:
        raise ValueError
    return float(point.x), float(point.y), 0.0


def _cell(entry: str) -> Read:
    if not h3.is_valid_cell(entry):
        raise ValueError
    latitude, longitude = h3.cell_to_latlng(entry)
    return longitude, latitude, 2000.0 * h3.average_hexagon_edge_length(h3.get_resolution(entry))


def _geohash(entry: str) -> Read:
    bounds = [[-180.0, 180.0], [-90.0, 90.0]]
    bits = [(_BASE32.index(letter) >> shift) & 1 for letter in entry for shift in (4, 3, 2, 1, 0)]
    for at, bit in enumerate(bits):
        low, high = bounds[at % 2]
        bounds[at % 2][1 - bit] = (low + high) / 2
    (west, east), (south, north) = bounds
    return (west + east) / 2, (south + north) / 2, (north - south) * _METRES


def _plus_code(entry: str) -> Read:
    digits = entry.replace("+", "").rstrip("0")
    south, west, step = -90.0, -180.0, 400.0
    rows = step
    for at in range(0, min(len(digits), 10), 2):
        step /= 20
        rows = step
        south += step * _PLUS.index(digits[at])
        west += step * _PLUS.index(digits[at + 1])
    columns = rows
    # each digit after the tenth divides a cell into five rows, four columns
    for letter in digits[10:]:
        rows, columns = rows / 5, columns / 4
        row, column = divmod(_PLUS.index(letter), 4)
        south, west = south + row * rows, west + column * columns
    return west + columns / 2, south + rows / 2, rows * _METRES


def _in_square(digits: str) -> tuple[float, float, float]:
    """Return east and north in metres within a square of 100 km, and the cell's width."""
    half = len(digits) // 2
    width = 10.0 ** (5 - half)
    east, north = (int(part or 0) * width for part in (digits[:half], digits[half:]))
    return east + width / 2, north + width / 2, width


def _british(entry: str) -> Read:
    entry = entry.replace(" ", "")
    first, second = (_LETTERS_25.index(letter) for letter in entry[:2])
    east = (first % 5) * 5 + second % 5 - 10
    north = 19 - (first // 5) * 5 - second // 5
    x, y, width = _in_square(entry[2:])
    if not (0 <= east < 7 and 0 <= north < 13):
        raise ValueError
    return 1e5 * east + x, 1e5 * north + y, width


def _irish(entry: str) -> Read:
    entry = entry.replace(" ", "")
    at = _LETTERS_25.index(entry[0])
    x, y, width = _in_square(entry[1:])
    return 1e5 * (at % 5) + x, 1e5 * (4 - at // 5) + y, width


_LETTERS_25 = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
_BANDS = "CDEFGHJKLMNPQRSTUVWX"
_ROWS = "ABCDEFGHJKLMNPQRSTUV"


def _mgrs(entry: str) -> Read:
    match = re.fullmatch(
        r"([0-9]{1,2})([C-HJ-NP-X])([A-HJ-NP-Z])([A-HJ-NP-V])([0-9]*)", entry.replace(" ", "")
    )
    if match is None or not 1 <= int(match[1]) <= 60:
        raise ValueError
    zone, band = int(match[1]), _BANDS.index(match[2])
    column = _LETTERS.index(match[3]) - 8 * ((zone - 1) % 3)
    x, y, width = _in_square(match[5])
    if not 0 <= column < 8:
        raise ValueError
    row = (_ROWS.index(match[4]) - (5 if zone % 2 == 0 else 0)) % 20
    south = band < 10
    # The middle of the band selects one of the rows, which repeat every 2,000 km.
    near = (8.0 * (band - 10) + 4.0) * 110_600.0 + (1e7 if south else 0.0)
    north = 1e5 * row + y
    north += 2e6 * round((near - north) / 2e6)
    longitude, latitude = from_utm(zone, south, 1e5 * (column + 1) + x, north)
    return longitude, latitude, width


def _mesh(entry: str) -> Read:
    latitude, longitude = int(entry[:2]) / 1.5, int(entry[2:4]) + 100.0
    rows, columns = 1 / 1.5, 1.0
    if len(entry) >= 6:
        rows, columns = rows / 8, columns / 8
        if max(int(entry[4]), int(entry[5])) > 7:
            raise ValueError
        latitude, longitude = latitude + int(entry[4]) * rows, longitude + int(entry[5]) * columns
    if len(entry) >= 8:
        rows, columns = rows / 10, columns / 10
        latitude, longitude = latitude + int(entry[6]) * rows, longitude + int(entry[7]) * columns
    for quarter in entry[8:]:  # halves: 1 south west, 2 south east, 3 north west, 4 north east
        rows, columns = rows / 2, columns / 2
        at = int(quarter) - 1
        if not 0 <= at < 4:
            raise ValueError
        latitude, longitude = latitude + (at // 2) * rows, longitude + (at % 2) * columns
    return longitude + columns / 2, latitude + rows / 2, rows * _METRES


GEOHASHES = "geohashes"


def _form(words: str, pattern: str, read: Callable[[str], Read], crs: str | None = WGS84) -> Form:
    return Form(words, re.compile(pattern), read, crs)


FORMS: tuple[Form, ...] = (
    _form(
        "POINT (x y), well-known text",
        rf"(?:SRID=[0-9]+;)?(?i:point)\s*Z?M?\s*\(\s*{_NUMBER}\s+{_NUMBER}.*\)",
        _shape,
        None,
    ),
    _form("well-known binary in hexadecimal digits", r"0[01][0-9A-Fa-f]{40,}", _binary, None),
    _form("(latitude, longitude)", rf"[\[(]?\s*{_NUMBER}\s*[,; ]\s*{_NUMBER}\s*[\])]?", _pair, None),
    _form("H3 cells", r"8[0-9a-f]{14}", _cell),
    _form("plus codes", r"[23456789CFGHJMPQRVWX]{8}\+[23456789CFGHJMPQRVWX]{2,5}", _plus_code),
    _form(
        "letters of the Military Grid Reference System", rf"[0-9]{{1,2}}[C-X] ?[A-Z]{{2}} ?{_HALVES}", _mgrs
    ),
    _form("letters of the British National Grid", rf"[HNOST][A-HJ-Z] ?{_HALVES}", _british, "EPSG:27700"),
    _form("letters of the Irish Grid", rf"[A-HJ-Z] ?{_HALVES}", _irish, "EPSG:29903"),
    _form("Japanese mesh codes", r"[3-6][0-9][2-5][0-9][0-7]{2}(?:[0-9]{2}[1-4]{0,3})?", _mesh),
    _form(GEOHASHES, r"[0-9b-hjkmnp-z]{5,12}", _geohash),
)
"""The forms; the first that fits an entry applies."""


def form_of(entries: Sequence[str]) -> Form | None:
    """Return the form of at least three entries and of four in five that are not blank; None
    without one."""
    filled = [entry for entry in entries if entry]
    fits = [next((form for form in FORMS if form.pattern.fullmatch(entry)), None) for entry in filled]
    for form in FORMS:
        if fits.count(form) >= max(_LEAST, _SHARE * len(filled)):
            return form if form.words != GEOHASHES or _mixed(filled) else None
    return None


def _mixed(entries: Sequence[str]) -> bool:
    """Whether a quarter of the entries mix digits and letters, as geohashes do and words do not."""
    mixed = sum(bool(re.search("[0-9]", entry) and re.search("[a-z]", entry)) for entry in entries)
    return 4 * mixed >= len(entries)


def place_columns(names: Sequence[str], columns: Sequence[Sequence[str]]) -> list[tuple[str, Form]]:
    """Return the columns whose entries are places of one form, in the order of `FORMS`."""
    forms = ((name, form_of(entries)) for name, entries in zip(names, columns, strict=True))
    matches = [(name, form) for name, form in forms if form is not None]
    return sorted(matches, key=lambda pair: FORMS.index(pair[1]))


class Places:
    """Converts a column of places, or eastings and northings with a column of zones, into two
    columns of coordinates as text for the reader of rows."""

    def __init__(
        self, where: str, shape: Shape, place: str | None, zone: str | None, xy: tuple[str, str]
    ) -> None:
        self._column = place if place is not None else str(zone)
        self._xy, self._across = xy, 0.0
        self.position = shape.position(self._column, where)
        self.form = None if place is None else form_of(shape.column(self.position))
        if place is not None and self.form is None:
            raise DataError(
                f"{where} has no places of one known form in {place!r}: write all of them as POINT (x y), or "
                "as latitude, longitude, or name a column for each coordinate."
            )

    @property
    def crs(self) -> str | None:
        """The system of the coordinates; None for the stated one."""
        return WGS84 if self.form is None else self.form.crs

    def added(self, block: Block) -> Block:
        """Return the block with x and y as text; "?" for an entry that is not a place of the
        form."""
        if self.form is None:
            return in_degrees_by_zone(block, *self._xy)
        entries = text(block.columns["p:place"]).dictionary_encode()
        read = [self._read(entry) for entry in entries.dictionary.to_pylist()]
        x, y = (pa.array([pair[at] for pair in read], pa.string()).take(entries.indices) for at in (0, 1))
        return replace(block, columns={**block.columns, f"n:{self._xy[0]}": x, f"n:{self._xy[1]}": y})

    def _read(self, entry: str) -> tuple[str, str]:
        if not entry or self.form is None:
            return "", ""
        try:
            if not self.form.pattern.fullmatch(entry):
                return "?", "?"
            x, y, across = self.form.read(entry)
        except (ValueError, shapely.errors.ShapelyError, AttributeError):
            return "?", "?"
        self._across = max(self._across, across)
        return repr(float(x)), repr(float(y))

    def note(self) -> str:
        """Report the form of the places, and the size of the cells whose centres represent them."""
        if self.form is None:
            return f"Eastings and northings were read by the UTM zone in {self._column!r}."
        sentence = f"Places in {self._column!r} were read as {self.form.words}"
        return (
            f"{sentence}, at the centre of cells up to {self._across:,.0f} m across, a standard deviation of "
            f"{self._across / 12**0.5:,.0f} m: `place_sd` (--place-sd {self._across / 12**0.5:.0f}) says so."
            if self._across
            else f"{sentence}."
        )


_ZONE = re.compile(
    r"(?:EPSG:)?(?:32([67])([0-9]{2})|(?:UTM )?(?:zone )?([0-9]{1,2}) ?([A-Za-z])?)", re.IGNORECASE
)


def in_degrees_by_zone(block: Block, x: str, y: str) -> Block:
    """Convert the eastings and northings of a block (UTM on WGS 84) to degrees, each row in its own
    zone: "30", "30N", "30U" or "32630". The letter S means the northern band if it contains the
    northing, otherwise south. Write "?" for a zone that is unreadable or fits both hemispheres."""
    zones = text(block.columns["p:place"]).to_pylist()
    east, north = (parse_numbers(text(block.columns[f"n:{name}"])).value for name in (x, y))
    degrees = [_degrees(*row) for row in zip(zones, east.tolist(), north.tolist(), strict=True)]
    columns = {
        f"n:{name}": pa.array([pair[at] for pair in degrees], pa.string()) for at, name in ((0, x), (1, y))
    }
    return replace(block, columns={**block.columns, **columns})


def _degrees(zone: str, east: float, north: float) -> tuple[str, str]:
    match = _ZONE.fullmatch(zone.strip())
    if match is None or not (np.isfinite(east) and np.isfinite(north)):
        return ("", "") if not zone else ("?", "?")
    number = int(match[2] or match[3])
    letter = (match[4] or "").upper()
    south = match[1] == "7" if match[1] else letter != "" and letter in "CDEFGHJKLM"
    if letter == "S":
        band = 3.5e6 <= north <= 4.45e6
        # Patagonia and islands: both are land or near it
        if band and number in (18, 19, 20, 21, 58):
            return "?", "?"
        south = not band
    if not 1 <= number <= 60:
        return "?", "?"
    longitude, latitude = from_utm(number, south, east, north)
    return repr(longitude), repr(latitude)
