"""Exports: every format holds the same cells, a forged one is refused, and a test's own format joins in."""

from __future__ import annotations

import io
import json
import sqlite3
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest

from dpgp_core.errors import PluginError
from geo import Domain, domain_from_cells
from hexcursion.bundle import BundleError, layout
from hexcursion.bundle.exports import EXPORTS
from hexcursion.bundle.layers import Export, Exported
from hexcursion.bundle.layout import sums_text, zip_bytes_to
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from hexcursion.lint.bundle import lint_bundle
from hexcursion.project.response import ResponseScale
from hexcursion.record import Release
from tests.hexcursion.bundle.bundle_samples import make_release

Contents = dict[str, bytes]


def sealed(contents: Contents) -> Contents:
    rest = {name: content for name, content in contents.items() if name != "SHA256SUMS"}
    return {**rest, "SHA256SUMS": sums_text(rest).encode()}


def test_every_format_holds_the_same_cells(contents: Contents, release: Release) -> None:
    for name in ("cells.csv", "cells.parquet", "release.gpkg"):
        found = EXPORTS[name].read(contents[name])
        assert list(found["h3"]) == list(release.cells)
        assert set(found) == {"h3", "class", "in_set", "vote_fraction"}
    bundle_from_contents(contents)


def test_other_programs_read_them(bundle_folder: Path, release: Release) -> None:
    table = pd.read_csv(bundle_folder / "cells.csv")
    assert table["hex_id"].tolist() == list(release.cells)
    assert list(table.columns[:2]) == ["h3", "hex_id"]
    for frame in (
        geopandas.read_parquet(bundle_folder / "cells.parquet"),
        geopandas.read_file(bundle_folder / "release.gpkg", layer="cells"),
    ):
        assert frame.crs == "EPSG:4326"
        assert frame["in_set"].tolist() == table["in_set"].tolist()
        assert frame.geometry.is_valid.all()
    boundary = geopandas.read_file(bundle_folder / "release.gpkg", layer="boundary")
    assert boundary["epsilon"].item() == release.privacy.epsilon
    regions = geopandas.read_file(bundle_folder / "release.gpkg", layer="regions")
    assert regions["product"].tolist()[:2] == ["likely", "open"]


def test_a_map_of_one_hexagon_has_every_format() -> None:
    one = domain_from_cells(["88195da497fffff"])
    contents = bundle_contents(make_release(one))
    for export in EXPORTS.values():
        assert list(export.read(contents[export.file])["h3"]) == ["88195da497fffff"]


def test_qgis_finds_a_style_for_every_layer(bundle_folder: Path) -> None:
    with closing(sqlite3.connect(bundle_folder / "release.gpkg")) as database:
        styles = database.execute(
            "SELECT f_table_name, f_geometry_column, useAsDefault, styleQML FROM layer_styles"
        ).fetchall()
        kind = database.execute("SELECT data_type FROM gpkg_contents WHERE table_name = 'layer_styles'")
        assert kind.fetchall() == [("attributes",)]
    assert [style[:3] for style in styles] == [(name, "geom", 1) for name in ("cells", "regions", "boundary")]
    for layer, _, _, text in styles:
        style = ElementTree.fromstring(text)
        assert style.tag == "qgis"
        symbols = {one.attrib["name"] for one in style.iter("symbol")}
        used = {one.attrib["symbol"] for one in (*style.iter("range"), *style.iter("category"))}
        assert used <= symbols
        if layer == "cells":
            assert {one.attrib["value"]: one.attrib["label"] for one in style.iter("category")} == {
                "above": "likely above",
                "open": "cannot tell",
                "not above": "likely not",
            }
            assert style.find("renderer-v2").attrib["attr"] == "class"  # type: ignore[union-attr]
    assert len(geopandas.read_file(bundle_folder / "release.gpkg", layer="layer_styles")) == 3


def test_mean_and_deviation_are_in_the_parquet_file(domain: Domain) -> None:
    mean, sd = domain.centres[:, 0] / 1e4, domain.centres[:, 1] ** 2 / 1e8 + 0.1
    contents = bundle_contents(make_release(domain, mean=mean, sd=sd))
    frame = geopandas.read_parquet(io.BytesIO(contents["cells.parquet"]))
    assert list(frame.columns[:6]) == ["h3", "class", "probability", "value_median", "log_mean", "log_sd"]
    assert frame["log_mean"].to_numpy() == pytest.approx(12.9 + 1.2 * mean, abs=1e-4)
    assert frame["log_sd"].to_numpy() == pytest.approx(1.2 * sd, abs=1e-5)
    assert frame["value_median"].to_numpy() == pytest.approx(np.exp(12.9 + 1.2 * mean), rel=1e-4)
    assert frame["probability"].between(0.0, 1.0).all()
    first = json.loads(contents["cells.geojson"])["features"][0]["properties"]
    assert list(first) == ["h3", "class", "probability", "in_set", "vote_fraction", "excursion_function"]


