"""Reports account for every row; observations are valid, read-only and silent."""

from __future__ import annotations

import numpy as np
import pytest

from data_loaders import DataError, LoadReport, Observations
from data_loaders.errors import closest
from data_loaders.observations import Tally, crs_name


def test_a_report_that_loses_a_row_cannot_exist() -> None:
    with pytest.raises(ValueError, match="every row"):
        LoadReport("f", 10, 5, (("blank", 4),))
    with pytest.raises(ValueError, match="negative"):
        LoadReport("f", 1, 2, (("blank", -1),))


def test_a_report_in_words() -> None:
    report = LoadReport("pp.csv", 1200, 1100, (("blank postcode", 100),), ("Read as CSV.",))
    assert report.lines() == (
        "pp.csv: 1,200 rows read, 1,100 kept.",
        "100 dropped: blank postcode.",
        "Read as CSV.",
    )


def test_a_row_is_dropped_for_its_first_reason_only() -> None:
    tally = Tally()
    tally.read(4)
    alive = np.ones(4, dtype=bool)
    alive = tally.drop_where("first", np.array([True, True, False, False]), alive)
    alive = tally.drop_where("second", np.array([True, False, True, False]), alive)
    assert alive.tolist() == [False, False, False, True]
    assert tally.report("f", 1).dropped == (("first", 2), ("second", 1))
    assert tally.main_reason == "first"


def make(**changes: object) -> Observations:
    given: dict[str, object] = {
        "x": [1.0],
        "y": [2.0],
        "crs": "EPSG:4326",
        "value": [3.0],
        "unit": "GBP",
        "kind": "sale",
        "title": "t",
    } | changes
    return Observations(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"x": []},
        {"x": [], "y": [], "value": []},
        {"value": [np.nan]},
        {"y": [np.inf]},
        {"kind": "person"},
        {"crs": "British National Grid"},
        {"x": [[1.0]], "y": [[1.0]], "value": [[1.0]]},
    ],
)
def test_invalid_observations_do_not_exist(changes: dict[str, object]) -> None:
    with pytest.raises(DataError):
        make(**changes)


def test_observations_are_read_only_copies_and_do_not_print_values() -> None:
    mine = np.array([31415926.0])
    made = make(value=mine)
    mine[0] = 1.0
    assert made.value[0] == 31415926.0
    with pytest.raises(ValueError, match="read-only"):
        made.value[0] = 2.0
    assert "31415926" not in repr(made)
    assert made.size == 1


def test_coordinate_systems_have_one_spelling() -> None:
    assert crs_name("epsg:27700") == crs_name(27700) == crs_name(" 27700 ") == "EPSG:27700"
    for wrong in ("", "EPSG:", "EPSG:27700; DROP", "27 700", "WGS84"):
        with pytest.raises(DataError, match="EPSG"):
            crs_name(wrong)


def test_the_closest_word_is_offered_only_when_near() -> None:
    assert closest("leed", ["lead", "zinc"]) == "; did you mean 'lead'?"
    assert closest("xyz", ["lead", "zinc"]) == ""
