"""The released paths as a Parquet file: rounded to a public grid, read back without trust."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from geo import MAX_CELLS
from workflow.bundle.errors import BundleError

Floats = NDArray[np.float64]

# Paths are published as multiples of this, in response units (about a millionth of the clip bound). The low
# bits of a normal deviate computed in floating point can betray the value it was added to (Mironov 2012,
# CCS); a fixed grid, far coarser than the spacing of the numbers, removes them. Multiples of a power of two
# are exact, so that every reader thresholds the same numbers.
GRID = 2.0**-20
MAX_PATHS = 10_000
MAX_VALUES = 50_000_000
# Beyond this many grid steps a double no longer holds every multiple of the grid exactly.
MAX_MAGNITUDE = 2.0**30


def rounded(paths: Floats) -> Floats:
    """(L, N) paths rounded to multiples of `GRID`; BundleError where a value is beyond any use."""
    values = np.asarray(paths, dtype=np.float64)
    if not np.all(np.isfinite(values)) or np.abs(values).max(initial=0.0) > MAX_MAGNITUDE:
        raise BundleError("The released paths hold values too large to publish: the design is useless.")
    return np.asarray(np.round(values / GRID) * GRID + 0.0)  # + 0.0 turns -0.0 into 0.0


def paths_bytes(cells: Sequence[str], paths: Floats) -> bytes:
    """Parquet with the columns `h3` and `path_1` ... `path_L`, rows in the order of the cells."""
    columns = {"h3": pa.array(list(cells), type=pa.string())}
    columns |= {f"path_{k + 1}": pa.array(path, type=pa.float64()) for k, path in enumerate(paths)}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression="zstd", store_schema=False)
    return sink.getvalue()


def read_paths(content: bytes) -> tuple[tuple[str, ...], Floats]:
    """Cells and (L, N) paths; BundleError unless the file has exactly the columns and values expected."""
    try:
        file = pq.ParquetFile(io.BytesIO(content))
        rows, names = file.metadata.num_rows, file.schema_arrow.names
        types = [str(field.type) for field in file.schema_arrow]
        count = len(names) - 1
        if names != ["h3", *(f"path_{k + 1}" for k in range(count))] or count < 1:
            raise BundleError("paths.parquet must have the columns h3, path_1, path_2, ... and no others.")
        if types != ["string"] + ["double"] * count:
            raise BundleError("paths.parquet must hold text in h3 and numbers in its paths.")
        if rows < 1 or rows > MAX_CELLS or count > MAX_PATHS or rows * count > MAX_VALUES:
            raise BundleError(
                f"paths.parquet holds {rows:,} cells and {count:,} paths: outside what is accepted."
            )
        table = file.read(use_threads=False)
        table.validate(full=True)
        cells = tuple(table.column("h3").to_pylist())
        paths = np.array([table.column(name).to_numpy() for name in names[1:]], dtype=np.float64)
    except (pa.ArrowException, OSError, ValueError, UnicodeError, MemoryError) as error:
        if isinstance(error, BundleError):
            raise
        raise BundleError("paths.parquet is damaged: it cannot be read as Parquet.") from error
    if paths.shape != (count, len(cells)) or not all(isinstance(cell, str) for cell in cells):
        raise BundleError("paths.parquet lacks values.")
    if not np.all(np.isfinite(paths)) or np.abs(paths).max() > MAX_MAGNITUDE:
        raise BundleError("paths.parquet holds values that are not finite numbers of a sensible size.")
    if not np.array_equal(paths, np.round(paths / GRID) * GRID):
        raise BundleError("paths.parquet holds values that are not on the published grid.")
    return cells, paths
