"""Exit statuses and the one JSON line: what a schedule reads."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from data_loaders import DataError
from dpgp_core.accounting.gaussian import gaussian_epsilon, gaussian_mu
from hexcursion.cli.outcome import line_of, status_of
from hexcursion.errors import Cancelled, WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.ledger.errors import LedgerBusy, NoBudget, Unreleased
from hexcursion.releasing.release_guard import LowAgreement
from tests.town import Town

ROOT = Path(__file__).resolve().parents[3]


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


@pytest.mark.slow
def test_the_shipped_schedule_with_a_full_and_an_empty_budget(town: Town, tmp_path: Path) -> None:
    """The command of the unit, with /etc, /var/lib and /opt moved into a temporary folder."""
    places = {"/etc/hexcursion": tmp_path / "etc", "/var/lib/hexcursion": tmp_path / "var"}
    for place in (*places.values(), tmp_path / "var" / "data", tmp_path / "opt"):
        place.mkdir()
    (tmp_path / "opt" / ".venv").symlink_to(sys.prefix)
    (tmp_path / "var" / "data" / "readings.csv").write_bytes(town.private.read_bytes())

    def moved(text: str) -> str:
        for old, new in places.items():
            text = text.replace(old, str(new))
        return text

    choices = tmp_path / "etc" / "monthly.toml"
    # Many rows of the town lie at the rim of the box.
    shipped = (ROOT / "deploy" / "monthly.example.toml").read_text()
    choices.write_text("accept_dropped = true\n" + moved(shipped))
    unit = (ROOT / "deploy" / "hexcursion-release.service").read_text().replace("\\\n", " ")
    (command,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    words = shlex.split(moved(command.replace("%%", "%")))
    ledger = tmp_path / "var" / "ledger.sqlite"
    environment = {**os.environ, "HEXCURSION_HOME": str(tmp_path / "var"), "PYTHONPATH": str(ROOT)}
    environment["HEXCURSION_WITNESS"] = str(tmp_path / "witness")

    def started() -> tuple[int, dict[str, Any], int]:
        ended = subprocess.run(
            words, cwd=tmp_path / "opt", env=environment, capture_output=True, text=True, check=False
        )
        assert ended.stderr == ""  # sentences for the curators are in monthly.log
        (line,) = ended.stdout.splitlines()
        kinds = [entry.kind for entry in open_ledger(ledger, create=False).entries()]
        return ended.returncode, json.loads(line), kinds.count("reserve")

    status, told, charged = started()
    assert (status, told["status"], told["outcome"], charged) == (0, 0, "released", 1)
    assert told["epsilon"] == pytest.approx(0.9957, abs=2e-4)  # a twelfth of mu^2 of epsilon 4
    status, told, charged = started()  # again in the same month: the folder is there
    assert (status, told, charged) == (2, {"status": 2, "outcome": "refused"}, 1)
    released = tmp_path / "var" / "monthly"
    assert len(list(released.glob("????-??.zip"))) == 1
    released.rename(tmp_path / "kept")
    rest = math.sqrt(gaussian_mu(4.0, 1e-5) ** 2 - gaussian_mu(0.9957, 1e-5) ** 2)
    most = f"epsilon = {gaussian_epsilon(rest, 1e-5) - 2e-3}\n[data]"
    choices.write_text(choices.read_text().replace("[data]", most))
    assert started()[0] == 0  # the rest of the year's budget at once
    released.rename(tmp_path / "rest")
    choices.write_text(re.sub("epsilon = .*", "", choices.read_text()))
    status, told, charged = started()
    assert (status, told, charged) == (3, {"status": 3, "outcome": "budget spent"}, 2)
    assert not released.exists()
    assert "does not fit" in (tmp_path / "var" / "monthly.log").read_text()
