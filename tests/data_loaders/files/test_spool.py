"""Long columns lie on disk, in files without a name, and read as if they had stayed in memory."""

from __future__ import annotations

import errno
import os
import tempfile

import numpy as np
import pytest

from data_loaders import DataError, Observations
from data_loaders.files import spool
from data_loaders.files.spool import Column, Spool, chosen, strides
from data_loaders.repeats import one_of_each


def test_a_short_column_stays_in_memory_and_a_long_one_leaves_it() -> None:
    column = Column(in_memory=31)
    column.add(np.array([1.5, -2.0, 4.0]))
    assert not isinstance(column.array(), np.memmap)
    column.add(np.array([8.0]))  # 32 bytes: one more than may stay
    found = column.array()
    assert isinstance(found, np.memmap)
    assert found.mode == "r"
    column.add(np.array([], dtype=float))
    assert column.array().tolist() == [1.5, -2.0, 4.0, 8.0]
    assert Column().array("M8[s]").dtype == np.dtype("M8[s]")


def test_names_of_any_width_keep_their_letters() -> None:
    column = Column(in_memory=1)
    for names in ([b"A", b"BC"], [b"DEFGH"], [b""]):
        column.add(np.array(names))
    assert column.array().tolist() == [b"A", b"BC", b"DEFGH", b""]


def test_times_and_whole_numbers_keep_their_type() -> None:
    rows = Spool(in_memory=0)
    for day in ("2024-01-31", "NaT"):
        rows.add(time=np.array([day], dtype="M8[s]"), place=np.array([-2], dtype=np.int32))
    assert str(rows.array("time").tolist()[0]) == "2024-01-31 00:00:00"
    assert np.isnat(rows.array("time")).tolist() == [False, True]
    assert rows.array("place").dtype == np.int32
    assert rows.array("place").tolist() == [-2, -2]


def test_its_file_has_no_name(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    column = Column(in_memory=0)
    column.add(np.arange(1000))
    assert column.array()[999] == 999
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(DataError, match=r"No space left on device\): free some, or name another .* TMPDIR"):
        Column(in_memory=0).add(np.arange(3))


def test_observations_take_a_column_on_disk_as_it_is_and_copy_any_other() -> None:
    rows = Spool(in_memory=0)
    rows.add(x=np.array([1.0, 2.0]), name=np.array([b"A", b"B"]))
    rows.add(x=np.array([3.0]), name=np.array([b"C"]))
    mine = np.array([5.0, 6.0, 7.0])
    made = Observations(
        x=rows.array("x"),
        y=mine,
        crs="EPSG:4326",
        value=mine,
        unit="m",
        kind="reading",
        title="",
        identifier=rows.array("name"),
    )
    mine[0] = 0.0
    assert isinstance(made.x, np.memmap)
    assert isinstance(made.identifier, np.memmap)
    assert made.y.tolist() == [5.0, 6.0, 7.0]
    assert made.identifier.tolist() == [b"A", b"B", b"C"]
    with pytest.raises(ValueError, match="WRITEABLE"):
        made.x.setflags(write=True)


def test_rows_are_chosen_stride_by_stride(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "STRIDE", 3)
    assert [(rows.start, rows.stop) for rows in strides(7)] == [(0, 3), (3, 6), (6, 7)]
    found = chosen({"a": np.arange(7), "b": 10.0 * np.arange(7)}, np.arange(7) % 3 != 1)
    assert found["a"].tolist() == [0, 2, 3, 5, 6]
    assert found["b"].tolist() == [0.0, 20.0, 30.0, 50.0, 60.0]


def test_the_last_row_of_every_name_is_found_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    names = np.array([7, 3, 7, 9, 3, 7, 20, 0], dtype=np.uint64)
    last = [False, False, False, True, True, True, True, True]
    assert one_of_each(names, "last").tolist() == last
    monkeypatch.setattr(spool, "STRIDE", 2)
    monkeypatch.setattr("data_loaders.repeats.STRIDE", 1)  # two parts of four rows at most
    assert one_of_each(names, "last").tolist() == last
    assert one_of_each(np.empty(0, np.uint64), "last").tolist() == []


@pytest.mark.parametrize("kept", [[True, True], [True, False]])
def test_chosen_columns_cannot_be_written_to_also_when_every_row_is_kept(kept: list[bool]) -> None:
    column = np.array([1.5, 2.5])
    found = chosen({"value": column}, np.array(kept))["value"]
    assert found.tolist() == [1.5, 2.5][: sum(kept)]
    assert not found.flags.writeable
    assert column.flags.writeable
