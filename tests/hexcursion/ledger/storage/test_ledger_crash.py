"""Crashes: a process killed at any moment leaves nothing, or an entry that is fully charged."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
import sqlalchemy
from sqlalchemy import Connection

from hexcursion.ledger import Ledger, Reservation, chain, opening, places, store
from tests.hexcursion.ledger.places import Place, charge_for
from tests.patience import LONG

MU = 0.01
DELTA = 1e-5


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def start(work: Callable[[], None]) -> int:
    """Run `work` in a forked child; returns its process id. The child never comes back into the test."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return child


def killed(work: Callable[[], None]) -> bool:
    """Run `work` in a child to its end; whether it died by SIGKILL. A child that fails is an error."""
    _, status = os.waitpid(start(work), 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed by itself"
    return os.WIFSIGNALED(status)


@dataclass(frozen=True)
class Desk:
    """A ledger with a budget that lasts, and a folder for its bundles."""

    place: Place
    folder: Path
    dataset: str

    def one_release(self, pause: Callable[[str], None] = lambda step: None) -> None:
        """Reserve, draw, store, commit, publish; `pause` is called after every step."""
        ledger = self.place.open()
        with ledger.charged(charge_for(self.dataset, MU)) as reservation:
            pause("reserved")
            reservation.begin_draw()
            pause("drawn")
            stored, digest = self.store(reservation)
            pause("stored")
            reservation.commit(f"release-{reservation.number}", digest)
            pause("committed")
            stored.rename(self.folder / f"published-{reservation.number}.json")
            pause("published")

    def store(self, reservation: Reservation) -> tuple[Path, str]:
        text = json.dumps({"seal": reservation.seal, "path": [0.1, 0.2]}).encode()
        stored = self.folder / f"stored-{reservation.number}.json"
        draft = self.folder.with_name(stored.name)  # a file that is half written is no bundle
        draft.write_bytes(text)
        draft.rename(stored)
        return stored, hashlib.sha256(text).hexdigest()

    def check(self) -> Ledger:
        """What must hold after a restart: the chain verifies, and every bundle has its charge."""
        ledger = self.place.open()
        bundles = list(self.folder.iterdir())
        seals = [json.loads(path.read_bytes())["seal"] for path in bundles]
        assert ledger.verify(seals) == []
        charged = ledger.account(self.dataset, "point").charged
        for path, seal in zip(bundles, seals, strict=True):
            number = int(seal.split(":")[0])
            assert number in charged, f"{path.name} left the ledger without a charge"
            if path.name.startswith("published"):
                entry = ledger.charge_of(f"release-{number}")
                assert entry is not None
                assert entry.number == number
        return ledger


@pytest.fixture
def desk(place: Place, tmp_path: Path) -> Desk:
    ledger = place.open()
    dataset = ledger.fingerprint([1.0, 2.0])
    ledger.set_budget(dataset, "point", 1e6, DELTA)
    folder = tmp_path / "bundles"
    folder.mkdir()
    return Desk(place, folder, dataset)


def test_killed_at_random_moments_of_a_release_loop(desk: Desk) -> None:
    kills = 20 if LONG else 5

    def loop() -> None:
        while True:
            desk.one_release()

    moments = random.Random(50)
    for _ in range(kills):
        known = len(desk.place.open().entries())
        child = start(loop)
        while len(desk.place.open().entries()) == known:
            time.sleep(0.005)  # the loop is under way
        time.sleep(moments.uniform(0, 0.15))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the loop ended by itself"
        ledger = desk.check()
        account = ledger.account(desk.dataset, "point")
        reserves = [entry.number for entry in ledger.entries() if entry.kind == "reserve"]
        assert list(account.charged) == reserves, "whatever was reserved is charged"
        assert len(account.open) <= kills
    desk.one_release()
    assert desk.check().account(desk.dataset, "point").spent < 1e6


@pytest.mark.parametrize("step", ["reserved", "drawn", "stored", "committed", "published"])
def test_killed_after_a_step(desk: Desk, step: str) -> None:
    def stop(reached: str) -> None:
        if reached == step:
            die()

    assert killed(lambda: desk.one_release(stop))
    account = desk.check().account(desk.dataset, "point")
    assert len(account.charged) == 1
    assert bool(account.open) is (step in ("reserved", "drawn", "stored"))


def die_when_called(owner: object, name: str, after: bool = False) -> Callable[[int], None]:
    """A fault: the n-th call of `owner.name` kills the process, before it works or after."""

    def arm(which: int) -> None:
        original = getattr(owner, name)
        calls = [0]

        def fatal(*args: object, **kwargs: object) -> object:
            calls[0] += 1
            if calls[0] == which and not after:
                die()
            result = original(*args, **kwargs)
            if calls[0] == which:
                die()
            return result

        setattr(owner, name, fatal)  # in the child only

    return arm


# Inside each of the three transactions of a release; True where the entry stands afterwards.
FAULTS = {
    "the row is not yet written": (die_when_called(chain, "sign_head"), False),
    "the row is written, the head is not": (die_when_called(sqlalchemy, "update"), False),
    "both are written and not committed": (die_when_called(Connection, "commit"), False),
    "committed": (die_when_called(Connection, "commit", after=True), True),
    "the witness is not yet written": (die_when_called(chain, "advance_witness"), True),
    "the witness is drafted": (die_when_called(Path, "replace"), True),
    "the witness is in place": (die_when_called(chain, "sync_folder"), True),
}
STEPS = ["reserve", "draw", "commit"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("step", STEPS)
def test_killed_inside_a_transaction(desk: Desk, step: str, fault: str) -> None:
    arm, stands = FAULTS[fault]

    def work() -> None:
        arm(1 + STEPS.index(step))
        desk.one_release()

    assert killed(work)
    ledger = desk.check()
    account = ledger.account(desk.dataset, "point")
    written = [entry.kind for entry in ledger.entries()[2:]]
    assert written == STEPS[: STEPS.index(step) + stands]
    assert len(account.charged) == bool(written)
    assert bool(account.open) is (0 < len(written) < 3)
    desk.one_release()  # nothing is stuck
    assert len(desk.check().account(desk.dataset, "point").charged) == bool(written) + 1


@pytest.mark.parametrize(
    "arm",
    [
        die_when_called(places, "read_key"),
        die_when_called(opening, "_genesis"),
        die_when_called(store.METADATA, "create_all", after=True),
        die_when_called(Connection, "commit"),
        die_when_called(Connection, "commit", after=True),
        die_when_called(chain, "advance_witness"),
    ],
    ids=["key made", "tables locked", "tables made", "not committed", "committed", "no witness yet"],
)
def test_killed_while_a_ledger_is_begun(place: Place, arm: Callable[[int], None]) -> None:
    def work() -> None:
        arm(1)
        place.open()

    assert killed(work)
    ledger = place.open()
    assert ledger.verify() == []
    assert [entry.kind for entry in ledger.entries()] == ["genesis"]
    assert place.witness.exists()
