"""Postcode tables: where each postcode lies, from ONS or Ordnance Survey files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.numbers import parse_numbers
from data_loaders.columns.profiles import named_profile, positions_of
from data_loaders.errors import DataError
from data_loaders.files.blocks import blocks, first_rows, mask, text
from data_loaders.files.codings import decode, marked_coding
from data_loaders.files.guarded import LIMITS, Limits
from data_loaders.files.sources import Source, Table, as_sources, open_tables, source_name
from data_loaders.observations import LoadReport, Tally, crs_name
from data_loaders.repeats import as_bytes

UNKNOWN, UNLOCATED = -1, -2
TRIED = "'E1 0AA', 'E1  0AA', 'E10AA' and small letters"

# Area, district, sector and unit once blanks are gone and letters are capital.
_SHAPES = "A99AA", "A999AA", "A9A9AA", "AA99AA", "AA999AA", "AA9A9AA"
_LONGEST = 7
_DIGIT = np.zeros(256, dtype=np.int64)
_DIGIT[[*range(48, 58)]] = np.arange(1, 11)
_DIGIT[[*range(65, 91)]] = np.arange(11, 37)
_FOURS = 4 ** np.arange(_LONGEST, dtype=np.int64)
_PLACE = 37 ** np.arange(_LONGEST - 1, -1, -1, dtype=np.int64)
_KIND = np.full(256, 3, dtype=np.int64)  # of letters: blank 0, digit 1, capital 2, another 3
_KIND[32], _KIND[48:58], _KIND[65:91] = 0, 1, 2
_SHAPE_BITS = 40  # where a shape begins in one number with a key, which is below 37 ** 7
# Of each letter at each of seven places, the kind above the key:
_WORTH = _DIGIT * _PLACE[:, None] + (_KIND * _FOURS[:, None] << _SHAPE_BITS)
_EXAMPLES = np.array([list(shape.ljust(_LONGEST).encode()) for shape in _SHAPES], dtype=np.uint8)
_GOOD = np.zeros(4**_LONGEST, dtype=bool)
_GOOD[_KIND[_EXAMPLES] @ _FOURS] = True

_CODE_POINT_READ = ("postcode", "quality", "east", "north")
ONS_ATTRIBUTION = (
    "Contains OS data © Crown copyright and database right.",
    "Contains Royal Mail data © Royal Mail copyright and database right.",
    "Source: Office for National Statistics licensed under the Open Government Licence v.3.0.",
)
# No British postcode begins with Q; the generated demo's postcodes all do.
_Q_FIRST = (int(_DIGIT[ord("Q")]) * int(_PLACE[0]), (int(_DIGIT[ord("Q")]) + 1) * int(_PLACE[0]))

_Part: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]"
"""(k,) keys, x, y of postcodes with coordinates, and whether each was terminated."""


def postcode_keys(column: Any) -> NDArray[np.int64]:
    """Make n Arrow strings into exact (n,) numbers, equal for equal postcodes, -1 where an entry is none.
    Blanks and punctuation do not count nor do capitals: "E1  0AA", "e1 0aa" and "E10AA" agree."""
    capitals = pc.ascii_upper(column)
    keys = _keys_of(pc.replace_substring(capitals, " ", ""))
    odd = keys < 0
    if odd.any():  # blanks of other kinds and punctuation
        left = capitals.filter(pa.array(odd))
        keys[odd] = _keys_of(pc.replace_substring_regex(left, r"[^A-Z0-9]", ""))
    return keys


def _keys_of(bare: Any) -> NDArray[np.int64]:
    """(n,) the key of each text of capitals and digits that has the shape of a postcode, -1 of others."""
    keys = np.full(len(bare), -1, dtype=np.int64)
    short = mask(pc.less_equal(pc.binary_length(bare), _LONGEST))
    padded = pc.ascii_rpad(bare.filter(pa.array(short)), _LONGEST)
    letters = as_bytes(padded).view(np.uint8).reshape(-1, _LONGEST)
    worth = np.sum([of_letter[letters[:, at]] for at, of_letter in enumerate(_WORTH)], axis=0)
    keys[short] = np.where(_GOOD[worth >> _SHAPE_BITS], worth & ((1 << _SHAPE_BITS) - 1), -1)
    return keys


@dataclass(frozen=True, eq=False)
class PostcodeTable:
    """Coordinates by postcode. Raise `DataError` where there is none, `ValueError` where keys do not
    increase."""

    keys: NDArray[np.int64]  # (P,) strictly increasing postcode keys with coordinates, P >= 1
    x: NDArray[np.float64]  # (P,) easting or longitude in `crs`
    y: NDArray[np.float64]  # (P,) northing or latitude in `crs`
    crs: str  # "AUTHORITY:CODE"
    unlocated: NDArray[np.int64]  # (Q,) increasing keys of postcodes listed without coordinates
    generated: bool = False  # True for the demo's invented postcodes
    attribution: tuple[str, ...] = ()  # sentences the data's licences ask for

    def __post_init__(self) -> None:
        object.__setattr__(self, "crs", crs_name(self.crs))
        if not self.keys.shape == self.x.shape == self.y.shape or self.keys.size == 0:
            raise DataError("A postcode table needs at least one postcode with coordinates.")
        if np.any(np.diff(self.keys) <= 0) or np.any(np.diff(self.unlocated) <= 0):
            raise ValueError("postcode keys must be strictly increasing.")

    @property
    def size(self) -> int:
        """Number of postcodes with coordinates."""
        return int(self.keys.size)

    def locate(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the (n,) positions of keys in `x`, `y`; UNLOCATED or UNKNOWN (negative) where there is
        none."""
        order = np.argsort(keys)  # neighbours lie in one part of memory: half the time
        asked = keys[order]
        found = np.minimum(np.searchsorted(self.keys, asked), self.size - 1)
        place = np.empty(keys.size, np.int64)
        place[order] = np.where(self.keys[found] == asked, found, UNKNOWN)
        lost = place == UNKNOWN
        if lost.any():
            place[lost] = np.where(np.isin(keys[lost], self.unlocated), UNLOCATED, UNKNOWN)
        return place