def test_a_cell_takes_at_most_304_bytes(contents: Contents, release: Release) -> None:
    lines = [line for line in contents["cells.geojson"].splitlines() if b'"Feature"' in line]
    assert len(lines) == len(release.cells)
    assert 250 < sum(map(len, lines)) / len(lines) < 304


def test_a_cell_with_every_property_takes_at_most_345_bytes(domain: Domain) -> None:
    """As of spectral statistics: 341 on London. An outline and an index alone take 240."""
    mean, sd = domain.centres[:, 0] / 1e4, domain.centres[:, 1] ** 2 / 1e8 + 0.1
    written = bundle_contents(make_release(domain, mean=mean, sd=sd))["cells.geojson"]
    features = json.loads(written)["features"]
    assert set(features[0]["properties"]) >= {"probability", "vote_fraction", "excursion_function"}
    lines = [line for line in written.splitlines() if b'"Feature"' in line]
    assert sum(map(len, lines)) / len(lines) < 345
    bare = [{**feature, "properties": {"h3": feature["properties"]["h3"]}} for feature in features]
    least = [len(json.dumps(feature, separators=(",", ":"))) for feature in bare]
    assert 235 < sum(least) / len(least) < 245


def swapped(name: str, old: bytes, new: bytes) -> Callable[[Contents], Contents]:
    def forge(contents: Contents) -> Contents:
        assert old in contents[name]
        return {**contents, name: contents[name].replace(old, new, 1)}

    return forge


