"""The file of released sums: its columns, its place in a statement, and what a reader checks of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpgp_core.errors import CoreError
from dpgp_core.spectral.ball import ONE_COLUMN, Ball
from dpgp_core.spectral.cost import SpectralNoise
from dpgp_core.spectral.sums import KeptField, KeptSums
from hexcursion.bundle import layout
from hexcursion.bundle.tables import parquet_bytes
from hexcursion.bundle.untrusted import BundleError, checked_parquet, readable, table_of
from hexcursion.record import Release

Floats = NDArray[np.float64]

WHOLE = ("sums", "counts", "second_sums", "second_counts")
COLUMNS = (*WHOLE, "public_counts", "public_mean", "reference_count", "reference_mean", "reference_scatter")
MOST = 1 << 61  # of a released sum, in its unit
NOTE = (
    "Whole numbers: sums in units of 2^-30, counts of 2^-20, response units. public_counts and public_mean "
    "have a row for each cell of paths.parquet, the reference ones for each node, all from public data."
)


@dataclass(frozen=True, eq=False)
class StoredSums:
    """What the Parquet file of released sums holds."""

    kept: KeptSums  # the released sums, with the public numbers of their reading
    # (N,) public prior mean, response units, that was taken off each response; None where none was
    public_mean: Floats | None


def sums_block(release: Release) -> dict[str, Any]:
    """The member `sums` of a statement; nothing where the mechanism releases no sums."""
    released_sums = release.sums
    if released_sums is None:
        return {}
    block: dict[str, Any] = {
        "file": layout.RELEASED_SUMS,
        "count": int(released_sums.sums.size),
        "features": released_sums.features,
        "noise": {"sums": released_sums.noise.sums, "counts": released_sums.noise.counts},
        "columns": list(columns_of(released_sums, release.prior_mean)),
        "note": NOTE,
    }
    if released_sums.second is not None:
        second_look = released_sums.second
        block["second_look"] = {
            "count": int(second_look.sums.size),
            "features": second_look.features,
            "noise": {"sums": second_look.noise.sums, "counts": second_look.noise.counts},
        }
    if released_sums.field is not None:
        field = released_sums.field
        block["reference"] = {
            name: float(getattr(field, name)) for name in ("deviation", "scatter", "lengthscale")
        } | ({"covariates": field.covariates} if field.covariates else {})
    return {"sums": block}


def columns_of(released_sums: KeptSums, public_mean: Floats | None) -> dict[str, NDArray[Any]]:
    """The numbers of a release's reading, (p,) sums and counts, (N,) or (M,) public ones, by the names of
    `COLUMNS`; absent ones are left out. `public_mean`: (N,) response units."""
    field, second_look = released_sums.field, released_sums.second
    every = {
        "sums": released_sums.sums,
        "counts": released_sums.counts,
        "second_sums": None if second_look is None else second_look.sums,
        "second_counts": None if second_look is None else second_look.counts,
        "public_counts": released_sums.public_counts,
        "public_mean": public_mean,
        "reference_count": None if field is None else field.count,
        "reference_mean": None if field is None else field.mean,
        "reference_scatter": None if field is None else field.local,
    }
    return {name: values for name, values in every.items() if values is not None}


def sums_bytes(released_sums: KeptSums, public_mean: Floats | None) -> bytes:
    """Parquet: a column for each kind of number; shorter ones end in nulls. `public_mean`: (N,) response
    units, where one was taken off."""
    columns = columns_of(released_sums, public_mean)
    rows = max(values.size for values in columns.values())
    padded_columns = {
        name: pa.array(
            [*values.tolist(), *[None] * (rows - values.size)],
            type=pa.int64() if name in WHOLE else pa.float64(),
        )
        for name, values in columns.items()
    }
    return parquet_bytes(padded_columns)


def sums_of(contents: Mapping[str, bytes], statement: Mapping[str, Any], cells: int) -> StoredSums | None:
    """The sums of a bundle with N cells; None where its statement names none. What can be seen without making
    the features is checked: columns, types, lengths, sizes. `check_again` does the rest. Raise `BundleError`
    unless they are there exactly where the statement names them, as it describes them."""
    block, name = statement.get("sums"), layout.RELEASED_SUMS
    if (block is None) != (name not in contents):
        raise BundleError(f"The privacy statement and the bundle disagree about {name}.")
    if block is None:
        return None
    column_names = stated_kinds(statement)
    with readable(name, "Parquet"):
        file = checked_parquet(contents[name], name, len(COLUMNS))
        types = [str(column.type) for column in file.schema_arrow]
        if file.schema_arrow.names != column_names or types != [
            "int64" if column in WHOLE else "double" for column in column_names
        ]:
            raise BundleError(f"{name} does not have the columns that the privacy statement names.")
        table = table_of(file, name, column_names)
    return sums_from_columns(
        {column: leading(table.column(column), name) for column in column_names}, statement, cells
    )


def stated_kinds(statement: Mapping[str, Any]) -> list[str]:
    """The columns of sums that a statement names, in order. Raise `BundleError` where it contradicts itself,
    or its design, about them."""
    block, name = statement["sums"], layout.RELEASED_SUMS
    field, second_look = block.get("reference"), block.get("second_look")
    pairs = (
        ("counts", block["noise"]["counts"]),
        ("reference_count", field),
        ("reference_mean", field),
        ("second_sums", second_look),
        ("second_counts", second_look and second_look["noise"]["counts"]),
    )
    column_names = [column for column in COLUMNS if column in block["columns"]]
    contradicts = any((column in column_names) != (part is not None) for column, part in pairs)
    if "sums" not in column_names or contradicts or ("reference_scatter" in column_names and field is None):
        raise BundleError(f"The privacy statement contradicts itself about the columns of {name}.")
    if ("public_mean" in column_names) != statement["prior_mean_used"]:
        raise BundleError(f"The privacy statement and {name} disagree about a public mean.")
    if (field is not None) != statement["design"].get("drift", False):
        raise BundleError(
            f"The design and {name} disagree about public records that the reading starts from."
        )
    if field is not None and ("covariates" in field) != bool(statement["design"].get("covariates")):
        raise BundleError(f"The design and {name} disagree about public columns of the public records.")
    if (second_look is not None) != (statement["design"].get("first", 0.0) > 0.0):
        raise BundleError(f"The design and {name} disagree about a second look.")
    return column_names


def sums_from_columns(
    columns: Mapping[str, NDArray[Any]], statement: Mapping[str, Any], cells: int, ball: Ball = ONE_COLUMN
) -> StoredSums:
    """The sums of one column from `columns` of (p,), (N,) or (M,) numbers, by the names of `COLUMNS`. Raise
    `BundleError` for other lengths than the statement's, and for impossible numbers."""
    block, name = statement["sums"], layout.RELEASED_SUMS
    field, second_look = block.get("reference"), block.get("second_look")
    sizes = {"sums": block["count"], "counts": block["count"], "public_counts": cells, "public_mean": cells}
    if second_look is not None:
        sizes |= {"second_sums": second_look["count"], "second_counts": second_look["count"]}
    if any(values.size != sizes.get(column, values.size) for column, values in columns.items()):
        raise BundleError(f"{name} does not hold as many numbers as the privacy statement says.")
    if len({values.size for column, values in columns.items() if column.startswith("reference")}) > 1:
        raise BundleError(f"{name} does not hold as many numbers as the privacy statement says.")
    if any(
        np.any(columns[count_column] < 0)
        for count_column in ("public_counts", "reference_count")
        if count_column in columns
    ):
        raise BundleError(f"{name} holds a negative number of public records.")
    model = None
    if field is not None:
        count = columns["reference_count"]
        local = columns.get("reference_scatter", np.ones(count.size))  # earlier versions knew one scatter
        model = KeptField(count, columns["reference_mean"], local, **field)
    second = None
    try:
        noise = SpectralNoise(**block["noise"], ball=ball)
        if second_look is not None:
            noise_of_second = SpectralNoise(**second_look["noise"])
            second = KeptSums(
                columns["second_sums"], columns.get("second_counts"), second_look["features"], noise_of_second
            )
    except CoreError as error:
        raise BundleError(f"The noise of {name} is impossible: {error}") from error
    sums, counts, public_counts = columns["sums"], columns.get("counts"), columns.get("public_counts")
    released_sums = KeptSums(sums, counts, block["features"], noise, public_counts, model, second)
    return StoredSums(released_sums, columns.get("public_mean"))


def leading(column: pa.ChunkedArray, name: str) -> NDArray[Any]:
    """The (k,) numbers of a column before its nulls; `BundleError` unless finite and of a sensible size."""
    present = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    count = int(present.sum())
    if not np.all(present[:count]):
        raise BundleError(f"{name} has gaps between its numbers.")
    values: NDArray[Any] = column.slice(0, count).to_numpy()
    if np.any(np.abs(values.astype(np.float64)) > MOST) or not np.all(np.isfinite(values)):
        raise BundleError(f"{name} holds numbers that are not finite or too large.")
    return values
