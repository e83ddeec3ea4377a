"""Choices kept over a reload: public ones only, checked when they come back."""

from __future__ import annotations

import json
from dataclasses import fields

from hexcursion.settings.model import ReleaseSettings
from pages.shared.session.saving import give_back, read_kept, text_of, words_of
from pages.shared.session.workspace import Workspace
from tests.town import BOX, Town

BEFORE = {
    "about": {"kind": "sensors", "value_name": "NO2", "value_unit": "ug/m3"},
    "choices": {
        "threshold": 25.0,
        "direction": "below",
        "centre": 20.0,
        "clip": 15.0,
        "bbox": list(BOX),
        "epsilon": 0.5,
        "paths": 3,
        "looks": 2,
    },
}


class Sensors(Workspace):
    """A workspace whose data are a sensor table."""

    kind = "sensors"


class Loaded:
    """Stands for a preview of private data."""

    generated = False


def sensors(name: str = "NO2", **choices: object) -> Workspace:
    work = Sensors()
    work.private = Loaded()  # type: ignore[assignment]
    work.choose(value_name=name, value_unit="ug/m3", **choices)
    return work


def test_only_public_choices_reach_the_browser(town: Town) -> None:
    settings: ReleaseSettings = town.settings(owner="station", records_per_owner=1, unit="point")
    work = sensors()
    work.adopt(settings)
    text = text_of(work)
    assert str(town.private) not in text
    assert "station" not in text
    assert set(json.loads(text)) == {"about", "choices", "columns"}
    assert json.loads(text)["columns"] == {}
    assert json.loads(text)["choices"]["threshold"] == 30.0
    assert text_of(Workspace()) == ""


def test_what_comes_back_is_checked_choice_by_choice() -> None:
    kept = read_kept(json.dumps(BEFORE))
    assert kept["threshold"] == 25.0
    assert kept["bbox"] == BOX
    wrong = {**BEFORE, "choices": {"epsilon": -1, "paths": "many", "ledger": "/x", "threshold": 7}}
    assert {
        name for name in read_kept(json.dumps(wrong)) if name not in ("kind", "value_name", "value_unit")
    } == {"threshold"}
    for text in ("data", "", "[1]", "{}", '{"about": 3, "choices": 4}', "9" * 10_000):
        assert read_kept(text) == {}


def test_the_question_comes_back_for_the_same_values_only() -> None:
    kept = read_kept(json.dumps(BEFORE))
    same, other = sensors(), sensors("PM10", epsilon=2.0)
    give_back(same, kept)
    give_back(other, kept)
    assert (same.choices["threshold"], same.choices["direction"], same.choices["epsilon"]) == (
        25.0,
        "below",
        0.5,
    )
    assert (same.choices["centre"], same.choices["clip"], same.choices["looks"]) == (20.0, 15.0, 2)
    assert not {"threshold", "centre", "clip"} & set(other.choices)
    assert (other.choices["epsilon"], other.choices["paths"]) == (2.0, 3)
    sales = Sensors()
    sales.kind = "sales"  # type: ignore[misc]
    give_back(sales, kept)
    assert sales.choices == {}  # the box of other data is no area of these
    assert words_of(kept) == "the threshold 25 ug/m3, what is usual, the bounding box, ε 0.5"
    assert words_of({}) == ""


def test_a_share_of_yes_comes_back_as_one_and_a_relative_threshold_not_at_all() -> None:
    asked = sensors(threshold=20.0, values="yes-no", yes_above=50.0)
    kept, again = read_kept(text_of(asked)), sensors()
    assert words_of(kept) == "the threshold 20 % of yes"
    give_back(again, kept)
    assert [again.choices[name] for name in ("threshold", "values", "yes_above")] == [20.0, "yes-no", 50.0]
    for relative in ({"limits": "zones.geojson"}, {"change": True}):
        assert "threshold" not in read_kept(text_of(sensors(threshold=1.1, epsilon=0.5, **relative)))


def test_an_empty_workspace_keeps_what_belongs_to_the_visit_and_nothing_of_its_data() -> None:
    full = Workspace()
    for one in fields(Workspace):
        if one.name not in ("mark", "session", "releasing"):
            setattr(full, one.name, object())
    full.choices = {"basemap": "streets.pmtiles", "threshold": 30.0}
    left = full.renewed()
    visit = {"folder", "uploads", "seen", "finished", "other_tab"}
    assert {one.name for one in fields(left) if getattr(left, one.name) is getattr(full, one.name)} == visit
    assert left.choices == {"basemap": "streets.pmtiles"}
    anew = Workspace()
    for one in fields(left):
        if one.name not in {*visit, "choices", "mark", "session", "releasing"}:
            assert getattr(left, one.name) == getattr(anew, one.name), one.name
    assert Workspace().renewed().choices == {"basemap": None}


def test_the_scale_of_the_usual_values_comes_back_with_them() -> None:
    """A clip bound of logarithms, read as an amount, would put the threshold out of reach."""
    asked = sensors(threshold=30.0, centre=20.0, clip=1.386, transform="log")
    again = sensors()
    give_back(again, read_kept(text_of(asked)))
    assert (again.choices["clip"], again.choices["transform"]) == (1.386, "log")


METALS = {
    "pb": {"value_name": "lead", "value_unit": "mg/kg", "threshold": 60.0, "direction": "above"},
    "zn": {"value_name": "zinc", "value_unit": "ppm", "threshold": 90.0, "centre": 4.5, "clip": 1.5},
}


def test_the_columns_of_an_atlas_come_back_with_what_was_said_of_each() -> None:
    asked = sensors("lead")
    asked.columns = METALS
    kept = read_kept(text_of(asked))
    assert kept["columns"] == METALS
    assert words_of(kept) == "2 columns"
    again = sensors("lead")
    again.columns = {
        "pb": {"value_name": "pb", "value_unit": "mg/kg"},
        "zn": {"value_name": "zn", "value_unit": "mg/kg"},
        "cd": {"value_name": "cd", "value_unit": "mg/kg"},
    }
    give_back(again, kept)
    assert again.columns == {**METALS, "cd": {"value_name": "cd", "value_unit": "mg/kg"}}
    assert again.choices["threshold"] == 60.0
    other_unit = sensors("lead")
    other_unit.columns = {"pb": {"value_name": "pb", "value_unit": "g/kg"}, "zn": {"value_unit": "g/kg"}}
    give_back(other_unit, kept)
    assert "threshold" not in other_unit.columns["pb"]
    assert other_unit.columns["zn"]["threshold"] == 90.0


def test_columns_that_come_back_are_checked_too() -> None:
    wrong = {"pb": {"threshold": "high", "direction": "above", "ledger": "/x"}, "zn": 3, "x" * 201: {}}
    assert read_kept(json.dumps({**BEFORE, "columns": wrong}))["columns"] == {"pb": {"direction": "above"}}
    many = {str(number): {} for number in range(21)}
    assert len(read_kept(json.dumps({**BEFORE, "columns": many}))["columns"]) == 20
    for nothing in ([], 3, {}):
        assert "columns" not in read_kept(json.dumps({**BEFORE, "columns": nothing}))
