"""The curator's cache of tables that are slow to read: rows of a large file, and the hexagons of
these rows.

Tables are signed Parquet files that only this user can read. A table and its name are functions of
the file's content and its settings; the name reveals nothing about them without the store's key.
The store does not read a table that was changed or damaged, and removes the oldest tables to make
room. Uploaded files belong to their session and are never stored.
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
from data_loaders.files.spool import STRIDE, Spool, strides
from data_loaders.observations import COLUMNS
from data_loaders.repeats import are_dropped
from geo import Domain
from hexcursion.ledger.errors import LedgerError
from hexcursion.ledger.places import LedgerKey, create_key, home, private_directory, read_key
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.version import VERSION

LARGE = 64 << 20
"""The size in bytes from which the rows of a file are stored; reading a smaller one takes a second
or two."""

SUFFIXES = (".csv", ".tsv", ".txt", ".gz", ".zip")
"""Files that are complete on their own; others, such as .shp, have companion files."""

OWN_LOADERS = ("price-paid", "sensor-table")
"""The loaders whose rows depend only on the file, its postcodes and the settings; others may
differ."""

UPLOADS = "hexcursion-uploads-"
"""The start of the names of folders with uploaded files."""

FORMAT = f"6 of {VERSION}"
"""The format of tables, with the version, since another version may read a file differently."""

_ABOUT = ("crs", "unit", "kind", "title", "generated", "owner_word")
_KNOWN: WeakKeyDictionary[Observations, str] = WeakKeyDictionary()

Rows: TypeAlias = "tuple[Observations, LoadReport]"


def read_or_remembered(
    source: SourceSettings, unit: str, owner: str | None, read: Callable[[], Rows]
) -> Rows:
    """Return the rows of a source and the report, from the store or by `read`, and store them."""
    if not is_kept(source):
        return read()
    name = name_of("rows", FORMAT, _facts(source), unit, owner, are_dropped())
    if name is None:
        return read()
    table = find_table(name)
    if table is not None:
        rows = _rows(*table)
    else:
        rows = read()
        keep_table(name, _columns(rows[0]), _about(*rows))
    _KNOWN[rows[0]] = name
    return rows


def is_kept(source: SourceSettings) -> bool:
    """Whether the rows of a source are stored: only those of a large file of the curator."""
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
    """Return each row's position in the cell array, (n,), -1 outside, from the store or by
    `locate`."""
    rows = _KNOWN.get(observations)
    if rows is None:
        return locate()
    cells = hashlib.sha256("\n".join(domain.cells).encode()).hexdigest()
    name = name_of("cells", FORMAT, rows, cells)
    if name is None:
        return locate()
    table = find_table(name)
    if table is not None:
        return table[0]["cell"]
    index = locate()
    keep_table(name, {"cell": index}, {})
    return index


def _facts(source: SourceSettings) -> dict[str, Any]:
    """Return the facts that determine the rows: the content of the files, and their settings."""
    settings = asdict(source) | {"path": Path(source.path).name, "loader": source.read_by.name}
    files = [source.path, *([source.postcodes] if source.postcodes else [])]
    return {"said": settings, "files": [file_fingerprint(Path(path)) for path in files]}


def file_fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file, or of all files in a folder with their paths; "" if missing."""
    if not os.path.exists(path):
        return ""
    digest = hashlib.sha256()
    for member in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if member.is_file():
            with member.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
            digest.update(str(member.relative_to(path)).encode() + b"\0" + content)
    return digest.hexdigest()


def _columns(observations: Observations) -> dict[str, NDArray[Any]]:
    columns = {name: getattr(observations, name) for name in COLUMNS}
    return {name: column for name, column in columns.items() if column is not None}


def _about(observations: Observations, report: LoadReport) -> dict[str, Any]:
    about = {name: getattr(observations, name) for name in _ABOUT}
    return about | {"attribution": observations.attribution, "report": asdict(report)}


def _rows(columns: dict[str, NDArray[Any]], about: dict[str, Any]) -> Rows:
    entry = about["report"]
    dropped = tuple((reason, count) for reason, count in entry["dropped"])
    report = LoadReport(
        entry["source"], entry["rows_read"], entry["kept"], dropped, tuple(entry["notes"]), entry["filtered"]
    )
    fields: dict[str, Any] = {**columns, **{name: about[name] for name in _ABOUT}}
    return Observations(**fields, attribution=tuple(about["attribution"])), report


