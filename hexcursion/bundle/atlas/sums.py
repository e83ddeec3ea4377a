"""The one file of released sums of an atlas: a column for each layer's sums, and counts once or for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpgp_core.atlas.design import AtlasDesign
from dpgp_core.spectral.sums import KeptSums
from hexcursion.bundle import layout
from hexcursion.bundle.statement.designs import design_from
from hexcursion.bundle.sums import (
    COLUMNS,
    WHOLE,
    StoredSums,
    columns_of,
    leading,
    stated_kinds,
    sums_from_columns,
)
from hexcursion.bundle.tables import parquet_bytes
from hexcursion.bundle.untrusted import BundleError, checked_parquet, readable, table_of

Floats = NDArray[np.float64]
NAME = layout.RELEASED_SUMS


def _name(design: AtlasDesign, kind: str, layer: int) -> str:
    """The column of a kind of number of one layer, from 1: `sums_1`, or `counts` of all layers."""
    once = kind == "public_counts" or (kind == "counts" and not design.presence)
    return kind if once else f"{kind}_{layer}"


def _named(design: AtlasDesign, kinds: Sequence[str]) -> dict[str, str]:
    """The columns of the file, in order, each with its kind; `kinds` are those of a statement."""
    numbers = range(1, design.columns + 1)
    return {_name(design, kind, number): kind for kind in COLUMNS if kind in kinds for number in numbers}


def atlas_sums_bytes(
    design: AtlasDesign, layer_sums: Sequence[KeptSums], public_means: Sequence[Floats | None]
) -> bytes:
    """Parquet with the sums of all layers, whole numbers, and the public numbers of their reading; short
    columns end in nulls. `public_means`: (N,) for each layer, response units, where one was taken off."""
    numbers: dict[str, NDArray[Any]] = {}
    for number, (released_sums, mean) in enumerate(zip(layer_sums, public_means, strict=True), 1):
        for kind, values in columns_of(released_sums, mean).items():
            numbers.setdefault(_name(design, kind, number), values)
    names = _named(design, list(columns_of(layer_sums[0], public_means[0])))
    rows = max(values.size for values in numbers.values())
    columns = {
        name: pa.array(
            [*numbers[name].tolist(), *[None] * (rows - numbers[name].size)],
            type=pa.int64() if kind in WHOLE else pa.float64(),
        )
        for name, kind in names.items()
    }
    return parquet_bytes(columns)


def atlas_sums_of(
    contents: Mapping[str, bytes], statements: Sequence[Mapping[str, Any]], cells: int
) -> tuple[StoredSums, ...]:
    """The sums of every layer of an atlas of N cells, by each one's statement. Raise `BundleError` unless the
    file holds exactly the numbers that the statements and their design describe."""
    first = statements[0]
    design = design_from(first["design"])
    if not isinstance(design, AtlasDesign) or "second_look" in first["sums"]:
        raise BundleError(f"{NAME} belongs to no atlas.")
    kinds = _named(design, [kind for statement in statements for kind in stated_kinds(statement)])
    names = list(kinds)
    with readable(NAME, "Parquet"):
        file = checked_parquet(contents[NAME], NAME, len(names))
        if file.schema_arrow.names != names:
            raise BundleError(f"{NAME} does not hold the sums of the {design.columns} layers of this atlas.")
        table = table_of(file, NAME, names)
        types = [str(column.type) for column in table.columns]
        numbers = {name: leading(table.column(name), NAME) for name in names}
    if types != ["int64" if kind in WHOLE else "double" for kind in kinds.values()]:
        raise BundleError(f"{NAME} must hold whole numbers.")
    return tuple(
        sums_from_columns(
            {kind: numbers[_name(design, kind, number)] for kind in stated_kinds(statement)},
            statement,
            cells,
            design.ball,
        )
        for number, statement in enumerate(statements, 1)
    )
