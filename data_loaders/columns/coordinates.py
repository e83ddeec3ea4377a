"""Coordinates of a table: names of their columns, notations of degrees, and a check of their
system.

The names cover several languages and the big agencies. A whole column, not a stray row, decides
whether coordinates fit their system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.numbers import Decimal, Numbers, parse_numbers, told_alone, with_points
from data_loaders.columns.sensortable import Shape
from data_loaders.columns.specification import settled
from data_loaders.errors import DataError
from data_loaders.files.blocks import mask
from data_loaders.files.layers import POINT_X
from data_loaders.files.sources import Table
from data_loaders.observations import crs_name
from data_loaders.systems import WGS84, in_degrees, is_projected

LONGEST = 120  # characters of a name that are searched

PAIRS: tuple[tuple[str, str], ...] = tuple(
    re.findall(
        r"(\S+)/(\S+)",
        """easting/northing eastings/northings east/north oseast1m/osnrth1m x/y xloc/yloc xcoord/ycoord
        coordx/coordy utmx/utmy xcoo/ycoo xcoordinate/ycoordinate xutm/yutm utme/utmn utmeasting/utmnorthing
        rechtswert/hochwert rw/hw ostwert/nordwert ekoord/nkoord xkoord/ykoord xkoordinate/ykoordinate
        koordx/koordy este/norte est/nord ost/nord oost/noord øst/nord coordenadax/coordenaday coordx/coordy
        xlaea/ylaea xetrs89/yetrs89 xmetres/ymetres rdx/rdy xrd/yrd""",
    )
)
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
_STEPS = (1.0, 0.5, 0.1, 0.05, 0.01, 0.005)  # possible roundings in degrees, the coarsest first
_STEPS_OF_METRES = (100_000.0, 10_000.0, 5_000.0, 2_000.0, 1_000.0, 500.0)
# rows needed to detect rounding, and the share of them that is rounded
_FEWEST, _ROUNDED = 20, 0.99
_ONE_GROUP = r"^([+\-]?[1-9][0-9]{0,2})", r"([0-9]{3})$"  # around a mark that may group digits
_SIDES = 0.8  # share of letters among the entries that makes a column one of hemispheres
_METRES = 111_320.0  # of a degree of latitude
_NORTHERNMOST = 1.2e7  # metres: no northing reaches it


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LATITUDE = _words(
    """lat latitude ylat latwgs84 latitudewgs84 wgs84lat latdd latdec latdeg latdecimal declat
    declatva decimallatitude latdecimaldegrees latitudedegrees latitudedeg latitudemeasure
    activitylatitudemeasure activitylocationlatitudemeasure gpslat gpslatitude thlat sitelat
    sitelatitude stationlat stationlatitude locationlat locationlatitude samplelat late7 latitudee7
    latitud latitudine breite breitengrad geobreite geographischebreite geogrbreite breddegrad bredd
    szerokosc szerokość szerokośćgeograficzna leveysaste leveyspiiri leveys šířka zeměpisnášířka
    zemepisnasirka szélesség szelesseg enlem breedtegraad широта 纬度 緯度 위도"""
)
_LONGITUDE = _words(
    """lon long lng longitude xlong xlon lonwgs84 longwgs84 longitudewgs84 wgs84lon wgs84long londd
    longdd londec longdec londeg longdeg londecimal declong declon declongva decimallongitude
    londecimaldegrees longitudedegrees longitudedeg longitudemeasure activitylongitudemeasure
    activitylocationlongitudemeasure gpslon gpslong gpslng gpslongitude thlong thlon sitelon
    sitelong sitelongitude stationlon stationlong stationlongitude locationlon locationlong
    locationlongitude samplelon lone7 lnge7 longe7 longitudee7 longitud longitudine länge laenge
    längengrad laengengrad geolänge geographischelänge geogrlänge lengdegrad længdegrad längd
    długość dlugosc długośćgeograficzna pituusaste pituuspiiri pituus délka zeměpisnádélka
    zemepisnadelka hosszúság hosszusag boylam lengtegraad долгота 经度 經度 経度 경도"""
)


def bare(name: str) -> str:
    """Return a name in small letters, without blanks and marks."""
    return re.sub(r"[\W_]+", "", name[:LONGEST].lower())


def is_latitude(name: str) -> bool:
    """Whether a column has a name of latitude."""
    return bare(name) in _LATITUDE


def is_longitude(name: str) -> bool:
    """Whether a column has a name of longitude."""
    return bare(name) in _LONGITUDE


def is_place(name: str) -> bool:
    """Whether a column has a name of a coordinate or of a coordinate system."""
    word = bare(name)
    return (
        word in _LATITUDE
        or word in _LONGITUDE
        or any(word in pair for pair in PAIRS)
        or bool(_PLACE.search(name[:LONGEST].lower()))
    )


def is_ten_millionths(name: str) -> bool:
    """Whether a column's name means degrees times 10^7, as devices write them."""
    return bare(name).endswith("e7") and (is_latitude(name) or is_longitude(name))


