"""Which records a dataset holds, as keyed hashes: enough to count shared records, useless without the key.

A record is known by up to three keyed hashes, from the most to the least telling:

    identity   what names the record itself, such as a transaction identifier
    moment     its place and value on public grids, and its time
    place      its place and value on public grids

Two datasets are compared by the first kind that both have for every record; by moments too where many agree
in these under other names. Equal rows of one dataset are numbered, so that they count as often as they
stand there.

What is recognised: the same record in another order, file, filter, area or coordinate system, beside any
other records, and after a change that is small against the grids: one of size t moves about the share t/step
of the records to another hash (under one in ten thousand for 1e-9). With an identity, whatever happened to
the rest.

What is not: without identities, records whose places or values were moved by more than a step, rescaled,
aggregated, or rounded coarsely; and records whose identities were renamed and whose times are not known or
changed too. There a person joins the accounts (`Ledger.decide`).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from workflow.ledger.errors import LedgerDamaged, LedgerError
from workflow.ledger.signing.key import LedgerKey

Hashes = NDArray[np.uint64]
Kind = Literal["identity", "moment", "place"]
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
EXACT_RECORDS = 1 << 17
"""Up to this many records every hash is kept; of more, a sample of at most about as many."""
MISTAKE = 1e-6
"""Chance that the number of shared records is above `Shared.most`, where it had to be sampled."""
RENAMED = 0.1
"""Share of records alike in place, value and time from which on other names are not believed."""
_MAGIC = b"hexcursion-records-1\n"


@dataclass(frozen=True, eq=False)
class RecordKeys:
    """Keyed hashes of all records of a dataset, from `record_keys`.

    Parameters
    ----------
    hashes : mapping of kind to (n,) uint64
        In the order of the records; `place` is always there.
    """

    hashes: Mapping[Kind, Hashes]

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.hashes["place"].size)

    def sketch(self) -> Sketch:
        """What the ledger keeps of them: all hashes, or those that begin with `shift` zero bits."""
        shift = 0
        while (self.n >> shift) > EXACT_RECORDS:
            shift += 1
        kept = {kind: np.unique(values[_sampled(values, shift)]) for kind, values in self.hashes.items()}
        return Sketch(self.n, shift, kept)


@dataclass(frozen=True, eq=False)
class Sketch:
    """The hashes that are kept of a dataset: each of its n records' with probability 2^-shift.

    Because a hash is kept by its own value, two sketches keep the same records where they share any.

    Parameters
    ----------
    n
        records of the dataset
    shift
        zero bits with which a kept hash begins
    kept : mapping of kind to (k,) uint64
        Ascending, each once.
    """

    n: int
    shift: int
    kept: Mapping[Kind, Hashes]

    @property
    def exact(self) -> bool:
        """Whether every record's hash is kept."""
        return self.shift == 0

    def to_bytes(self) -> bytes:
        """The stored form."""
        kinds = [kind for kind in KINDS if kind in self.kept]
        sizes = [int(self.kept[kind].size) for kind in kinds]
        header = json.dumps({"n": self.n, "shift": self.shift, "kinds": kinds, "sizes": sizes})
        return b"".join(
            [_MAGIC, header.encode(), b"\n", *(self.kept[kind].astype(">u8").tobytes() for kind in kinds)]
        )

    @classmethod
    def from_bytes(cls, data: bytes, digest: str) -> Sketch:
        """Read the stored form.

        Raises
        ------
        LedgerDamaged
            Unless the SHA-256 of `data` is `digest`.
        """
        if hashlib.sha256(data).hexdigest() != digest or not data.startswith(_MAGIC):
            raise LedgerDamaged(
                "The record hashes of an account were changed: restore the ledger from a backup."
            )
        header, _, body = data[len(_MAGIC) :].partition(b"\n")
        facts = json.loads(header)
        values = np.frombuffer(body, dtype=">u8").astype(np.uint64)
        parts = np.split(values, np.cumsum(facts["sizes"])[:-1])
        return cls(facts["n"], facts["shift"], dict(zip(facts["kinds"], parts, strict=True)))