FOLDER = "read-before"
KEY_NAME = "store.key"
SWITCH = "HEXCURSION_READ_BEFORE"
"""The environment variable that switches the store off with the value `off`."""

MOST_BYTES = 20 << 30
"""The size of all tables together in bytes; the complete Price Paid file takes about 1.5 GB."""

Table: TypeAlias = "tuple[dict[str, NDArray[Any]], dict[str, Any]]"
"""Columns and facts."""

_FACTS = b"hexcursion-facts"
_MAC_LETTERS = 64


def is_on() -> bool:
    """Whether the store is switched on."""
    return os.environ.get(SWITCH, "").strip().lower() != "off"


def name_of(*facts: Any) -> str | None:
    """Return the table's name (64 hexadecimal digits) for these plain facts; None without a store.

    Without the store's key the name reveals nothing about the facts.
    """
    key = _key() if is_on() else None
    return None if key is None else key.mac("name", json.dumps(facts, sort_keys=True, default=str).encode())


def keep_table(name: str, columns: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Store (n,) columns and plain facts; after a failure (a full disk) nothing is stored."""
    key = _key()
    if key is None:
        return
    place = _folder() / f"{name}.parquet"
    draft = place.with_suffix(f".{os.getpid()}.draft")
    try:
        with os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            _write(file, columns, facts)
            file.flush()
            with pa.memory_map(str(draft)) as mapping:
                mac = _mac(key, name, mapping.read_buffer())
            file.write(mac)
        _make_room(draft.stat().st_size)
        draft.replace(place)
    except (OSError, pa.ArrowException):
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def find_table(name: str) -> Table | None:
    """Read a table, with read-only columns and long ones on disk; None if there is no such table.

    Remove a table that differs from what this store wrote.
    """
    key = _key()
    if key is None:
        return None
    place = _folder() / f"{name}.parquet"
    try:
        with pa.memory_map(str(place)) as file:
            table = _read(key, name, file)
        if table is not None:
            os.utime(place)  # the most recently used table is removed last
            return table
        place.unlink()
    except (OSError, pa.ArrowException, ValueError, KeyError):
        with suppress(OSError):
            place.unlink(missing_ok=True)
    return None


def _write(file: IO[bytes], columns: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    fields = [pa.field(name, _arrow_type(column.dtype)) for name, column in columns.items()]
    schema = pa.schema(fields, metadata={_FACTS: json.dumps(dict(facts)).encode()})
    size = len(next(iter(columns.values())))
    # No dictionaries: few prices or identifiers repeat, and building dictionaries takes most of the
    # time.
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
    content, signature = file.read_buffer(size), file.read()
    if not hmac.compare_digest(signature, _mac(key, name, content)):
        return None
    with pq.ParquetFile(pa.BufferReader(content)) as table:
        facts = json.loads(table.schema_arrow.metadata[_FACTS])
        spool = Spool()
        for batch in table.iter_batches(batch_size=STRIDE):
            spool.add(**{column: _to_numpy(batch.column(column)) for column in batch.schema.names})
        return {column: spool.array(column) for column in table.schema_arrow.names}, facts


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
    """Return the signature of a table's file under its name."""
    return key.mac(f"table {name}", hashlib.sha256(content).digest()).encode()


def _folder() -> Path:
    return home() / FOLDER


def _key() -> LedgerKey | None:
    """Return the store's key, creating it first; None if this user cannot have one."""
    try:
        private_directory(home())
        create_key(_folder() / KEY_NAME)
        return read_key(_folder() / KEY_NAME)
    except (LedgerError, OSError):
        return None


def _make_room(draft_size: int) -> None:
    """Remove the least recently used tables until `draft_size` bytes fit."""
    tables = [(path.stat().st_mtime, path.stat().st_size, path) for path in _folder().glob("*.parquet")]
    total = draft_size + sum(size for _, size, _ in tables)
    for _, size, path in sorted(tables):
        if total <= MOST_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= size