def names_hemisphere(name: str, *, of_latitude: bool) -> bool:
    """Whether a column may hold the letters N and S of latitudes, or E and W of longitudes."""
    return bool((_NORTH_SOUTH if of_latitude else _EAST_WEST).search(name[:LONGEST].lower()))


def hemisphere_column(where: str, shape: Shape, used: Iterable[int], *, of_latitude: bool) -> int | None:
    """Return the position of the first column, outside `used`, that has a name for N/S (or E/W)
    letters and such letters in its sample; None without one. Raise `DataError` if a single row
    decides this."""
    used_positions, letters = set(used), ("N", "S") if of_latitude else ("E", "W")
    for at, name in enumerate(shape.names):
        if at not in used_positions and names_hemisphere(name, of_latitude=of_latitude):
            entries = [entry.upper() for entry in shape.column(at) if entry]
            letter_count = sum(_WORDS.get(text, text) in letters for text in entries)
            others = len(entries) - letter_count
            said = settled(letter_count, others, len(shape.sample), _SIDES)
            if said is None:
                raise DataError(
                    f"{where} leaves open whether {name!r} says on which side of the Equator or of Greenwich "
                    "a row lies, since one row alone decides it: name the columns with `sides` (--sides), or "
                    "`none`."
                )
            if said:
                return at
    return None


def parse_coordinates(column: Any, decimal: Decimal, *, degrees: bool) -> Numbers:
    """Parse n Arrow strings as coordinates, each by itself: a single comma or point is a decimal
    mark. In a system that is not in `degrees`, a number such as 530,123 or 530.123, whose digits
    may be grouped, is read by the mark `decimal`, and other groups are removed."""
    if not degrees:
        column = told_alone(column)
        other = "," if decimal == "." else r"\."
        column = pc.replace_substring_regex(column, rf"{_ONE_GROUP[0]}{other}{_ONE_GROUP[1]}", r"\1\2")
    return parse_numbers(with_points(column), grouping=False)