@dataclass(frozen=True)
class Shared:
    """How many records of a dataset others hold as well.

    Parameters
    ----------
    count
        as counted, or as estimated from a sample
    most
        upper bound: `count` where nothing was sampled, otherwise wrong with probability MISTAKE at most
    exact
        whether nothing was sampled
    """

    count: int
    most: int
    exact: bool


def record_keys(
    key: LedgerKey,
    longitude: ArrayLike,
    latitude: ArrayLike,
    value: ArrayLike,
    *,
    time: ArrayLike | None = None,
    identity: ArrayLike | None = None,
) -> RecordKeys:
    """Keyed hashes of a dataset's records.

    Parameters
    ----------
    longitude, latitude : (n,) WGS84 degrees
        Converted from the data's own system, so that the same place has the same hash in any of them.
    value : (n,) in the data's own unit
    time : (n,) whole numbers or datetimes, optional
        Counted in whole seconds if given as datetimes.
    identity : (n,) texts or whole numbers, optional
        What names each record, e.g. a transaction identifier; blank nowhere.

    Raises
    ------
    LedgerError
        For no records, unequal lengths, numbers that are not finite or blank identities.
    """
    columns = [np.asarray(column, dtype=np.float64) for column in (longitude, latitude, value)]
    n = columns[0].size
    if n == 0:
        raise LedgerError("There are no records to take hashes of: load data first.")
    if any(column.shape != (n,) or not np.all(np.isfinite(column)) for column in columns):
        raise LedgerError("Records need equally many finite longitudes, latitudes and values.")
    x, y, v = columns
    grid = np.column_stack(
        [
            _step(x, PLACE_STEP),
            _step(y, PLACE_STEP),
            _step(np.arcsinh(np.clip(v, -LARGEST, LARGEST) / VALUE_FLOOR), VALUE_STEP),
        ]
    )
    hashes: dict[Kind, Hashes] = {"place": _hash_rows(key, "place", grid)}
    if time is not None:
        hashes["moment"] = _hash_rows(key, "moment", np.column_stack([grid, _seconds(time, n)]))
    if identity is not None:
        hashes["identity"] = _hash_rows(key, "identity", _identity_rows(key, identity, n))
    return RecordKeys(hashes)


def matched(keys: RecordKeys, sketch: Sketch) -> NDArray[np.bool_]:
    """(n,) which records are among the kept ones of a sketch; the kind is the most telling they share.

    Where a share `RENAMED` of the records or more agree in place, value and time, and hardly any of them in
    name, another column was taken for the name: then these are the same records.
    """
    kinds = [kind for kind in KINDS if kind in keys.hashes and kind in sketch.kept]
    found = _among(keys, sketch, kinds[0])
    if kinds[0] == "identity" and "moment" in kinds:
        again = _among(keys, sketch, "moment")
        many = RENAMED * min(keys.n * 2.0**-sketch.shift, sketch.kept["moment"].size)
        if again.sum() >= max(many, 1 + 2 * found.sum()):
            found |= again
    return found


def _among(keys: RecordKeys, sketch: Sketch, kind: Kind) -> NDArray[np.bool_]:
    kept = sketch.kept[kind]
    values = keys.hashes[kind]
    place = np.minimum(np.searchsorted(kept, values), max(kept.size - 1, 0))
    return np.asarray(kept[place] == values) if kept.size else np.zeros(values.shape, dtype=bool)


def count_shared(keys: RecordKeys, sketches: Mapping[str, Sketch]) -> tuple[dict[str, Shared], Shared]:
    """How many records each sketch shares with the dataset, and how many are shared with any of them.

    Where sketches are samples the number for all together adds up what each holds beyond the exact ones, so
    it errs upwards.
    """
    masks = {name: matched(keys, sketch) for name, sketch in sketches.items()}
    each = {
        name: _scaled(int(mask.sum()), sketches[name].shift, min(keys.n, sketches[name].n))
        for name, mask in masks.items()
    }
    known = np.zeros(keys.n, dtype=bool)
    for name, mask in masks.items():
        if sketches[name].exact:
            known |= mask
    count = most = int(known.sum())
    exact = True
    for name, mask in masks.items():
        if not sketches[name].exact:
            more = _scaled(int((mask & ~known).sum()), sketches[name].shift, min(keys.n, sketches[name].n))
            count, most, exact = count + more.count, most + more.most, False
    return each, Shared(min(count, keys.n), min(most, keys.n), exact)


