"""The study of atlases: its tables and scores, and what its page quotes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from dpgp_core.mechanisms.design import Budget
from studies.columns.atlas import CLIP, Judge, Score, Table, compared, gaps, guessed, released_atlas, world
from studies.columns.yes_no import signal

ROOT = Path(__file__).resolve().parents[3]
STORED = (ROOT / "studies/results/atlas.txt").read_text("utf-8").splitlines()
PAGE = (ROOT / "docs" / "proofs" / "atlas.md").read_text("utf-8")
CASE = (ROOT / "docs" / "case-atlas.md").read_text("utf-8")


def test_guesses_are_as_far_off_as_the_page_says() -> None:
    found = guessed(np.array([[0.0, 5.0], [2.0, 9.0]]))
    assert found.tolist() == [[-1.25 / 1.2] * 2, [0.75 / 1.2] * 2]


def test_tables_are_shuffled_and_lose_values_as_a_whole() -> None:
    table = world(0.5, 1)
    mixed = table.shuffled(2)
    assert np.array_equal(np.sort(mixed.values[:, 0]), np.sort(table.values[:, 0]))
    assert np.array_equal(mixed.cells, table.cells)
    assert {tuple(row) for row in mixed.values} == {tuple(row) for row in table.values}
    assert np.mean(mixed.values == table.values) < 0.05
    gappy = table.gappy(3)
    assert np.isnan(gappy.values).mean() == pytest.approx(0.3, abs=0.03)
    assert gappy.complete().cells.size == int((~np.isnan(gappy.values)).all(axis=1).sum()) < 0.3 * 600


def test_a_release_of_hardly_any_noise_shows_the_map_without_privacy() -> None:
    table = world(0.0, 4)
    judge = Judge.of(table)
    right, wrong = Score(judge), Score(judge)
    layers = released_atlas(table, 1_000.0, "apart", 5)
    right.add(layers, CLIP, 1.0)
    wrong.add(layers[::-1], CLIP, 1.0)
    assert right.mean > 0.75
    assert wrong.mean < 0.45
    assert len(right.agreements) == 8
    assert right.ece < wrong.ece


def test_a_world_has_as_many_columns_as_asked_for_and_they_are_related() -> None:
    table = world(0.9, 3, 10)
    assert table.values.shape == (600, 10)
    assert np.corrcoef(Judge.of(table).maps)[0, 1] > 0.6
    assert abs(np.corrcoef(Judge.of(world(0.0, 3, 2)).maps)[0, 1]) < 0.5


def test_designs_are_compared_and_gaps_are_filled() -> None:
    table = Table(
        world(0.9, 6).lattice, *(part[:400] for part in (world(0.9, 6).cells, world(0.9, 6).values))
    )
    found = compared(table, 20.0, 1)
    assert set(found) == {"alone", "k releases", "apart", "likelier", "shuffled"}
    assert found["alone"].mean > found["k releases"].mean
    assert found["apart"].mean > found["shuffled"].mean + 0.2
    summed, whole = gaps(table, 20.0, 1)
    assert summed > whole


@pytest.mark.parametrize("name", ["Meuse", "Jura"])
@pytest.mark.parametrize("epsilon", ["1", "3"])
def test_the_page_quotes_the_stored_agreements(name: str, epsilon: str) -> None:
    quoted = 0
    for line in STORED:
        if not line.startswith(name + " "):
            continue
        count, n, found, *numbers = line[22:].split()
        if found != epsilon:
            continue
        said = " | ".join(number.removeprefix("0") for number in numbers[:5])
        assert f"| {name} | {count} | {n} | {epsilon} | {said} |" in PAGE
        quoted += 1
    assert quoted >= 2


@pytest.mark.parametrize(
    "line", [each for each in STORED if each.startswith("generated")], ids=lambda line: line[:36]
)
def test_the_page_quotes_the_generated_worlds(line: str) -> None:
    related, (count, _, epsilon, *numbers) = line[:22].split()[-1], line[22:].split()
    said = " | ".join(number.removeprefix("0") for number in numbers[:5])
    assert f"| {related.removeprefix('0') or '0'} | {count} | {epsilon} | {said} |" in PAGE


def test_the_page_quotes_missing_values_and_what_a_guess_gains() -> None:
    (line,) = (each for each in STORED if each.startswith("presence sums"))
    summed, whole = (part.split()[-1].removeprefix("0") for part in line.split(";"))
    assert f"reach {summed}; complete records alone {whole}" in " ".join(PAGE.split())
    for epsilon, times in ((1.0, 56), (3.0, 65)):
        assert math.ceil(100.0 * ndtr(Budget(epsilon, 1e-5).mu / 2.0)) == times
        assert f"at most {times}" in CASE


ANSWERS = (ROOT / "studies/results/yes_no.txt").read_text("utf-8").splitlines()
LARGE = (ROOT / "studies/results/large.txt").read_text("utf-8").splitlines()[2:-2]
FROM_MAPS = (ROOT / "studies/results/from_maps.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("line", [each for each in ANSWERS if each.startswith("one amount")])
def test_the_page_quotes_the_maps_of_answers(line: str) -> None:
    asked, found = line.split(": ")
    count, epsilon = asked.split(", ")[1].split()[0], asked.split()[-1]
    said = " | ".join(part.split()[-1].removeprefix("0") for part in found.split("  "))
    assert f"| {count} | {epsilon} | {said} |" in PAGE


@pytest.mark.parametrize("line", [each for each in FROM_MAPS if ", k 4" in each])
def test_the_page_quotes_what_starts_from_published_maps(line: str) -> None:
    asked, found = line.split(": ")
    said = " | ".join(part.split()[-1].removeprefix("0") for part in found.split("  "))
    assert f"| {asked.split()[-1]} | {said} |" in PAGE


def test_an_answer_keeps_its_size_whatever_its_share() -> None:
    """Quoted with the proof: .24 less at a share of 5 % and two columns, .16 more at 30 % and ten."""
    fixed, own = signal(2, 0.05)
    assert fixed == pytest.approx(0.7071, abs=1e-4)
    assert own / fixed - 1.0 == pytest.approx(-0.24, abs=0.01)
    fixed, own = signal(10, 0.3)
    assert own / fixed - 1.0 == pytest.approx(0.16, abs=0.01)


@pytest.mark.parametrize("line", LARGE, ids=lambda line: line[:42])
def test_the_page_quotes_the_large_tables(line: str) -> None:
    _, n, epsilon, *numbers = line[22:].split()
    said = " | ".join(number.removeprefix("0") for number in numbers[:5])
    assert f"| {line[:22].strip()}, {n} | {epsilon} | {said} |" in PAGE
