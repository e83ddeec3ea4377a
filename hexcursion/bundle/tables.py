"""Tables of numbers: of each cell paths and draws, public field, covariates."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from dpgp_core.releasing import to_grid, up_to_grid
from dpgp_core.spectral.prior import standardised
from geo import MAX_CELLS
from hexcursion.bundle import layout
from hexcursion.bundle.products import MapValues
from hexcursion.bundle.untrusted import BundleError, checked_parquet, clean, csv_text, readable, table_of
from hexcursion.project.public_numbers import Covariates
from hexcursion.record import Release

Floats = NDArray[np.float64]

FIELD = ("mean", "sd")
SHOWN = ("map_mean", "map_sd")
RECORDS = "records"
Kind = Literal["path", "draw"]
MAX_PATHS = 10_000
MAX_VALUES = 50_000_000
# Beyond this many grid steps a double no longer holds every multiple of the grid exactly.
MAX_MAGNITUDE = 2.0**30


def parquet_bytes(columns: Mapping[str, Any]) -> bytes:
    """Parquet with these columns, compressed, without the writer's own schema."""
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression="zstd", store_schema=False)
    return sink.getvalue()


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


def rounded_values(release: Release) -> MapValues:
    """The numbers of a release as every file has them: on the grid."""
    of_map = (
        None if release.shown_map is None or not release.cut_by_map else rounded_field(*release.shown_map)
    )
    return MapValues(
        rounded(release.paths),
        None if release.mean is None or release.sd is None else rounded_field(release.mean, release.sd),
        None if release.draws is None else rounded(release.draws),
        None if release.records is None else rounded(release.records),
        of_map,
    )


def paths_bytes(cells: Sequence[str], values: MapValues, kind: Kind = "path") -> bytes:
    """Parquet, a row a cell: `h3`, `mean` and `sd` of the field, `records`, `map_mean` and `map_sd`, where
    there are, then the paths as `path_1` ... `path_L` (or `draw_1`, ...). All are on the grid."""
    columns = {"h3": pa.array(list(cells), type=pa.string())}
    for names, pair in ((FIELD, values.field), (SHOWN, values.shown)):
        if pair is not None:
            columns |= {
                name: pa.array(column, type=pa.float64()) for name, column in zip(names, pair, strict=True)
            }
    if values.records is not None:
        columns[RECORDS] = pa.array(values.records, type=pa.float64())
    columns |= {f"{kind}_{k + 1}": pa.array(path, type=pa.float64()) for k, path in enumerate(values.paths)}
    return parquet_bytes(columns)


@dataclass(frozen=True, eq=False)
class StoredPaths:
    """A Parquet file of paths, or of draws as paths: its N H3 indices and their numbers."""

    cells: tuple[str, ...]
    values: MapValues


def read_paths(
    content: bytes,
    *,
    field: bool = False,
    kind: Kind = "path",
    records: bool = False,
    cut_by_map: bool = False,
) -> StoredPaths:
    """The file's values, checked; `field`, `records` and `cut_by_map` say whether these columns must be
    there. Raise `BundleError` if it is damaged, or has other columns, types or sizes, or values that are
    not on the grid."""
    with readable(f"{kind}s.parquet", "Parquet"):
        extra = (FIELD if field else ()) + (SHOWN if cut_by_map else ()) + ((RECORDS,) if records else ())
        table, count = _checked_table(content, extra, kind)
        cells = tuple(table.column("h3").to_pylist())
        columns = [table.column(name).to_numpy() for name in table.column_names[1:]]
        values = np.array(columns, dtype=np.float64)
    if values.shape != (count, len(cells)) or not all(isinstance(cell, str) for cell in cells):
        raise BundleError(f"{kind}s.parquet lacks values.")
    if not np.all(np.isfinite(values)) or np.abs(values).max() > MAX_MAGNITUDE:
        raise BundleError(f"{kind}s.parquet holds values that are not finite numbers of a sensible size.")
    if not np.array_equal(values, to_grid(values)):
        raise BundleError(f"{kind}s.parquet holds values that are not on the published grid.")
    record_counts = values[len(extra) - 1] if records else None
    if record_counts is not None and np.any(record_counts < 0.0):
        raise BundleError(f"{kind}s.parquet holds a negative number of records.")
    pairs: dict[tuple[str, str], tuple[Floats, Floats]] = {}
    for names, has_columns in ((FIELD, field), (SHOWN, cut_by_map)):
        if has_columns:
            place = extra.index(names[0])
            pairs[names] = values[place], values[place + 1]
            if np.any(values[place + 1] < 0.0):
                raise BundleError(f"{kind}s.parquet holds a negative standard deviation.")
    stored = MapValues(values[len(extra) :], pairs.get(FIELD), None, record_counts, pairs.get(SHOWN))
    return StoredPaths(cells, stored)


