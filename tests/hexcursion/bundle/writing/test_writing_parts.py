"""What is handed on while a bundle is written, and six corners from any ring."""

from __future__ import annotations

import math
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from geo import GeoError
from hexcursion.bundle import BundleError, write
from hexcursion.bundle.page.drawn import Released, _six
from hexcursion.errors import WorkflowError
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain

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

    def contents(_: object, public: object = None, *, rehearsed: bool = False) -> dict[str, bytes]:
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


@pytest.mark.parametrize(("paths", "draws", "many"), [(12, 0, 1_464), (1, 20, 2_440)])
def test_a_bundle_holds_as_many_values_as_are_allowed_and_not_one_more(
    paths: int, draws: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """122 hexagons."""
    domain = small_domain()
    drawn = np.zeros((draws, domain.size)) if draws else None
    known = {"mean": np.zeros(domain.size), "sd": np.ones(domain.size), "draws": drawn} if draws else {}
    release = make_release(domain, paths, **known)
    monkeypatch.setattr(write, "MAX_VALUES", many)
    assert "statement.json" in write.bundle_contents(release)
    monkeypatch.setattr(write, "MAX_VALUES", many - 1)
    with pytest.raises(BundleError, match=f"^{many:,} path values are too many for a bundle"):
        write.bundle_contents(release)


def test_a_file_may_be_as_large_as_a_reader_takes_and_not_a_byte_larger(
    contents: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = make_release(small_domain())
    most = {name: len(content) for name, content in contents.items()}
    monkeypatch.setattr(write.layout, "most_bytes", most.get)
    assert write.bundle_contents(release) == contents
    most["README.txt"] -= 1
    with pytest.raises(BundleError, match=r"^README\.txt would be too large to be read again"):
        write.bundle_contents(release)


@pytest.mark.parametrize("draws", [True, False])
def test_the_page_of_a_release_with_draws_holds_them(draws: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = small_domain()
    mean, sd = np.zeros(domain.size), np.ones(domain.size)
    drawn = np.zeros((20, domain.size)) if draws else None
    shown: list[Released] = []
    real = write.map_html

    def map_html(released: Released, *rest: Any, **more: Any) -> bytes:
        shown.append(released)
        return real(released, *rest, **more)

    monkeypatch.setattr(write, "map_html", map_html)
    write.bundle_contents(make_release(domain, 1, mean=mean, sd=sd, draws=drawn))
    assert [one.draws is not None for one in shown] == [draws]


def test_a_bundle_is_checked_unless_it_is_said_that_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hexagons and its boundary, by each of the two ways to ask for a bundle."""
    seen: list[bool] = []

    def checked(*_: object, rehearsed: bool) -> bytes:
        seen.append(rehearsed)
        raise GeoError("stop")

    release = make_release(small_domain(), 1)
    monkeypatch.setattr(write, "cells_geojson", checked)
    with pytest.raises(BundleError, match=r"^The released cells .*: stop$"):
        write.bundle_contents(release)
    with pytest.raises(BundleError, match=r"^The released cells .*: stop$"):
        write.stage_bundle(release, tmp_path / "one", tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(write, "boundary_geojson", checked)
    with pytest.raises(BundleError, match=r"^The released cells .*: stop$"):
        write.bundle_contents(release)
    assert seen == [False, False, False]
