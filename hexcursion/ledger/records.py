"""Which records a dataset holds, as keyed hashes: enough to count shared records, useless without the key.

A record is known by up to eight keyed hashes, the first three from the most to the least telling:

    identity   what names the record itself, such as a transaction identifier
    moment     its place and value on public grids, and its time
    place      its place and value on public grids
    occasion   its place on a public grid and its time
    reading    its value on a public grid and its time
    row        its row in its file, by the file's content

An identity that is a short whole number names the records of any other table as well, so a record with one is
known by two more:

    numbered place   its identity, and its place on a public grid
    numbered value   its identity, and its value on a public grid

Beside them stand the hashes of the different places alone, and of the file: they tell too little to count
records. `overlap` says how two datasets are compared. Equal rows of one dataset are numbered, so that they
count as often as they stand there; row, file, places alone and the numbered ones came later than the others,
and what an older ledger holds lacks them.
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

# The golden ratio keeps decimal numbers off the edges of a grid, where a last digit would decide.
PLACE_STEP = 1.618034e-4
"""Degrees of longitude and latitude: about 18 m from north to south."""
VALUE_STEP = 1.618034e-4
"""Relative step of values, so 72 pounds at 442,413; near zero the step is VALUE_STEP * VALUE_FLOOR."""
VALUE_FLOOR = 0.01
LARGEST = 1e300
"""Values beyond it are taken for each other: overlaps are found and not missed; no measure is as large."""
OFFSET = 0.4142135
_COUNTER = re.compile(r"0*[0-9]{1,7}(\.0*)?")
"""An identity so short that a table which is numbered from 0 or 1 has it too, up to ten million rows."""
_ROW_OF_PLACES = 1 << 32  # more steps than there are from pole to pole
EXACT_RECORDS = 1 << 17
"""Up to this many records every hash is kept; of more, a sample of at most about as many."""
_MAGIC = b"hexcursion-records-1\n"
_SPOTS = "spot"  # stands beside the kinds in a stored sketch


@dataclass(frozen=True, eq=False)
class RecordKeys:
    """Keyed hashes of all records of a dataset, from `record_keys`."""

    hashes: Mapping[Kind, Hashes]  # (n,) each, in the order of the records; `place` always
    # Share of records, 0 to 1, that another dataset of the same places might hold by chance alone: a rough
    # guess that errs upwards. Only of kinds that chance can make agree
    chance: Mapping[Kind, float] = field(default_factory=dict)
    # (k,) hashes of the different places, ascending
    spots: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    file: str = ""  # Keyed hash of the file, "" where it is not known
    # (n,) which identities are short whole numbers; None where no record has one
    numbered: NDArray[np.bool_] | None = None

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.hashes["place"].size)

    def sketch(self) -> Sketch:
        """What the ledger keeps of them: all hashes, or those that begin with `shift` zero bits."""
        shift = 0
        while (self.n >> shift) > EXACT_RECORDS:
            shift += 1
        kept = {kind: np.unique(values[sampled(values, shift)]) for kind, values in self.hashes.items()}
        return Sketch(self.n, shift, kept, self.chance, self.spots[:EXACT_RECORDS], self.file)


@dataclass(frozen=True, eq=False)
class Sketch:
    """The hashes that are kept of a dataset: each of its n records' with probability 2^-shift. Because a hash
    is kept by its own value, two sketches keep the same records where they share any."""

    n: int  # records of the dataset
    shift: int  # zero bits with which a kept hash begins
    kept: Mapping[Kind, Hashes]  # Ascending, each once
    # these three as in `RecordKeys`; of the places the smallest EXACT_RECORDS hashes
    chance: Mapping[Kind, float] = field(default_factory=dict)
    spots: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    file: str = ""

    @property
    def exact(self) -> bool:
        """Whether every record's hash is kept."""
        return self.shift == 0

    def to_bytes(self) -> bytes:
        """The stored form."""
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
        kept = dict(zip(facts["kinds"], parts, strict=True))
        spots = kept.pop(_SPOTS, np.empty(0, np.uint64))
        return cls(facts["n"], facts["shift"], kept, facts.get("chance", {}), spots, facts.get("file", ""))


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
    """Keyed hashes of n records. `longitude`, `latitude`: (n,) WGS84 degrees, so that a place has the same
    hash in any system; `value`: (n,); `time`: (n,) whole numbers, or datetimes in whole seconds; `identity`:
    (n,) texts or whole numbers that name a record, blank nowhere; `row`: (n,) its place in the file, each
    once, passed over without `file`, the SHA-256 of its content; `layer`: its sheet. Raise `LedgerError` for
    no records, unequal lengths, numbers that are not finite or blank identities."""
    columns = [np.asarray(column, dtype=np.float64) for column in (longitude, latitude, value)]
    n = columns[0].size
    if n == 0:
        raise LedgerError("There are no records to take hashes of: load data first.")
    if any(column.shape != (n,) or not np.all(np.isfinite(column)) for column in columns):
        raise LedgerError("Records need equally many finite longitudes, latitudes and values.")
    x, y, v = columns
    where = np.column_stack([_step(x, PLACE_STEP), _step(y, PLACE_STEP)])
    level = _step(np.arcsinh(np.clip(v, -LARGEST, LARGEST) / VALUE_FLOOR), VALUE_STEP)
    grid = np.column_stack([where, level])
    again = _occurrences(grid)
    spots = np.unique(where[:, 0] * _ROW_OF_PLACES + where[:, 1])
    hashes: dict[Kind, Hashes] = {"place": _hash_rows(key, "place", grid, again)}
    # One record more at a place agrees with another there as often as two records of the dataset agree.
    by_value = 2.0 * (n / spots.size) * _agreeing(level)
    chance: dict[Kind, float] = {"place": min(1.0, max(2.0 * float(np.mean(again > 0)), by_value))}
    numbered: NDArray[np.bool_] | None = None
    if time is not None:
        seconds = _seconds(time, n)
        moments = np.column_stack([grid, seconds])
        hashes["moment"] = _hash_rows(key, "moment", moments, _occurrences(moments))
        kinds: dict[Kind, NDArray[np.int64]] = {"occasion": where, "reading": level[:, np.newaxis]}
        for kind, part in kinds.items():
            table = np.column_stack([part, seconds])
            again = _occurrences(table)
            hashes[kind] = _hash_rows(key, kind, table, again)
            chance[kind] = min(1.0, 2.0 * float(np.mean(again > 0)))
    if identity is not None:
        names, numbered = _identity_rows(key, identity, n)
        hashes["identity"] = _hash_rows(key, "identity", names, _occurrences(names))
    if numbered is not None:
        named: dict[Kind, NDArray[np.int64]] = {
            "numbered place": where,
            "numbered value": level[:, np.newaxis],
        }
        for kind, part in named.items():
            table = np.column_stack([names, part])
            hashes[kind] = _hash_rows(key, kind, table, _occurrences(table))
        # In order of their places, rows have one number in all tables with as many of them at each place.
        chance["numbered place"] = min(1.0, 2.0 * float(np.mean(_occurrences(where) > 0)))
        chance["numbered value"] = min(1.0, 2.0 * _agreeing(level))
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


