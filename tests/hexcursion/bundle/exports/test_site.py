"""The static site: from folders and zips, checked, escaped, and made anew where a browser would run it."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hexcursion.bundle import BundleError, read_bundle, write_bundle
from hexcursion.bundle.layout import SUMS, sums_text
from hexcursion.bundle.published.bundle_store import file_size, find_bundle, stored_bundles
from hexcursion.bundle.published.site import find_bundles, write_site
from hexcursion.cli.main import main
from hexcursion.record import Release
from pages.shared.shipped import site_folder as written
from tests.hexcursion.bundle.exports.test_exports import sealed
from tests.hexcursion.bundle.page.test_map_page import EVIL, Page, zipped

Contents = dict[str, bytes]


def test_a_folder_of_bundles_becomes_a_site(
    bundle_folder: Path, release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder holds a bundle and its zip: one release."""
    out = tmp_path / "site"
    assert (
        main(["site", str(bundle_folder.parent), "--out", str(out), "--address", "https://a.example/m"]) == 0
    )
    assert "hx-20261121-7f3a" in capsys.readouterr().out
    name = "price-above-442413-hx-20261121-7f3a"
    assert sorted(path.name for path in out.iterdir()) == ["index.html", name]
    there = out / name
    index = Page((out / "index.html").read_bytes())
    assert release.title in index.text
    assert "Where do properties sell for more than £442,413?" in index.text
    links = [a["href"] for tag, a in index.tags if tag == "a"]
    assert len(links) == len(list(there.iterdir())) == 12
    (picture,) = [a for tag, a in index.tags if tag == "img"]
    with Image.open(there / "map.png") as image:
        assert (picture["src"], picture["width"]) == (f"{name}/map.png", str(image.width))
        assert picture["height"] == str(image.height)
    assert "loading" not in picture  # the first picture is seen at once
    assert [a["content"] for tag, a in index.tags if tag == "meta" and a.get("name") == "description"] == [
        "1 published map: what each shows, how sure it is, whom it protects; its files."
    ]
    for link in [*links, *(a["src"] for tag, a in index.tags if tag == "img")]:
        assert link is not None
        assert (out / link).is_file()
    assert index.scripts == []
    assert not re.search(r"https?://", (out / "index.html").read_text())
    assert f'content="https://a.example/m/{name}/map.png"' in (there / "map.html").read_text()
    assert (there / "map.pdf").read_bytes().startswith(b"%PDF-1.")
    assert read_bundle(there / f"{name}.zip").statement["release"]["title"] == release.title
    assert (there / "embed.txt").read_text() == (
        f'<iframe src="https://a.example/m/{name}/map.html" title="Where do properties sell for more than '
        '£442,413?" width="100%" height="860" style="border: 0" loading="lazy"></iframe>\n'
    )
    with zipfile.ZipFile(tmp_path / "site.zip") as packed:
        assert packed.read("site/index.html") == (out / "index.html").read_bytes()
        assert len(packed.namelist()) == 13
    assert main(["site", str(bundle_folder), "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "said"),
    [(1, "1 kB"), (1_499, "1 kB"), (99_999, "100 kB"), (100_000, "0.1 MB"), (2_710_000, "2.7 MB")],
)
def test_sizes_of_files_are_told_in_kilobytes_and_megabytes(size: int, said: str) -> None:
    assert file_size(size) == said


def test_a_stranger_s_pages_are_not_passed_on(contents: Contents, tmp_path: Path) -> None:
    forged = sealed(
        {**contents, "map.html": b"<script>alert(1)</script>", "label.html": b"<script>2</script>"}
    )
    (tmp_path / "x.zip").write_bytes(zipped(forged))
    write_site([tmp_path / "x.zip"], tmp_path / "site")
    everything = b""
    for path in (tmp_path / "site").rglob("*"):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                everything += b"".join(archive.read(name) for name in archive.namelist())
        elif path.is_file():
            everything += path.read_bytes()
    assert b"alert(1)" not in everything
    assert b"<script>2" not in everything


def test_what_is_no_bundle_leaves_no_site(contents: Contents, tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_bytes(zipped({**contents, "statement.json": b"{}"}))
    (tmp_path / "empty").mkdir()
    for source, words in (
        (
            "bad.zip",
            r"^bad\.zip: statement\.json was changed after the bundle was made, as its checksum differs: "
            r"get the bundle again from where it was published\.$",
        ),
        ("empty", "no bundle in"),
        ("none", "^No bundle can"),
    ):
        with pytest.raises(BundleError, match=words):
            write_site([tmp_path / source], tmp_path / "site")
    left_out: list[str] = []
    with pytest.raises(BundleError, match=r"^bad\.zip: statement\.json was changed"):
        write_site([tmp_path / "bad.zip"], tmp_path / "site", "", left_out.append)
    assert left_out == []
    with pytest.raises(BundleError, match="address as https"):
        write_site([tmp_path / "bad.zip"], tmp_path / "site", 'https://x/"><script>')
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.zip", "empty"]


def test_two_of_one_name_and_hostile_words(release: Release, tmp_path: Path) -> None:
    evil = replace(release, title=EVIL, release_id="../../" + EVIL[:60], attribution=(EVIL,))
    write_bundle(evil, tmp_path / "in" / "b1")
    shutil.copytree(tmp_path / "in" / "b1", tmp_path / "in" / "b2")
    assert len(find_bundles([tmp_path / "in"])) == 2
    folders = write_site([tmp_path / "in"], tmp_path / "site")
    assert sorted(folders) == [folders[1], folders[1] + "-2"]
    assert re.fullmatch(r"[a-z0-9-]+", folders[0])
    index = Page((tmp_path / "site" / "index.html").read_bytes())
    assert index.scripts == []
    assert EVIL in index.text
    assert {tag for tag, _ in index.tags} & {"iframe", "script", "object"} == set()


def test_three_draws_of_one_stated_id_are_three_releases(release: Release, tmp_path: Path) -> None:
    """Each promises epsilon 2.397; listed by id they were one, and nothing was said of all together."""
    for turn in range(3):
        drawn = replace(release, paths=np.roll(release.paths, turn, axis=0))
        write_bundle(drawn, tmp_path / "in" / f"b{turn}")
    shutil.copytree(tmp_path / "in" / "b0", tmp_path / "in" / "copy")
    write_site([tmp_path / "in"], tmp_path / "site")
    index = Page((tmp_path / "site" / "index.html").read_bytes())
    assert [tag for tag, _ in index.tags].count("article") == 4
    assert "one sale that is in all 3 is protected at epsilon 4.452 at delta 1e-5" in index.text


def test_the_shelf_shows_a_folder_that_somebody_unpacked(
    bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(tmp_path / "shelf"))
    shutil.copytree(bundle_folder, tmp_path / "shelf" / "anything.v2")
    (tmp_path / "shelf" / "other").mkdir()
    found = stored_bundles()
    assert [(one.name, one.path.name) for one in found] == [("anything.v2", "anything.v2")]
    assert found[0].title.startswith("Flats above the stamp duty line, London 2018 (")
    with zipfile.ZipFile(io.BytesIO(found[0].zipped())) as archive:
        statement = json.loads(archive.read("anything.v2/statement.json"))
    assert statement["release"]["id"] == "hx-20261121-7f3a"


def test_one_bad_bundle_is_named_and_left_out(
    contents: Contents, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its GeoPackage is cut off; the exit status says that the site lacks it."""
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    good.write_bytes(zipped(contents))
    cut = {**contents, "release.gpkg": contents["release.gpkg"][:9000]}
    rest = {name: content for name, content in cut.items() if name != SUMS}
    bad.write_bytes(zipped({**rest, SUMS: sums_text(rest).encode()}))
    site = tmp_path / "site"
    assert main(["site", str(bad), str(good), "--out", str(site)]) == 1
    said = capsys.readouterr()
    assert said.err == "left out: bad.zip: release.gpkg is damaged: it cannot be read as a GeoPackage.\n"
    assert len([path for path in site.iterdir() if path.is_dir()]) == 1
    assert main(["site", str(good), "--out", str(tmp_path / "whole")]) == 0
    assert main(["site", str(bad), "--out", str(tmp_path / "none")]) == 2
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("address", ["http://[::1", "http://:::", "https://a:b", "https://a b", "ftp://a"])
def test_an_address_that_is_none_is_refused_before_anything_is_read(tmp_path: Path, address: str) -> None:
    with pytest.raises(BundleError, match="Give the site's address as https"):
        write_site([tmp_path / "none"], tmp_path / "site", address)
    with pytest.raises(BundleError, match="No bundle can be read at"):
        write_site([tmp_path / "none"], tmp_path / "site", "http://[::1]:8501/maps")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(BundleError, match=r"cannot be read \(Permission denied\): name a bundle or a folder"):
        find_bundles([tmp_path])


def test_publish_writes_the_page_once_for_each_address(
    bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(tmp_path))
    monkeypatch.setenv("HEXCURSION_HOME", str(tmp_path))
    name = "0123456789abcdef"
    shutil.copy(bundle_folder.with_suffix(".zip"), tmp_path / f"{name}.zip")
    viewer = find_bundle(name)
    folder = written(name, viewer, "")
    assert folder.parent == tmp_path / "sites"
    code = (folder / "price-above-442413-hx-20261121-7f3a" / "embed.txt").read_text()
    assert "https://YOUR-SERVER/price-above-442413-hx-20261121-7f3a/map.html" in code
    assert written(name, viewer, "") == folder
    assert written(name, viewer, "https://maps.example/x/") != folder
    assert len(list((tmp_path / "sites").iterdir())) == 2
    with pytest.raises(BundleError, match="address as https"):
        written(name, viewer, "maps.example")
