"""Files of a session: example files, private uploads, previews, the shelf, and the finished example."""

from __future__ import annotations

import gc
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hexcursion.bundle.published.bundle_store import find_bundle, open_bundle, stored_bundles
from hexcursion.errors import WorkflowError
from hexcursion.project.area import NamedArea
from hexcursion.project.example import example_settings
from hexcursion.settings.data_settings import SourceSettings
from pages.shared.session.previews import (
    Preview,
    class_words,
    domain_of,
    facts_of,
    look_at,
    propose_columns,
    value_classes,
)
from pages.shared.session.workspace import Workspace
from pages.shared.uploads import PrivateFolder


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory):
    return example_settings(tmp_path_factory.mktemp("example"))


@pytest.mark.slow
def test_the_example_is_written_once_even_by_many_at_a_time(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: example_settings(tmp_path), range(4)))
    assert len(set(made)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["generated-example"]
    files = sorted((tmp_path / "generated-example").iterdir())
    times = [path.stat().st_mtime_ns for path in files]
    example_settings(tmp_path)
    assert [path.stat().st_mtime_ns for path in files] == times


def test_a_preview_accounts_for_the_rows_and_prints_none(example) -> None:
    preview = look_at(example.data, example.value_unit)
    assert preview.generated
    assert preview.kind == "sale"
    assert f"{preview.size:,} kept." in preview.lines[0]
    assert 0 < len(preview.places) <= 1_510
    assert len(preview.rows) == 6
    assert str(preview.rows[0][2]) not in repr(preview)
    assert "0.4321" not in repr(Workspace(missing={"price": 0.4321})), "the share of values that are missing"


def test_a_preview_of_nonsense_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "noise.csv").write_bytes(b"%PDF-1.4 not a table")
    with pytest.raises(WorkflowError, match="PDF"):
        look_at(SourceSettings(str(tmp_path / "noise.csv"), value="v", x="x", y="y"), "m")
    with pytest.raises(WorkflowError, match="PDF"):
        propose_columns(str(tmp_path / "noise.csv"))


@given(name=st.text(max_size=200), data=st.binary(max_size=64))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_upload_stays_in_its_folder_whatever_its_name(name: str, data: bytes) -> None:
    folder = PrivateFolder()
    kept = folder.keep(name, data)
    assert kept.read_bytes() == data
    assert kept.resolve().is_relative_to(folder.path.resolve())
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_uploads_of_one_name_do_not_replace_each_other_and_go_with_their_folder() -> None:
    folder = PrivateFolder()
    first, second = folder.keep("a.csv", b"1"), folder.keep("a.csv", b"2")
    assert first.read_bytes() == b"1"
    assert second.read_bytes() == b"2"
    assert folder.keep("a.csv", b"1") == first
    place = folder.path
    del folder
    gc.collect()
    assert not place.exists()


def test_a_region_and_a_box_become_domains_or_a_sentence(example) -> None:
    domain = domain_of(NamedArea(example.region, None), 6)
    facts = facts_of(domain, look_at(example.data, example.value_unit))
    assert facts.area.endswith("km²")
    assert facts.inside == "about 98 %"
    assert facts.basis.startswith("Of a sample of 1,")
    assert domain_of(NamedArea(None, (2.0, 54.7, 2.3, 54.8)), 6).size > 1
    with pytest.raises(WorkflowError):
        domain_of(NamedArea("no-such-file.geojson", None), 6)
    with pytest.raises(WorkflowError):
        domain_of(NamedArea(None, (2.0, 95.0, 2.3, 96.0)), 6)


def test_a_file_that_somebody_put_on_the_shelf_has_its_title(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A zip alone, as it was sent; what is no zip, or holds no statement, stands under its own name."""
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(tmp_path))
    shutil.copy(root / "static" / "tour" / "bundle.zip", tmp_path / "sent.zip")
    (tmp_path / "broken.zip").write_bytes(b"no zip")
    with ZipFile(tmp_path / "strange.zip", "w") as archive:
        archive.writestr("a/b.txt", "x")
    titles = {bundle.name: bundle.title for bundle in stored_bundles()}
    assert titles.pop("sent").startswith("House sales of Lucas County, Ohio: an example (20")
    assert titles == {"broken": "broken", "strange": "strange"}
    sent = next(bundle for bundle in stored_bundles() if bundle.name == "sent")
    assert open_bundle(sent.path).bundle.threshold == 80_000.0


def test_the_shelf_of_a_new_home_is_empty_and_names_are_checked() -> None:
    assert stored_bundles() == ()
    for name in ("", "..", "../x", "0123456789abcdef", "A" * 16):
        with pytest.raises(WorkflowError, match="no release of this address"):
            find_bundle(name)
    with pytest.raises(WorkflowError):
        open_bundle(b"PK\x03\x04 not a bundle")


def test_places_have_five_classes_with_as_many_values_each() -> None:
    assert value_classes(np.arange(1.0, 11.0)) == ((0, 0, 1, 1, 2, 2, 3, 3, 4, 4), (2.0, 4.0, 6.0, 8.0))
    assert value_classes(np.array([3.0, 3.0])) == ((), ())
    assert value_classes(np.empty(0)) == ((), ())
    assert value_classes(np.array([1.0, 1.0, 1.0, 1.0, 9.0]))[0] == (0, 0, 0, 0, 4)


def test_a_class_without_a_value_has_no_words() -> None:
    empty = Preview((), 0, "ug/m3", "reading", False, (), (), ())
    three = replace(empty, classes=(0, 1, 4), limits=(2.0, 4.0, 6.0, 8.0))
    assert class_words(three) == ("up to 2 ug/m3", "2 ug/m3 to 4 ug/m3", "above 8 ug/m3")
    classes, limits = value_classes(np.array([1.0, 0.0, 1.0, 1.0, 1.0]))
    assert classes == (4, 0, 4, 4, 4)
    two = replace(three, unit="%", classes=classes, limits=limits, rows=((4.9, 52.4, 0.3),))
    assert class_words(two) == ("up to 0.5 %", "above 0.5 %")
    assert class_words(replace(two, rows=((4.9, 52.4, 1.0), (4.9, 52.4, 0.0)))) == ("no", "yes")
    assert class_words(empty) == ()
