"""Reads degrees as people write them: with letters, minutes and seconds, from 0 to 360, times 10^7."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.coordinate_names import is_ten_millionths, names_hemisphere
from data_loaders.columns.numbers import Numbers
from data_loaders.columns.sensortable import Shape
from data_loaders.files.csvstream import mask

_NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
_WRITTEN = (
    r"^(?P<before>[NSEW]?)\s*(?P<sign>[+-]?)(?P<degrees>" + _NUMBER + r")\s*(?:°|º|DEGREES?|DEG|D|:)?"
    r"\s*(?:(?P<minutes>" + _NUMBER + r")\s*(?:'|′|’|´|MIN|M|:)?\s*)?"
    r"(?:(?P<seconds>" + _NUMBER + r")\s*(?:\"|″|”|''|’’|´´|SEC|S)?\s*)?(?P<after>[NSEW]?)$"
)
_WORDS = {"EAST": "E", "WEST": "W", "NORTH": "N", "SOUTH": "S"}


def hemisphere_column(shape: Shape, used: Iterable[int], *, of_latitude: bool) -> int | None:
    """Return the position of the first column named for N/S (or E/W) letters whose sample holds such letters,
    `used` ones left out; None without one."""
    taken, letters = set(used), ("N", "S") if of_latitude else ("E", "W")
    for at, name in enumerate(shape.names):
        if at not in taken and names_hemisphere(name, of_latitude=of_latitude):
            given = [entry.upper() for entry in shape.column(at) if entry]
            if given and sum(_WORDS.get(one, one) in letters for one in given) >= 0.8 * len(given):
                return at
    return None


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
        said = pc.utf8_upper(letters)
        for word, letter in _WORDS.items():
            said = pc.if_else(pc.equal(said, word), letter, said)
        positive, negative = ("N", "S") if of_latitude else ("E", "W")
        far = mask(pc.equal(said, negative))
        degrees = np.where(far, -np.abs(degrees), degrees)
        unsided = ~far & ~mask(pc.equal(said, positive)) & (degrees > 0)
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
