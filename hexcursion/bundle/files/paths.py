"""The released paths as a Parquet file: rounded to a public grid, read back without trust."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpgp_core.releasing.released import to_grid, up_to_grid
from geo import MAX_CELLS
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.untrusted import checked_parquet, table_of

Floats = NDArray[np.float64]

FIELD = ("mean", "sd")
SHOWN = ("map_mean", "map_sd")
RECORDS = "records"
Kind = Literal["path", "draw"]
MAX_PATHS = 10_000
MAX_VALUES = 50_000_000
# Beyond this many grid steps a double no longer holds every multiple of the grid exactly.
MAX_MAGNITUDE = 2.0**30


def rounded(paths: Floats) -> Floats:
    """Round values in response units, of any shape such as (L, N), to multiples of `GRID`. Raise
    `BundleError` if one is not finite, or beyond `MAX_MAGNITUDE`."""
    values = np.asarray(paths, dtype=np.float64)
    if not np.all(np.isfinite(values)) or np.abs(values).max(initial=0.0) > MAX_MAGNITUDE:
        raise BundleError("The released paths hold values too large to publish: the design is useless.")
    return np.asarray(to_grid(values) + 0.0)  # + 0.0 turns -0.0 into 0.0


def rounded_field(mean: Floats, sd: Floats) -> tuple[Floats, Floats]:
    """Round the (N,) mean, and the (N,) standard deviation upwards, to the grid; response units. Raise
    `BundleError` as `rounded`."""
    steps = rounded(np.stack([mean, sd]))
    return steps[0], up_to_grid(sd) + 0.0


def paths_bytes(
    cells: Sequence[str],
    paths: Floats,
    field: tuple[Floats, Floats] | None = None,
    kind: Kind = "path",
    records: Floats | None = None,
    shown: tuple[Floats, Floats] | None = None,
) -> bytes:
    """Parquet, a row a cell: `h3`, `mean` and `sd` of `field`, `records`, `map_mean` and `map_sd` of `shown`,
    where there are, then the (L, N) `paths` as `path_1` ... `path_L` (or `draw_1`, ...). All are on the grid,
    in response units; the columns but the paths come from (N,) arrays."""
    columns = {"h3": pa.array(list(cells), type=pa.string())}
    for names, pair in ((FIELD, field), (SHOWN, shown)):
        if pair is not None:
            columns |= {
                name: pa.array(column, type=pa.float64()) for name, column in zip(names, pair, strict=True)
            }
    if records is not None:
        columns[RECORDS] = pa.array(records, type=pa.float64())
    columns |= {f"{kind}_{k + 1}": pa.array(path, type=pa.float64()) for k, path in enumerate(paths)}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression="zstd", store_schema=False)
    return sink.getvalue()


@dataclass(frozen=True, eq=False)
class StoredPaths:
    """What the file holds."""

    cells: tuple[str, ...]  # H3 indices, length N
    paths: Floats  # (L, N) paths or draws, response units
    field: tuple[Floats, Floats] | None  # (N,) mean and standard deviation, where the file has them
    records: Floats | None = None  # (N,) expected numbers of records, where the file has them
    # (N,) mean and standard deviation of the map without privacy, where the file has them
    shown: tuple[Floats, Floats] | None = None


def read_paths(
    content: bytes, *, field: bool = False, kind: Kind = "path", records: bool = False, shown: bool = False
) -> StoredPaths:
    """The file's values, checked; `field`, `records` and `shown` say whether these columns must be there.
    Raise `BundleError` if it is damaged, or has other columns, types or sizes, or values that are not on the
    grid."""
    try:
        extra = (FIELD if field else ()) + (SHOWN if shown else ()) + ((RECORDS,) if records else ())
        table, count = _checked_table(content, extra, kind)
        cells = tuple(table.column("h3").to_pylist())
        columns = [table.column(name).to_numpy() for name in table.column_names[1:]]
        values = np.array(columns, dtype=np.float64)
    except (pa.ArrowException, OSError, ValueError, UnicodeError, MemoryError) as error:
        if isinstance(error, BundleError):
            raise
        raise BundleError(f"{kind}s.parquet is damaged: it cannot be read as Parquet.") from error
    if values.shape != (count, len(cells)) or not all(isinstance(cell, str) for cell in cells):
        raise BundleError(f"{kind}s.parquet lacks values.")
    if not np.all(np.isfinite(values)) or np.abs(values).max() > MAX_MAGNITUDE:
        raise BundleError(f"{kind}s.parquet holds values that are not finite numbers of a sensible size.")
    if not np.array_equal(values, to_grid(values)):
        raise BundleError(f"{kind}s.parquet holds values that are not on the published grid.")
    known = values[len(extra) - 1] if records else None
    if known is not None and np.any(known < 0.0):
        raise BundleError(f"{kind}s.parquet holds a negative number of records.")
    pairs: dict[tuple[str, str], tuple[Floats, Floats]] = {}
    for names, wanted in ((FIELD, field), (SHOWN, shown)):
        if wanted:
            place = extra.index(names[0])
            pairs[names] = values[place], values[place + 1]
            if np.any(values[place + 1] < 0.0):
                raise BundleError(f"{kind}s.parquet holds a negative standard deviation.")
    return StoredPaths(cells, values[len(extra) :], pairs.get(FIELD), known, pairs.get(SHOWN))


def _checked_table(content: bytes, extra: tuple[str, ...], kind: Kind) -> tuple[pa.Table, int]:
    """The table and its number of value columns, after its names, types and size were found right."""
    file = checked_parquet(content, f"{kind}s.parquet", 1 + len(extra) + MAX_PATHS)
    rows, names = file.metadata.num_rows, file.schema_arrow.names
    types = [str(getattr(column.type, "value_type", column.type)) for column in file.schema_arrow]
    paths = len(names) - 1 - len(extra)
    if paths < 1 or names != ["h3", *extra, *(f"{kind}_{k + 1}" for k in range(paths))]:
        said = ", ".join(("h3", *extra, f"{kind}_1", f"{kind}_2"))
        raise BundleError(f"{kind}s.parquet must have the columns {said}, ... and no others.")
    if types != ["string"] + ["double"] * (len(names) - 1):
        raise BundleError(f"{kind}s.parquet must hold text in h3 and numbers in its {kind}s.")
    if rows < 1 or rows > MAX_CELLS or paths > MAX_PATHS or rows * paths > MAX_VALUES:
        raise BundleError(
            f"{kind}s.parquet holds {rows:,} cells and {paths:,} paths: outside what is accepted."
        )
    return table_of(file, f"{kind}s.parquet", names), len(names) - 1
