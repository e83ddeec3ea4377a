"""What a reader is told of a bundle, in exact words, and what it refuses."""

from __future__ import annotations

import io
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geo import Domain
from hexcursion.bundle import BundleError
from hexcursion.bundle.layout import optional_files
from hexcursion.bundle.published import bundle_store
from hexcursion.bundle.published.view import MAX_ROUNDS, Viewer
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.tables import read_paths
from hexcursion.bundle.untrusted import MAX_UNPACKED, checked_parquet
from hexcursion.bundle.write import bundle_contents
from hexcursion.errors import WorkflowError
from tests.hexcursion.bundle.bundle_samples import make_release


@pytest.fixture(scope="module")
def viewer(contents: dict[str, bytes]) -> Viewer:
    return Viewer(bundle_from_contents(contents))


@pytest.mark.parametrize(("cutoff", "said"), [(0.5, "50 %"), (0.7, "70 %"), (0.8, "80 %")])
def test_the_cutoff_is_said_in_per_cent(viewer: Viewer, cutoff: float, said: str) -> None:
    products = replace(viewer.at(), cutoff=cutoff, vote_set=viewer.at().votes >= cutoff)
    inside = int(products.vote_set.sum())
    assert 0 < inside < 122
    assert viewer.sentences(products)[1] == (
        f"{inside} of 122 hexagons are above the threshold in at least {said} of the 12 paths."
    )


def test_as_many_rounds_of_smoothing_as_allowed_are_made_and_one_more_is_not(viewer: Viewer) -> None:
    assert MAX_ROUNDS == 20
    assert viewer.smoothed(20).shape == (12, 122)
    with pytest.raises(WorkflowError, match=r"^Smoothing takes 0 to 20 rounds\.$"):
        viewer.smoothed(21)


def test_the_newest_bundle_comes_first_and_of_one_time_the_first_by_name(
    tmp_path: Path, bundle_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_store, "bundles_folder", lambda: tmp_path)
    monkeypatch.setattr(bundle_store, "settle", frozenset)
    for name, second in (("old", 1_000), ("newest", 3_000), ("b", 2_000), ("a", 2_000)):
        shutil.copy(bundle_folder.with_suffix(".zip"), tmp_path / f"{name}.zip")
        os.utime(tmp_path / f"{name}.zip", (second, second))
    assert [one.name for one in bundle_store.stored_bundles()] == ["newest", "a", "b", "old"]


def test_only_some_files_may_be_left_out() -> None:
    assert {"draws.parquet", "public_field.csv", "layers.geojson", "map.html"} <= optional_files()
    assert not {"statement.json", "paths.parquet", "cells.geojson", "SHA256SUMS"} & optional_files()


def test_a_file_that_would_unpack_to_too_much_is_told_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"h3": ["x"] * 2000, "path_1": np.arange(2000.0)}), sink)
    monkeypatch.setattr("hexcursion.bundle.untrusted.MAX_UNPACKED", 12_000)
    monkeypatch.setattr("hexcursion.bundle.untrusted.MAX_CELLS", 2000)
    assert MAX_UNPACKED == 700_000_000
    with pytest.raises(BundleError, match=r"^x would unpack to more than 0 MB: it is no bundle's\.$"):
        checked_parquet(sink.getvalue(), "x", 2)
    monkeypatch.setattr("hexcursion.bundle.untrusted.MAX_CELLS", 1999)
    with pytest.raises(BundleError, match=r"^x holds 2,000 cells and 2 columns: outside what is accepted\.$"):
        checked_parquet(sink.getvalue(), "x", 2)