@dataclass(frozen=True)
class _Layout:
    """Where the columns of one postcode file are: Code-Point Open has no header, everything else has one."""

    columns: dict[str, int]
    width: int
    header: tuple[str, ...] | None
    crs: str


def _layout(table: Table) -> _Layout | None:
    """The layout of `table`, or None where it is no postcode table."""
    rows = first_rows(decode(table.head, marked_coding(table.head) or "utf-8"), ",", 5)
    if not rows:
        return None
    width = len(rows[0])
    names = [name.lower() for name in rows[0]]
    found = positions_of("postcodes", names)
    if "postcode" in found:
        # Latitude and longitude are preferred: ONS computed them with the exact transformation.
        for pair, other, crs in (
            (("lat", "long"), ("east", "north"), "EPSG:4326"),
            (("east", "north"), ("lat", "long"), "EPSG:27700"),
        ):
            if all(name in found for name in pair):
                return _Layout({k: v for k, v in found.items() if k not in other}, width, tuple(rows[0]), crs)
        raise DataError(
            f"{table.name} has postcodes but no coordinates: it needs columns lat and long, "
            "or oseast1m and osnrth1m."
        )
    first = pa.array([row[0] if row else "" for row in rows], pa.string())
    order = named_profile("code-point").order
    if width == len(order) and np.any(postcode_keys(first) >= 0):
        return _Layout({name: order.index(name) for name in _CODE_POINT_READ}, width, None, "EPSG:27700")
    return None


def load_postcodes(
    source: Source | Sequence[Source], *, limits: Limits = LIMITS
) -> tuple[PostcodeTable, LoadReport]:
    """Load postcode files of one coordinate system: ONSPD or NSPL (any edition with a header), tables with
    postcode and latitude/longitude or easting/northing, and header-less Code-Point Open (10 columns,
    EPSG:27700); as .csv, .gz, .zip, .tar.gz, .xlsx or a folder. Terminated postcodes are kept, since past
    sales refer to them. A postcode that is listed several times has the first place at which it is live, or
    else the first. Raise `DataError` where no postcode with coordinates is found or coordinates contradict
    their columns."""
    sources = as_sources(source)
    name = ", ".join(source_name(item) for item in sources)
    tally, notes = Tally(), _Notes()
    parts: list[_Part] = []
    unlocated: list[NDArray[np.int64]] = []
    crs = ""
    for item in sources:
        for table in open_tables(item, limits, folders=True):
            if crs and "multi_csv" in table.folder:
                continue  # ONS packs per-area copies beside the whole table, which sorts first
            layout = _layout(table)
            if layout is None:
                notes.ignored += 1
                continue
            if crs and layout.crs != crs:
                raise DataError(
                    f"{name} mixes {crs} and {layout.crs} coordinates: load files of one format at a time."
                )
            crs = layout.crs
            _read(table, layout, tally, notes, parts, unlocated)
    if not crs:
        raise DataError(
            f"{name} is no postcode table: a header with pcds, pcd or pcd2 and coordinates (ONSPD, NSPL) or "
            "the 10 columns of Code-Point Open without a header were looked for."
        )
    keys, x, y = (np.concatenate([part[i] for part in parts]) if parts else np.empty(0) for i in range(3))
    if keys.size == 0:
        raise DataError(
            f"{name} gives no postcode with coordinates; most rows were dropped as: {tally.main_reason}."
        )
    _check_ranges(name, crs, x, y)
    ended = np.concatenate([part[3] for part in parts])
    order = np.lexsort((ended, keys))  # stable: of equal keys the live ones first, as they are listed
    new = np.diff(keys[order], prepend=UNKNOWN) != 0
    first = order[new]
    unique = keys[first]
    tally.drop("the postcode was listed before, or as terminated", int(keys.size - unique.size))
    notes.terminated = int(np.count_nonzero(ended[first]))
    bare = np.unique(np.concatenate(unlocated))
    bare = np.setdiff1d(bare, unique, assume_unique=True)
    is_generated = bool(_Q_FIRST[0] <= unique[0] and unique[-1] < _Q_FIRST[1])
    attribution = ("Generated by Hexcursion; not real places.",) if is_generated else ONS_ATTRIBUTION
    result = PostcodeTable(
        unique.astype(np.int64), x[first], y[first], crs, bare.astype(np.int64), is_generated, attribution
    )
    return result, tally.report(name, result.size, notes.sentences(crs))


