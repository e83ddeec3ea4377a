"""Postcode tables: the coordinates of postcodes, from ONS or Ordnance Survey files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.numbers import parse_numbers
from data_loaders.columns.profiles import named_profile, positions_of
from data_loaders.columns.specification import counted, sample_rows, settled
from data_loaders.errors import DataError
from data_loaders.files.blocks import RowLayout, blocks, mask, text
from data_loaders.files.codings import marked_coding
from data_loaders.files.guarded import LIMITS, Limits
from data_loaders.files.sources import Source, Table, as_sources, open_tables, source_name
from data_loaders.observations import LoadReport, Tally, crs_name
from data_loaders.repeats import as_bytes

UNKNOWN, UNLOCATED = -1, -2
TRIED = "'E1 0AA', 'E1  0AA', 'E10AA' and small letters"

# Area, district, sector and unit, without blanks and in capitals.
_SHAPES = "A99AA", "A999AA", "A9A9AA", "AA99AA", "AA999AA", "AA9A9AA"
_LONGEST = 7
_DIGIT = np.zeros(256, dtype=np.int64)
_DIGIT[[*range(48, 58)]] = np.arange(1, 11)
_DIGIT[[*range(65, 91)]] = np.arange(11, 37)
_FOURS = 4 ** np.arange(_LONGEST, dtype=np.int64)
_PLACE = 37 ** np.arange(_LONGEST - 1, -1, -1, dtype=np.int64)
_KIND = np.full(256, 3, dtype=np.int64)  # of letters: blank 0, digit 1, capital 2, another 3
_KIND[32], _KIND[48:58], _KIND[65:91] = 0, 1, 2
_SHAPE_BITS = 40  # the bits of a key, which is below 37 ** 7; the shape follows above them
# For each letter at each of seven places, its kind above its part of the key:
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
"""(k,) keys, x, y of postcodes with coordinates, and a mask of terminated ones."""


def postcode_keys(column: Any) -> NDArray[np.int64]:
    """Encode n Arrow strings as (n,) numbers, equal exactly for equal postcodes, -1 for other
    entries. Ignore blanks, punctuation and capitals: "E1  0AA", "e1 0aa" and "E10AA" are equal."""
    capitals = pc.ascii_upper(column)
    keys = _keys_of(pc.replace_substring(capitals, " ", ""))
    odd = keys < 0
    if odd.any():  # other blanks and punctuation
        remaining = capitals.filter(pa.array(odd))
        keys[odd] = _keys_of(pc.replace_substring_regex(remaining, r"[^A-Z0-9]", ""))
    return keys


def _keys_of(bare: Any) -> NDArray[np.int64]:
    """Return (n,) keys of texts of capitals and digits with the shape of a postcode, -1 for
    others."""
    keys = np.full(len(bare), -1, dtype=np.int64)
    short = mask(pc.less_equal(pc.binary_length(bare), _LONGEST))
    padded = pc.ascii_rpad(bare.filter(pa.array(short)), _LONGEST)
    letters = as_bytes(padded).view(np.uint8).reshape(-1, _LONGEST)
    worth = np.sum([of_letter[letters[:, at]] for at, of_letter in enumerate(_WORTH)], axis=0)
    keys[short] = np.where(_GOOD[worth >> _SHAPE_BITS], worth & ((1 << _SHAPE_BITS) - 1), -1)
    return keys


@dataclass(frozen=True, eq=False)
class PostcodeTable:
    """Coordinates by postcode. Raise `DataError` without any, `ValueError` if keys do not
    increase."""

    keys: NDArray[np.int64]  # (P,) strictly increasing postcode keys with coordinates, P >= 1
    x: NDArray[np.float64]  # (P,) easting or longitude in `crs`
    y: NDArray[np.float64]  # (P,) northing or latitude in `crs`
    crs: str  # "AUTHORITY:CODE"
    unlocated: NDArray[np.int64]  # (Q,) increasing keys of postcodes listed without coordinates
    generated: bool = False  # True for the demo's invented postcodes
    attribution: tuple[str, ...] = ()  # sentences that the data's licences require

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
        """Return the (n,) positions of keys in `x`, `y`; UNLOCATED or UNKNOWN (negative) without
        one."""
        order = np.argsort(keys)  # locality in memory halves the time
        ordered_keys = keys[order]
        positions = np.minimum(np.searchsorted(self.keys, ordered_keys), self.size - 1)
        place = np.empty(keys.size, np.int64)
        place[order] = np.where(self.keys[positions] == ordered_keys, positions, UNKNOWN)
        unknown = place == UNKNOWN
        if unknown.any():
            place[unknown] = np.where(np.isin(keys[unknown], self.unlocated), UNLOCATED, UNKNOWN)
        return place


@dataclass(frozen=True)
class _Layout:
    """The columns of one postcode file: Code-Point Open has no header, all other formats have
    one."""

    columns: dict[str, int]
    width: int
    header: tuple[str, ...] | None
    crs: str


def _layout(table: Table) -> _Layout | None:
    """Return the layout of `table`, or None if it is not a postcode table. Raise `DataError` if one
    row decides it."""
    rows = sample_rows(table)
    if not rows:
        return None
    width = len(rows[0])
    names = [name.lower() for name in rows[0]]
    positions = positions_of("postcodes", names)
    order = named_profile("code-point").order
    without = _Layout({name: order.index(name) for name in _CODE_POINT_READ}, len(order), None, "EPSG:27700")
    if "postcode" in positions:
        # Prefer latitude and longitude: ONS computed them with the exact transformation.
        for pair, other, crs in (
            (("lat", "long"), ("east", "north"), "EPSG:4326"),
            (("east", "north"), ("lat", "long"), "EPSG:27700"),
        ):
            if all(name in positions for name in pair):
                layout = _Layout(
                    {k: v for k, v in positions.items() if k not in other}, width, tuple(rows[0]), crs
                )
                if _of_code_point(rows[1:]) is not False and any(
                    layout.columns.get(name) != without.columns[name]
                    for name in ("postcode", "east", "north")
                ):
                    raise DataError(
                        f"{table.name} names columns in row 1, while its rows have the order of Code-Point "
                        "Open without a header: delete row 1, or arrange the columns as it names them."
                    )
                return layout
        raise DataError(
            f"{table.name} has postcodes but no coordinates: it needs columns lat and long, "
            "or oseast1m and osnrth1m."
        )
    if (of_code_point := _of_code_point(rows)) is None:
        raise DataError(
            f"{table.name} leaves open whether it is Code-Point Open without a header, since one row alone "
            "decides it: correct that row, or add a header that names the columns."
        )
    return without if of_code_point else None


def _of_code_point(rows: Sequence[Sequence[str]]) -> bool | None:
    """Whether most rows are those of Code-Point Open: a postcode, its quality, and two whole
    numbers. None if one row decides it."""
    width = len(named_profile("code-point").order)
    keys = postcode_keys(pa.array([row[0] for row in rows], pa.string()))
    fits = (
        len(row) == width and key >= 0 and all(cell.isdecimal() for cell in row[1:4])
        for row, key in zip(rows, keys, strict=True)
    )
    return settled(*counted(fits), len(rows), 0.5)


def load_postcodes(
    source: Source | Sequence[Source], *, limits: Limits = LIMITS
) -> tuple[PostcodeTable, LoadReport]:
    """Load postcode files of one coordinate system: ONSPD or NSPL (any edition with a header),
    tables with postcode and latitude/longitude or easting/northing, and header-less Code-Point Open
    (10 columns, EPSG:27700); as .csv, .gz, .zip, .tar.gz, .xlsx or a folder. Keep terminated
    postcodes, since past sales refer to them. For a repeated postcode take its first live place,
    otherwise its first place. Raise `DataError` if no postcode has coordinates or coordinates
    contradict their columns."""
    sources = as_sources(source)
    name = ", ".join(source_name(item) for item in sources)
    tally, store, crs = Tally(), _Found(), ""
    for item in sources:
        for table in open_tables(item, limits, folders=True):
            if crs and "multi_csv" in table.folder:
                continue  # ONS adds copies per area to the whole table, which sorts first
            layout = _layout(table)
            if layout is None:
                store.ignored += 1
                continue
            if crs and layout.crs != crs:
                raise DataError(
                    f"{name} mixes {crs} and {layout.crs} coordinates: load files of one format at a time."
                )
            crs = layout.crs
            _read(table, layout, tally, store)
    if not crs:
        raise DataError(
            f"{name} is no postcode table: a header with pcds, pcd or pcd2 and coordinates (ONSPD, NSPL) or "
            "the 10 columns of Code-Point Open without a header were looked for."
        )
    if not sum(part[0].size for part in store.parts):
        raise DataError(
            f"{name} gives no postcode with coordinates; most rows were dropped as: {tally.main_reason}."
        )
    keys, x, y, ended = (np.concatenate([part[i] for part in store.parts]) for i in range(4))
    _check_ranges(name, crs, x, y)
    first = _first_live(keys, ended)
    unique = keys[first]
    tally.drop("the postcode was listed before, or as terminated", int(keys.size - unique.size))
    store.terminated = int(np.count_nonzero(ended[first]))
    bare = np.unique(np.concatenate(store.unlocated))
    bare = np.setdiff1d(bare, unique, assume_unique=True)
    is_generated = bool(_Q_FIRST[0] <= unique[0] and unique[-1] < _Q_FIRST[1])
    attribution = ("Generated by Hexcursion; not real places.",) if is_generated else ONS_ATTRIBUTION
    result = PostcodeTable(
        unique.astype(np.int64), x[first], y[first], crs, bare.astype(np.int64), is_generated, attribution
    )
    return result, tally.report(name, result.size, store.sentences(crs))


def _first_live(keys: NDArray[np.int64], ended: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the position of each postcode's first live row, otherwise its first row, by postcode."""
    order = np.lexsort((ended, keys))  # stable: in the order of the file for equal keys
    return np.asarray(order[np.diff(keys[order], prepend=UNKNOWN) != 0])


