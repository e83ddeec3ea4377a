"""Estimates: exact between what was measured, never less for more, and a refusal that names what fits."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hexcursion.cli.main import main
from hexcursion.errors import WorkflowError
from hexcursion.estimates import forecasts, model
from hexcursion.estimates.forecasts import asked_of, expected, planned, refusal, refuse_what_cannot_fit
from hexcursion.estimates.model import (
    FIRST,
    LAST,
    MEASURED,
    Asked,
    Estimate,
    at,
    memory_limit,
    reading_estimate,
    release_estimate,
    search_estimate,
    speed,
)
from hexcursion.project.load import load_project
from hexcursion.settings import settings_to_toml
from tests.town import Town

FLAT = [[100, 1.0], [1000, 1.0]]
STORED: dict[str, Any] = {
    "search": {FIRST: [[100, 2], [1000, 20]], "a": [[100, 10], [1000, 100]], "b": FLAT, LAST: FLAT},
    "full": {FIRST: 2.0, "a": 5.0, "b": 1.0, LAST: 1.0, "memory": 1.25},
    "reference": 0.5,
    "alone": 0.25,
    "memory": {"search": [[100, 300], [1000, 600]], "release": [[100, 300], [1000, 500]]},
    "release": [[100, 5.0], [1000, 50.0]],
    "dense": {"work": [[100, 1.0], [1000, 1000.0]], "held": [[100, 1.0], [1000, 100.0]]},
    "reading": {"start": 10.0, "each": 0.5, "memory": [[100, 300.0], [400, 600.0]]},
    "studies": {"line": [60.0, 400.0]},
}
QUICK = Asked(1000, 1000, 1, True, ("a", "b"))


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "measured", lambda: STORED)


def test_between_sizes_a_power_of_the_hexagons_and_beyond_them_the_last_one() -> None:
    table = [[100, 1.0], [1000, 31.6227766], [10_000, 1000.0]]
    found = [round(at(table, cells, (1.0, 2.0)), 3) for cells in (10, 100, 400, 10_000, 40_000)]
    assert found == [1.0, 1.0, 8.0, 1000.0, 8000.0]
    assert at(table, 40_000, (1.0, 1.0)) == pytest.approx(4000.0)
    assert at(table, 40_000, (2.0, 3.0)) == pytest.approx(16_000.0)
    assert at([[10, 5.0], [20, 4.0], [30, 6.0]], 20, (1.0, 2.0)) == pytest.approx(5.0)  # a dip is no law


@pytest.mark.usefixtures("stored")
def test_a_search_is_the_sum_of_its_parts() -> None:
    assert search_estimate(QUICK, 0.1) == Estimate(
        pytest.approx(0.1 * (20 + 100 + 1 + 1)), pytest.approx(600.0)
    )
    assert search_estimate(replace(QUICK, mechanisms=("b",)), 1.0).seconds == pytest.approx(22.0)
    assert search_estimate(replace(QUICK, mechanisms=("b", "new")), 1.0).seconds == pytest.approx(122.0)
    assert search_estimate(replace(QUICK, starts=2), 1.0).seconds == pytest.approx(244.0)
    assert search_estimate(replace(QUICK, fields=3), 1.0).seconds == pytest.approx(20 + 3 * 102)
    assert search_estimate(replace(QUICK, reference=True), 1.0).seconds == pytest.approx(61.0)
    assert search_estimate(replace(QUICK, alone=True), 1.0).seconds == pytest.approx(30.5)
    assert search_estimate(replace(QUICK, reference=True, alone=True), 1.0).seconds == pytest.approx(15.25)
    full = replace(QUICK, quick=False, fields=5)
    assert search_estimate(full, 1.0) == Estimate(pytest.approx(40 + 502), pytest.approx(750.0))
    assert search_estimate(replace(full, fields=1), 1.0).seconds == pytest.approx(40 + 502 / 5)


@pytest.mark.usefixtures("stored")
def test_dense_priors_and_many_records_come_on_top() -> None:
    dense = search_estimate(replace(QUICK, dense=2), 1.0)
    assert dense == Estimate(pytest.approx(122 + 2000), pytest.approx(800.0))
    larger = search_estimate(replace(QUICK, dense=1, cells=10_000), 1.0)
    assert larger.seconds == pytest.approx(200 + 1000 + 20 + 1e6, rel=0.01)
    assert larger.megabytes == pytest.approx(600 + 54.229 + 10_000)  # 56 bytes for (1e6 - 1e4.5)
    full = replace(QUICK, quick=False, fields=5)
    more = search_estimate(replace(full, dense=1), 1.0).seconds - search_estimate(full, 1.0).seconds
    assert more == pytest.approx(1000 * 5 * 5 / 3)
    cells = replace(full, fields=3, reference=True)  # three clip bounds read the same cells
    more = search_estimate(replace(cells, dense=1), 1.0).seconds - search_estimate(cells, 1.0).seconds
    assert more == pytest.approx(1000 * 5 / 3)
    assert search_estimate(replace(QUICK, records=1_100_000), 1.0).megabytes == pytest.approx(600 + 120)


@pytest.mark.usefixtures("stored")
def test_reading_and_releasing() -> None:
    assert reading_estimate(200.0, 0.1) == Estimate(pytest.approx(11.0), pytest.approx(424.264))
    assert reading_estimate(0.0, 0.1) == Estimate(pytest.approx(1.0), pytest.approx(300.0))
    assert release_estimate(1000, 0.2) == Estimate(pytest.approx(10.0), pytest.approx(500.0))
    assert Estimate(3.0, 7.0).then(Estimate(2.0, 5.0)) == Estimate(5.0, 7.0)


@pytest.mark.usefixtures("stored")
def test_what_cannot_fit_is_refused_with_what_does() -> None:
    assert refusal(QUICK, 600_000_001, 8) is None
    assert refusal(QUICK, 500_000_000, 8) == (
        "The search of 1,000 hexagons needs about 600 MB of memory, more than the 500 MB that a process can "
        "have here: choose resolution 7, with about 142 hexagons."
    )
    dense = replace(QUICK, cells=5_000, dense=1)
    assert refusal(dense, 2_500_000_000, 8, ("exponential",)) == (
        "The search of 5,000 hexagons needs about 3.1 GB of memory, more than the 2.5 GB that a process can "
        "have here: leave out the prior exponential, since the lattice prior car needs no dense matrix, or "
        "choose resolution 7, with about 714 hexagons."
    )
    assert refusal(QUICK, 1_000_000, 8) == (
        "The search of 1,000 hexagons needs about 600 MB of memory, more than the 1 MB that a process can "
        "have here: take fewer rows, or a machine with more memory."
    )


def test_what_was_measured_grows_with_hexagons_rows_and_fields() -> None:
    said = json.loads(MEASURED.read_text(encoding="utf-8"))
    sizes = (50, 300, 700, 1_000, 5_000, 20_000, 200_000)
    for quick in (True, False):
        names = [name for name in said["search"] if name not in (FIRST, LAST)]
        assert len(names) == 3
        found = [search_estimate(Asked(cells, 1000, 5, quick, names, 1), 0.1) for cells in sizes]
        assert [each.seconds for each in found] == sorted(each.seconds for each in found)
        assert [each.megabytes for each in found] == sorted(each.megabytes for each in found)
        one = Asked(1000, 1000, 1, quick, names)
        assert search_estimate(one, 0.1).seconds < search_estimate(replace(one, fields=2), 0.1).seconds
    assert 0.0 < release_estimate(300, 0.1).seconds < release_estimate(30_000, 0.1).seconds
    assert 0.0 < reading_estimate(10, 0.1).seconds < reading_estimate(1000, 0.1).seconds


def test_the_least_of_all_bounds_is_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, second = tmp_path / "memory.max", tmp_path / "absent"
    first.write_text("3000000000\n")
    monkeypatch.setattr(model, "CGROUP", (first, second))
    monkeypatch.setattr(model, "_physical", lambda: 8_000_000_000)
    monkeypatch.delenv("HEXCURSION_MEMORY_GB", raising=False)
    assert (memory_limit(), memory_limit(3)) == (3_000_000_000, 1_000_000_000)
    first.write_text("max\n")
    assert memory_limit() == 8_000_000_000
    monkeypatch.setenv("HEXCURSION_MEMORY_GB", "2.5")
    assert (memory_limit(), memory_limit(4)) == (2_500_000_000, 2_000_000_000)
    monkeypatch.setattr(model, "_physical", lambda: None)
    monkeypatch.delenv("HEXCURSION_MEMORY_GB")
    assert memory_limit() is None
    assert speed() > 0.0


def test_what_settings_ask_is_counted(town: Town) -> None:
    settings = town.settings()
    asked = planned(settings, 2_000, 50)
    assert (asked.cells, asked.records, asked.dense, asked.starts) == (2_000, 50, 0, 1)
    assert (asked.reference, asked.alone) == (True, False)
    assert planned(settings, 2_000, 50, alone=True).alone is True
    assert planned(settings.with_changes(reference=None), 2_000, 50).reference is False
    assert planned(settings.with_changes(priors=("car", "exponential")), 2_000, 50).dense == 1
    assert planned(settings.with_changes(priors=("car", "exponential")), 500, 50).dense == 1
    assert [planned(settings, cells, 50).dense for cells in (600, 601)] == [1, 0]  # tried unasked
    assert planned(settings.with_changes(priors=("car", "exponential")), 20_000, 50).dense == 0  # never made
    plain = settings.with_changes(reference=None, centre=0.0, clip=1.0, quick=False)
    assert (planned(plain, 100, 50).fields, planned(plain, 100, 50).fixed) == (9, False)
    assert planned(plain.with_changes(quick=True), 100, 50).fields == 3
    assert planned(plain.with_changes(focus="threshold"), 100, 50).fields == 54
    spectral = plain.with_changes(mechanisms=("spectral-statistics",))
    assert (planned(spectral, 100, 50).fields, planned(spectral, 100, 50).fixed) == (18, True)
    assert planned(spectral.with_changes(pilot=0.3), 100, 50).fixed is False
    both = settings.with_changes(mechanisms=("spectral-statistics", "noisy-cell-statistics"))
    answers = planned(
        both.with_changes(values="yes-no", prior_mean=None, yes_above=300_000.0, threshold=20.0), 100, 50
    )
    assert (answers.fields, answers.mechanisms) == (1, ("spectral-statistics",))
    assert (planned(both, 100, 50).fields, len(planned(both, 100, 50).mechanisms)) == (2, 2)


def test_counted_records_take_longer_and_ever_more_so() -> None:
    fixed = replace(QUICK, fixed=True, fields=9)
    longer = [
        search_estimate(replace(fixed, cells=cells, counted=True), 1.0).seconds
        / search_estimate(replace(fixed, cells=cells), 1.0).seconds
        for cells in (246, 1_721)
    ]
    assert longer == pytest.approx([10.0, 21.8], rel=0.01)


def test_two_looks_take_longer_and_never_less_than_one(town: Town) -> None:
    fixed = replace(QUICK, fixed=True, fields=9)
    longer = [
        search_estimate(replace(fixed, cells=cells, looks=2), 1.0).seconds
        / search_estimate(replace(fixed, cells=cells), 1.0).seconds
        for cells in (618, 71, 20)
    ]
    assert longer == pytest.approx([29.0, 3.33, 1.0], rel=0.01)
    settings = town.settings(
        reference=None, mechanisms=("spectral-statistics",), centre=0.0, clip=1.0, looks=2
    )
    assert planned(settings, 100, 50).looks == 2


def test_a_search_that_cannot_fit_is_refused_before_it_begins(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = load_project(town.settings())
    refuse_what_cannot_fit(project)
    monkeypatch.setenv("HEXCURSION_MEMORY_GB", "0.01")
    with pytest.raises(WorkflowError, match=r"needs about .* of memory, more than the 10 MB that a process"):
        refuse_what_cannot_fit(project)
    assert asked_of(project).cells == project.domain.size


def test_words() -> None:
    assert expected(Estimate(44.0, 512.3)) == "about 40 s and 510 MB of memory"
    assert expected(Estimate(600.0, 1234.0), 2) == "about 5 min and 1.2 GB of memory in each of 2 processes"


@pytest.mark.usefixtures("stored")
def test_a_long_search_is_announced_with_quicker_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [[100, 1.0], [1000, 1.0]]
    monkeypatch.setitem(STORED["search"], "spectral-statistics", table)
    monkeypatch.setattr(forecasts, "pace", lambda: 1.0)
    names = ("a", "b", "spectral-statistics")
    full = Asked(1000, 1000, 5, False, names)
    took = "750 MB of memory for the search, 50 s for the release."
    assert forecasts.expected_of_search(full) == f"Expected now: about 9 min and {took}"
    monkeypatch.setattr(forecasts, "pace", lambda: 4.0)
    said = forecasts.expected_of_search(full)
    assert said.startswith("Expected now: about 36 min and 750 MB of memory")
    assert said.endswith(
        " Quicker: a quick search about 8 min, a search of spectral statistics alone about 3 min."
    )
    assert "Quicker" not in forecasts.expected_of_search(full, 2)
    other = forecasts.expected_of_search(replace(full, mechanisms=("a", "b")))
    assert other.endswith(" Quicker: a quick search about 8 min.")
    assert "Quicker" not in forecasts.expected_of_search(
        replace(full, mechanisms=("b",), starts=80, quick=True)
    )
    fixed = forecasts.expected_of_search(replace(full, fields=9, fixed=True))
    assert " of memory for the simulated releases, " in fixed
    assert "Quicker" not in fixed


def test_a_large_file_is_announced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, town: Town) -> None:
    source = town.settings().data
    assert forecasts.expected_reading(source) is None
    monkeypatch.setattr(model, "measured", lambda: STORED)
    monkeypatch.setattr(forecasts, "pace", lambda: 1.0)
    assert forecasts.expected_reading(source) == (
        "Expected now: about 10 s and 300 MB of memory for reading the data."
    )
    packed = tmp_path / "many.zip"
    packed.write_bytes(b"0" * 40_000_000)
    assert forecasts.expected_reading(replace(source, path=str(packed))) == (
        "Expected now: about 2 min and 420 MB of memory for reading the data."
    )


def test_a_file_that_will_be_kept_is_announced_with_what_follows_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, town: Town
) -> None:
    monkeypatch.setattr(model, "measured", lambda: STORED)
    monkeypatch.setattr(forecasts, "pace", lambda: 1.0)
    monkeypatch.delenv("HEXCURSION_READ_BEFORE", raising=False)
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(100_000_000)
    source = replace(town.settings().data, path=str(large), postcodes=None)
    assert forecasts.expected_reading(source, source) == (
        "Expected now: about 2 min and 300 MB of memory for reading the data for the "
        "first time; a second look is quicker."
    )


def test_a_release_and_a_study_are_announced(monkeypatch: pytest.MonkeyPatch, town: Town) -> None:
    monkeypatch.setattr(forecasts, "pace", lambda: 1.0)
    monkeypatch.setattr(model, "measured", lambda: STORED | {"release": [[1, 9.9], [1000, 9.9]]})
    project = load_project(town.settings())
    assert forecasts.expected_release(project) is None
    monkeypatch.setattr(model, "measured", lambda: STORED | {"release": [[1, 10.0], [1000, 10.0]]})
    assert forecasts.expected_release(project) == "The release takes about 10 s now."
    assert forecasts.expected_study("line") == "Expected now: about 60 s and 400 MB of memory."
    assert forecasts.expected_study("another") is None


def test_the_command_line_announces_a_release_of_a_given_design(
    town: Town, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(forecasts, "pace", lambda: 1000.0)
    settings = tmp_path / "settings.toml"
    settings.write_text(settings_to_toml(town.settings(lengthscale=2000.0, ridge=10.0)))
    out = str(tmp_path / "out")
    assert main(["release", "--config", str(settings), "--trust-settings", "--out", out, "--dry-run"]) == 0
    said = capsys.readouterr().err
    assert "The release takes about" in said
    assert "for the search" not in said


def test_the_command_line_says_it_and_refuses(
    town: Town, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings = tmp_path / "settings.toml"
    monkeypatch.setenv("HEXCURSION_MEMORY_GB", "0.01")
    settings.write_text(settings_to_toml(town.settings()))
    out = str(tmp_path / "out")
    assert main(["release", "--config", str(settings), "--trust-settings", "--out", out, "--dry-run"]) != 0
    assert "more than the 10 MB that a process can have here" in capsys.readouterr().err


@pytest.mark.parametrize(("load", "cores", "times"), [(0.0, 4, 1.0), (7.0, 2, 4.0), (1.0, 4, 1.0)])
def test_a_crowded_machine_takes_longer(
    monkeypatch: pytest.MonkeyPatch, load: float, cores: int, times: float
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert model.crowding() == times
    monkeypatch.setattr(forecasts, "own_speed", lambda: 0.5)
    assert forecasts.pace() == 0.5 * times
