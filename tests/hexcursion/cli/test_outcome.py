"""Exit statuses and the one JSON line: what a schedule reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from data_loaders import DataError
from hexcursion.cli.main import main
from hexcursion.cli.outcome import line_of, status_of
from hexcursion.errors import Cancelled, WorkflowError
from hexcursion.ledger.errors import LedgerBusy, NoBudget, Unreleased
from hexcursion.releasing.release_guard import LowAgreement
from tests.town import BOX, Town


def noted(error: BaseException) -> BaseException:
    error.add_note("Entry 3 stands.")
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (WorkflowError("x"), 2), (DataError("x"), 2), (NoBudget("x"), 3), (LowAgreement("x"), 4),
        (LedgerBusy("x"), 5), (Unreleased(3, "x"), 6), (noted(KeyboardInterrupt()), 6),
        (KeyboardInterrupt(), 7), (Cancelled("x"), 7),
    ],
)  # fmt: skip
def test_every_kind_of_end_has_its_status(error: BaseException, status: int) -> None:
    assert status_of(error) == status
    assert json.loads(line_of(error))["status"] == status


def test_the_line_of_an_error_quotes_no_data() -> None:
    line = line_of(DataError("37 rows of 'salary' are below 0."))
    assert json.loads(line) == {"status": 2, "outcome": "refused"}


def test_a_schedule_that_runs_twice_finds_the_budget_spent(
    town: Town, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = [
        *("release", "--data", str(town.private), "--value", "no2", "--lon", "lon", "--lat", "lat"),
        *("--bbox", *map(str, BOX), "--resolution", "7", "--threshold", "30", "--value-unit", "ug/m3"),
        *("--centre", "28", "--clip", "15", "--mechanisms", "posterior-sampling", "--priors", "car"),
        *("--lengthscale", "3000", "--ridge", "20", "--epsilon", "2", "--json"),
        *("--ledger", str(tmp_path / "ledger.sqlite")),
    ]
    for name, status, outcome in (("first", 0, "released"), ("second", 3, "budget spent")):
        capfd.readouterr()
        assert main([*given, "--out", str(tmp_path / name)]) == status
        said = capfd.readouterr()
        (line,) = said.out.splitlines()
        told = json.loads(line)
        assert (told["status"], told["outcome"]) == (status, outcome)
        assert (tmp_path / name).exists() == (status == 0)
    assert told.keys() == {"status", "outcome"}
    assert "does not fit the point budget" in said.err
