"""Pages quote what commands stored, to the digits that they show."""

from __future__ import annotations

import re
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


def test_errors_of_the_chances_that_a_map_shows_a_hexagon() -> None:
    lines = (ROOT / "studies/results/panel.txt").read_text("utf-8").splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("row "))
    errors: dict[str, list[float]] = {}
    for line in lines[head + 1 : head + 51]:
        name = line[:29].strip("+!* ")
        if "alone" in name:  # no reference
            continue
        kind = "new" if name.startswith("London new") else name.split()[0]
        numbers = re.sub(r"\S+ to \S+", "", line[29:]).split()  # without the range
        errors.setdefault(kind, []).append(float(numbers[6]))  # the seventh column of numbers: ECE q
    said = " ".join((ROOT / "docs" / "results.md").read_text("utf-8").split())
    london = errors["London"] + errors["the"]  # the same, with other settings
    for found, where in (
        (london, "for flats and all sales of London"),
        (errors["Lucas"], "in Lucas County"),
        (errors["new"], "for new builds"),
        (errors["LAQN"], "for stations of air quality"),
    ):
        ends = [f"{end:.3f}".removeprefix("0") for end in (min(found), max(found))]
        assert f"{ends[0]} to {ends[1]} {where}" in said
