"""The records of a dataset as keyed hashes: enough to count shared records, useless without the
key.

A record has up to eight keyed hashes, the first three in order of strength:

    identity   the name of the record, such as a transaction identifier
    moment     its place and value on public grids, and its time
    place      its place and value on public grids
    occasion   its place on a public grid and its time
    reading    its value on a public grid and its time
    row        its row in its file, by the file's content

A short whole number as identity also occurs in unrelated tables, so a record with one has two more
hashes:

    numbered place   its identity, and its place on a public grid
    numbered value   its identity, and its value on a public grid

A dataset also has hashes of its distinct places alone, and of its file, which are too weak to count
records. `overlap` compares two datasets. Equal rows of one dataset are numbered, so that each of
them counts. An older ledger lacks the hashes of row, file, places alone and numbered records, which
were added later.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from data_loaders.repeats import bits_of, mixed
from hexcursion.ledger.errors import LedgerDamaged, LedgerError
from hexcursion.ledger.places import LedgerKey

Hashes = NDArray[np.uint64]
Kind = Literal[
    "identity", "moment", "place", "occasion", "reading", "numbered place", "numbered value", "row"
]
KINDS: tuple[Kind, ...] = get_args(Kind)

# The golden ratio keeps decimal numbers away from the edges of a grid, where a last digit would
# decide.
PLACE_STEP = 1.618034e-4
"""Degrees of longitude and latitude: about 18 m from north to south."""
VALUE_STEP = 1.618034e-4
"""Relative step of values, 72 pounds at 442,413; near zero the step is VALUE_STEP * VALUE_FLOOR."""
VALUE_FLOOR = 0.01
LARGEST = 1e300
"""Values beyond it count as equal, which can only add overlaps; no measurement is as large."""
OFFSET = 0.4142135
_COUNTER = re.compile(r"0*[0-9]{1,7}(\.0*)?")
"""An identity short enough to occur in any table numbered from 0 or 1, up to ten million rows."""
_ROW_OF_PLACES = 1 << 32  # more than the steps from pole to pole
EXACT_RECORDS = 1 << 17
"""Number of records up to which every hash is stored; of more, a sample of about this size."""
_MAGIC = b"hexcursion-records-1\n"
_SPOTS = "spot"  # follows the kinds in a stored sketch


@dataclass(frozen=True, eq=False)
class RecordKeys:
    """Keyed hashes of all records of a dataset, from `record_keys`."""

    hashes: Mapping[Kind, Hashes]  # (n,) each, in the order of the records; `place` always
    # share of records, 0 to 1, that another dataset of the same places may have by chance: a rough
    # estimate that errs upwards, only for kinds that can agree by chance
    chance: Mapping[Kind, float] = field(default_factory=dict)
    # (k,) hashes of the distinct places, ascending
    spots: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    file: str = ""  # keyed hash of the file, "" if unknown
    # (n,) which identities are short whole numbers; None where no record has one
    numbered: NDArray[np.bool_] | None = None

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.hashes["place"].size)

    def sketch(self) -> Sketch:
        """Return the hashes that the ledger stores: all, or those that begin with `shift` zero
        bits."""
        shift = 0
        while (self.n >> shift) > EXACT_RECORDS:
            shift += 1
        samples = {kind: np.unique(values[sampled(values, shift)]) for kind, values in self.hashes.items()}
        return Sketch(self.n, shift, samples, self.chance, self.spots[:EXACT_RECORDS], self.file)


@dataclass(frozen=True, eq=False)
class Sketch:
    """The stored hashes of a dataset: of each of its n records with probability 2^-shift. The value
    of a hash decides whether it is stored, so two sketches store the same ones of their shared
    records."""

    n: int  # records of the dataset
    shift: int  # zero bits at the start of a stored hash
    kept: Mapping[Kind, Hashes]  # ascending, each once
    # these three as in `RecordKeys`; of the places the smallest EXACT_RECORDS hashes
    chance: Mapping[Kind, float] = field(default_factory=dict)
    spots: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    file: str = ""

    @property
    def exact(self) -> bool:
        """Whether the hashes of all records are stored."""
        return self.shift == 0

    def to_bytes(self) -> bytes:
        """Return the stored form."""
        kinds = [kind for kind in KINDS if kind in self.kept]
        parts = [*(self.kept[kind] for kind in kinds), self.spots]
        header: dict[str, Any] = {"n": self.n, "shift": self.shift, "kinds": [*kinds, _SPOTS]}
        header |= {"sizes": [int(part.size) for part in parts], "chance": dict(self.chance)}
        if self.file:
            header["file"] = self.file
        return b"".join(
            [_MAGIC, json.dumps(header).encode(), b"\n", *(part.astype(">u8").tobytes() for part in parts)]
        )

    @classmethod
    def from_bytes(cls, data: bytes, digest: str) -> Sketch:
        """Read the stored form. Raise `LedgerDamaged` unless the SHA-256 of `data` is `digest`."""
        if hashlib.sha256(data).hexdigest() != digest or not data.startswith(_MAGIC):
            raise LedgerDamaged(
                "The record hashes of an account were changed: restore the ledger from a backup."
            )
        header, _, body = data[len(_MAGIC) :].partition(b"\n")
        facts = json.loads(header)
        values = np.frombuffer(body, dtype=">u8").astype(np.uint64)
        parts = np.split(values, np.cumsum(facts["sizes"])[:-1])
        hashes = dict(zip(facts["kinds"], parts, strict=True))
        spots = hashes.pop(_SPOTS, np.empty(0, np.uint64))
        return cls(facts["n"], facts["shift"], hashes, facts.get("chance", {}), spots, facts.get("file", ""))


def _finite_columns(*given: ArrayLike) -> list[NDArray[np.float64]]:
    """Longitudes, latitudes and values, each (n,)."""
    columns = [np.asarray(column, dtype=np.float64) for column in given]
    n = columns[0].size
    if n == 0:
        raise LedgerError("There are no records to take hashes of: load data first.")
    if any(column.shape != (n,) or not np.all(np.isfinite(column)) for column in columns):
        raise LedgerError("Records need equally many finite longitudes, latitudes and values.")
    return columns


def record_keys(
    key: LedgerKey,
    longitude: ArrayLike,
    latitude: ArrayLike,
    value: ArrayLike,
    *,
    time: ArrayLike | None = None,
    identity: ArrayLike | None = None,
    row: ArrayLike | None = None,
    file: str = "",
    layer: str = "",
) -> RecordKeys:
    """Return keyed hashes of n records. `longitude`, `latitude`: (n,) WGS84 degrees, so that a
    place has the same hash in any system; `value`: (n,); `time`: (n,) whole numbers, or datetimes
    in whole seconds; `identity`: (n,) texts or whole numbers that name a record, never blank;
    `row`: (n,) distinct numbers of the rows in the file, ignored without `file`, the SHA-256 of its
    content; `layer`: its sheet. Raise `LedgerError` without records, and for unequal lengths,
    infinite numbers or blank identities."""
    x, y, v = _finite_columns(longitude, latitude, value)
    n = x.size
    where = np.column_stack([_step(x, PLACE_STEP), _step(y, PLACE_STEP)])
    level = _step(np.arcsinh(np.clip(v, -LARGEST, LARGEST) / VALUE_FLOOR), VALUE_STEP)
    grid = np.column_stack([where, level])
    again = _occurrences(grid)
    spots = np.unique(where[:, 0] * _ROW_OF_PLACES + where[:, 1])
    hashes: dict[Kind, Hashes] = {"place": _hash_rows(key, "place", grid, again)}
    # A further record at a place agrees with one there as often as two records of the dataset
    # agree.
    by_value = 2.0 * (n / spots.size) * _agreeing(level)
    chance: dict[Kind, float] = {"place": min(1.0, max(2.0 * float(np.mean(again > 0)), by_value))}
    numbered: NDArray[np.bool_] | None = None
    if time is not None:
        _add_times(hashes, chance, key, _seconds(time, n), grid)
    if identity is not None:
        names, numbered = _identity_rows(key, identity, n)
        hashes["identity"] = _hash_rows(key, "identity", names, _occurrences(names))
    if numbered is not None:
        _add_numbers(hashes, chance, key, names, grid)
    if row is not None and file:
        numbers = np.asarray(row, dtype=np.int64).reshape(n, 1)
        hashes["row"] = _quick_hashes(key, f"row:{file}:{layer}", numbers)
    return RecordKeys(
        hashes,
        chance,
        np.sort(_quick_hashes(key, "spot", spots.reshape(-1, 1))),
        key.mac("records", f"file:{file}".encode()) if file else "",
        numbered,
    )


def _add_numbers(
    hashes: dict[Kind, Hashes],
    chance: dict[Kind, float],
    key: LedgerKey,
    names: NDArray[np.int64],
    grid: NDArray[np.int64],
) -> None:
    """Add the kinds that recognise numbered records: by number and place, and by number and value.
    `names`: (n, 1) numbers; `grid`: (n, 3) steps of longitude, latitude and value."""
    where, level = grid[:, :2], grid[:, 2]
    tables: dict[Kind, NDArray[np.int64]] = {
        "numbered place": np.column_stack([names, where]),
        "numbered value": np.column_stack([names, level]),
    }
    for kind, table in tables.items():
        hashes[kind] = _hash_rows(key, kind, table, _occurrences(table))
    # Rows in order of places have equal numbers in all tables with equal counts at each place.
    chance["numbered place"] = min(1.0, 2.0 * float(np.mean(_occurrences(where) > 0)))
    chance["numbered value"] = min(1.0, 2.0 * _agreeing(level))


def _add_times(
    hashes: dict[Kind, Hashes],
    chance: dict[Kind, float],
    key: LedgerKey,
    seconds: NDArray[np.int64],
    grid: NDArray[np.int64],
) -> None:
    """Add the kinds that recognise records by time: whole records, and places and values with
    times. `seconds`: (n,); `grid`: (n, 3) steps of longitude, latitude and value."""
    moments = np.column_stack([grid, seconds])
    hashes["moment"] = _hash_rows(key, "moment", moments, _occurrences(moments))
    kinds: dict[Kind, NDArray[np.int64]] = {"occasion": grid[:, :2], "reading": grid[:, 2:]}
    for kind, part in kinds.items():
        table = np.column_stack([part, seconds])
        again = _occurrences(table)
        hashes[kind] = _hash_rows(key, kind, table, again)
        chance[kind] = min(1.0, 2.0 * float(np.mean(again > 0)))


def sampled(values: Hashes, shift: int) -> NDArray[np.bool_]:
    """Return which of (n,) hashes begin with `shift` zero bits."""
    return np.asarray(values >> np.uint64(64 - shift) == 0) if shift else np.ones(values.shape, dtype=bool)


def _step(values: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    return np.floor(values / step + OFFSET).astype(np.int64)


def _seconds(time: ArrayLike, n: int) -> NDArray[np.int64]:
    times = np.asarray(time)
    dates = times.dtype.kind == "M"
    if times.shape != (n,) or times.dtype.kind not in "iuM" or (dates and np.any(np.isnat(times))):
        raise LedgerError("Times of records are whole numbers or dates, one for each record.")
    return (times.astype("datetime64[s]") if dates else times).astype(np.int64)


def _identity_rows(
    key: LedgerKey, identity: ArrayLike, n: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Return (n, 1) whole numbers of the identities, hashing texts, and a mask of counters."""
    names = np.asarray(identity)
    if names.shape != (n,):
        raise LedgerError("Identities of records are texts or whole numbers, one for each record.")
    texts = [str(name).strip().upper() for name in names]
    if not all(texts):
        raise LedgerError("A record without an identity has none: leave the identities of this dataset out.")
    counters = np.fromiter((_COUNTER.fullmatch(text) is not None for text in texts), bool, n)
    numbered = counters if counters.any() else None
    if names.dtype.kind in "iu":
        return names.astype(np.uint64).view(np.int64).reshape(n, 1), numbered
    digests = _macs(bytes.fromhex(key.mac("records", b"name")), (text.encode() for text in texts))
    return np.frombuffer(digests, dtype=">i8").astype(np.int64).reshape(n, 1), numbered


