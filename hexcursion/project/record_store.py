"""The curator's store of tables that took long to read: rows of a large file, and the hexagons of these rows.

Tables are signed Parquet files that only this user can read. A table is a function of the file's content and
of what was said of it, and so is its name, which says nothing of them without the store's own key. What was
changed by another hand or damaged is not read; the oldest tables make room for new ones. Files that a person
uploaded are the session's and are never kept.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from data_loaders import LoadReport, Observations
from data_loaders.files.blocks import STRIDE, Spool, strides
from data_loaders.observations import COLUMNS
from data_loaders.repeats import are_dropped
from geo import Domain
from hexcursion.ledger.errors import LedgerError
from hexcursion.ledger.places import LedgerKey, create_key, home, private_directory, read_key
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.version import VERSION

LARGE = 64 << 20
"""Bytes of a file from which its rows are kept; a smaller one is read again in a second or two."""

SUFFIXES = (".csv", ".tsv", ".txt", ".gz", ".zip")
"""Files that hold all there is to read: others, like .shp, lie beside files that belong to them."""

OWN_LOADERS = ("price-paid", "sensor-table")
"""What these read is a function of the file, its postcodes and the settings; of others that is not known."""

UPLOADS = "hexcursion-uploads-"
"""How the folders of uploaded files begin."""

FORMAT = f"5 of {VERSION}"
"""Another version of the program may read a file otherwise."""

_ABOUT = ("crs", "unit", "kind", "title", "generated", "owner_word")
_KNOWN: WeakKeyDictionary[Observations, str] = WeakKeyDictionary()

Rows: TypeAlias = "tuple[Observations, LoadReport]"


def read_or_remembered(
    source: SourceSettings, unit: str, owner: str | None, read: Callable[[], Rows]
) -> Rows:
    """Return the rows of a source and the report: from the store, otherwise by `read`, and then kept."""
    if not is_kept(source):
        return read()
    name = name_of("rows", FORMAT, _facts(source), unit, owner, are_dropped())
    if name is None:
        return read()
    found = find_table(name)
    if found is not None:
        rows = _rows(*found)
    else:
        rows = read()
        keep_table(name, _columns(rows[0]), _about(*rows))
    _KNOWN[rows[0]] = name
    return rows


def is_kept(source: SourceSettings) -> bool:
    """Whether the rows of a source are kept: those of a large file of the curator's own."""
    path = Path(source.path)
    if source.read_by.name not in OWN_LOADERS or path.suffix.lower() not in SUFFIXES:
        return False
    try:
        large = path.is_file() and path.stat().st_size >= LARGE
    except (OSError, ValueError):
        return False
    uploaded = any(part.startswith(UPLOADS) for part in path.resolve().parts)
    return large and not uploaded and is_on()


