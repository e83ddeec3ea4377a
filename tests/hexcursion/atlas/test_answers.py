"""Answers of yes and no, and weights, beside amounts of one atlas: from the door to a reader's check."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import hexcursion
from hexcursion.bundle.atlas.read import atlas_from_contents
from hexcursion.bundle.atlas.statement import BESIDE_ANSWERS, LEFT_APART
from hexcursion.bundle.layout import STATEMENT, SUMS, contents_of, seal
from hexcursion.bundle.untrusted import BundleError
from hexcursion.cli.main import build_parser
from hexcursion.cli.options import any_from_options
from hexcursion.errors import WorkflowError
from hexcursion.lint.bundle import lint_bundle
from hexcursion.settings.atlas import AtlasSettings, any_from_toml, any_settings, any_to_toml
from tests.hexcursion.atlas.village import OPTIONS, PLAN, village

ASKED: dict[str, Any] = {
    **PLAN,
    "value": ["no2", "damp", "pm"],
    "threshold": {"no2": 30.0, "damp": 40.0, "pm": 12.0},
    "centre": {"no2": 28.0, "pm": 2.5},
    "clip": {"no2": 15.0, "pm": 0.6},
    "values": {"damp": "yes-no"},
    "derived": [["both", "no2", "damp"]],
}
"""Two pollutants, and whether a house is damp."""


def houses() -> pandas.DataFrame:
    """The village, six of ten houses damp in the west and one of ten in the east."""
    frame, rng = village(), np.random.default_rng(8)
    share = np.where(frame["lon"] < 10.06, 0.6, 0.1)
    return frame.assign(damp=(rng.random(len(frame)) < share).astype(int))


def test_answers_are_released_beside_amounts(tmp_path: Path) -> None:
    made = hexcursion.release(houses(), **ASKED, out=tmp_path / "atlas")
    assert list(made) == ["no2", "damp", "pm"]
    design = made.statement["design"]
    assert design["answers"] == [1]
    assert design["reaches"] == [1.0, 0.5, 1.0]
    assert design["radius"] == pytest.approx(0.75**0.5)
    assert made.statement["guarantee"]["epsilon"] <= 3.0
    layer = made.statement["layers"][1]
    assert layer["subject"]["unit"] == "%"
    assert layer["subject"]["answers"] == {"yes": "damp", "yes_above": None}
    west = made["damp"].map.geometry.bounds["minx"].to_numpy() < 10.05
    chance = made["damp"].map["probability"].to_numpy()
    assert chance[west].mean() > chance[~west].mean() + 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # every map follows from the released sums
        again = hexcursion.open_atlas(made.save(tmp_path / "copy.zip"))
    assert again.statement == made.statement
    with pytest.raises(BundleError, match="'damp' and 'no2' are a share of answers and an amount"):
        again.derived("difference", "damp", "no2", threshold=5.0)
    found = {finding.code for finding in lint_bundle(tmp_path / "atlas")}
    assert found == {"n-taken-as-public", "cannot-be-seen"}


def test_a_layer_of_answers_cannot_pass_for_one_of_amounts(tmp_path: Path) -> None:
    hexcursion.release(houses(), **{**ASKED, "reading": "apart"}, out=tmp_path / "atlas")
    contents = dict(contents_of(tmp_path / "atlas"))
    del contents[SUMS]
    statement = json.loads(contents[STATEMENT])

    def forged(**design: Any) -> dict[str, bytes]:
        changed = {**statement, "design": {**statement["design"], **design}}
        made = {**contents, STATEMENT: json.dumps(changed).encode()}
        seal(made)
        return made

    with pytest.raises(BundleError, match="Statement and design disagree about answers: 'damp'"):
        atlas_from_contents(forged(answers=[]))
    with pytest.raises(BundleError, match="impossible design: answers of this reach"):
        atlas_from_contents(forged(answers=[0, 1]))
    with pytest.raises(BundleError, match="receipt's line 'Mechanism' does not follow"):
        atlas_from_contents(forged(reaches=[1.0, 0.25, 1.0]))


def test_weights_are_public_and_shift_the_noise(tmp_path: Path) -> None:
    plan = hexcursion.plan(houses(), **ASKED, weight={"no2": 2.0})
    assert plan.plan.chosen is not None
    design = plan.plan.chosen.design
    assert design.reaches == (1.0, 0.25, 0.5)
    assert design.radius == pytest.approx((0.25 + 0.0625 + 0.0625) ** 0.5)
    alone = plan.plan.chosen.alone
    assert alone[0] > alone[2] > 0.0
    made = hexcursion.publish(plan, tmp_path / "atlas")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hexcursion.open_atlas(made.place).statement["design"]["reaches"] == [1.0, 0.25, 0.5]


def test_gaps_of_answers_are_counted_apart(tmp_path: Path) -> None:
    frame = houses()
    frame["damp"] = frame["damp"].where(np.arange(len(frame)) % 5 > 0)
    made = hexcursion.release(frame, **ASKED, gaps=True, out=tmp_path / "atlas")
    assert made.statement["design"]["presence"] is True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hexcursion.open_atlas(made.place)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "other values": ({"values": {"damp": "yes-no", "pm": "yes-no"}, "centre": {"no2": 28.0},
                      "clip": {"no2": 15.0}, "transform": None},
                     "The column 'pm': values of yes and no must be 1 and 0"),
    "counts": ({"values": {"damp": "count"}}, "counted at no cost"),
    "limit of amounts": ({"yes_above": {"no2": 3.0}}, "A limit of yes needs answers"),
    "scale": ({"clip": {"no2": 15.0, "pm": 0.6, "damp": 1.0}}, "without `clip`"),
    "weight": ({"weight": {"no2": 0.0}}, "weight must be"),
    "weights and gaps": ({"weight": {"no2": 2.0}, "gaps": True}, "have the weight of all"),
    "share less amount": (
        {"derived": [["difference", "damp", "no2", 5.0]]},
        "A difference of damp and no2 takes a share of answers for an amount",
    ),
    "no column": ({"weight": {"lead": 2.0}}, "'lead', which is none of the columns"),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "said"), BAD.values(), ids=BAD)
def test_what_does_not_fit_is_refused_before_any_charge(
    settings: dict[str, Any], said: str, tmp_path: Path
) -> None:
    asked = {**ASKED, **settings}
    if "pm" in (asked.get("values") or {}):
        asked["threshold"] = {**asked["threshold"], "pm": 50.0}
    with pytest.raises(WorkflowError, match=said) as refused:
        hexcursion.release(houses(), **asked, out=tmp_path / "atlas")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "atlas").exists()


def test_amounts_beside_answers_are_read_as_the_sums_choose(tmp_path: Path) -> None:
    made = hexcursion.release(houses(), **{**ASKED, "derived": []}, out=tmp_path / "atlas")
    assert made.statement["design"]["reading"] == "likelier"
    by_map = ["cut_by_map" in layer["products"] for layer in made.statement["layers"]]
    assert by_map in ([False] * 3, [True, False, True])
    assert made.statement["atlas"]["read"] == (BESIDE_ANSWERS if by_map[0] else LEFT_APART)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hexcursion.open_atlas(made.place)


def test_equal_rows_of_answers_alone_are_not_guessed() -> None:
    """Two houses of one place may both be damp and dark."""
    frame = houses().assign(dark=lambda each: (each["pm"] > 12.0).astype(int))
    twice = pandas.concat([frame, frame.iloc[:30]])
    asked = {
        **ASKED, "value": ["damp", "dark"], "threshold": {"damp": 40.0, "dark": 50.0}, "values": "yes-no",
        "centre": None, "clip": None, "transform": None, "derived": [], "value_unit": "",
    }  # fmt: skip
    with pytest.raises(WorkflowError, match="30 rows of these answers may repeat an earlier one"):
        hexcursion.plan(twice, **asked)
    with pytest.warns(hexcursion.CuratorWarning):
        once = hexcursion.plan(twice, **asked, equal_rows="once")
    each = hexcursion.plan(twice, **asked, equal_rows="each")
    assert once.plan.privacy.n < each.plan.privacy.n
    assert once.plan.chosen is not None
    assert once.plan.chosen.design.reaches == (1023 / 1024, 1023 / 1024)


@pytest.mark.parametrize("public", [False, True])
def test_an_atlas_of_answers_is_published(public: bool, tmp_path: Path) -> None:
    frame = houses().assign(dark=lambda each: (each["pm"] > 12.0).astype(int))
    asked = {
        **ASKED, "value": ["damp", "dark"], "threshold": {"damp": 40.0, "dark": 50.0}, "values": "yes-no",
        "centre": None, "clip": None, "transform": None, "value_unit": "", "equal_rows": "each",
        "derived": [["difference", "damp", "dark", 5.0]], "places_public": public,
    }  # fmt: skip
    made = hexcursion.release(frame, **asked, out=tmp_path / "atlas")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = hexcursion.open_atlas(made.place)
    assert again.statement["derived"][0]["in_words"].startswith("share of readings with damp - share of")
    assert again.statement["guarantee"]["protects"] == ("values" if public else "values and places")


def test_a_limit_makes_answers_of_amounts_and_words_say_the_same() -> None:
    words = [
        "release",
        "--data",
        "v.csv",
        *OPTIONS[:-5],
        "--out",
        "o",
        "--values",
        "o3=yes-no",
        "--yes-above",
    ]
    words += ["o3=55", "--weight", "pm=2", "--threshold", "no2=30", "o3=20", "pm=12"]
    words += ["--centre", "no2=28", "pm=2.5", "--clip", "no2=15", "pm=.6"]
    made = any_from_options(build_parser().parse_args(words))
    assert isinstance(made, AtlasSettings)
    assert made.answers == (1,)
    assert made.weights == (1.0, 1.0, 2.0)
    assert made.reading == "apart"
    assert made.layers[1].yes_above == 55.0
    assert made.own["o3"]["values"] == "yes-no"
    assert "values" not in made.own["pm"]
    assert any_from_toml(any_to_toml(made)) == made


def test_what_all_columns_say_of_their_scale_is_said_of_amounts_alone() -> None:
    columns = {
        "price": {"threshold": 100.0, "centre": 4.0, "clip": 1.0},
        "flat": {"threshold": 20.0, "values": "yes-no"},
    }
    shared = {"transform": "log", "bbox": [0.0, 0.0, 1.0, 1.0]}
    made = any_settings({"data": {"path": "v.csv", "x": "x", "y": "y"}, "columns": columns, **shared})
    assert isinstance(made, AtlasSettings)
    assert [layer.transform for layer in made.layers] == ["log", None]