def sampled(values: Hashes, shift: int) -> NDArray[np.bool_]:
    """(n,) which hashes begin with `shift` zero bits."""
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
    """(n, 1) one whole number for each identity, texts by their own keyed hash; and which are counters."""
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
    """(n,) keyed hash of each row with its number `again` among equal rows, 64 bits. Among 10^14 pairs of
    different records (ten million against ten million) the chance that any two agree is about 5e-6."""
    rows = np.column_stack([table, again])
    if kind not in ("identity", "moment", "place"):
        return _quick_hashes(key, kind, rows)
    secret = bytes.fromhex(key.mac("records", kind.encode()))
    data, width = rows.astype(">i8").tobytes(), 8 * rows.shape[1]
    digests = _macs(secret, (data[at : at + width] for at in range(0, len(data), width)))
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def _quick_hashes(key: LedgerKey, what: str, rows: NDArray[np.int64]) -> Hashes:
    """(n,) keyed BLAKE2b of each row, 64 bits: a third of the time of HMAC-SHA256, which older kinds have."""
    begun = hashlib.blake2b(key=bytes.fromhex(key.mac("records", what.encode())), digest_size=8)
    data, width = rows.astype(">i8").tobytes(), 8 * rows.shape[1]
    digests = _digests(begun, (data[at : at + width] for at in range(0, len(data), width)))
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def _agreeing(level: NDArray[np.int64]) -> float:
    """The probability that two different records of a dataset have one value."""
    counts = np.unique(level, return_counts=True)[1].astype(float)
    return float((counts * (counts - 1.0)).sum() / max(1.0, level.size * (level.size - 1.0)))


def _macs(secret: bytes, texts: Iterable[bytes]) -> bytes:
    """The first 8 bytes of each text's HMAC-SHA256, which is begun once: that is half of the work."""
    return _digests(hmac.new(secret, digestmod="sha256"), texts)


def _digests(begun: Any, texts: Iterable[bytes]) -> bytes:
    def mac(text: bytes) -> bytes:
        one = begun.copy()
        one.update(text)
        return bytes(one.digest()[:8])

    return b"".join(map(mac, texts))


def _occurrences(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) 0 for the first of equal rows, 1 for the second, and so on."""
    # Rows are told apart by 64-bit hashes: sorting these takes a tenth of the time of sorting the rows.
    hashes = mixed(np.zeros(len(table), np.uint64), *(bits_of(column) for column in table.T))
    order = np.argsort(hashes, kind="stable")
    new = np.concatenate([[True], np.diff(hashes[order]) != 0])
    starts = np.flatnonzero(new)
    numbers = np.arange(order.size) - starts[np.cumsum(new) - 1]
    found = np.empty(order.size, dtype=np.int64)
    found[order] = numbers
    return found