@pytest.mark.parametrize(
    ("sizes", "opens"),
    [((0, 5), True), ((-1, 5), False), ((0, 700_000_000), True), ((1, 700_000_000), False)],
)
def test_a_footer_that_says_less_than_nothing_of_a_size_is_refused(
    sizes: tuple[int, ...], opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A negative size would make room for another column's."""
    columns = [SimpleNamespace(num_values=1, total_uncompressed_size=size) for size in sizes]
    group = SimpleNamespace(num_rows=1, num_columns=2, column=columns.__getitem__)
    facts = SimpleNamespace(num_rows=1, num_columns=2, num_row_groups=1, row_group=[group].__getitem__)
    file = SimpleNamespace(metadata=facts, schema=SimpleNamespace(names=[]))
    monkeypatch.setattr(pq, "ParquetFile", lambda *_, **__: file)
    if opens:
        assert checked_parquet(bytes(12), "x", 2) is file
        return
    with pytest.raises(BundleError, match=r"^x would unpack to more than 700 MB: it is no bundle's\.$"):
        checked_parquet(bytes(12), "x", 2)


@pytest.mark.parametrize(("missing", "opens"), [(0, True), (1, False)])
def test_a_column_that_contradicts_itself_about_what_it_lacks_is_refused(
    missing: int, opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two bits say that both of its values are there; it counts the missing ones itself."""
    values = [pa.py_buffer(b"\x03"), pa.py_buffer(np.array([1.0, 2.0]))]
    column = pa.Array.from_buffers(pa.float64(), 2, values, missing)
    table = pa.table({"h3": ["a", "b"], "path_1": column})
    file = SimpleNamespace(
        metadata=SimpleNamespace(num_rows=2),
        schema_arrow=table.schema,
        read=lambda columns, use_threads: table,
    )
    monkeypatch.setattr("hexcursion.bundle.tables.checked_parquet", lambda *_: file)
    if opens:
        assert read_paths(b"").values.paths.tolist() == [[1.0, 2.0]]
        return
    with pytest.raises(BundleError, match=r"^paths\.parquet is damaged: it cannot be read as Parquet\.$"):
        read_paths(b"")


def test_names_of_cells_that_are_no_text_are_refused() -> None:
    """Bytes that are no UTF-8, in a column that says that it is text."""
    sink = io.BytesIO()
    names = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"a\xff")]
    )
    pq.write_table(pa.table({"h3": names, "path_1": [1.0, 2.0]}), sink)
    with pytest.raises(BundleError, match=r"^paths\.parquet is damaged: it cannot be read as Parquet\.$"):
        read_paths(sink.getvalue())


def told(domain: Domain, **changes: Any) -> tuple[str, ...]:
    """What a reader is told of a made release after its classes, without how right it is expected to be."""
    viewer = Viewer(bundle_from_contents(bundle_contents(make_release(domain, **changes))))
    return viewer.sentences(viewer.at())[1:-1]


def test_a_reader_of_paths_alone_is_told_this(domain: Domain) -> None:
    sure = (
        "At 90 %: 1 hexagon surely above the threshold, 78 surely at most that, 43 stay open at this "
        "privacy.",
        "Frequencies come in steps of 1/12; nothing finer is supported.",
    )
    assert told(domain) == (
        "17 of 122 hexagons are above the threshold in at least 50 % of the 12 paths.",
        *sure,
    )
    assert told(domain, direction="below") == (
        "107 of 122 hexagons are at most the threshold in at least 50 % of the 12 paths.",
        *sure,
    )
    assert told(domain, paths=1) == (
        "9 of 122 hexagons are above the threshold on the released path.",
        "One path says in or out; how sure that is, only several paths can say.",
    )
    assert told(domain, paths=3)[1:] == (
        "3 paths cannot support statements at 90 % confidence: that takes 10.",
        "Frequencies come in steps of 1/3; nothing finer is supported.",
    )


def test_a_reader_of_probabilities_is_told_those_however_many_paths_there_are(domain: Domain) -> None:
    """Of one path that came with a mean and a deviation it was said that only several paths say how sure."""
    mean, sd = make_release(domain, paths=1).paths[0], np.full(domain.size, 0.3)
    draws = mean + 0.3 * np.random.default_rng(3).normal(size=(20, domain.size))
    assert told(domain, paths=1, mean=mean, sd=sd) == (
        "12 of 122 hexagons are above the threshold with a probability of at least 50 %, given the release.",
        "1 path cannot support statements at 90 % confidence: that takes 10.",
        "Frequencies come in steps of 1/1; nothing finer is supported.",
    )
    beside = (
        "Given the release, 12 hexagons are above it with a probability of at least 50 %.",
        "At 90 %: 1 hexagon surely above the threshold, 37 surely at most that, 84 stay open at this "
        "privacy.",
        "Frequencies come in steps of 1/20; nothing finer is supported.",
    )
    assert told(domain, paths=1, mean=mean, sd=sd, draws=draws) == (
        "9 of 122 hexagons are above the threshold on the released path.",
        *beside,
    )
    assert told(domain, paths=12, mean=mean, sd=sd, draws=draws) == (
        "17 of 122 hexagons are above the threshold in at least 50 % of the 12 paths.",
        *beside,
    )
    few = told(domain, paths=1, mean=mean, sd=sd, draws=draws[:4])
    assert few[2] == "4 draws cannot support statements at 90 % confidence: that takes 10."


def test_the_ends_of_a_slider_hold_nearly_all_path_values(viewer: Viewer) -> None:
    assert viewer.thresholds == pytest.approx((65_841.29, 994_055.40))
