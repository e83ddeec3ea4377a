"""Looks into a GeoPackage before GDAL does: its layers, and whether it is made of plain tables only."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from data_loaders.errors import DataError

MAGIC = b"SQLite format 3\0"
_STEPS = 2_000_000  # instructions of SQLite's machine for all questions asked here; a plain file needs 1,000s
_STEPS_PER_BYTE = 2  # a row takes about 40 bytes and a dozen instructions
_FAR = 1000  # layers looked at


def layers_of(path: Path, name: str) -> tuple[str, ...]:
    """List the feature layers of a GeoPackage in order; the file is opened read-only. A view or a computed
    column runs whatever its author wrote when it is read, for as long as it likes, so a file in which GDAL
    would meet one is refused (`DataError`), as are damaged files and those that are no GeoPackage."""
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        ) as database:
            database.execute("PRAGMA trusted_schema=OFF")
            database.set_progress_handler(lambda: 1, _STEPS)
            layers = _layers(database, name)
            for layer in layers:
                check_amount(database, layer, path.stat().st_size)
            return layers
    except DataError:
        raise
    except (sqlite3.Error, ValueError, OverflowError, MemoryError):  # ValueError: text that is no UTF-8
        pass
    raise DataError(f"{name} is damaged or no GeoPackage: export the layer again.")


def check_amount(database: sqlite3.Connection, table: str, size: int) -> None:
    """Raise `sqlite3.DatabaseError` for a table that holds more than the `size` bytes of its file (pages that
    stand in it many times unfold without end) or is damaged. The connection's progress handler is set anew.
    """
    quoted = ['"{}"'.format(row[1].replace('"', '""')) for row in database.execute(
        "SELECT 0, name FROM pragma_table_info(?)", (table,)
    )]  # fmt: skip
    database.set_progress_handler(lambda: 1, _STEPS + _STEPS_PER_BYTE * size)
    held = 0
    name = table.replace('"', '""')
    lengths = ", ".join(f"length(CAST({column} AS BLOB))" for column in quoted)
    for row in database.execute(f'SELECT {lengths} FROM "{name}"'):
        held += sum(each or 0 for each in row)
        if held > 2 * size + _STEPS:  # numbers are longer as text
            raise sqlite3.DatabaseError("a table larger than its file")


def _layers(database: sqlite3.Connection, name: str) -> tuple[str, ...]:
    kinds = {
        str(table).lower(): str(kind)
        for kind, table in database.execute(
            "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view')"
        )
    }
    if "gpkg_contents" not in kinds:
        raise DataError(f"{name} is a database but no GeoPackage: export the table as CSV or GeoPackage.")
    for table, kind in kinds.items():
        if table.startswith("gpkg_"):
            _check_plain(database, name, table, kind)
    rows = database.execute(
        f"SELECT table_name FROM gpkg_contents WHERE data_type = 'features' ORDER BY table_name LIMIT {_FAR}"
    )
    layers = tuple(str(row[0]) for row in rows)
    for layer in layers:
        _check_plain(database, name, layer, kinds.get(layer.lower(), "missing"))
    return layers


def _check_plain(database: sqlite3.Connection, name: str, table: str, kind: str) -> None:
    columns = database.execute("SELECT hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
    if kind != "table" or any(hidden for (hidden,) in columns):
        raise DataError(
            f"{name} has a layer that is a view or holds computed columns: export it as a plain table, for "
            "example with QGIS (Export, Save features as)."
        )
