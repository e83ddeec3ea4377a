"""Writing: whole or not at all, readable by other programs, redrawn by its own script."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import pytest
import shapely

from dpgp_core.releasing import GRID
from geo import Domain, geometry_dict
from geo.rfc7946 import rfc7946_findings
from hexcursion.bundle import BundleError, read_bundle, write_bundle
from hexcursion.bundle import write as write_module
from hexcursion.bundle.layout import REQUIRED
from hexcursion.bundle.products import MEANINGS
from hexcursion.bundle.published.bundle_store import page_of
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.tables import rounded_field
from hexcursion.bundle.write import bundle_contents, targets
from hexcursion.record import Release
from tests.hexcursion.bundle.bundle_samples import make_release, retold
from tests.patience import HANG


def test_an_area_with_slits_is_drawn_as_its_readers_have_it(domain: Domain) -> None:
    """Of parts that should touch: the slit is gone once rounded, and the page is the one that follows."""
    shape = shapely.geometry.shape(geometry_dict(domain.region))
    x, y = shape.centroid.coords[0]
    parted = shape.difference(shapely.Polygon([(x, y), (x, y + 0.01), (x + 1e-8, y)]))
    assert [len(part.interiors) for part in shapely.get_parts(parted)] == [1]
    release = replace(make_release(domain), region=shapely.geometry.mapping(parted))
    contents = bundle_contents(release)
    bundle = bundle_from_contents(contents)
    assert [len(part.interiors) for part in shapely.get_parts(bundle.domain.region)] == [0]
    assert page_of(bundle) == contents["map.html"]


def test_folder_and_zip_hold_the_same_files(bundle_folder: Path, contents: dict[str, bytes]) -> None:
    assert sorted(contents) == sorted({*REQUIRED, "cells.csv", "cells.parquet", "release.gpkg", "map.html"})
    with zipfile.ZipFile(bundle_folder.with_suffix(".zip")) as archive:
        assert archive.testzip() is None
        zipped = {name.removeprefix("london/"): archive.read(name) for name in archive.namelist()}
    assert zipped == contents


def test_round_trip(release: Release, bundle_folder: Path) -> None:
    for source in (
        bundle_folder,
        bundle_folder.with_suffix(".zip"),
        bundle_folder.with_suffix(".zip").read_bytes(),
    ):
        bundle = read_bundle(source)
        assert bundle.domain.cells == release.cells
        assert np.abs(bundle.paths - release.paths).max() <= GRID / 2
        assert bundle.threshold == release.threshold
        assert bundle.response == release.response
        assert bundle.statement["guarantee"]["epsilon"] == release.privacy.epsilon
        assert bundle.statement["guarantee"]["groups"][1]["records"] == 5
        assert [line["text"] for line in bundle.statement["receipt"]] == [
            line.text for line in release.receipt
        ]


def test_rounding_leaves_no_low_bits(release: Release, bundle_folder: Path) -> None:
    steps = read_bundle(bundle_folder).paths / GRID
    assert np.array_equal(steps, np.round(steps))
    assert not np.array_equal(release.paths / GRID, np.round(release.paths / GRID))


def test_a_published_deviation_is_never_smaller_than_the_released_one() -> None:
    mean, sd = rounded_field(np.array([0.6, 0.4]) * GRID, np.array([1.1, 2.0]) * GRID)
    assert (mean / GRID).tolist() == [1.0, 0.0]
    assert (sd / GRID).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", ["cells.geojson", "regions.geojson", "boundary.geojson"])
def test_geojson_is_rfc_7946(contents: dict[str, bytes], name: str) -> None:
    collection = json.loads(contents[name])
    assert rfc7946_findings(collection) == []
    assert "crs" not in collection
    assert len(collection["bbox"]) == 4


def test_geopandas_reads_both_layers(bundle_folder: Path, release: Release) -> None:
    cells = geopandas.read_file(bundle_folder / "cells.geojson")
    assert cells["h3"].tolist() == list(release.cells)
    assert cells["vote_fraction"].between(0, 1).all()
    assert (cells["in_set"] == (cells["vote_fraction"] >= release.design.cutoff)).all()
    assert set(cells.columns) == {"h3", "class", "in_set", "vote_fraction", "geometry"}
    once = json.loads((bundle_folder / "cells.geojson").read_bytes())["release"]
    assert once["epsilon"] == release.privacy.epsilon
    assert once["threshold_unit"] == "pounds"
    regions = geopandas.read_file(bundle_folder / "regions.geojson")
    assert regions["product"].tolist() == [
        *("likely", "open", "likely-not", "vote-set", "vorobev", "inner", "outer"),
        *("path",) * 8,
    ]
    assert set(regions["product"]) == set(MEANINGS)
    # A region is the union of its cells: equal areas on an equal-area projection.
    wanted = cells[cells["in_set"]].to_crs("EPSG:6933").area.sum()
    drawn = regions[regions["product"] == "vote-set"].to_crs("EPSG:6933").area.sum()
    assert drawn == pytest.approx(wanted, rel=1e-4)  # corners are rounded to a metre


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"paths": 1},
        {"paths": 1, "direction": "below"},
        {"paths": 25, "direction": "below", "threshold": 700_000.0},
        {"paths": 10, "threshold": 90_000_000.0},
        {"paths": 60, "threshold": 1.0},
    ],
    ids=str,
)
def test_redraw_script_gives_the_same_regions(
    domain: Domain, tmp_path: Path, changes: dict[str, object]
) -> None:
    folder = write_bundle(make_release(domain, **changes), tmp_path / "bundle").directory
    done = subprocess.run(
        [sys.executable, "-I", folder / "redraw.py"],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    count = len(json.loads((folder / "regions.geojson").read_bytes())["features"])
    assert f"{count} of {count} published regions follow from the paths." in done.stdout


def test_redraw_script_notices_a_different_region(bundle_folder: Path, tmp_path: Path) -> None:
    for file in bundle_folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    regions = json.loads((tmp_path / "regions.geojson").read_bytes())
    regions["features"][4]["geometry"] = regions["features"][6]["geometry"]
    (tmp_path / "regions.geojson").write_text(json.dumps(regions))
    done = subprocess.run(
        [sys.executable, "-I", tmp_path / "redraw.py"],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG,
    )
    assert done.returncode == 1
    assert "14 of 15 published regions follow from the paths.\nDIFFERENT: vorobev\n" in done.stdout


def test_redraw_script_draws_another_threshold(bundle_folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.geojson"
    done = subprocess.run(
        [sys.executable, "-I", bundle_folder / "redraw.py", "--threshold", "350000", "--out", target],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG,
    )
    assert done.returncode == 0, done.stderr
    assert rfc7946_findings(json.loads(target.read_bytes())) == []
    assert len(geopandas.read_file(target)) == 19


def test_checksums_hold_for_the_usual_program(bundle_folder: Path) -> None:
    done = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=bundle_folder, capture_output=True, check=False
    )
    assert done.returncode == 0


def test_the_same_release_gives_the_same_bytes(
    release: Release, bundle_folder: Path, contents: dict[str, bytes], tmp_path: Path
) -> None:
    again = write_bundle(release, tmp_path / "london")
    assert {file.name: file.read_bytes() for file in again.directory.iterdir()} == contents
    assert again.zip.read_bytes() == bundle_folder.with_suffix(".zip").read_bytes()


def test_others_may_read_what_is_published(bundle_folder: Path) -> None:
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(bundle_folder.stat().st_mode) == 0o777 & ~umask
    assert stat.S_IMODE((bundle_folder / "cells.geojson").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("existing", ["bundle", "bundle.zip"])
def test_nothing_is_overwritten(release: Release, tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).write_text("mine")
    with pytest.raises(BundleError, match="exists already"):
        write_bundle(release, tmp_path / "bundle")
    assert [file.name for file in tmp_path.iterdir()] == [existing]
    assert (tmp_path / existing).read_text() == "mine"


@pytest.mark.parametrize("step", ["_write_folder", "zip_bytes_to", "link", "rename"])
def test_a_failure_at_any_step_leaves_nothing(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    owner = write_module if hasattr(write_module, step) else write_module.os
    monkeypatch.setattr(owner, step, fail)
    with pytest.raises(BundleError, match="No space left on device"):
        write_bundle(release, tmp_path / "bundle")
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_leaves_nothing_either(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(write_module.os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_bundle(release, tmp_path / "bundle")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"title": "x" * 201}, "shorten it to 200"),
        ({"region": {"type": "Point", "coordinates": [0, 0]}}, "cannot be written as GeoJSON"),
        ({"cells": ("not-a-cell",), "paths": np.zeros((12, 1))}, "cannot be written as GeoJSON"),
        ({"resolution": 7}, "resolution"),
        ({"created": "yesterday"}, "not valid at release.created"),
        ({"threshold": float("nan")}, "."),
    ],
    ids=["title", "region", "cells", "resolution", "created", "threshold"],
)
def test_what_cannot_be_published_is_one_sentence(
    release: Release, tmp_path: Path, changes: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        write_bundle(retold(release, **changes), tmp_path / "bundle")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "changes", [{"title": "x" * 201}, {"region": {}}, {"resolution": 7}, {"created": ""}], ids=str
)
def test_a_rehearsal_finds_what_would_stop_the_writing(
    release: Release, tmp_path: Path, changes: dict[str, object]
) -> None:
    bundle_contents(release)
    with pytest.raises(BundleError):
        bundle_contents(replace(release, **changes))  # type: ignore[arg-type]
    (tmp_path / "taken.zip").touch()
    with pytest.raises(BundleError, match="exists already"):
        targets(tmp_path / "taken")
    (tmp_path / "file").touch()
    with pytest.raises(BundleError, match="No bundle can be written"):
        targets(tmp_path / "file" / "new")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "taken.zip"]


def test_an_unproved_bound_cannot_back_a_bundle(release: Release, tmp_path: Path) -> None:
    unproved = replace(release, privacy=replace(release.privacy, proved=False, bound="paper-code"))
    with pytest.raises(BundleError, match="not proved"):
        write_bundle(unproved, tmp_path / "bundle")


@pytest.mark.parametrize("paths", [1, 9, 10])
def test_joint_sets_only_where_the_paths_support_them(domain: Domain, tmp_path: Path, paths: int) -> None:
    bundle = read_bundle(write_bundle(make_release(domain, paths=paths), tmp_path / "b").directory)
    supported = paths >= 10
    assert (bundle.published.three_way is not None) == supported
    assert ("inner" in bundle.statement["products"]["meanings"]) == supported
    needed = any("cannot tell" in line for line in bundle.statement["products"]["left_out"])
    assert needed == (not supported)


def test_many_paths_are_all_published_but_not_all_dissolved(domain: Domain, tmp_path: Path) -> None:
    folder = write_bundle(make_release(domain, paths=60), tmp_path / "b").directory
    products = [
        f["properties"]["product"] for f in json.loads((folder / "regions.geojson").read_bytes())["features"]
    ]
    assert products.count("path") == 8
    assert read_bundle(folder).paths.shape[0] == 60