def cells_or_remembered(
    observations: Observations, domain: Domain, locate: Callable[[], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Return each row's position in the cell array, (n,), -1 outside: from the store, else by `locate`."""
    rows = _KNOWN.get(observations)
    if rows is None:
        return locate()
    cells = hashlib.sha256("\n".join(domain.cells).encode()).hexdigest()
    name = name_of("cells", FORMAT, rows, cells)
    if name is None:
        return locate()
    found = find_table(name)
    if found is not None:
        return found[0]["cell"]
    index = locate()
    keep_table(name, {"cell": index}, {})
    return index


def _facts(source: SourceSettings) -> dict[str, Any]:
    """What the rows are a function of: the content of the files, and everything that is said of them."""
    stated = asdict(source) | {"path": Path(source.path).name, "loader": source.read_by.name}
    files = [source.path, *([source.postcodes] if source.postcodes else [])]
    return {"said": stated, "files": [file_fingerprint(Path(path)) for path in files]}


def file_fingerprint(path: Path) -> str:
    """SHA-256 of a file's content, or of all files of a folder with their places in it; "" for none."""
    if not os.path.exists(path):
        return ""
    digest = hashlib.sha256()
    for each in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if each.is_file():
            with each.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
            digest.update(str(each.relative_to(path)).encode() + b"\0" + content)
    return digest.hexdigest()


def _columns(observations: Observations) -> dict[str, NDArray[Any]]:
    given = {name: getattr(observations, name) for name in COLUMNS}
    return {name: column for name, column in given.items() if column is not None}


def _about(observations: Observations, report: LoadReport) -> dict[str, Any]:
    about = {name: getattr(observations, name) for name in _ABOUT}
    return about | {"attribution": observations.attribution, "report": asdict(report)}


def _rows(columns: dict[str, NDArray[Any]], about: dict[str, Any]) -> Rows:
    entry = about["report"]
    dropped = tuple((reason, count) for reason, count in entry["dropped"])
    report = LoadReport(entry["source"], entry["rows_read"], entry["kept"], dropped, tuple(entry["notes"]))
    given: dict[str, Any] = {**columns, **{name: about[name] for name in _ABOUT}}
    return Observations(**given, attribution=tuple(about["attribution"])), report


FOLDER = "read-before"
KEY_NAME = "store.key"
SWITCH = "HEXCURSION_READ_BEFORE"
"""Environment variable: `off` keeps no tables and reads none."""

MOST_BYTES = 20 << 30
"""Bytes of all tables together; the complete Price Paid file takes about 1.5 GB."""

Table: TypeAlias = "tuple[dict[str, NDArray[Any]], dict[str, Any]]"
"""Columns and facts."""

_FACTS = b"hexcursion-facts"
_MAC_LETTERS = 64


def is_on() -> bool:
    """Whether tables are kept at all."""
    return os.environ.get(SWITCH, "").strip().lower() != "off"


def name_of(*facts: Any) -> str | None:
    """Return the table's name (64 hexadecimal digits) for these plain facts.

    None where there can be no store. Without the store's key it tells nothing of the facts.
    """
    key = _key() if is_on() else None
    return None if key is None else key.mac("name", json.dumps(facts, sort_keys=True, default=str).encode())


def keep_table(name: str, columns: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Store (n,) columns and plain facts; where that fails (a full disk) nothing is stored."""
    key = _key()
    if key is None:
        return
    place = _folder() / f"{name}.parquet"
    draft = place.with_suffix(f".{os.getpid()}.draft")
    try:
        with os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            _write(file, columns, facts)
            file.flush()
            with pa.memory_map(str(draft)) as written:
                mac = _mac(key, name, written.read_buffer())
            file.write(mac)
        _make_room(draft.stat().st_size)
        draft.replace(place)
    except (OSError, pa.ArrowException):
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def find_table(name: str) -> Table | None:
    """Read a table back, its columns read-only and long ones on disk; None where there is none.

    A table that this store did not write as it is now is removed.
    """
    key = _key()
    if key is None:
        return None
    place = _folder() / f"{name}.parquet"
    try:
        with pa.memory_map(str(place)) as file:
            found = _read(key, name, file)
        if found is not None:
            os.utime(place)  # used last: the last to make room
            return found
        place.unlink()
    except (OSError, pa.ArrowException, ValueError, KeyError):
        with suppress(OSError):
            place.unlink(missing_ok=True)
    return None


def _write(file: IO[bytes], columns: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    fields = [pa.field(name, _arrow_type(column.dtype)) for name, column in columns.items()]
    schema = pa.schema(fields, metadata={_FACTS: json.dumps(dict(facts)).encode()})
    size = len(next(iter(columns.values())))
    # No dictionaries: few prices or identifiers repeat, and to find that out takes most of the time.
    with pq.ParquetWriter(file, schema, compression="lz4", use_dictionary=False) as writer:
        for rows in strides(size):
            parts = [_to_arrow(column[rows]) for column in columns.values()]
            writer.write_batch(pa.record_batch(parts, schema=schema))


def _read(
    key: LedgerKey, name: str, file: pa.MemoryMappedFile
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
    size = file.size() - _MAC_LETTERS
    if size < 0:
        return None
    content, written = file.read_buffer(size), file.read()
    if not hmac.compare_digest(written, _mac(key, name, content)):
        return None
    with pq.ParquetFile(pa.BufferReader(content)) as table:
        facts = json.loads(table.schema_arrow.metadata[_FACTS])
        spool = Spool()
        for batch in table.iter_batches(batch_size=STRIDE):
            spool.add(**{each: _to_numpy(batch.column(each)) for each in batch.schema.names})
        return {each: spool.array(each) for each in table.schema_arrow.names}, facts


def _arrow_type(kind: np.dtype[Any]) -> Any:
    if kind.kind == "S":
        return pa.binary(kind.itemsize)
    return pa.timestamp("s") if kind.kind == "M" else pa.from_numpy_dtype(kind)


def _to_arrow(block: NDArray[Any]) -> Any:
    block = np.ascontiguousarray(block)
    if block.dtype.kind == "S":
        kind = pa.binary(block.dtype.itemsize)
        return pa.Array.from_buffers(kind, block.size, [None, pa.py_buffer(block.view(np.uint8).data)])
    return pa.array(block)


def _to_numpy(column: Any) -> NDArray[Any]:
    if pa.types.is_fixed_size_binary(column.type):
        width = column.type.byte_width
        data = np.frombuffer(column.buffers()[1], np.dtype(f"S{width}"))
        return data[column.offset : column.offset + len(column)]
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _mac(key: LedgerKey, name: str, content: pa.Buffer) -> bytes:
    """The signature of a table's file under its name."""
    return key.mac(f"table {name}", hashlib.sha256(content).digest()).encode()


def _folder() -> Path:
    return home() / FOLDER


def _key() -> LedgerKey | None:
    """The store's key, made at first; None where this user cannot have one."""
    try:
        private_directory(home())
        create_key(_folder() / KEY_NAME)
        return read_key(_folder() / KEY_NAME)
    except (LedgerError, OSError):
        return None


def _make_room(wanted: int) -> None:
    """Remove the tables that were used longest ago until so many bytes fit."""
    tables = [(each.stat().st_mtime, each.stat().st_size, each) for each in _folder().glob("*.parquet")]
    total = wanted + sum(size for _, size, _ in tables)
    for _, size, each in sorted(tables):
        if total <= MOST_BYTES:
            return
        each.unlink(missing_ok=True)
        total -= size
