"""Safety net: a work folder belongs to one process, and a place that is taken stays whose it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflow.bundle.bundle_samples import make_release, small_domain
from workflow.bundle import BundleError
from workflow.bundle.writing.workplace import Workplace
from workflow.bundle.writing.write import stage_bundle


def test_a_work_folder_that_is_held_is_not_abandoned(tmp_path: Path) -> None:
    with Workplace.make(tmp_path / "bundle") as place:
        assert Workplace._hold(place.folder) is None
        assert list(Workplace.abandoned(tmp_path)) == []
    left = [one.folder for one in Workplace.abandoned(tmp_path)]
    assert left == [place.folder], "its process let it go"


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
