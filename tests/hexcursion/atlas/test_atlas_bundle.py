"""The bundle of an atlas: read back, recomputed, and refused where its list of layers was forged."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hexcursion
from dpgp_core.accounting.gaussian import gaussian_epsilon
from geo import domain_from_bbox
from geo.maps.static_map import draw_map
from hexcursion.bundle import layout
from hexcursion.bundle.atlas import statement as statements
from hexcursion.bundle.atlas.page import atlas_papers
from hexcursion.bundle.atlas.read import AtlasBundle, atlas_doubts, atlas_from_contents, layer_of
from hexcursion.bundle.atlas.statement import fold, headline, unfold
from hexcursion.bundle.geopackage import layer_tables
from hexcursion.bundle.layout import contents_of
from hexcursion.bundle.page import papers
from hexcursion.bundle.published.site import write_site
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.untrusted import BundleError
from hexcursion.cli.main import main
from hexcursion.lint.bundle import lint_bundle
from tests.hexcursion.atlas.village import PLAN, atlas_of
from tests.hexcursion.bundle.page.test_map_script import run

Contents = dict[str, bytes]
WIDE = (-0.38, 51.3, 0.2, 51.66)
"""London: about 2,400 hexagons of resolution 8."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return atlas_of(tmp_path_factory, **PLAN)


@pytest.fixture(scope="module")
def contents(place: Path) -> Contents:
    return contents_of(place)


def signed_off(contents: Contents) -> Contents:
    """The same with checksums that fit."""
    rest = {name: content for name, content in contents.items() if name != layout.SUMS}
    return {**rest, layout.SUMS: layout.sums_text(rest).encode()}


def restated(contents: Contents, change: Callable[[dict[str, Any]], Any]) -> Contents:
    """The same with another statement, whose checksums fit."""
    statement = json.loads(contents[layout.STATEMENT])
    change(statement)
    return signed_off({**contents, layout.STATEMENT: json.dumps(statement).encode()})


def test_an_atlas_is_read_back_and_computed_again(contents: Contents) -> None:
    atlas = atlas_from_contents(contents)
    assert atlas.names == ("no2", "o3", "pm")
    assert atlas_doubts(atlas) == ()
    assert [layer.threshold for layer in atlas.layers] == [30.0, 60.0, 12.0]
    assert len({id(layer.domain) for layer in atlas.layers}) == 1
    names = {name for name in contents if name.startswith("sums")}
    assert names == {"sums.parquet"}
    assert pq.read_table(io.BytesIO(contents["sums.parquet"])).column_names == [
        "sums_1", "sums_2", "sums_3", "counts",
    ]  # fmt: skip


def test_lint_finds_nothing_that_leaks(place: Path) -> None:
    found = {finding.code for finding in lint_bundle(place)}
    assert found == {"n-taken-as-public", "cannot-be-seen"}


def test_the_price_is_stated_once_and_each_layer_has_its_own_question(contents: Contents) -> None:
    statement = json.loads(contents[layout.STATEMENT])
    assert "guarantee" not in statement["layers"][0]
    assert [layer["subject"]["threshold"] for layer in statement["layers"]] == [30.0, 60.0, 12.0]
    mu = statement["guarantee"]["cost"]["gaussian_mu"]
    assert gaussian_epsilon(mu, 1e-5) == pytest.approx(3.0, abs=1e-6)
    layers = [unfold(statement, number) for number in range(3)]
    derived = statement["derived"]
    assert [block["kind"] for block in derived] == ["both", "ratio"]
    assert fold(layers, ("no2", "o3", "pm"), statement["release"]["title"], derived) == statement
    assert headline(statement["guarantee"], 3) == statement["atlas"]["in_words"]


def without_layer(statement: dict[str, Any]) -> None:
    del statement["layers"][2]


def one_more(statement: dict[str, Any]) -> None:
    statement["layers"].append({**statement["layers"][2], "name": "so2"})


