"""Findings: each figure of the stored studies has one sentence, and it says what the points say."""

from __future__ import annotations

from typing import Any

import pytest

from studies.registry import STUDIES
from studies.reporting.figures import Figure, points
from studies.reporting.findings import finding
from studies.reporting.tables import Cell, StudyResult, StudyTable, load_result


def made(rows: tuple[tuple[Cell, ...], ...], **changes: Any) -> str:
    table = StudyTable("t", "T", ("x", "y", "s", "g"), rows)
    result = StudyResult("london", "quick", {}, (1,), "one", 1.0, (table,))
    return finding(Figure("f", "t", "F", "x", ("y",), "s", **changes), result)


def test_a_trend_is_said_with_its_ends() -> None:
    assert made(((1, 0.9, "a", 0), (2, 0.7, "a", 0), (4, 0.5, "a", 0))) == (
        "As x goes from 1 to 4, y falls from 0.9 to 0.5."
    )
    both = made(((1, 0.1, "a", 0), (2, 0.3, "a", 0), (1, 0.1, "b", 0), (2, 0.6, "b", 0)))
    assert both == "As x goes from 1 to 2, y rises from 0.1 to between 0.3 and 0.6; b ends highest."
    assert "changes from" in made(((1, 0.1, "a", 0), (2, 0.3, "a", 0), (1, 0.5, "b", 0), (2, 0.1, "b", 0)))
    large = ((1, 248_000.0, "a", 0), (2, 0.0116, "a", 0))
    assert made(large) == "As x goes from 1 to 2, y falls from 248,000 to 0.0116."
    assert made(()) == ""


def test_public_data_alone_are_beaten_or_not() -> None:
    rows = ((1, 0.7, "a", 0.8), (2, 0.9, "a", 0.8), (1, 0.5, "b", 0.8), (2, 0.79, "b", 0.8))
    assert made(rows, ground="g") == "From epsilon 2 on a reaches 0.900, more than public data alone (0.800)."
    assert made(rows[2:], ground="g") == (
        "Nothing here agrees better than public data alone (0.800); b comes closest with 0.790, at epsilon 2."
    )


def test_an_attack_above_the_proof_is_an_alarm() -> None:
    assert made(((4, 1.0, "a", 0), (4, 3.9, "a", 0)), diagonal="d") == (
        "None of 2 attacks shows more than the proof admits."
    )
    broken = ((4, 1.0, "a", 0), (4, 4.5, "broken a", 0), (4, 3.9, "broken b", 0))
    assert made(broken, diagonal="d") == (
        "None of 1 attacks shows more than the proof admits; of 2 designs broken on purpose 1 are caught."
    )
    assert made(((4, 1.0, "a", 0), (4, 4.1, "a", 0)), diagonal="d") == (
        "1 of 2 attacks show more than the proof admits: that is an alarm."
    )


@pytest.mark.parametrize("name", list(STUDIES))
def test_every_stored_figure_has_one_sentence(name: str) -> None:
    for file in STUDIES[name].stored:
        result = load_result(STUDIES[name].folder / file)
        assert result is not None
        for figure in STUDIES[name].figures:
            if points(figure, result):
                sentence = finding(figure, result)
                assert sentence.endswith(".")
                assert ". " not in sentence
                assert len(sentence) < 320