FORGED: dict[str, tuple[Callable[[Contents], Contents], str]] = {
    "another vote": (swapped("cells.csv", b",true,", b",false,"), "cells.csv does not follow"),
    "no alias": (swapped("cells.csv", b"hex_id", b"hexagon"), "must have the column hex_id"),
    "a column more": (
        lambda c: {**c, "cells.csv": b"\n".join(line + b",1.5" for line in c["cells.csv"].splitlines())},
        "columns of this release",
    ),
    "no table": (lambda c: {**c, "cells.csv": b"\xff\xfe\x00"}, "cells.csv"),
    "no parquet": (lambda c: {**c, "cells.parquet": b"PAR1 none PAR1"}, "cells.parquet is damaged"),
    "paths for cells": (lambda c: {**c, "cells.parquet": c["paths.parquet"]}, "13 columns"),
    "no database": (lambda c: {**c, "release.gpkg": b"nothing"}, "no GeoPackage"),
    "a cut database": (lambda c: {**c, "release.gpkg": c["release.gpkg"][:5000]}, "release.gpkg is damaged"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_export_is_refused(contents: Contents, name: str) -> None:
    forge, sentence = FORGED[name]
    with pytest.raises(BundleError, match=sentence):
        bundle_from_contents(sealed(forge(contents)))


def test_exports_may_be_left_out_and_no_other_file_may_be_there(contents: Contents) -> None:
    few = {name: content for name, content in contents.items() if name not in EXPORTS}
    assert bundle_from_contents(sealed(few)).domain.size > 100
    with pytest.raises(BundleError, match=r"A bundle has no file named 'cells\.xlsx'"):
        bundle_from_contents(sealed({**contents, "cells.xlsx": b"x"}))


def lines_of(content: bytes) -> dict[str, list[object]]:
    rows = [line.split("\t") for line in content.decode().splitlines()]
    return {
        "h3": [row[0] for row in rows],
        "in_set": [row[1] == "x" for row in rows],
        "vote_fraction": [float(row[2]) for row in rows],
        "class": [row[3] for row in rows],
    }


def lines(exported: Exported) -> bytes:
    columns = exported.columns
    rows = zip(*(columns[name] for name in ("h3", "in_set", "vote_fraction", "class")), strict=True)
    return "".join(
        f"{cell}\t{'x' if inside else ''}\t{vote}\t{of}\n" for cell, inside, vote, of in rows
    ).encode()


def test_a_format_of_a_test_joins_in(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        EXPORTS, "cells.txt", Export("cells.txt", "the cells as lines", 10**6, lines, lines_of)
    )
    contents = bundle_contents(release)
    assert b"cells.txt" in contents["README.txt"]
    assert b"the cells as lines" in contents["README.txt"]
    bundle_from_contents(contents)
    forged = swapped("cells.txt", b"\tx\t", b"\t\t")(contents)
    with pytest.raises(BundleError, match=r"cells.txt does not follow from the paths: in_set differs"):
        bundle_from_contents(sealed(forged))
    monkeypatch.delitem(EXPORTS, "cells.txt")
    # Whoever does not know the format passes the file over: the statement lists it.
    assert bundle_from_contents(contents).statement["exports"] == ["cells.txt"]
    bundle_from_contents(sealed(forged))
    folder = io.BytesIO()
    zip_bytes_to(folder, "bundle", contents)
    found = [each for each in lint_bundle(folder) if each.code == "format-not-known"]
    assert [(each.severity, each.leaks.split(":")[0]) for each in found] == [("warning", "cells.txt")]
    for files, said in (
        ({**contents, "more.csv": b"x"}, "disagree about more.csv: it is not listed there"),
        (
            {name: content for name, content in contents.items() if name != "cells.txt"},
            "disagree about cells.txt: it is listed by the privacy statement and not there",
        ),
        ({**contents, "page.html": b"x"}, "A bundle has no file named 'page.html'"),
        ({**contents, "readme.txt": b"x"}, "A bundle has no file named 'readme.txt'"),
    ):
        with pytest.raises(BundleError, match=said):
            bundle_from_contents(sealed(files))


def test_added_files_are_bounded_in_name_size_and_number(contents: Contents) -> None:
    assert layout.most_bytes("cells.jsonl") == 60_000_000
    for name in ("cells.js", "Cells.csv", ".csv", "cells.csv.html", "attribution.txt", f"{'a' * 57}.csv"):
        assert layout.most_bytes(name) is None, name
    assert layout.most_files() == 42
    many = {f"table-{number}.csv": b"x" for number in range(21)}
    statement = {**json.loads(contents["statement.json"]), "exports": sorted(many)}
    with pytest.raises(BundleError, match="not valid at exports"):
        bundle_from_contents(sealed({**contents, **many, "statement.json": json.dumps(statement).encode()}))


def test_a_bundle_of_our_formats_lists_none(contents: Contents) -> None:
    assert "exports" not in json.loads(contents["statement.json"])


def test_values_that_are_no_logarithms_are_in_their_unit(domain: Domain) -> None:
    scale = ResponseScale("identity", 40.0, 20.0, "given")
    mean, sd = np.linspace(-1.0, 1.0, domain.size), np.full(domain.size, 0.25)
    columns = bundle_contents(make_release(domain, response=scale, threshold=42.0, mean=mean, sd=sd))
    read = EXPORTS["cells.csv"].read(columns["cells.csv"])
    assert list(read)[:5] == ["h3", "class", "probability", "value_mean", "value_sd"]
    assert (read["value_mean"][0], read["value_mean"][-1], set(read["value_sd"])) == (20.0, 60.0, {5.0})


def test_a_geopackage_says_what_its_columns_mean(bundle_folder: Path) -> None:
    with closing(sqlite3.connect(bundle_folder / "release.gpkg")) as database:
        said = dict(database.execute("SELECT column_name, description FROM gpkg_data_columns").fetchall())
        [(about,)] = database.execute("SELECT description FROM gpkg_contents WHERE table_name = 'cells'")
    assert list(said) == ["h3", "class", "in_set", "vote_fraction"]
    assert (
        said["in_set"] == "Whether the price is more likely above £442,413 than not, where the map is judged."
    )
    assert said["class"].startswith(
        "Whether the price is likely above £442,413: yes from a chance of 80 % on"
    )
    assert about.startswith(
        "Where do properties sell for more than £442,413? Price in pounds; from 30,123 sales."
    )


def test_regions_are_the_classes_first_and_of_few_paths(domain: Domain) -> None:
    contents = bundle_contents(make_release(domain, paths=12))
    features = json.loads(contents["regions.geojson"])["features"]
    named = [feature["properties"]["product"] for feature in features]
    assert named == ["likely", "open", "likely-not", "vote-set", "vorobev", "inner", "outer"] + 8 * ["path"]
    classes = bundle_from_contents(contents).published.classes
    assert [one["properties"]["cells"] for one in features[:3]] == np.bincount(classes).tolist()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "cells.txt",
            "text",
            "of the package unknown .* since it is written as str, not as bytes",
        ),
        ("cells.txt", None, r"since it fails \(KeyError: 'none'\): repair or uninstall"),
        ("regions.geojson", b"x", "since it is no name of a further file of data"),
        ("../cells.txt", b"x", "since it is no name of a further file of data"),
    ],
)
def test_a_format_that_cannot_be_written_is_one_sentence(
    release: Release, monkeypatch: pytest.MonkeyPatch, name: str, content: Any, said: str
) -> None:
    def write(_: Exported) -> bytes:
        if content is None:
            raise KeyError("none")
        return content  # type: ignore[no-any-return]

    monkeypatch.setitem(EXPORTS, name, Export(name, "the cells", 10**6, write, lines_of))
    with pytest.raises(PluginError, match=said):
        bundle_contents(release)
