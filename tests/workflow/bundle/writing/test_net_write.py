"""Safety net: what is handed on while a bundle is written, and six corners from any ring."""

from __future__ import annotations

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
