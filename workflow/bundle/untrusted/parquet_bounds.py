"""A stranger's Parquet file, opened only after what its footer says of its size was found acceptable."""

from __future__ import annotations

import io

import pyarrow.parquet as pq

from geo import MAX_CELLS
from workflow.bundle.errors import BundleError

MAX_UNPACKED = 700_000_000  # bytes of all columns together: 50 million numbers, texts and room


def checked_parquet(content: bytes, name: str, columns: int) -> pq.ParquetFile:
    """The file, none of whose values is unpacked yet.

    Parameters
    ----------
    content : bytes
        The file.
    name : str
        Its name, for messages.
    columns : int
        At most so many columns.

    Raises
    ------
    BundleError
        If rows, columns, nesting or unpacked bytes lie outside what is accepted; `pyarrow` errors pass.
    """
    if len(content) < 12 or int.from_bytes(content[-8:-4], "little") > len(content):
        raise BundleError(f"{name} is damaged: it cannot be read as Parquet.")
    file = pq.ParquetFile(
        io.BytesIO(content), thrift_string_size_limit=10**7, thrift_container_size_limit=10**6
    )
    facts = file.metadata
    if facts.num_rows < 1 or facts.num_rows > MAX_CELLS or facts.num_columns > columns:
        raise BundleError(
            f"{name} holds {facts.num_rows:,} cells and {facts.num_columns:,} columns: outside what is "
            "accepted."
        )
    groups = [facts.row_group(place) for place in range(facts.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    values = [group.column(k).num_values for group in groups for k in range(group.num_columns)]
    if rows != facts.num_rows or any(count > MAX_CELLS for count in values):
        raise BundleError(f"{name} contradicts itself about its rows.")
    sizes = [group.column(k).total_uncompressed_size for group in groups for k in range(group.num_columns)]
    if min(sizes, default=0) < 0 or sum(sizes) > MAX_UNPACKED:
        raise BundleError(f"{name} would unpack to more than {MAX_UNPACKED // 10**6} MB: it is no bundle's.")
    return file
