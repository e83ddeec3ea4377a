"""Eigenpairs: what they are, what names them, and how they are kept."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpgp_core.features import eigen
from dpgp_core.features.eigen import Eigenpairs, FolderStore, eigen_key
from dpgp_core.spectral.model import SpectralModel
from tests.dpgp_core.features.worlds import model_on
from tests.dpgp_core.hexmap import disk


def test_a_key_names_geography_prior_and_count() -> None:
    lattice = disk(3, 1)
    key = eigen_key(lattice, "exponential", 1_000.0, 20)
    assert key == eigen_key(disk(3, 1), "exponential", 1_000.0, 20)
    moved = replace(lattice, centres=lattice.centres + 1.0)
    others = {
        eigen_key(moved, "exponential", 1_000.0, 20),
        eigen_key(disk(3, 2), "exponential", 1_000.0, 20),
        eigen_key(lattice, "car", 1_000.0, 20),
        eigen_key(lattice, "exponential", 1_001.0, 20),
        eigen_key(lattice, "exponential", 1_000.0, 21),
        eigen_key(replace(lattice, inside=lattice.inside[::-1].copy()), "exponential", 1_000.0, 20),
    }
    assert len(others | {key}) == 7


KEY = "ab" * 32


SOME = {"values": np.array([2.0, 1.0]), "rows": np.eye(3)}


def pairs() -> Eigenpairs:
    return model_on(2).smooth_pairs("exponential", 900.0)


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "new" / "folder")
    assert store.arrays(KEY, ("values",)) is None
    store.put_arrays(KEY, SOME)
    found = store.arrays(KEY, ("rows", "values"))
    assert found is not None
    assert np.array_equal(found[0], SOME["rows"])
    assert np.array_equal(found[1], SOME["values"])
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == [f"{KEY}.npz"]


def test_damaged_and_foreign_files_count_as_absent(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.put_arrays(KEY, SOME)
    path = tmp_path / f"{KEY}.npz"
    whole = path.read_bytes()
    for damaged in (b"", b"not a zip file", whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        assert store.arrays(KEY, ("values",)) is None
    np.savez(path, other=np.ones(2))
    assert store.arrays(KEY, ("values",)) is None
    np.savez(path, values=np.array([{"run": "me"}], dtype=object))
    assert store.arrays(KEY, ("values",)) is None
    np.savez(path, values=np.ones(2, dtype=np.float32))
    assert store.arrays(KEY, ("values",)) is None


def test_a_key_cannot_leave_the_folder(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "inside")
    for key in ("../" + "a" * 61, "A" * 64, "", "a" * 63):
        with pytest.raises(ValueError, match="64 hex digits"):
            store.put_arrays(key, SOME)
        with pytest.raises(ValueError, match="64 hex digits"):
            store.arrays(key, ("values",))


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder should be")
    store = FolderStore(blocked / "below")
    store.put_arrays(KEY, SOME)
    assert store.arrays(KEY, ("values",)) is None


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    FolderStore(tmp_path).put_arrays(KEY, SOME)
    assert list(tmp_path.iterdir()) == []


def test_a_model_computes_once_and_then_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lattice, store = disk(3, 2), FolderStore(tmp_path)
    first = SpectralModel(lattice, store).smooth_pairs("exponential", 1_000.0)
    monkeypatch.setattr("dpgp_core.spectral.model.prior_spectrum", None)  # must not be called again
    again = SpectralModel(lattice, store).smooth_pairs("exponential", 1_000.0)
    assert np.array_equal(first.vectors, again.vectors)


def test_impossible_pairs_are_refused() -> None:
    made = pairs()
    for wrong in (
        {"values": made.values[::-1].copy()},
        {"values": -made.values},
        {"values": made.values[:-1]},
        {"variance": np.zeros(19)},
        {"vectors": np.full_like(made.vectors, np.inf)},
    ):
        with pytest.raises(ValueError, match=r"eigen|Eigen|variances"):
            replace(made, **wrong)


def test_equal_eigenvalues_have_the_same_vectors_however_they_were_turned() -> None:
    """A disk has many pairs of equal eigenvalues: any rotation, sign and rounding gives one basis."""
    generator = np.random.default_rng(2)
    space, _ = np.linalg.qr(generator.normal(size=(30, 5)))
    space[1] = -space[0]  # two entries of one size: the first is positive
    space, _ = np.linalg.qr(space)
    values = np.array([3.0, 2.0, 2.0, 2.0 - 1e-13, 1.0])
    made = eigen.canonical(values, space)
    np.testing.assert_allclose(made.T @ made, np.eye(5), atol=1e-12)
    turn, _ = np.linalg.qr(generator.normal(size=(3, 3)))
    other = np.hstack([-space[:, :1], space[:, 1:4] @ turn, space[:, 4:]]) * (1.0 + 1e-13)
    np.testing.assert_allclose(eigen.canonical(values, other), made, atol=1e-11)
    rising = np.array([0.0, 1.0, 1.0, 1.0 + 1e-13, 2.0])
    np.testing.assert_allclose(eigen.canonical(rising, other), made, atol=1e-11)
    apart = eigen.canonical(np.array([3.0, 2.0, 1.9, 1.8, 1.0]), space)
    np.testing.assert_allclose(np.abs(apart), np.abs(space), atol=1e-12)
    size = np.abs(made)
    leading = (size > 0.9999 * size.max(axis=0)).argmax(axis=0)
    assert np.all(made[leading, np.arange(5)] > 0)
