"""The chaos runs in short: a killed release loses nothing, and the counting notices what was spoilt."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hexcursion.door.pipeline import Planned
from studies.material.home import home
from studies.scale.chaos import child, counted, signalled

CLEAN = {"lost": 0, "doubled": 0, "half written": 0, "left over": 0}


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("HEXCURSION_HOME", "HEXCURSION_WITNESS"):
        monkeypatch.setenv(name, "set by the study, put back by the test")
    with home() as place:
        yield str(place / "ledger.sqlite")


def _released(plan: Planned, folder: Path) -> None:
    child(plan, folder).join()


def lose(plan: Planned, folder: Path, seconds: float, chance: np.random.Generator) -> None:
    _released(plan, folder)
    shutil.rmtree(folder)


def halve(plan: Planned, folder: Path, seconds: float, chance: np.random.Generator) -> None:
    _released(plan, folder)
    statement = folder / "statement.json"
    statement.write_bytes(statement.read_bytes()[:-200])


def test_a_killed_release_is_whole_or_not_there(address: str) -> None:
    count = counted(address, signalled(signal.SIGKILL), 3, 2.0, 1)
    assert {name: count[name] for name in CLEAN} == CLEAN
    assert count["broke off"] + count["released"] == 3


def test_the_count_notices_a_lost_and_a_halved_bundle(address: str) -> None:
    count = counted(address, lose, 1, 1.0, 1) + counted(address, halve, 1, 1.0, 1)
    assert (count["released"], count["lost"], count["half written"], count["doubled"]) == (2, 1, 1, 0)