def fewer_columns(statement: dict[str, Any]) -> None:
    without_layer(statement)
    statement["design"]["columns"] = statement["atlas"]["columns"] = 2


def same_name(statement: dict[str, Any]) -> None:
    statement["layers"][1]["name"] = "no2"


def less_promised(statement: dict[str, Any]) -> None:
    statement["atlas"]["in_words"] = statement["atlas"]["in_words"].replace("65:35", "55:45")


def halved_noise(statement: dict[str, Any]) -> None:
    noise = statement["sums"]["noise"]
    statement["sums"]["noise"] = {name: value / 3**0.5 for name, value in noise.items()}


def other_threshold(statement: dict[str, Any]) -> None:
    statement["layers"][1]["subject"]["threshold"] = 61.0


def smaller_ball(statement: dict[str, Any]) -> None:
    statement["design"]["radius"] /= 2.0


def cheaper(statement: dict[str, Any]) -> None:
    statement["design"]["mu"] *= 2.0


def other_relation(statement: dict[str, Any]) -> None:
    statement["derived"][1]["threshold"] = 4.4


def impossible_relation(statement: dict[str, Any]) -> None:
    statement["derived"][0]["threshold"] = 4.4


REFUSED = {
    "another ratio": (other_relation, "words about a derived layer do not follow"),
    "an impossible relation": (impossible_relation, "impossible derived layer"),
    "a layer left out": (without_layer, "lists 2 layers, and its design has 3 columns"),
    "a layer added": (one_more, "lists 4 layers, and its design has 3 columns"),
    "fewer columns": (fewer_columns, "do not follow|file named 'cells-3.geojson'|All two maps"),
    "one name twice": (same_name, "names a layer twice"),
    "a better promise": (less_promised, "words about all maps together do not follow"),
    "another threshold": (other_threshold, "two different thresholds"),
    "more mu": (cheaper, "smaller than what the noise of its design costs"),
}


@pytest.mark.parametrize(("forge", "said"), REFUSED.values(), ids=REFUSED)
def test_a_forged_list_of_layers_is_refused(
    forge: Callable[[dict[str, Any]], None], said: str, contents: Contents
) -> None:
    with pytest.raises(BundleError, match=said):
        atlas_from_contents(restated(contents, forge))


@pytest.mark.parametrize("forge", [halved_noise, smaller_ball])
def test_noise_that_was_divided_is_found_by_lint(
    forge: Callable[[dict[str, Any]], None], contents: Contents
) -> None:
    """Such sums do not follow from their design: the reader makes its noise anew."""
    forged = restated(contents, forge)
    try:
        doubts = atlas_doubts(atlas_from_contents(forged))
    except BundleError:
        return
    assert any("cannot be read again" in doubt or "not follow" in doubt for doubt in doubts)


def table(contents: Contents) -> dict[str, Any]:
    return dict(pq.read_table(io.BytesIO(contents[layout.RELEASED_SUMS])).to_pydict())


def with_table(contents: Contents, columns: dict[str, Any]) -> Contents:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, store_schema=False)
    return signed_off({**contents, layout.RELEASED_SUMS: sink.getvalue()})


def test_sums_of_another_layer_are_doubted(contents: Contents) -> None:
    columns = table(contents)
    swapped = {**columns, "sums_1": columns["sums_2"], "sums_2": columns["sums_1"]}
    doubts = atlas_doubts(atlas_from_contents(with_table(contents, swapped)))
    assert [doubt.split(":")[0] for doubt in doubts] == ["no2", "o3"]
    less = {name: values for name, values in columns.items() if name != "sums_3"}
    with pytest.raises(BundleError, match="does not hold the sums of the 3 layers"):
        atlas_from_contents(with_table(contents, less))


@pytest.mark.parametrize("name", ["cells-2.geojson", "paths-3.parquet", "label-1.html", "release.gpkg"])
def test_every_layer_has_all_of_its_files(name: str, contents: Contents) -> None:
    rest = {file: content for file, content in contents.items() if file != name}
    with pytest.raises(BundleError, match=name):
        atlas_from_contents(signed_off(rest))


