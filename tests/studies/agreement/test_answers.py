"""The study of answers of yes and no: its other maps without privacy, and what the page quotes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studies.agreement.looks import smoothed

ROOT = Path(__file__).resolve().parents[3]


def test_a_smoother_map_keeps_as_many_functions_as_are_asked_for() -> None:
    """Variances of 1, 2 and 4 along three hexagons: two functions leave the first hexagon out."""
    np.testing.assert_allclose(smoothed(np.diag([1.0, 2.0, 4.0]), 2), np.diag([0.0, 2.0, 4.0]), atol=1e-12)


@pytest.mark.parametrize("functions", ["all", "300", "150"])
def test_the_page_quotes_the_stored_scores_from_other_maps(functions: str) -> None:
    rows = [
        line.removeprefix(start).replace("(", "").replace(")", "").split()
        for line in (ROOT / "studies/results/answers.txt").read_text("utf-8").splitlines()
        if line.startswith(start := f"read in rounds, in {functions} functions ")
    ]
    assert [row[0] for row in rows] == ["20", "50"]
    told = [", ".join(number[1:] for number in (maps, iou, ece)) for _, _, maps, iou, _, ece in rows]
    page = (ROOT / "docs" / "spectral-statistics.md").read_text("utf-8")
    table = page.split("| functions | 20 %: maps, release, calibration |")[1].split("\n\n")[0]
    assert f"| {functions} | {told[0]} | {told[1]} |" in table


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_the_page_quotes_the_stored_agreements(epsilon: str) -> None:
    """Agreement to two decimals, calibration to three, of both shares."""
    stored = [line.split() for line in (ROOT / "studies/results/answers.txt").read_text("utf-8").splitlines()]
    rows = [row for row in stored if row[:1] == [epsilon] and row[2:3] == ["%"]]
    told = [f"{float(row[4]):.2f}, {row[6]} (".replace("0.", ".") for row in rows]
    assert len(told) == 2
    page = (ROOT / "docs" / "spectral-statistics.md").read_text("utf-8")
    table = page.split("| epsilon | 20 %: agreement, calibration (told) |")[1].split("\n\n")[0]
    (line,) = (each for each in table.splitlines() if each.startswith(f"| {epsilon.removeprefix('0')} |"))
    assert all(each in line for each in told)