def parse_degrees(
    column: Any, read: Numbers, name: str, *, of_latitude: bool, letters: Any | None = None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Parse degrees from n Arrow strings. Return (n,) values, NaN where unreadable, and an (n,)
    mask of entries without a side. `read` is the result of `parse_numbers` for the column; a `name`
    such as "latitudeE7" means degrees times 10^7; `letters` are the N and S, or E and W, of the
    entries. Read longitudes from 180 to 360 as west of Greenwich."""
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
    """Parse (n,) degrees from entries such as 51°30'36" N, W 0.5 and -0 30 0; NaN for others."""
    groups = pc.extract_regex(pc.utf8_upper(entries), _WRITTEN)
    degrees, minutes, seconds = (_part(groups, name) for name in ("degrees", "minutes", "seconds"))
    prefix, sign, suffix = (
        pc.fill_null(pc.struct_field(groups, name), "") for name in ("before", "sign", "after")
    )
    letter = pc.if_else(pc.equal(prefix, ""), suffix, prefix)
    two_letters = mask(pc.and_(pc.not_equal(prefix, ""), pc.not_equal(suffix, "")))
    valid_letter = mask(pc.is_in(letter, value_set=pa.array(["", *letters])))
    far = mask(pc.or_(pc.equal(sign, "-"), pc.equal(letter, letters[1])))
    magnitude = degrees + np.nan_to_num(minutes) / 60.0 + np.nan_to_num(seconds) / 3600.0
    good = valid_letter & ~two_letters & ~(minutes >= 60.0) & ~(seconds >= 60.0)
    good &= np.isnan(minutes) | (degrees == np.floor(degrees))
    return np.where(good, np.where(far, -magnitude, magnitude), np.nan)


def _part(groups: Any, name: str) -> NDArray[np.float64]:
    part = pc.replace_substring(pc.struct_field(groups, name), ",", ".")
    part = pc.if_else(pc.equal(part, ""), pa.scalar(None, pa.string()), part)
    return np.asarray(pc.cast(part, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def check_named(x_name: str, y_name: str, system: str) -> None:
    """Raise `DataError` if x and y are the same column, or if their names show that they are
    swapped."""
    if x_name == y_name:
        raise DataError(
            f"Column {x_name!r} is named for both coordinates: choose one for x and another for y."
        )
    if in_degrees(system) and is_latitude(x_name) and is_longitude(y_name):
        raise DataError(f"Longitude is x and latitude is y: exchange the columns {x_name!r} and {y_name!r}.")


def system_of(table: Table, x_name: str, asked: str | int) -> str:
    """Return the coordinate system of a table's places as "AUTHORITY:CODE". The system that a file
    states for its points overrides the default `asked`, "EPSG:4326". Read GeoJSON without a stated
    system in `asked`, since many files are in metres against its standard. Raise `DataError` if
    file and person name different systems."""
    system = crs_name(asked)
    if x_name != POINT_X or not table.points or not table.crs:
        return system
    file_system = crs_name(table.crs)
    if system in (file_system, WGS84):
        return file_system
    if file_system == WGS84 and table.layers == ("",):
        return system
    raise DataError(
        f"{table.name} states {file_system} for its points, but {system} was given: leave the "
        "coordinate system out, or export the points again."
    )


def in_range(system: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each of (n,) places is in the range of its system; True for all unless in
    degrees."""
    if not in_degrees(system):
        return np.ones(x.shape, dtype=bool)
    return (np.abs(x) <= 180) & (np.abs(y) <= 90)


def rounded_to(x: NDArray[np.float64], y: NDArray[np.float64], *, degrees: bool) -> float | None:
    """Return the step in metres to which nearly all of (n,) places are rounded, at corners or
    centres of squares; None for a step below about 500 and for few places. The finer of the two
    axes decides."""
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


def _packed(values: NDArray[np.float64], largest: int) -> NDArray[np.bool_]:
    """Return which of (n,) whole numbers may be degrees, minutes and seconds as consecutive
    digits."""
    size = np.abs(values)
    minutes, seconds = size // 100 % 100, size % 100
    return np.asarray(
        (size % 1.0 == 0.0) & (minutes < 60) & (seconds < 60) & (size // 10_000 <= largest), dtype=bool
    )


def check_places(
    name: str,
    system: str,
    columns: tuple[str, str],
    places: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Raise `DataError` if finite coordinates contradict their system: metres in a system of
    degrees, degrees in a system of metres, or swapped columns. `places` are (n,) eastings or
    longitudes and (n,) northings or latitudes, `columns` their names."""
    (x_name, y_name), (x, y) = columns, places
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
        integers = is_latitude(y_name) and is_longitude(x_name) and not np.any((x % 1.0) + (y % 1.0))
        lost = "; where decimal marks were lost, as when 51.50123 becomes 5150123, export them as text"
        raise DataError(
            f"{name} has values in {x_name!r} and {y_name!r} that are not degrees but projected coordinates: "
            "set the EPSG code of their coordinate system, such as EPSG:27700 for the British National Grid"
            f"{lost if integers else ''}."
        )
    if np.count_nonzero(small) * 2 > x.size and is_projected(system):
        raise DataError(
            f"{name} has values in {x_name!r} and {y_name!r} that look like degrees, not like {system}: "
            "set the EPSG code to EPSG:4326, or give the coordinates in the units of that system."
        )
