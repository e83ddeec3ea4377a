"""The page of spectral statistics quotes what two commands stored, to the digits that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "spectral-statistics.md").read_text("utf-8")


def stored(name: str) -> list[list[str]]:
    return [line.split() for line in (ROOT / f"studies/results/{name}.txt").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("epsilon", ["1", "3", "10"])
def test_columns_beside_a_published_half(epsilon: str) -> None:
    rows = stored("covariates")
    start = next(number for number, row in enumerate(rows) if row[1:3] == ["beside", "a"])
    found = [f"{float(row[-2]):.2f}".removeprefix("0") for row in rows[start:] if row[:1] == [epsilon]]
    assert (
        f"\n| {epsilon} | {' | '.join(found)} |\n" in PAGE.split("mean of four |")[1].split("\n\n")[0] + "\n"
    )


def test_time_to_answer() -> None:
    rows = {row[0]: row for row in stored("spectral_search") if row and row[0] in ("721", "2437", "17101")}
    for column in (2, 4):  # with eigenvectors on disk; at all budgets
        one, two, three = (f"{float(rows[cells][column]):.1f}".removeprefix("0") for cells in rows)
        said = f"{one} s on 721 hexagons, {two} s on\n2,437 and {three} s on 17,101"
        assert (said if column == 2 else f"{one}, {two} and {three} s.") in PAGE
