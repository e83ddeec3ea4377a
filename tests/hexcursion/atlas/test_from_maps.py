"""An atlas beside a published table: its settings, its bundle, its reader, and forged statements."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pyarrow.parquet as pq
import pytest

import hexcursion
from hexcursion.bundle import layout
from hexcursion.bundle.atlas.read import atlas_doubts, atlas_from_contents
from hexcursion.bundle.layout import contents_of
from hexcursion.bundle.untrusted import BundleError
from hexcursion.cli.main import main
from hexcursion.errors import WorkflowError
from hexcursion.lint.bundle import lint_bundle
from hexcursion.settings.atlas import AtlasSettings, any_from_toml, any_to_toml, several
from tests.hexcursion.atlas.test_atlas_bundle import restated, table, with_table
from tests.hexcursion.atlas.village import COLUMNS, FILE, OPTIONS, PLAN, atlas_of, village, written

Contents = dict[str, bytes]
BESIDE = {name: each for name, each in PLAN.items() if name not in ("centre", "clip", "derived")}


def earlier() -> pandas.DataFrame:
    """Other records of the same village, whose no2 was 3 higher."""
    frame = village(900, seed=11)
    return frame.assign(no2=frame["no2"] + 3.0)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return atlas_of(tmp_path_factory, **BESIDE, reference=earlier(), reference_public=True)


@pytest.fixture(scope="module")
def contents(place: Path) -> Contents:
    return contents_of(place)


def test_each_layer_starts_from_the_map_of_its_own_column(contents: Contents) -> None:
    atlas = atlas_from_contents(contents)
    assert atlas_doubts(atlas) == ()
    said = "Each map was read by itself, from the published map of its column and the drift since."
    assert atlas.statement["atlas"]["read"] == said
    assert said in contents[layout.PAGE].decode()
    assert "reference" not in atlas.statement["sums"]
    assert len({layer["reference"]["scatter"] for layer in atlas.statement["layers"]}) == 3
    changes = [layer.statement["told"]["change"] for layer in atlas.layers]
    assert changes[0]["in_words"].startswith("On average the no2 fell by about ")
    # One width beyond an interval: noise alone takes a change out of the interval itself now and then.
    for change, true_change in zip(changes, (-3.0, 0.0, 0.0), strict=True):
        width = change["high"] - change["low"]
        assert change["low"] - width < true_change < change["high"] + width
    assert list(table(contents)) == [
        "sums_1", "sums_2", "sums_3", "counts", "public_counts",
        "public_mean_1", "public_mean_2", "public_mean_3",
        "reference_count_1", "reference_count_2", "reference_count_3",
        "reference_mean_1", "reference_mean_2", "reference_mean_3",
        "reference_scatter_1", "reference_scatter_2", "reference_scatter_3",
    ]  # fmt: skip


def test_its_price_is_that_of_an_atlas_without_a_map(contents: Contents) -> None:
    statement = json.loads(contents[layout.STATEMENT])
    assert 2.99 < statement["guarantee"]["epsilon"] <= 3.0
    assert "Theorem D" in statement["guarantee"]["bound_source"]
    assert statement["design"]["radius"] == pytest.approx(0.8 * 3**0.5 / 2.5)


def test_its_readers_find_nothing_that_leaks(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {finding.code for finding in lint_bundle(place)} == {"n-taken-as-public", "cannot-be-seen"}
    assert main(["view", str(place)]) == 0
    assert "! " not in capsys.readouterr().out
    assert main(["view", str(place), "--layer", "no2", "--threshold", "28"]) == 0


def wider(statement: dict[str, Any]) -> None:
    statement["layers"][1]["reference"]["scatter"] *= 1.5


def without(statement: dict[str, Any]) -> None:
    del statement["layers"][1]["reference"]


def no_drift(statement: dict[str, Any]) -> None:
    statement["design"]["drift"] = False


def no_map(statement: dict[str, Any]) -> None:
    statement["prior_mean_used"] = False


def shared(statement: dict[str, Any]) -> None:
    statement["sums"]["reference"] = statement["layers"][0]["reference"]


def read_otherwise(statement: dict[str, Any]) -> None:
    statement["atlas"]["read"] = "Each map was read by itself."


FORGED: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a layer without its reference": (without, "disagree about public records|contradicts itself"),
    "no drift": (no_drift, "."),
    "no map": (no_map, "disagree about a public mean|receipt"),
    "read otherwise": (read_otherwise, "contradicts itself about how its maps were read"),
    "one reference for all": (shared, "contradicts itself about what its layers start from"),
}


@pytest.mark.parametrize(("forge", "said"), FORGED.values(), ids=FORGED)
def test_a_forged_statement_is_refused(
    forge: Callable[[dict[str, Any]], None], said: str, contents: Contents
) -> None:
    with pytest.raises(BundleError, match=said):
        atlas_from_contents(restated(contents, forge))


def test_another_scatter_is_doubted(contents: Contents) -> None:
    (doubt,) = atlas_doubts(atlas_from_contents(restated(contents, wider)))
    assert doubt.startswith("o3: ")


@pytest.mark.parametrize("kind", ["public_mean", "reference_mean"])
def test_the_map_of_another_column_is_doubted(kind: str, contents: Contents) -> None:
    columns = table(contents)
    one, other = f"{kind}_1", f"{kind}_3"
    swapped = with_table(contents, {**columns, one: columns[other], other: columns[one]})
    doubts = atlas_doubts(atlas_from_contents(swapped))
    assert [doubt.split(":")[0] for doubt in doubts] == ["no2", "pm"]


def test_a_column_too_few_of_a_reference_is_refused(contents: Contents) -> None:
    columns = {name: each for name, each in table(contents).items() if name != "reference_mean_2"}
    with pytest.raises(BundleError, match="does not hold the sums of the 3 layers"):
        atlas_from_contents(with_table(contents, columns))


def options(folder: Path, *more: str) -> list[str]:
    """The command line beside a published table: it says centres and clip bounds of itself."""
    (folder / "earlier").mkdir(exist_ok=True)
    path = written(folder / "earlier", earlier())
    kept = OPTIONS[: OPTIONS.index("--centre")] + OPTIONS[OPTIONS.index("--transform") :]
    command = ["release", "--data", str(written(folder, village())), *kept, "--out", str(folder / "atlas")]
    return [*command, "--reference", str(path), *more]


def test_the_command_line_and_relations_take_a_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(options(tmp_path, "--reference-public")) == 0
    said = capsys.readouterr().out
    assert "Prior mean" in said
    assert "o3 / pm above 4.5: " in said
    assert atlas_doubts(atlas_from_contents(contents_of(tmp_path / "atlas"))) == ()


def test_values_may_be_missing_beside_a_reference(tmp_path: Path) -> None:
    frame = village()
    frame.loc[frame.index % 4 == 0, "o3"] = float("nan")
    atlas = hexcursion.release(
        frame, **BESIDE, gaps=True, reference=earlier(), reference_public=True, out=tmp_path / "atlas"
    )
    assert atlas_doubts(atlas.bundle) == ()
    names = pq.read_table(io.BytesIO(contents_of(tmp_path / "atlas")[layout.RELEASED_SUMS])).column_names
    assert {"counts_1", "counts_2", "counts_3", "public_counts"} <= set(names)


def test_a_settings_file_has_one_reference_for_all_columns(tmp_path: Path) -> None:
    path = written(tmp_path, village())
    text = FILE.format(path=path).replace("[data]", "reference_public = true\n\n[data]")
    text += '\n[reference]\npath = "earlier.csv"\n'
    made = any_from_toml(text)
    assert isinstance(made, AtlasSettings)
    for name, layer in zip(COLUMNS, made.layers, strict=True):
        assert layer.reference is not None
        assert (layer.reference.path, layer.reference.value, layer.reference.x) == (
            "earlier.csv",
            name,
            "lon",
        )
    assert made.reading == "apart"
    assert any_from_toml(any_to_toml(made)) == made
    assert several(made.first, made.own, made.choices, made.derived).layers == made.layers


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "not published": ({}, "declare it public with `reference_public`"),
    "set aside": ({"reference_public": False}, "declare it public with `reference_public`"),
    "a column of its own": (
        {"reference_public": True, "reference": {"value": "so2"}},
        "under the same names: leave its `value` out",
    ),
}


@pytest.mark.parametrize(("more", "said"), REFUSED.values(), ids=REFUSED)
def test_a_reference_is_published_and_has_the_same_columns(more: dict[str, Any], said: str) -> None:
    given = {"path": "earlier.csv", **more.pop("reference", {})}
    text = FILE.format(path="village.csv")
    raw = any_from_toml(text)
    assert isinstance(raw, AtlasSettings)
    lines = "".join(f"{name} = {str(value).lower()}\n" for name, value in more.items())
    table_of = "".join(f'{name} = "{value}"\n' for name, value in given.items())
    with pytest.raises(WorkflowError, match=said):
        any_from_toml(f"{lines}{text}\n[reference]\n{table_of}")


def copied(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Other values of the first column, and the private ones of the last."""
    return frame.assign(no2=frame["no2"] + 1.0, o3=frame["o3"] + 1.0)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (copied, "The reference of the column 'pm': .* hold the private records themselves"),
        (lambda frame: frame.drop(columns="o3"), "no column named 'o3'"),
    ],
    ids=["copied", "without a column"],
)
def test_a_reference_of_private_values_or_fewer_columns_is_refused(
    reference: Callable[[pandas.DataFrame], pandas.DataFrame], said: str
) -> None:
    with pytest.raises(WorkflowError, match=said):
        hexcursion.plan(village(), **BESIDE, reference=reference(village()), reference_public=True)


def test_a_bundle_is_no_reference_of_an_atlas_yet(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = options(tmp_path, "--reference-public")
    command[command.index("--reference") + 1] = str(place)
    assert main(command) != 0
    assert "starts from a table and not from a bundle: name a published table" in capsys.readouterr().err


def test_records_that_the_published_table_repeats_are_told_of_each_column() -> None:
    """14 rows of 614 lie in the published table with their place and pm; their other values are new."""
    frame = village()
    inside = frame[frame["lon"].between(10.01, 10.11) & frame["lat"].between(50.01, 50.07)].head(14)
    again = pandas.concat([earlier(), inside.assign(no2=inside["no2"] + 1.0, o3=inside["o3"] - 1.0)])
    plan = hexcursion.plan(frame, **BESIDE, reference=again, reference_public=True)
    told = [line for line in plan.plan.project.private.sentences() if "agree with the reference" in line]
    assert told == [
        "pm: 14 private readings of 700 agree with the reference data in place and value: make sure that the "
        "two are not copies of one another."
    ]