@dataclass(eq=False)
class _Found:
    """The rows stored so far, and counts for the sentences of the report."""

    parts: list[_Part] = field(default_factory=list)
    unlocated: list[NDArray[np.int64]] = field(default_factory=list)
    ignored: int = 0
    terminated: int = 0
    code_point: bool = False

    def sentences(self, crs: str) -> tuple[str, ...]:
        lines = [f"Coordinates are in {crs}."]
        if self.code_point:
            lines.append("Read as Code-Point Open without a header.")
        if self.terminated:
            lines.append(
                f"{self.terminated:,} terminated postcodes were kept, since past sales refer to them."
            )
        if self.ignored:
            lines.append(
                f"{self.ignored:,} files of the archive are no postcode tables and were passed over."
            )
        return tuple(lines)


def _read(table: Table, layout: _Layout, tally: Tally, store: _Found) -> None:
    """Read the postcodes of one table into the store."""
    store.code_point = store.code_point or layout.header is None
    degrees = layout.crs == "EPSG:4326"
    x_name, y_name = ("long", "lat") if degrees else ("east", "north")
    form = RowLayout(layout.width, layout.header, encoding=marked_coding(table.head) or "utf-8")
    for block in blocks(table, layout.columns, form):
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
            no_place = "9" if layout.header else "90"
            nowhere |= mask(pc.equal(columns["quality"], no_place))
        store.unlocated.append(np.unique(keys[alive & nowhere]))
        alive = tally.drop_where("postcode without usable coordinates", nowhere, alive)
        ended = np.zeros(block.rows, dtype=bool)
        if "terminated" in columns:
            ended = mask(pc.not_equal(columns["terminated"], ""))
        store.parts.append((keys[alive], x[alive], y[alive], ended[alive]))


def _check_ranges(name: str, crs: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    if crs == "EPSG:4326":
        # The United Kingdom extends from 49 to 61 degrees north and from 9 west to 3 east.
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
