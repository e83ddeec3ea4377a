"""Coordinates of a table: what their columns are called, how degrees are written, and which system fits.

Names are known in several languages and at the big agencies. A whole column, not a stray row, decides whether
coordinates fit their system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.numbers import Numbers
from data_loaders.columns.sensortable import Shape
from data_loaders.errors import DataError
from data_loaders.files.blocks import mask
from data_loaders.files.layers import POINT_X
from data_loaders.files.sources import Table
from data_loaders.observations import crs_name
from data_loaders.systems import WGS84, in_degrees, is_projected

LONGEST = 120  # characters of a name that are looked at

PAIRS = (
    ("easting", "northing"), ("eastings", "northings"), ("east", "north"), ("oseast1m", "osnrth1m"),
    ("x", "y"), ("xloc", "yloc"), ("xcoord", "ycoord"), ("coordx", "coordy"), ("utmx", "utmy"),
    ("xcoo", "ycoo"), ("xcoordinate", "ycoordinate"), ("xutm", "yutm"), ("utme", "utmn"),
    ("utmeasting", "utmnorthing"), ("rechtswert", "hochwert"), ("rw", "hw"), ("ostwert", "nordwert"),
    ("ekoord", "nkoord"), ("xkoord", "ykoord"), ("xkoordinate", "ykoordinate"), ("koordx", "koordy"),
    ("este", "norte"), ("est", "nord"), ("ost", "nord"), ("oost", "noord"), ("øst", "nord"),
    ("coordenadax", "coordenaday"), ("coordx", "coordy"), ("xlaea", "ylaea"), ("xetrs89", "yetrs89"),
    ("xmetres", "ymetres"), ("rdx", "rdy"), ("xrd", "yrd"),
)  # fmt: skip
"""Columns of easting and of northing, without blanks and marks."""

_PLACE = re.compile(
    r"(^|[^a-z])(lat|lon|long|lng|latitude|longitude|east(ing)?s?|north(ing)?s?|epsg|srid)($|[^a-z])"
)
_EAST_WEST = re.compile(
    r"(^|[^a-z])(e[ _/-]?w|w[ _/-]?e|east[ _/-]?west)($|[^a-z])|(lon|lng)[a-z]*[ _.-]*(hem|dir|ref|letter|ew)"
)
_NORTH_SOUTH = re.compile(
    r"(^|[^a-z])(n[ _/-]?s|north[ _/-]?south)($|[^a-z])|lat[a-z]*[ _.-]*(hem|dir|ref|letter|ns)"
)
_NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
_WRITTEN = (
    r"^(?P<before>[NSEW]?)\s*(?P<sign>[+-]?)(?P<degrees>" + _NUMBER + r")\s*(?:°|º|DEGREES?|DEG|D|:)?"
    r"\s*(?:(?P<minutes>" + _NUMBER + r")\s*(?:'|′|’|´|MIN|M|:)?\s*)?"
    r"(?:(?P<seconds>" + _NUMBER + r")\s*(?:\"|″|”|''|’’|´´|SEC|S)?\s*)?(?P<after>[NSEW]?)$"
)
_WORDS = {"EAST": "E", "WEST": "W", "NORTH": "N", "SOUTH": "S"}
_STEPS = (1.0, 0.5, 0.1, 0.05, 0.01, 0.005)  # degrees that places may be rounded to, the coarsest first
_STEPS_OF_METRES = (100_000.0, 10_000.0, 5_000.0, 2_000.0, 1_000.0, 500.0)
_FEWEST, _ROUNDED = 20, 0.99  # rows from which it can be told, and the share of them that is rounded
_METRES = 111_320.0  # of a degree of latitude
_NORTHERNMOST = 1.2e7  # metres: no northing reaches it


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LATITUDE = _words(
    """lat latitude ylat latwgs84 latitudewgs84 wgs84lat latdd latdec latdeg latdecimal declat declatva
    decimallatitude latdecimaldegrees latitudedegrees latitudedeg latitudemeasure activitylatitudemeasure
    activitylocationlatitudemeasure gpslat gpslatitude thlat sitelat sitelatitude stationlat stationlatitude
    locationlat locationlatitude samplelat late7 latitudee7 latitud latitudine breite breitengrad geobreite
    geographischebreite geogrbreite breddegrad bredd szerokosc szerokość szerokośćgeograficzna leveysaste
    leveyspiiri leveys šířka zeměpisnášířka zemepisnasirka szélesség szelesseg enlem breedtegraad широта
    纬度 緯度 위도"""
)
_LONGITUDE = _words(
    """lon long lng longitude xlong xlon lonwgs84 longwgs84 longitudewgs84 wgs84lon wgs84long londd longdd
    londec longdec londeg longdeg londecimal declong declon declongva decimallongitude londecimaldegrees
    longitudedegrees longitudedeg longitudemeasure activitylongitudemeasure activitylocationlongitudemeasure
    gpslon gpslong gpslng gpslongitude thlong thlon sitelon sitelong sitelongitude stationlon stationlong
    stationlongitude locationlon locationlong locationlongitude samplelon lone7 lnge7 longe7 longitudee7
    longitud longitudine länge laenge längengrad laengengrad geolänge geographischelänge geogrlänge
    lengdegrad længdegrad längd długość dlugosc długośćgeograficzna pituusaste pituuspiiri pituus délka
    zeměpisnádélka zemepisnadelka hosszúság hosszusag boylam lengtegraad долгота 经度 經度 経度 경도"""
)


def bare(name: str) -> str:
    """A name in small letters, without blanks and marks."""
    return re.sub(r"[\W_]+", "", name[:LONGEST].lower())


def is_latitude(name: str) -> bool:
    """Whether a column is named as latitude."""
    return bare(name) in _LATITUDE


def is_longitude(name: str) -> bool:
    """Whether a column is named as longitude."""
    return bare(name) in _LONGITUDE


def is_place(name: str) -> bool:
    """Whether a column is named as any coordinate, or as its system."""
    word = bare(name)
    return (
        word in _LATITUDE
        or word in _LONGITUDE
        or any(word in pair for pair in PAIRS)
        or bool(_PLACE.search(name[:LONGEST].lower()))
    )


def is_ten_millionths(name: str) -> bool:
    """Whether a column of degrees is named as holding them times 10^7, as devices write them."""
    return bare(name).endswith("e7") and (is_latitude(name) or is_longitude(name))


def names_hemisphere(name: str, *, of_latitude: bool) -> bool:
    """Whether a column may hold the letters N and S of latitudes, or E and W of longitudes."""
    return bool((_NORTH_SOUTH if of_latitude else _EAST_WEST).search(name[:LONGEST].lower()))


def hemisphere_column(where: str, shape: Shape, used: Iterable[int], *, of_latitude: bool) -> int | None:
    """Return the position of the first column named for N/S (or E/W) letters whose sample holds such letters,
    `used` ones left out; None without one. Raise `DataError` where one row decides whether it does."""
    taken, letters = set(used), ("N", "S") if of_latitude else ("E", "W")
    for at, name in enumerate(shape.names):
        if at not in taken and names_hemisphere(name, of_latitude=of_latitude):
            given = [entry.upper() for entry in shape.column(at) if entry]
            held = sum(_WORDS.get(one, one) in letters for one in given)
            # With any one entry left out, whether a letter or not.
            most = [
                _mostly(held, len(given)),
                _mostly(held - 1, len(given) - 1),
                _mostly(held, len(given) - 1),
            ]
            if held and held < len(given) and len(set(most)) > 1:
                raise DataError(
                    f"{where} leaves open whether {name!r} says on which side of the Equator or of Greenwich "
                    "a row lies, since one row alone decides it: name the columns with `sides` (--sides), or "
                    "`none`."
                )
            if given and most[0]:
                return at
    return None


def _mostly(held: int, given: int) -> bool:
    return given > 0 and held >= 0.8 * given


def parse_degrees(
    column: Any, read: Numbers, name: str, *, of_latitude: bool, letters: Any | None = None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read degrees from n Arrow strings: (n,) values, NaN where unreadable, and (n,) whether a side is
    missing. `read` is what `parse_numbers` makes of the column; "latitudeE7" as its `name` means degrees
    times 10^7; `letters` are the N and S, or E and W, of each entry. Longitudes above 180, up to 360, are
    those west of Greenwich."""
    degrees = read.value / 1e7 if is_ten_millionths(name) else read.value.copy()
    odd = np.flatnonzero(np.isnan(degrees) & ~read.missing)
    if odd.size:
        degrees[odd] = _written(column.take(pa.array(odd)), "NS" if of_latitude else "EW")
    unsided = np.zeros(degrees.size, dtype=bool)
    if letters is not None:
        sides = pc.utf8_upper(letters)
        for word, letter in _WORDS.items():
            sides = pc.if_else(pc.equal(sides, word), letter, sides)
        positive, negative = ("N", "S") if of_latitude else ("E", "W")
        far = mask(pc.equal(sides, negative))
        degrees = np.where(far, -np.abs(degrees), degrees)
        unsided = ~far & ~mask(pc.equal(sides, positive)) & (degrees > 0)
    if not of_latitude:
        degrees = np.where((degrees > 180.0) & (degrees <= 360.0), degrees - 360.0, degrees)
    return degrees, unsided


