"""Settings of several columns: what each has for itself, and what is refused in one sentence."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from hexcursion.cli.main import build_parser
from hexcursion.cli.options import any_from_options, settings_from_options
from hexcursion.errors import WorkflowError
from hexcursion.settings.atlas import AtlasSettings, any_from_toml, any_settings, any_to_toml
from hexcursion.settings.model import ReleaseSettings, settings_from_mapping
from tests.hexcursion.atlas.village import FILE, OPTIONS, PLAN

OTHER = ("value", "lon", "lat", "area")


def mapping(**changes: Any) -> dict[str, Any]:
    plan = {key: value for key, value in PLAN.items() if key not in OTHER}
    data = {"path": "village.csv", "value": PLAN["value"], "x": "lon", "y": "lat"}
    return {**plan, "data": data, "bbox": list(PLAN["area"]), **changes}


def atlas(**changes: Any) -> AtlasSettings:
    made = any_settings(mapping(**changes))
    assert isinstance(made, AtlasSettings)
    return made


def test_file_command_line_and_mapping_say_the_same() -> None:
    words = ["release", "--data", "village.csv", *OPTIONS, "--out", "o"]
    typed = any_from_options(build_parser().parse_args(words))
    assert typed == atlas() == any_settings(tomllib.loads(FILE.format(path="village.csv")))


def test_each_column_has_its_own_settings_and_shares_the_others() -> None:
    made = atlas()
    assert made.names == ("no2", "o3", "pm")
    assert [layer.threshold for layer in made.layers] == [30.0, 60.0, 12.0]
    assert [layer.uses_log for layer in made.layers] == [False, False, True]
    assert {layer.epsilon for layer in made.layers} == {3.0}
    assert {layer.mechanisms for layer in made.layers} == {("spectral-statistics",)}
    assert {layer.resolution for layer in made.with_changes(resolution=6).layers} == {6}


def test_one_column_in_a_list_is_a_release_of_one_column() -> None:
    given = mapping(threshold={"no2": 30.0}, centre=28.0, clip=15.0, transform=None, derived=None)
    given["data"] = {**given["data"], "value": ["no2"]}
    made = any_settings(given)
    assert isinstance(made, ReleaseSettings)
    assert (made.data.value, made.threshold, made.data.equal_rows) == ("no2", 30.0, None)


BAD = {
    "no threshold": ({"threshold": {"no2": 30.0, "o3": 60.0}}, "'pm' lacks a threshold"),
    "one for all": ({"threshold": 30.0}, "lacks a threshold"),
    "unknown": ({"clip": {"lead": 1.0}}, "'lead', which is none of the columns no2, o3, pm"),
    "reference": ({"reference": {"path": "other.csv"}}, "declare it public with `reference_public`"),
    "cells": ({"unit": "cell"}, "`unit` = 'point' alone"),
    "counts": ({"values": "count"}, "its records are counted at no cost"),
    "looks": ({"looks": 2}, "`looks` = 1 alone"),
    "owner": ({"owner": "station", "records_per_owner": 1}, "does not read `owner`"),
    "mechanism": ({"mechanisms": ["bin-means"]}, "Only spectral-statistics"),
    "reading": ({"reading": "sideways"}, "reading must be"),
    "derived of others": ({"derived": [["both", "no2", "lead"]]}, "'lead', which is none of the columns"),
    "derived in words": ({"derived": "both no2 pm"}, "each derived layer as a list"),
    "no tables": (
        {"columns": {"no2": 30.0}, "data": {"path": "v.csv"}, "threshold": None},
        r"\[columns.pb\]",
    ),
}


@pytest.mark.parametrize(("changes", "said"), BAD.values(), ids=BAD)
def test_what_does_not_fit_is_refused_in_one_sentence(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(WorkflowError, match=said) as refused:
        any_settings(mapping(**changes))
    assert "\n" not in str(refused.value)


def test_a_column_is_named_once_and_has_settings_of_its_own_alone() -> None:
    given = mapping()
    given["data"] = {**given["data"], "value": ["no2", "o3", "no2"]}
    with pytest.raises(WorkflowError, match="'no2' is named twice"):
        any_settings(given)
    columns = {"no2": {"threshold": 1.0, "epsilon": 2.0}, "o3": {"threshold": 1.0}}
    with pytest.raises(WorkflowError, match="no setting 'epsilon' of its own"):
        any_settings({"data": {"path": "v.csv"}, "bbox": [0, 0, 1, 1], "columns": columns})


def test_sixty_columns_are_too_many() -> None:
    columns = {f"c{number}": {"threshold": 1.0} for number in range(60)}
    with pytest.raises(WorkflowError, match="at most 20 columns, and 60 are named: leave some out"):
        any_settings({"data": {"path": "v.csv"}, "bbox": [0, 0, 1, 1], "columns": columns})


def test_who_takes_one_column_says_who_takes_several() -> None:
    with pytest.raises(WorkflowError, match="use `hexcursion release`"):
        settings_from_mapping(tomllib.loads(FILE.format(path="v.csv")))
    words = ["release", "--data", "village.csv", *OPTIONS, "--out", "o"]
    with pytest.raises(WorkflowError, match="name one with --value"):
        settings_from_options(build_parser().parse_args(words))


def test_a_value_by_column_is_written_with_an_equals_sign() -> None:
    words = ["release", "--data", "v.csv", *OPTIONS, "--out", "o", "--clip", "15", "16", "0.6"]
    with pytest.raises(WorkflowError, match="--clip as COLUMN=VALUE for each of several columns, not '15'"):
        any_from_options(build_parser().parse_args(words))


def test_settings_of_several_columns_are_written_as_a_file_that_says_the_same() -> None:
    made = any_settings(tomllib.loads(FILE.format(path="village.csv")))
    text = any_to_toml(made)
    assert isinstance(made, AtlasSettings)
    assert any_from_toml(text) == made
    assert tomllib.loads(text)["columns"]["pm"] == {
        "threshold": 12.0, "direction": "above", "transform": "log", "centre": 2.5, "clip": 0.6,
        "value_name": made.layers[2].value_name, "value_unit": "ug/m3",
    }  # fmt: skip
    each = any_settings({**tomllib.loads(FILE.format(path="v.csv")), "title": "Air", "gaps": True})
    assert any_from_toml(any_to_toml(each)) == each