def _scaled(found: int, shift: int, limit: int) -> Shared:
    """Numbers of records from `found` in a sample at rate 2^-shift."""
    if shift == 0:
        return Shared(found, found, True)
    rate = 2.0**-shift
    low, high = found, limit  # P(Binomial(K, rate) <= found) falls in K: the largest K that is still likely
    while low < high:
        middle = (low + high + 1) // 2
        if bdtr(found, middle, rate) > MISTAKE:
            low = middle
        else:
            high = middle - 1
    return Shared(min(found << shift, limit), low, False)


def _sampled(values: Hashes, shift: int) -> NDArray[np.bool_]:
    return np.asarray(values >> np.uint64(64 - shift) == 0) if shift else np.ones(values.shape, dtype=bool)


def _step(values: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    return np.floor(values / step + OFFSET).astype(np.int64)


def _seconds(time: ArrayLike, n: int) -> NDArray[np.int64]:
    times = np.asarray(time)
    dates = times.dtype.kind == "M"
    if times.shape != (n,) or times.dtype.kind not in "iuM" or (dates and np.any(np.isnat(times))):
        raise LedgerError("Times of records are whole numbers or dates, one for each record.")
    return (times.astype("datetime64[s]") if dates else times).astype(np.int64)


def _identity_rows(key: LedgerKey, identity: ArrayLike, n: int) -> NDArray[np.int64]:
    """(n, 1) one whole number for each identity; texts by their own keyed hash."""
    names = np.asarray(identity)
    if names.shape != (n,):
        raise LedgerError("Identities of records are texts or whole numbers, one for each record.")
    if names.dtype.kind in "iu":
        return names.astype(np.uint64).view(np.int64).reshape(n, 1)
    texts = [str(name).strip().upper() for name in names]
    if not all(texts):
        raise LedgerError("A record without an identity has none: leave the identities of this dataset out.")
    digests = _macs(bytes.fromhex(key.mac("records", b"name")), (text.encode() for text in texts))
    return np.frombuffer(digests, dtype=">i8").astype(np.int64).reshape(n, 1)


def _hash_rows(key: LedgerKey, kind: Kind, table: NDArray[np.int64]) -> Hashes:
    """(n,) HMAC-SHA256 of each row with its number among equal rows, first 64 bits.

    Among 10^14 pairs of different records (ten million against ten million) the chance that any two agree
    is about 5e-6.
    """
    rows = np.column_stack([table, _occurrences(table)])
    secret = bytes.fromhex(key.mac("records", kind.encode()))
    data, width = rows.astype(">i8").tobytes(), 8 * rows.shape[1]
    digests = _macs(secret, (data[at : at + width] for at in range(0, len(data), width)))
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def _macs(secret: bytes, texts: Iterable[bytes]) -> bytes:
    """The first 8 bytes of each text's HMAC-SHA256, which is begun once: that is half of the work."""
    begun = hmac.new(secret, digestmod="sha256")

    def mac(text: bytes) -> bytes:
        one = begun.copy()
        one.update(text)
        return one.digest()[:8]

    return b"".join(map(mac, texts))


def _occurrences(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) 0 for the first of equal rows, 1 for the second, and so on."""
    order = np.lexsort(table.T)
    new = np.concatenate([[True], np.any(np.diff(table[order], axis=0) != 0, axis=1)])
    starts = np.flatnonzero(new)
    numbers = np.arange(order.size) - starts[np.cumsum(new) - 1]
    found = np.empty(order.size, dtype=np.int64)
    found[order] = numbers
    return found