def _written(entries: Any, letters: str) -> NDArray[np.float64]:
    """(n,) degrees of entries such as 51°30'36" N, W 0.5 and -0 30 0; NaN for others."""
    found = pc.extract_regex(pc.utf8_upper(entries), _WRITTEN)
    degrees, minutes, seconds = (_part(found, name) for name in ("degrees", "minutes", "seconds"))
    before, sign, after = (
        pc.fill_null(pc.struct_field(found, name), "") for name in ("before", "sign", "after")
    )
    letter = pc.if_else(pc.equal(before, ""), after, before)
    both = mask(pc.and_(pc.not_equal(before, ""), pc.not_equal(after, "")))
    known = mask(pc.is_in(letter, value_set=pa.array(["", *letters])))
    far = mask(pc.or_(pc.equal(sign, "-"), pc.equal(letter, letters[1])))
    whole = degrees + np.nan_to_num(minutes) / 60.0 + np.nan_to_num(seconds) / 3600.0
    good = known & ~both & ~(minutes >= 60.0) & ~(seconds >= 60.0)
    good &= np.isnan(minutes) | (degrees == np.floor(degrees))
    return np.where(good, np.where(far, -whole, whole), np.nan)


def _part(found: Any, name: str) -> NDArray[np.float64]:
    part = pc.replace_substring(pc.struct_field(found, name), ",", ".")
    part = pc.if_else(pc.equal(part, ""), pa.scalar(None, pa.string()), part)
    return np.asarray(pc.cast(part, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def check_named(x_name: str, y_name: str, system: str) -> None:
    """Raise `DataError` where the columns of x and y are one column, or are exchanged by their names."""
    if x_name == y_name:
        raise DataError(
            f"Column {x_name!r} is named for both coordinates: choose one for x and another for y."
        )
    if in_degrees(system) and is_latitude(x_name) and is_longitude(y_name):
        raise DataError(f"Longitude is x and latitude is y: exchange the columns {x_name!r} and {y_name!r}.")


def system_of(table: Table, x_name: str, asked: str | int) -> str:
    """Return the coordinate system of a table's places as "AUTHORITY:CODE"; `asked` "EPSG:4326" counts as not
    given where a file states another. Only the points of a file have a stated system. GeoJSON that states
    none is read in the system asked for, since many files hold metres against its standard. Raise `DataError`
    where file and person name different systems."""
    given = crs_name(asked)
    if x_name != POINT_X or not table.points or not table.crs:
        return given
    stated = crs_name(table.crs)
    if given in (stated, WGS84):
        return stated
    if stated == WGS84 and table.layers == ("",):
        return given
    raise DataError(
        f"{table.name} states {stated} for its points, but {given} was given: leave the coordinate system "
        "out, or export the points again."
    )


def in_range(system: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which (n,) places lie within the range of their system; all do where the system is not of
    degrees."""
    if not in_degrees(system):
        return np.ones(x.shape, dtype=bool)
    return (np.abs(x) <= 180) & (np.abs(y) <= 90)


def rounded_to(x: NDArray[np.float64], y: NDArray[np.float64], *, degrees: bool) -> float | None:
    """Metres to which nearly all of (n,) places are rounded, at corners or centres of squares; None where
    they are rounded to less than about 500, or are few. The finer of the two axes counts."""
    if x.size < _FEWEST or min(np.ptp(x), np.ptp(y)) <= 0.0:
        return None
    for step in _STEPS if degrees else _STEPS_OF_METRES:
        if all(_on_steps(axis, step) for axis in (x, y)):
            return step * _METRES if degrees else step
    return None


def _on_steps(axis: NDArray[np.float64], step: float) -> bool:
    halves = axis / step * 2.0
    near = np.abs(halves - np.round(halves)) < 1e-6
    even = np.round(halves) % 2.0 == 0.0
    return max(float(np.mean(near & even)), float(np.mean(near & ~even))) >= _ROUNDED


def _packed(values: NDArray[np.float64], most: int) -> NDArray[np.bool_]:
    """Which (n,) whole numbers may be degrees, minutes and seconds one behind the other."""
    size = np.abs(values)
    minutes, seconds = size // 100 % 100, size % 100
    return np.asarray(
        (size % 1.0 == 0.0) & (minutes < 60) & (seconds < 60) & (size // 10_000 <= most), dtype=bool
    )


def check_places(
    name: str, system: str, x_name: str, y_name: str, x: NDArray[np.float64], y: NDArray[np.float64]
) -> None:
    """Raise `DataError` where (n,) finite coordinates contradict their system: metres said to be degrees,
    degrees said to be metres, and exchanged columns."""
    if x.size == 0:
        return
    small = (np.abs(x) <= 180) & (np.abs(y) <= 90)
    if in_degrees(system):
        if np.count_nonzero(small) * 2 >= x.size:
            return
        swapped = (np.abs(y) <= 180) & (np.abs(x) <= 90)
        if np.all(swapped):
            raise DataError(
                f"{name} has values beyond 90 degrees in its latitude column {y_name!r}: "
                f"exchange the columns {x_name!r} and {y_name!r}."
            )
        if np.median(np.abs(y)) > _NORTHERNMOST:
            raise DataError(
                f"{name} has values in {x_name!r} and {y_name!r} that look like degrees times 10,000,000: "
                "divide them, or name the columns longitudeE7 and latitudeE7."
            )
        if np.all(_packed(x, 180) & _packed(y, 90)):
            raise DataError(
                f"{name} has values in {x_name!r} and {y_name!r} that look like degrees, minutes and seconds "
                "in one number, such as 513030 for 51°30'30\": write degrees with decimals, such as 51.5083."
            )
        whole = is_latitude(y_name) and is_longitude(x_name) and not np.any((x % 1.0) + (y % 1.0))
        lost = "; where decimal marks were lost, as when 51.50123 becomes 5150123, export them as text"
        raise DataError(
            f"{name} has values in {x_name!r} and {y_name!r} that are not degrees but projected coordinates: "
            "set the EPSG code of their coordinate system, such as EPSG:27700 for the British National Grid"
            f"{lost if whole else ''}."
        )
    if np.count_nonzero(small) * 2 > x.size and is_projected(system):
        raise DataError(
            f"{name} has values in {x_name!r} and {y_name!r} that look like degrees, not like {system}: "
            "set the EPSG code to EPSG:4326, or give the coordinates in the units of that system."
        )
