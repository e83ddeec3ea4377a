"""Comparing mechanisms: one row each, a banner over different protections, no ranking across them."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.mechanisms.bin_means import BinMeans
from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion.cli import main
from hexcursion.comparing.run import (
    Comparison,
    Row,
    calibration_error,
    comparable,
    comparable_under,
    compare_mechanisms,
    csv_text,
    lines,
    svg_text,
)
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.search.executors import Run
from hexcursion.search.task import Utility
from hexcursion.settings import ReleaseSettings, SourceSettings
from tests.town import BOX, THRESHOLD, Town


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MECHANISMS, "bin-means", BinMeans())


def test_different_protections_stand_apart(town: Town) -> None:
    project = load_project(town.settings(places_public=True, priors=("car",), resolution=7, delta=1e-5))
    names = comparable(project, ("noisy-cell-statistics", "bin-means"))
    told: list[str] = []
    found = compare_mechanisms(project, names, (2.0, 1.0), Run(lambda share, text: told.append(text)))
    assert [(row.mechanism, row.epsilon) for row in found.rows] == [
        ("noisy-cell-statistics", 1.0),
        ("noisy-cell-statistics", 2.0),
        ("bin-means", 1.0),
        ("bin-means", 2.0),
    ]
    assert all(row.best is not None and row.best.epsilon <= row.epsilon for row in found.rows)
    assert "Bin means at epsilon 2" in told
    assert "none across" in found.banner
    assert found.protections == ("values and places", "values")
    said = found.recommendations()
    assert len(said) == 4
    assert all("Bin means" not in line for line in said if line.startswith("Hiding values and places"))
    assert found.banner in lines(found)
    rows = list(csv.DictReader(csv_text(found).splitlines()))
    assert [row["protects"] for row in rows] == ["values and places"] * 2 + ["values"] * 2
    assert {(row["delta"], row["unit"]) for row in rows} == {("1e-05", "point")}
    assert all(0 <= float(row[name]) <= 1 for row in rows for name in ("records", "records_sd", "agreement"))
    assert all(0 <= float(row["calibration_error"]) <= 1 for row in rows)
    assert [row["limit"] for row in rows[2:]] == ["", ""]  # a limit is proved for sums alone
    drawn = svg_text(found)
    assert drawn.count('id="axes_') == 2


def test_the_mechanism_that_shows_most_records_on_their_right_side_is_named() -> None:
    def row(mechanism: str, agreement: float, records: float, spread: float) -> Row:
        utility = Utility(agreement, 0.0, records=records, records_sd=spread)
        result: Any = SimpleNamespace(chosen=SimpleNamespace(utility=utility))
        return Row(mechanism, "values and places", 1.0, result, 0.0, "", 0.0)

    def sentence(spread: float) -> str:
        rows = (row("posterior-sampling", 0.9, 0.7, spread), row("spectral-statistics", 0.2, 0.8, spread))
        return "".join(Comparison(rows, 1e-6, "point", 500, 80, "public").recommendations())

    start = (
        "Hiding values and places, epsilon 1: Spectral statistics shows most records on their right side, "
    )
    assert sentence(0.04) == (
        f"{start}0.8 (deviation 0.04), 0.10 above Posterior sampling, and more than releases vary."
    )
    assert sentence(0.2).startswith(f"{start}0.8 (deviation 0.20)")
    assert "more than releases vary" not in sentence(0.2)
    assert "(deviation 0.00)" in sentence(np.nan), "a single release shows no deviation"


def test_calibration_is_the_gap_between_what_is_said_and_what_is_so() -> None:
    said = np.array([0.9, 0.9, 0.9, 0.9, 0.05, 0.05, 1.0])
    so = np.array([True, True, True, False, False, True, True])
    # tenths: .9 (and 1.0) said 4.6 of 4 so; .05 said .1 of 1 so
    assert calibration_error(said, so) == pytest.approx((0.6 + 0.9) / 7)
    assert calibration_error(np.array([0.5, 0.5]), np.array([True, False])) == 0.0
    assert calibration_error(np.array([0.0, 1.0]), np.array([True, False])) == 1.0


def test_one_protection_needs_no_banner_and_a_budget_out_of_reach_has_a_reason(town: Town) -> None:
    project = load_project(town.settings(priors=("exponential",), resolution=7, bound="triangle"))
    names = comparable(project, ("posterior-sampling", "bin-means"))
    assert names == ("posterior-sampling",)
    found = compare_mechanisms(project, names, (1e-4,))
    assert found.banner == ""
    assert found.rows[0].best is None
    assert "No design on the grid meets epsilon 0.0001" in found.rows[0].reason
    assert found.recommendations() == (
        "Hiding values and places, epsilon 0.0001: no mechanism meets the budget.",
    )


def test_what_cannot_be_compared_is_one_sentence(
    town: Town, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = load_project(town.settings(resolution=7))
    with pytest.raises(WorkflowError, match="choose another unit"):
        comparable(project, ("bin-means",))
    with pytest.raises(WorkflowError, match="epsilons above 0"):
        compare_mechanisms(project, ("posterior-sampling",), (0.0,))
    words = [
        "compare", "--bbox", *map(str, BOX), "--data", str(town.private), "--value", "no2", "--lon", "lon",
        "--lat", "lat", "--value-unit", "ug/m3", "--threshold", str(THRESHOLD), "--out", str(tmp_path),
    ]  # fmt: skip
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "exists already" in error
    assert error.count("\n") == 1


def test_answers_are_compared_among_mechanisms_that_read_them() -> None:
    source = SourceSettings("wells.csv", value="as", x="lon", y="lat")
    asked = ReleaseSettings(
        data=source,
        threshold=20.0,
        bbox=BOX,
        values="yes-no",
        yes_above=50.0,
        value_unit="ug/l",
        mechanisms=("spectral-statistics",),
    )
    assert comparable_under(asked) == ("spectral-statistics",)
    assert comparable_under(asked, ("posterior-sampling",)) == ()
