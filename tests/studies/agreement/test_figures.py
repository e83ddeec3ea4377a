"""Pages quote what commands stored, to the digits that they show."""

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


def short(figure: str) -> str:
    return "–" if figure == "nan" else f"{float(figure):.2f}".removeprefix("0")


@pytest.mark.parametrize(
    ("unit", "counts", "focus", "start"),
    [
        ("point", "2017", "all", "| point records, 2017 counts public, all thresholds | "),
        ("point", "2017", "threshold", "| point records, 2017 counts public, focus | "),
        ("point", "-", "all", "| point records, no public counts, all thresholds | "),
        ("point", "-", "threshold", "| point records, no public counts, focus | "),
        ("cell", "-", "all", "| cell records, no public counts, all thresholds | | "),
        ("cell", "-", "threshold", "| cell records, no public counts, focus | | "),
    ],
)
def test_spectral_statistics_on_the_sales_of_london(unit: str, counts: str, focus: str, start: str) -> None:
    """The table of the page, and the two rows of it that experiments.md quotes in two digits."""
    rows = [row for row in stored("spectral_london") if row[:4] == ["442,413", unit, counts, focus]]
    reached = [row[6] for row in rows]
    (free,) = {row[9] for row in rows}
    figures = " | ".join(f"{row[6]} ({row[7]})".replace("0.", ".") for row in rows)
    end = " | | " if unit == "point" else " | "
    assert f"{start}{figures}{end}{free.removeprefix('0')} |\n" in PAGE
    quoted = {
        ("point", "2017", "all"): f"records, 2017 counts public | {' | '.join(map(short, reached))} |",
        ("cell", "-", "all"): f"records, δ n^-1.1 | | {' | '.join(map(short, reached[:2]))} |",
    }.get((unit, counts, focus))
    page = (ROOT / "docs" / "experiments.md").read_text("utf-8")
    assert quoted is None or f"spectral statistics, {unit} {quoted} | | | {short(free)} |\n" in page


ROWS = (
    "London all 2015, 442,413", "London all 2015, epsilon .1", "London all 2015, 700,000",
    "London new 2015, 442,413", "London flats 2017, 442,413", "Lucas 1993, 80,000", "Lucas 1997, 80,000",
    "Lucas 1993, 130,000", "arsenic wells alone", "Meuse lead alone", "Jura cadmium alone",
)  # fmt: skip
"""The rows of the panel that docs/results.md quotes, in its order."""


def test_the_table_of_what_maps_are_worth_is_the_stored_one() -> None:
    text = (ROOT / "studies/results/panel.txt").read_text("utf-8").split("\nA share of ")[1]
    kept = {line[:29].strip(): line[29:].split() for line in text.splitlines()[2:]}
    page = (ROOT / "docs" / "results.md").read_text("utf-8").split("\n| the question | ")[1]
    table = page.split("\n\n")[0].splitlines()[2:]

    assert len(table) == len(ROWS)
    for line, name in zip(table, ROWS, strict=True):
        n, _, right, colour, public, mixed, _, _, _, _, orange, came, finds, found, *_ = kept[name]
        said = [short(each) for each in (right, public, colour, mixed)]
        both = [f"{short(told)}, {short(true)}" for told, true in ((orange, came), (finds, found))]
        assert [part.strip() for part in line.split("|")[2:-1]] == [f"{int(n):,}", *said, *both]