@dataclass
class _Notes:
    """What was met while reading and deserves a sentence."""

    ignored: int = 0
    terminated: int = 0
    code_point: bool = False

    def sentences(self, crs: str) -> tuple[str, ...]:
        written = [f"Coordinates are in {crs}."]
        if self.code_point:
            written.append("Read as Code-Point Open without a header.")
        if self.terminated:
            written.append(
                f"{self.terminated:,} terminated postcodes were kept, since past sales refer to them."
            )
        if self.ignored:
            written.append(
                f"{self.ignored:,} files of the archive are no postcode tables and were passed over."
            )
        return tuple(written)


def _read(
    table: Table,
    layout: _Layout,
    tally: Tally,
    notes: _Notes,
    parts: list[_Part],
    unlocated: list[NDArray[np.int64]],
) -> None:
    notes.code_point = notes.code_point or layout.header is None
    degrees = layout.crs == "EPSG:4326"
    x_name, y_name = ("long", "lat") if degrees else ("east", "north")
    for block in blocks(
        table,
        layout.width,
        layout.columns,
        header=layout.header,
        encoding=marked_coding(table.head) or "utf-8",
    ):
        tally.read(block.rows + block.malformed)
        tally.drop("wrong number of columns", block.malformed)
        columns = {field: text(column) for field, column in block.columns.items()}
        keys = postcode_keys(columns["postcode"])
        x, y = parse_numbers(columns[x_name]).value, parse_numbers(columns[y_name]).value
        alive = np.ones(block.rows, dtype=bool)
        alive = tally.drop_where("blank or malformed postcode", keys < 0, alive)
        nowhere = ~(np.isfinite(x) & np.isfinite(y))
        if degrees:
            nowhere |= y > 99.0  # ONS writes 99.999999 for "no grid reference"
        else:
            nowhere |= (x == 0) & (y == 0)
            # ONS gives Northern Irish postcodes on the Irish Grid, in the same columns.
            nowhere |= mask(pc.starts_with(pc.ascii_upper(columns["postcode"]), "BT"))
        if "quality" in columns:
            none = "9" if layout.header else "90"
            nowhere |= mask(pc.equal(columns["quality"], none))
        unlocated.append(np.unique(keys[alive & nowhere]))
        alive = tally.drop_where("postcode without usable coordinates", nowhere, alive)
        ended = np.zeros(block.rows, dtype=bool)
        if "terminated" in columns:
            ended = mask(pc.not_equal(columns["terminated"], ""))
        parts.append((keys[alive], x[alive], y[alive], ended[alive]))


def _check_ranges(name: str, crs: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    if crs == "EPSG:4326":
        # The United Kingdom lies between 49 and 61 degrees north and 9 west and 3 east.
        if np.all((y > -9) & (y < 3) & (x > 49) & (x < 62)):
            raise DataError(f"{name} has latitude and longitude swapped: exchange the two column names.")
        if np.any((np.abs(y) > 90) | (np.abs(x) > 180)):
            raise DataError(
                f"{name} has lat or long values that are no degrees: "
                "name eastings oseast1m and northings osnrth1m."
            )
    elif np.all((np.abs(x) <= 180) & (np.abs(y) <= 90)):
        raise DataError(
            f"{name} has degrees in its easting and northing columns: name those columns lat and long."
        )
