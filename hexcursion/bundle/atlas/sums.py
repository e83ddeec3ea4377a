"""The one file of released sums of an atlas: a column for each layer's sums, and counts once or for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpgp_core.atlas.design import AtlasDesign
from dpgp_core.errors import CoreError
from dpgp_core.spectral.cost import SpectralNoise
from dpgp_core.spectral.sums import KeptSums
from hexcursion.bundle import layout
from hexcursion.bundle.statement.designs import design_from
from hexcursion.bundle.tables import StoredSums, leading, parquet_bytes
from hexcursion.bundle.untrusted import BundleError, checked_parquet, readable, table_of

NAME = layout.RELEASED_SUMS


def _named(design: AtlasDesign, kinds: Sequence[str]) -> list[str]:
    """The columns of the file, in order: `sums_1` and so on; `kinds` are those of a statement."""
    numbers = range(1, design.columns + 1)
    counts = [f"counts_{number}" for number in numbers] if design.presence else ["counts"]
    return [
        *(f"sums_{number}" for number in numbers),
        *(counts if "counts" in kinds else []),
        *(["public_counts"] if "public_counts" in kinds else []),
    ]


def atlas_sums_bytes(design: AtlasDesign, kept: Sequence[KeptSums]) -> bytes:
    """Parquet with the sums of all layers, whole numbers; shorter columns end in nulls."""
    first = kept[0]
    columns: list[NDArray[Any]] = [each.sums for each in kept]
    if first.counts is not None:
        columns += [
            each.counts for each in (kept if design.presence else kept[:1]) if each.counts is not None
        ]
    kinds = ["sums", *(["counts"] if first.counts is not None else [])]
    if first.public_counts is not None:
        columns.append(first.public_counts)
        kinds.append("public_counts")
    rows = max(values.size for values in columns)
    made = {
        name: pa.array(
            [*values.tolist(), *[None] * (rows - values.size)],
            type=pa.float64() if name == "public_counts" else pa.int64(),
        )
        for name, values in zip(_named(design, kinds), columns, strict=True)
    }
    return parquet_bytes(made)


def atlas_sums_of(
    contents: Mapping[str, bytes], statement: Mapping[str, Any], cells: int
) -> tuple[StoredSums, ...]:
    """The sums of every layer of an atlas of N cells. Raise `BundleError` unless the file holds exactly the
    numbers that the statement and its design describe."""
    stated, design = statement["sums"], design_from(statement["design"])
    if not isinstance(design, AtlasDesign) or {"second_look", "reference"} & stated.keys():
        raise BundleError(f"{NAME} belongs to no atlas.")
    kinds = stated["columns"]
    if ("counts" in kinds) != (stated["noise"]["counts"] is not None) or "sums" not in kinds:
        raise BundleError(f"The privacy statement contradicts itself about the columns of {NAME}.")
    names = _named(design, kinds)
    with readable(NAME, "Parquet"):
        file = checked_parquet(contents[NAME], NAME, len(names))
        if file.schema_arrow.names != names:
            raise BundleError(f"{NAME} does not hold the sums of the {design.columns} layers of this atlas.")
        table = table_of(file, NAME, names)
        types = [str(column.type) for column in table.columns]
        found = {name: leading(table.column(name), NAME) for name in names}
    if types != ["double" if name == "public_counts" else "int64" for name in names]:
        raise BundleError(f"{NAME} must hold whole numbers.")
    for name, values in found.items():
        if values.size != (cells if name == "public_counts" else stated["count"]):
            raise BundleError(f"{NAME} does not hold one number for each feature: {name} differs.")
    public = found.get("public_counts")
    if public is not None and np.any(public < 0):
        raise BundleError(f"{NAME} holds a negative number of public records.")
    try:
        noise = SpectralNoise(**stated["noise"], ball=design.ball)
    except CoreError as error:
        raise BundleError(f"The noise of {NAME} is impossible: {error}") from error
    return tuple(
        StoredSums(
            KeptSums(
                found[f"sums_{number}"],
                found.get(f"counts_{number}" if design.presence else "counts"),
                stated["features"],
                noise,
                public,
            ),
            None,
        )
        for number in range(1, design.columns + 1)
    )
