"""Zeros and negative numbers where values differ by factors: a public rule for each, and what it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import hexcursion
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import responses_of
from hexcursion.settings.data_settings import SourceSettings
from tests.town import BOX, Town

SCALE = {"transform": "log", "centre": 3.0, "clip": 1.0, "reference": None}
HIDDEN = {"relation": "add-or-remove", "records_about": 60, "mechanisms": ("spectral-statistics",)}


def files(folder: Path, odd: float) -> tuple[Town, np.ndarray]:
    """Two tables of 60 readings; the first three of either are `odd`. The values of the first, too."""
    tables, values = [], []
    for number, name in enumerate(("private.csv", "reference.csv")):
        rng = np.random.default_rng([3, number])
        value = np.exp(rng.normal(3.0, 0.4, 60)).round(3)
        value[:3] = odd
        lon, lat = (rng.uniform(BOX[k] + 0.02, BOX[k + 2] - 0.02, 60).round(6) for k in (0, 1))
        pandas.DataFrame({"lon": lon, "lat": lat, "no2": value}).to_csv(folder / name, index=False)
        tables.append(folder / name)
        values.append(value)
    return Town(*tables), values[0]


def project(town: Town, missing: str | None, **changes: Any) -> Project:
    """The town on a log scale, with a stated rule for missing values."""
    made, rule = town.settings(transform="log"), () if missing is None else (missing,)

    def ruled(source: SourceSettings) -> SourceSettings:
        return replace(source, missing=rule)

    assert made.reference is not None
    made = made.with_changes(data=ruled(made.data), reference=ruled(made.reference))
    return load_project(made.with_changes(**changes))


@pytest.mark.parametrize("hidden", [{}, HIDDEN])
def test_a_measured_zero_counts_as_the_lowest_record(tmp_path: Path, hidden: dict[str, Any]) -> None:
    town, value = files(tmp_path, 0.0)
    loaded = project(town, "none", **SCALE, **hidden)
    _, response = responses_of(loaded.private.placed, loaded.response, "point")
    expected = np.clip(np.log(np.maximum(value, 1e-300)) - 3.0, -1.0, 1.0)
    np.testing.assert_allclose(response, expected)
    assert response[:3].tolist() == [-1.0, -1.0, -1.0]


@pytest.mark.parametrize(
    ("odd", "missing", "said"),
    [
        (0.0, None, "Private data: a value of 0 has no logarithm. State `missing` .--missing 0. where it"),
        (-4.0, "none", "Private data: values below 0 have no logarithm"),
    ],
)
def test_other_odd_values_are_refused_with_the_remedy(
    tmp_path: Path, odd: float, missing: str | None, said: str
) -> None:
    town, _ = files(tmp_path, odd)
    with pytest.raises(WorkflowError, match=said):
        project(town, missing, **SCALE)
    assert (
        project(town, missing, **SCALE, **HIDDEN).private.placed.index.size == 57
    )  # no refusal tells of one


def test_zeros_of_the_reference_are_its_lowest_values(tmp_path: Path) -> None:
    town, _ = files(tmp_path, 0.0)
    loaded = project(town, "none")
    lowest = loaded.reference.value.min()
    assert int(np.count_nonzero(loaded.reference.value == lowest)) == 4
    assert lowest > 0.0
    with pytest.raises(WorkflowError, match="Reference data: a value of 0 has no logarithm"):
        project(town, None)


def test_columns_of_an_atlas_follow_the_same_rule(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    rows = pandas.DataFrame(
        {
            "lon": rng.uniform(BOX[0] + 0.02, BOX[2] - 0.02, 200),
            "lat": rng.uniform(BOX[1] + 0.02, BOX[3] - 0.02, 200),
            "pb": np.exp(rng.normal(3.0, 0.5, 200)),
            "zn": np.exp(rng.normal(3.0, 0.5, 200)),
        }
    )
    rows.loc[:2, "zn"] = 0.0
    asked: dict[str, Any] = {
        "value": ["pb", "zn"],
        "threshold": {"pb": 20.0, "zn": 20.0},
        "centre": {"pb": 3.0, "zn": 3.0},
        "clip": {"pb": 1.0, "zn": 1.0},
        "value_unit": {"pb": "mg/kg", "zn": "mg/kg"},
        "transform": "log",
        "bbox": BOX,
        "resolution": 8,
        "epsilon": 2.0,
        "lon": "lon",
        "lat": "lat",
    }
    with pytest.raises(WorkflowError, match="The column 'zn': a value of 0 has no logarithm"):
        hexcursion.plan(rows, **asked)
    assert hexcursion.plan(rows, **asked, missing=("none",)) is not None
