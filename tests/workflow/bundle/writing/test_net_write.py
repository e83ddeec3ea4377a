"""Safety net: what is handed on while a bundle is written, and six corners from any ring."""

from __future__ import annotations

import math
import os
import stat
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.workflow.bundle.bundle_samples import make_release, small_domain
from workflow.bundle.page.drawn import _six
from workflow.bundle.writing import write
from workflow.errors import WorkflowError

RING = np.array([[2.0, 0.0], [1.0, 1.0], [-1.0, 1.5], [-2.0, 0.5], [-1.0, -1.0], [1.0, -1.5]])


@pytest.mark.parametrize("edge", range(6))
def test_a_point_on_an_edge_is_no_corner_of_a_hexagon(edge: int) -> None:
    """Wherever it lies, and however the edges run."""
    middle = 0.75 * RING[edge] + 0.25 * RING[(edge + 1) % 6]
    assert np.array_equal(_six(np.insert(RING, edge + 1, middle, axis=0)), RING)
    assert np.array_equal(_six(RING[:5]), np.vstack([RING[:5], RING[4:5]])), "a pentagon's last is repeated"


@pytest.mark.parametrize("rehearsed", [True, False])
def test_a_bundle_that_was_rehearsed_is_not_checked_twice(
    rehearsed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def contents(_: object, *, rehearsed: bool = False) -> dict[str, bytes]:
        seen.append(rehearsed)
        return {"statement.json": b"{}", "SHA256SUMS": b""}

    monkeypatch.setattr(write, "bundle_contents", contents)
    write.stage_bundle(
        make_release(small_domain(), 1), tmp_path / "shelf" / "one", tmp_path, rehearsed=rehearsed
    )
    assert seen == [rehearsed]


def test_paths_are_packed(bundle_folder: Path) -> None:
    group = pq.ParquetFile(bundle_folder / "paths.parquet").metadata.row_group(0)
    assert {group.column(k).compression for k in range(group.num_columns)} == {"ZSTD"}


@pytest.mark.parametrize("known", ["mean", "sd"])
def test_half_a_field_is_refused(known: str) -> None:
    domain = small_domain()
    with pytest.raises(WorkflowError, match="a mean of the field needs its standard deviation"):
        make_release(domain, 1, **{known: np.zeros(domain.size)})


def test_a_statement_is_written_a_line_an_entry_in_its_own_letters_and_with_numbers_alone() -> None:
    assert write.statement_text({"a": "é", "b": [1, 2.5]}) == ('{\n "a": "é",\n "b": [\n  1,\n  2.5\n ]\n}\n')
    for none in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            write.statement_text({"a": none})


def test_whatever_is_staged_and_placed_is_flushed_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files with all their bytes, and each folder after something was put into it."""
    flushed: list[tuple[int, int | None]] = []

    def seen(of: os.stat_result) -> tuple[int, int | None]:
        return of.st_ino, of.st_size if stat.S_ISREG(of.st_mode) else None

    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(seen(os.fstat(handle))))
    contents = {"statement.json": b"{}", "SHA256SUMS": b"sums"}
    monkeypatch.setattr(write, "bundle_contents", lambda *_, **__: contents)
    work, shelf = tmp_path / "work", tmp_path / "shelf"
    work.mkdir()
    shelf.mkdir()
    staged = write.stage_bundle(make_release(small_domain(), 1), shelf / "one", work)
    made = work / "one"
    names = [made / "statement.json", made / "SHA256SUMS", made, work / "one.zip", work]
    assert flushed == [seen(name.stat()) for name in names]
    assert [size for _, size in flushed[:2]] == [2, 4]
    flushed.clear()
    staged.place()
    assert flushed == [seen(shelf.stat())]
