"""Columns that the released sums choose to read together: stated, recomputed, and refused where forged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hexcursion
from hexcursion.bundle import layout
from hexcursion.bundle.atlas.read import atlas_doubts, atlas_from_contents
from hexcursion.bundle.atlas.statement import APART, LEFT_APART
from hexcursion.bundle.layout import contents_of
from hexcursion.bundle.untrusted import BundleError
from hexcursion.settings.atlas import AtlasSettings, any_settings
from tests.hexcursion.atlas.test_atlas_bundle import restated
from tests.hexcursion.atlas.test_atlas_settings import mapping
from tests.hexcursion.atlas.village import PLAN, atlas_of

RELATED = {name: value for name, value in PLAN.items() if name != "derived"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The village's columns follow one plane up to their sign: at epsilon 8 its sums say so in every draw."""
    return atlas_of(tmp_path_factory, **{**RELATED, "epsilon": 8.0, "budget": 8.0})


def test_related_columns_are_read_together_unless_asked_otherwise(place: Path) -> None:
    atlas = hexcursion.open_atlas(place)
    said = atlas.statement["atlas"]["read"]
    assert said.startswith("Each map was read beside the others")
    contents = contents_of(place)
    for name in (layout.PAGE, layout.README, layout.LABEL):
        assert said in " ".join(contents[name].decode().split())
    assert atlas_doubts(atlas.bundle) == ()
    with pytest.raises(BundleError, match="read together, so that their errors are not independent"):
        atlas.derived("both", "no2", "pm")


def by_themselves(statement: dict[str, Any]) -> None:
    statement["design"]["reading"], statement["atlas"]["read"] = "apart", APART


def left_apart(statement: dict[str, Any]) -> None:
    statement["atlas"]["read"] = LEFT_APART


def one_by_itself(statement: dict[str, Any]) -> None:
    del statement["layers"][1]["products"]["cut_by_map"]


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (left_apart, "contradicts itself about how its maps were read"),
        (one_by_itself, "contradicts itself about its products"),
    ],
)
def test_what_is_said_of_the_reading_follows(
    forge: Callable[[dict[str, Any]], None], said: str, place: Path
) -> None:
    with pytest.raises(BundleError, match=said):
        atlas_from_contents(restated(contents_of(place), forge))


def test_a_reader_makes_the_choice_again(place: Path) -> None:
    """Maps that were read together do not follow from the sums of a design that reads apart."""
    doubts = atlas_doubts(atlas_from_contents(restated(contents_of(place), by_themselves)))
    assert [doubt.split(": ")[0] for doubt in doubts] == ["no2", "o3", "pm"]
    assert all("The map does not follow from sums.parquet" in doubt for doubt in doubts)


@pytest.mark.parametrize(
    ("changes", "reading"),
    [
        ({"derived": None}, "likelier"),
        ({"derived": None, "reading": "apart"}, "apart"),
        ({"derived": None, "gaps": True}, "apart"),
        ({}, "apart"),  # layers follow from others
    ],
)
def test_columns_are_read_apart_where_only_that_is_proved(changes: dict[str, Any], reading: str) -> None:
    made = any_settings(mapping(**changes))
    assert isinstance(made, AtlasSettings)
    assert made.reading == reading


def test_a_design_states_how_its_columns_may_be_read(place: Path) -> None:
    statement = json.loads(contents_of(place)[layout.STATEMENT])
    assert statement["design"]["reading"] == "likelier"
    assert all(layer["products"]["cut_by_map"] for layer in statement["layers"])