def test_a_file_too_many_is_refused(contents: Contents) -> None:
    with pytest.raises(BundleError, match="no file named 'cells-4"):
        atlas_from_contents(signed_off({**contents, "cells-4.geojson": contents["cells-3.geojson"]}))


def test_hexagons_of_another_layer_do_not_follow(contents: Contents) -> None:
    for name in ("cells-{}.geojson", "regions-{}.geojson"):
        swapped = {**contents, name.format(1): contents[name.format(2)]}
        with pytest.raises(BundleError, match=r"follow|disagree"):
            atlas_from_contents(signed_off(swapped))


def test_the_geopackage_has_two_tables_for_each_column(place: Path) -> None:
    assert set(geopandas.list_layers(place / "release.gpkg")["name"]) >= {
        "no2", "no2_regions", "o3", "o3_regions", "pm", "pm_regions", "boundary",
    }  # fmt: skip
    pm = geopandas.read_file(place / "release.gpkg", layer="pm")
    assert list(pm.columns[:3]) == ["h3", "class", "probability"]
    assert len(pm) == 16


def test_tables_have_harmless_names_of_their_own() -> None:
    assert layer_tables(["Pb (mg/kg)", "pb mg kg", "boundary", "αβ"]) == (
        "pb_mg_kg", "pb_mg_kg_2", "boundary_2", "layer_2",
    )  # fmt: skip


def test_readers_of_one_column_name_the_remedy(
    place: Path, contents: Contents, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BundleError, match=r"which is not read here yet: its `map\.html`"):
        bundle_from_contents(contents)
    with pytest.raises(BundleError, match="with --layer, no2 or o3 or pm"):
        layer_of(place, None)
    with pytest.raises(BundleError, match="has no layer 'lead'"):
        layer_of(place, "lead")
    assert layer_of(place, "o3").threshold == 60.0
    assert main(["view", str(place), "--threshold", "55"]) != 0
    assert "one of no2, o3, pm" in capsys.readouterr().err
    assert main(["view", str(place), "--layer", "o3", "--threshold", "55"]) == 0
    assert "likely above the threshold" in capsys.readouterr().out
    areas = ["areas", str(place), "--layer", "pm", "--polygons", str(place / "boundary.geojson")]
    assert main(areas) == 0
    assert "above 12 ug/m3" in capsys.readouterr().out


def test_a_site_lists_an_atlas_once(place: Path, tmp_path: Path) -> None:
    folders = write_site([place], tmp_path / "site")
    assert len(folders) == 1
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert index.count("<article>") == 1
    assert "All three maps together" in index
    again = atlas_from_contents(contents_of(tmp_path / "site" / folders[0] / f"{folders[0]}.zip"))
    assert atlas_doubts(again) == ()


def test_the_page_says_the_promise_and_the_question_of_each_layer(contents: Contents) -> None:
    page = contents[layout.PAGE].decode()
    assert page.count('name="about"') == 5
    assert page.count("data-layer=") == 5
    assert "o3 / pm above 4.5</label>" in page
    assert "o2, o3 and pm; from 614 readings." in page
    assert "o2, o3 and pm; from 614 readings." in contents[layout.LABEL].decode()
    assert "All three maps together" in page
    for text in ("above 30 ug/m3", "above 60 ug/m3", "above 12 ug/m3"):
        assert text in page


def test_the_script_switches_between_layers(place: Path) -> None:
    """Each layer has its own threshold, its own hexagons and its own facts."""
    said = run(place / "map.html", 700, 450)
    assert said["value"]["stop"] == "30 ug/m3 (as published)"
    assert said["layer"]["stop"] == said["published"] == "60 ug/m3 (as published)"
    assert said["value"]["shown"] == [True, False, False]
    assert said["layer"]["shown"] == [False, True, False]
    for name, told in (("no2", said["value"]), ("o3", said["layer"])):
        layer = layer_of(place, name)
        counts = np.bincount(layer.published.classes, minlength=3)
        texts = (
            f"likely above {layer.threshold:g} ug/m3",
            "cannot tell",
            f"likely not above {layer.threshold:g} ug/m3",
        )
        expected = "; ".join(f"{text}: {count}" for text, count in zip(texts, counts, strict=False))
        assert told["first"].startswith(f"Map of 16 hexagons. {expected}")


