"""Limits of a bundle in literal numbers: what a stranger's file may hold, and what a page draws of a release.

Whoever changes one changes what was promised to readers: bundles of today must open tomorrow, a page stays
below 3 MB, and a picture is drawn from a bounded number of corners.
"""

from __future__ import annotations

import io
from importlib import import_module

import pyarrow
import pyarrow.parquet
import pytest

from hexcursion.bundle.untrusted import table_of

LIMITS = {
    "areas": {"FEWEST": 10, "MOST": 100},
    "layers": {"MAX_PATH_REGIONS": 8},
    "layout": {"MAX_RATIO": 200, "MAX_TOTAL_BYTES": 600_000_000, "MOST_PIXELS": 100_000_000},
    "page.drawn": {
        "MOST_BYTES": 2_000_000, "STOPS": 41, "OWN_CORNERS": 40_000, "RUN": 64, "SPAN": 60_000, "CORNERS": 6,
        "NAMES": 120, "OWN_NAMES": 200, "OWN_LINE_CORNERS": 8_000, "EMPTY": 128,
    },
    "page.facts": {"MOST": 8},
    "page.label": {"MAX_CREDITS": 900},
    "published.bundle_store": {"LONGEST_STATEMENT": 4_000_000},
    "published.view": {"MAX_ROUNDS": 20},
    "tables": {"MAX_PATHS": 10_000, "MAX_VALUES": 50_000_000, "MAX_MAGNITUDE": 2.0**30},
    "untrusted": {"MAX_UNPACKED": 700_000_000},
}  # fmt: skip


@pytest.mark.parametrize("module", sorted(LIMITS))
def test_limits_change_on_purpose_only(module: str) -> None:
    found = vars(import_module(f"hexcursion.bundle.{module}"))
    assert {name: found[name] for name in LIMITS[module]} == LIMITS[module]


def test_the_types_of_a_table_are_read_once_however_many_columns_it_has() -> None:
    """Read once for each column, those of 10,000 paths took a minute."""
    looks = 0

    class Watched(pyarrow.parquet.ParquetFile):
        @property
        def schema_arrow(self) -> pyarrow.Schema:
            nonlocal looks
            looks += 1
            return super().schema_arrow

    columns, stream = [f"path_{number}" for number in range(50)], io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({name: [0.5, 1.5] for name in columns}), stream)
    table = table_of(Watched(stream), "paths.parquet", columns)
    assert (looks, table.num_columns, table.column("path_49").to_pylist()) == (1, 50, [0.5, 1.5])
