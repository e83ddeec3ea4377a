"""A work folder belongs to one process, and a place that is taken stays whose it is."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from hexcursion.bundle import BundleError
from hexcursion.bundle.workplace import Workplace
from hexcursion.bundle.write import stage_bundle
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain


def test_a_work_folder_that_is_held_is_not_abandoned(tmp_path: Path) -> None:
    with Workplace.make(tmp_path / "bundle") as place:
        assert Workplace._hold(place.folder) is None
        assert list(Workplace.abandoned(tmp_path)) == []
    left = [one.folder for one in Workplace.abandoned(tmp_path)]
    assert left == [place.folder], "its process let it go"


def test_a_folder_that_another_process_sweeps_away_at_once_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between making and locking it looks like one of a dead process."""
    made: list[Path] = []
    make = tempfile.mkdtemp

    def swept(**named: Any) -> str:
        made.append(Path(make(**named)))
        if len(made) < 3:
            made[-1].rmdir()
        return str(made[-1])

    monkeypatch.setattr(tempfile, "mkdtemp", swept)
    with Workplace.make(tmp_path / "bundle") as place:
        assert [made.index(place.folder), len(made)] == [2, 3]
        assert list(Workplace.abandoned(tmp_path)) == []


@pytest.mark.parametrize("taken", ["bundle", "bundle.zip"])
def test_what_took_the_place_meanwhile_is_left_and_nothing_is_put_beside_it(
    tmp_path: Path, taken: str
) -> None:
    target, work = tmp_path / "bundle", tmp_path / "work"
    work.mkdir()
    staged = stage_bundle(make_release(small_domain(), 1), target, work)
    other = tmp_path / taken
    if taken == "bundle":
        other.mkdir()
        (other / "mine").touch()
    else:
        other.write_text("mine")
    with pytest.raises(BundleError, match="could not be put in its place"):
        staged.place()
    assert (work / "bundle" / "statement.json").exists(), "it waits"
    if taken == "bundle":
        assert [path.name for path in other.iterdir()] == ["mine"]
    else:
        assert other.read_text() == "mine"
        assert not target.exists()


def test_a_bundle_is_put_in_its_place_again_after_half_of_it_was(tmp_path: Path) -> None:
    """The zip stands already, the folder does not."""
    target, work = tmp_path / "bundle", tmp_path / "work"
    work.mkdir()
    staged = stage_bundle(make_release(small_domain(), 1), target, work)
    (tmp_path / "bundle.zip").hardlink_to(work / "bundle.zip")
    staged.place()
    staged.place()
    assert (target / "statement.json").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "bundle.zip", "work"]


def test_a_bundle_may_lie_in_folders_that_are_not_there_yet(tmp_path: Path) -> None:
    target = tmp_path / "maps" / "2018" / "bundle"
    for _ in range(2):  # the second time they are there
        with Workplace.make(target) as place:
            assert place.folder.parent == tmp_path / "maps" / "2018"
            assert [file.name for file in place.folder.iterdir()] == ["lock"]
            place.remove()
    assert list(target.parent.iterdir()) == []


def test_a_bundle_below_a_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "maps").write_text("mine")
    with pytest.raises(BundleError, match=r"^No bundle can be written in .*maps: File exists\.$"):
        Workplace.make(tmp_path / "maps" / "bundle")
    assert (tmp_path / "maps").read_text() == "mine"


def test_a_work_folder_is_emptied_but_for_its_lock(tmp_path: Path) -> None:
    """Files, folders with files, and a link to a folder, whose own files stay."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "mine").touch()
    with Workplace.make(tmp_path / "bundle") as place:
        (place.folder / "bundle").mkdir()
        (place.folder / "bundle" / "statement.json").touch()
        (place.folder / "bundle.zip").touch()
        (place.folder / "link").symlink_to(kept)
        place.empty()
        assert [file.name for file in place.folder.iterdir()] == ["lock"]
    assert (kept / "mine").exists()


@pytest.mark.parametrize(
    ("name", "left"),
    [(".bundle.work-abc_1234", True), (".bundle.work-abc_123", False), ("bundle.work-abc_1234", False)],
)
def test_what_is_swept_after_a_dead_process(name: str, left: bool, tmp_path: Path) -> None:
    """A work folder without a living process, nothing else."""
    folder = tmp_path / name
    folder.mkdir()
    assert [one.folder for one in Workplace.abandoned(tmp_path)] == ([folder] if left else [])