def _hash_rows(key: LedgerKey, kind: Kind, table: NDArray[np.int64], again: NDArray[np.int64]) -> Hashes:
    """Return (n,) keyed 64-bit hashes of rows with their numbers `again` among equal rows. Among
    10^14 pairs of different records (ten million by ten million) the probability of any collision
    is about 5e-6."""
    rows = np.column_stack([table, again])
    if kind not in ("identity", "moment", "place"):
        return _quick_hashes(key, kind, rows)
    secret = bytes.fromhex(key.mac("records", kind.encode()))
    data, width = rows.astype(">i8").tobytes(), 8 * rows.shape[1]
    digests = _macs(secret, (data[at : at + width] for at in range(0, len(data), width)))
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def _quick_hashes(key: LedgerKey, what: str, rows: NDArray[np.int64]) -> Hashes:
    """Return (n,) keyed 64-bit BLAKE2b of rows, in a third of the time of the older kinds'
    HMAC-SHA256."""
    begun = hashlib.blake2b(key=bytes.fromhex(key.mac("records", what.encode())), digest_size=8)
    data, width = rows.astype(">i8").tobytes(), 8 * rows.shape[1]
    digests = _digests(begun, (data[at : at + width] for at in range(0, len(data), width)))
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def _agreeing(level: NDArray[np.int64]) -> float:
    """Return the probability that two different records of a dataset have the same value."""
    counts = np.unique(level, return_counts=True)[1].astype(float)
    return float((counts * (counts - 1.0)).sum() / max(1.0, level.size * (level.size - 1.0)))


def _macs(secret: bytes, texts: Iterable[bytes]) -> bytes:
    """Return the first 8 bytes of each text's HMAC-SHA256; initialising it once saves half of the
    work."""
    return _digests(hmac.new(secret, digestmod="sha256"), texts)


def _digests(begun: Any, texts: Iterable[bytes]) -> bytes:
    def mac(text: bytes) -> bytes:
        state = begun.copy()
        state.update(text)
        return bytes(state.digest()[:8])

    return b"".join(map(mac, texts))


def _occurrences(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (n,) numbers of equal rows: 0 for the first, 1 for the second, and so on."""
    # Compare rows by 64-bit hashes: sorting these takes a tenth of the time of sorting the rows.
    hashes = mixed(np.zeros(len(table), np.uint64), *(bits_of(column) for column in table.T))
    order = np.argsort(hashes, kind="stable")
    new = np.concatenate([[True], np.diff(hashes[order]) != 0])
    starts = np.flatnonzero(new)
    numbers = np.arange(order.size) - starts[np.cumsum(new) - 1]
    occurrences = np.empty(order.size, dtype=np.int64)
    occurrences[order] = numbers
    return occurrences