def _checked_table(content: bytes, extra: tuple[str, ...], kind: Kind) -> tuple[pa.Table, int]:
    """The table and its number of value columns, after its names, types and size were found right."""
    file = checked_parquet(content, f"{kind}s.parquet", 1 + len(extra) + MAX_PATHS)
    rows, names = file.metadata.num_rows, file.schema_arrow.names
    types = [str(getattr(column.type, "value_type", column.type)) for column in file.schema_arrow]
    paths = len(names) - 1 - len(extra)
    if paths < 1 or names != ["h3", *extra, *(f"{kind}_{k + 1}" for k in range(paths))]:
        text = ", ".join(("h3", *extra, f"{kind}_1", f"{kind}_2"))
        raise BundleError(f"{kind}s.parquet must have the columns {text}, ... and no others.")
    if types != ["string"] + ["double"] * (len(names) - 1):
        raise BundleError(f"{kind}s.parquet must hold text in h3 and numbers in its {kind}s.")
    if rows < 1 or rows > MAX_CELLS or paths > MAX_PATHS or rows * paths > MAX_VALUES:
        raise BundleError(
            f"{kind}s.parquet holds {rows:,} cells and {paths:,} paths: outside what is accepted."
        )
    return table_of(file, f"{kind}s.parquet", names), len(names) - 1


HEADER = ["h3", "value"]


def relative_block(release: Release) -> dict[str, Any]:
    """The member `relative` of the statement's subject, nothing where values are the data's own."""
    relative = release.relative
    if relative is None:
        return {}
    return {
        "relative": {
            "file": layout.PUBLIC_FIELD,
            "kind": relative.kind,
            "ratio": relative.ratio,
            "origin": clean(relative.origin, 1000, "The origin of the public field"),
        }
    }


def field_bytes(cells: Sequence[str], field: Floats) -> bytes:
    """The table `h3`, `value`, a row a cell; the (N,) values as they are, in the data's own unit."""
    return _cells_csv(HEADER, cells, field[:, np.newaxis])


def field_of(
    contents: Mapping[str, bytes], statement: Mapping[str, Any], cells: Sequence[str]
) -> Floats | None:
    """(N,) public values of a bundle, the data's own unit; None where the statement names none. Raise
    `BundleError` unless they are there exactly where the statement names them, a usable one for each cell."""
    relative = statement["subject"].get("relative")
    if (relative is None) != (layout.PUBLIC_FIELD not in contents):
        raise BundleError(f"The privacy statement and the bundle disagree about {layout.PUBLIC_FIELD}.")
    if relative is None:
        return None
    values = _cells_read(contents, layout.PUBLIC_FIELD, HEADER, cells)
    if values is None or not np.all(np.isfinite(values)) or (relative["ratio"] and not np.all(values > 0)):
        raise BundleError(f"{layout.PUBLIC_FIELD} does not hold one public value for each hexagon.")
    return values[:, 0]


def _cells_csv(header: Sequence[str], cells: Sequence[str], values: Floats) -> bytes:
    """The table of (N, k) values, a row a cell, its name first; each float as it is."""
    rows = zip(cells, values.tolist(), strict=True)
    return csv_text([header, *([cell, *map(repr, row)] for cell, row in rows)]).encode()


def _cells_read(
    contents: Mapping[str, bytes], name: str, header: Sequence[str], cells: Sequence[str]
) -> Floats | None:
    """The (N, k) values of such a table; None for another header, other cells or other lengths."""
    with readable(name, "a table of hexagons"):
        first, *rows = csv.reader(io.StringIO(contents[name].decode("utf-8")))
        values = [[float(value) for value in row[1:]] for row in rows]
        fits = first == list(header) and [row[0] for row in rows] == list(cells)
    fits = fits and all(len(row) == len(header) - 1 for row in values)
    return np.array(values) if fits else None


def covariates_block(covariates: Covariates | None) -> dict[str, Any]:
    """The statement's member `covariates`, nothing where no public columns were read."""
    if covariates is None:
        return {}
    columns = zip(covariates.names, covariates.origins, strict=True)
    return {
        "covariates": {
            "file": layout.COVARIATES,
            "columns": [
                {
                    "name": clean(name, 100, "The name of a covariate"),
                    "origin": clean(origin, 500, "The origin of a covariate"),
                }
                for name, origin in columns
            ],
        }
    }


def covariates_bytes(cells: Sequence[str], covariates: Covariates) -> bytes:
    """The table `h3` and a column for each covariate, numbered as the statement lists them; a row a cell."""
    return _cells_csv(_numbered(len(covariates.names)), cells, covariates.values)


def covariates_of(
    contents: Mapping[str, bytes], statement: Mapping[str, Any], cells: Sequence[str]
) -> Floats | None:
    """(N, k) covariates of a bundle, those which the statement names and its design reads; None for none.
    Raise `BundleError` unless they are there exactly where both say so, a finite number for each hexagon,
    none constant."""
    block, name = statement.get("covariates"), layout.COVARIATES
    read = bool(statement["design"].get("covariates"))
    if len({block is not None, name in contents, read}) > 1:
        raise BundleError(f"The privacy statement, its design and the bundle disagree about {name}.")
    if block is None:
        return None
    values = _cells_read(contents, name, _numbered(len(block["columns"])), cells)
    if values is None:
        raise BundleError(f"{name} does not hold one number of each covariate for each hexagon.")
    try:
        standardised(values)
    except InvalidValue as error:
        raise BundleError(f"{name} is not what was read: {error}") from error
    return values


def _numbered(count: int) -> list[str]:
    return [HEADER[0], *(f"covariate_{number}" for number in range(1, count + 1))]
