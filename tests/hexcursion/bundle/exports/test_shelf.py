"""The shelf: only a committed release's own name opens its zip."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hexcursion.bundle.published import bundle_store
from hexcursion.errors import WorkflowError

ID, OTHER = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture
def folder(tmp_path: Path, bundle_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (ID, "mine"):
        shutil.copy(bundle_folder.with_suffix(".zip"), tmp_path / f"{name}.zip")
    monkeypatch.setattr(bundle_store, "bundles_folder", lambda: tmp_path)
    monkeypatch.setattr(bundle_store, "settle", frozenset)
    return tmp_path


def test_a_release_is_found_by_its_id(folder: Path) -> None:
    assert bundle_store.find_bundle(ID).bundle.statement["release"]["id"]


@pytest.mark.parametrize("name", ["mine", OTHER, f"../{ID}", ""])
def test_no_other_name_opens_a_file(folder: Path, name: str) -> None:
    with pytest.raises(WorkflowError, match="There is no release of this address on this machine"):
        bundle_store.find_bundle(name)


def test_what_was_not_committed_does_not_open(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_store, "settle", lambda: frozenset({(folder / ID).absolute()}))
    with pytest.raises(WorkflowError, match="There is no release of this address on this machine"):
        bundle_store.find_bundle(ID)