def test_ten_layers_of_many_hexagons_are_a_page_of_less_than_a_megabyte(
    contents: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty stops of 24,000 numbers are 480,000 bytes, in base64 640,000; the picture has all its dots."""
    monkeypatch.setattr(papers, "draw_map", draw_map)
    domain = domain_from_bbox(*WIDE, 8)
    atlas = atlas_from_contents(contents)
    rng = np.random.default_rng(1)
    layers = []
    for number in range(10):
        layer = atlas.layers[number % 3]
        mean = rng.normal(size=domain.size)
        values = replace(
            layer.values, paths=mean[None], field=(mean, np.full(domain.size, 0.5)),
            records=np.full(domain.size, 3.0), shown=None,
        )  # fmt: skip
        layers.append(replace(layer, domain=domain, values=values))
    statement = {key: value for key, value in atlas.statement.items() if key != "derived"}
    statement = {**statement, "layers": [atlas.statement["layers"][at % 3] for at in range(10)]}
    page = atlas_papers(AtlasBundle(statement, tuple(layers)))[layout.PAGE]
    assert 2_400 <= domain.size <= 2_600
    assert len(page) < 900_000  # leaves room for the picture of the first layer


def test_frames_of_a_bundle_are_those_of_its_files(place: Path) -> None:
    atlas = hexcursion.open_atlas(place)
    frame = atlas["pm"].map
    assert isinstance(frame, pandas.DataFrame)
    assert frame.attrs["threshold"] == 12.0
    assert repr(atlas).startswith("<ReleasedAtlas of no2, o3, pm, 16 hexagons")
    assert "All three maps together" in atlas._repr_html_()


def test_relations_between_layers_are_free(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    derive = ["--derive", "both", "no2", "pm", "--derive", "ratio", "o3", "pm", "4.5"]
    assert main(["view", str(place), *derive]) == 0
    said = capsys.readouterr().out
    assert "all of no2 above 30 ug/m3 and pm above 12 ug/m3: " in said
    assert "o3 / pm above 4.5: " in said
    atlas = hexcursion.open_atlas(place)
    both = atlas.derived("both", "no2", "pm")["probability"].to_numpy()
    alone = [atlas[name].map["probability"].to_numpy() for name in ("no2", "pm")]
    assert both == pytest.approx(alone[0] * alone[1], abs=1e-4)
    with pytest.raises(BundleError, match="has no layer 'lead'"):
        atlas.derived("any", "lead", "pm")


def test_an_atlas_speaks_of_all_values_of_a_record_and_of_every_cutoff(contents: Contents) -> None:
    whole = json.loads(contents[layout.STATEMENT])
    assert "in its values, its place or both" in whole["guarantee"]["neighbours"]
    assert whole["guarantee"]["protected"].startswith("One reading: its values and its place, among ")
    label = contents[layout.LABEL].decode()
    for layer in whole["layers"]:
        assert f"cutoff {layer['cutoff']:.4g} of {layer['name']}" in label


def test_an_earlier_atlas_did_not_say_how_it_was_read(
    contents: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = b"{}"
    monkeypatch.setattr(statements, "_EARLIER", frozenset({hashlib.sha256(schema).hexdigest()}))
    unsaid = restated(contents, lambda statement: statement["atlas"].pop("read"))
    with pytest.raises(BundleError, match="contradicts itself about how its maps were read"):
        atlas_from_contents(unsaid)
    earlier = atlas_from_contents(signed_off({**unsaid, layout.ATLAS_SCHEMA: schema}))
    assert earlier.statement["atlas"]["read"] == "Each map was read by itself."
