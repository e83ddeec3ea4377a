"""Kills between draw and commit: what is in place is committed, what is not committed is gone."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from hexcursion.bundle import write
from hexcursion.bundle.write import recover
from hexcursion.ledger import Ledger, LedgerError, Reservation
from hexcursion.ledger.errors import Unreleased
from hexcursion.record import Release
from hexcursion.releasing import once as transaction
from hexcursion.releasing.once import Order, release_once, working_beside
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain
from tests.hexcursion.ledger.places import Place, charge_for
from tests.hexcursion.ledger.storage.test_ledger_crash import killed, start
from tests.patience import LONG

DELTA, MU = 1e-5, 0.01
SAMPLE = make_release(small_domain(), paths=1)
CONTENTS = write.bundle_contents(SAMPLE)


@dataclass(frozen=True)
class Shelf:
    """A ledger, and the folder in which its bundles are put."""

    place: Place
    folder: Path
    dataset: str

    def release(self, name: str, drawn: Callable[[], None] = lambda: None) -> None:
        """One release as the program makes it; the draw itself is instant."""
        ledger = self.place.open()
        target = self.folder / name

        def draw(reservation: Reservation) -> Release:
            drawn()
            return replace(SAMPLE, release_id=name, ledger_entry=reservation.seal)

        with working_beside(target, ledger) as work:
            release_once(ledger, Order(charge_for(self.dataset, MU), "", name, target), draw, work.folder)

    def start_again(self) -> Ledger:
        """What a start does, and what must hold after it, whenever the program was killed."""
        ledger = self.place.open()
        recovered = recover(self.folder, ledger.identity, ledger.committed)
        assert recovered.waiting == ()
        assert ledger.verify() == []
        committed = set(ledger.committed())
        folders = {path.name for path in self.folder.iterdir() if path.is_dir()}
        zips = {path.stem for path in self.folder.glob("*.zip")}
        assert folders == zips == committed, (
            "in place are the committed releases, all of them, and nothing else"
        )
        return ledger


@pytest.fixture
def shelf(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    # The sample's files are the same but for its name and its seal: made once, they are written often.
    def contents(release: Release, public: object = None, *, rehearsed: bool = False) -> dict[str, bytes]:
        statement = (
            CONTENTS["statement.json"].decode().replace('"entry": "17"', f'"entry": "{release.ledger_entry}"')
        )
        return {**CONTENTS, "statement.json": statement.encode(), "SHA256SUMS": release.release_id.encode()}

    monkeypatch.setattr(write, "bundle_contents", contents)
    ledger = place.open()
    dataset = ledger.fingerprint([1.0, 2.0])
    ledger.set_budget(dataset, "point", 1e6, DELTA)
    folder = tmp_path / "releases"
    folder.mkdir()
    return Shelf(place, folder, dataset)


# What a process does to the world between draw and return: each call is a moment before and a moment after.
ACTS = (
    (os, "fsync"),
    (os, "link"),
    (os, "rename"),
    (Path, "rename"),
    (Path, "mkdir"),
    (Connection, "commit"),
)


def at_each_moment(tick: Callable[[], None]) -> None:
    """Call `tick` before and after each act from now on; in a child only, which ends with this."""
    for owner, name in ACTS:
        original = getattr(owner, name)

        def act(*args: object, original: Callable[..., object] = original, **given: object) -> object:
            tick()
            result = original(*args, **given)
            tick()
            return result

        setattr(owner, name, act)


def die_at(moment: int) -> Callable[[], None]:
    """Called when drawing begins: from then on the moments are counted, and this one is the last."""

    def arm() -> None:
        passed = [0]

        def tick() -> None:
            passed[0] += 1
            if passed[0] == moment:
                os.kill(os.getpid(), signal.SIGKILL)

        at_each_moment(tick)

    return arm


def moments(shelf: Shelf, note: Path) -> int:
    """How many moments a whole release has after its draw began."""

    def whole() -> None:
        passed = [0]

        def tick() -> None:
            passed[0] += 1

        shelf.release("whole", lambda: at_each_moment(tick))
        note.write_text(str(passed[0]))

    assert not killed(whole)
    return int(note.read_text())


@pytest.mark.timeout(1800)  # a hundred kills, each followed by a whole verification
def test_killed_between_draw_and_commit(shelf: Shelf, tmp_path: Path) -> None:
    """The finding: 6 of 139 kills left a valid bundle on an open charge, which could then be voided."""
    kills = 30 if LONG else 10
    last = moments(shelf, tmp_path / "count")
    assert last > 30
    choose = random.Random(139)
    chosen = [choose.randint(1, last) for _ in range(kills - 8)] + [last - back for back in range(8)]
    outcomes = {"committed": 0, "open": 0}
    for number, moment in enumerate(chosen):
        name = f"release{number}"
        assert killed(lambda name=name, moment=moment: shelf.release(name, die_at(moment)))
        ledger = shelf.start_again()
        account = ledger.account(shelf.dataset, "point")
        if name in ledger.committed():
            outcomes["committed"] += 1
            with pytest.raises(LedgerError, match=r"is committed|has a bundle"):
                ledger.void(account.charged[-1], "nobody has seen it", "Ada")
        else:
            outcomes["open"] += 1
            assert account.open[-1] == account.charged[-1], "the charge stands"
    assert min(outcomes.values()) > 0, "some kills fell before the commit, some after it"
    shelf.release("at last")
    assert "at last" in shelf.start_again().committed()


def test_nobody_meets_a_bundle_before_its_commit(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    commit = Ledger.commit

    def watched(ledger: Ledger, number: int, name: str, digest: str) -> None:
        seen.append((shelf.folder / name).exists() or (shelf.folder / f"{name}.zip").exists())
        commit(ledger, number, name, digest)

    monkeypatch.setattr(Ledger, "commit", watched)
    shelf.release("one")
    assert seen == [False]
    assert (shelf.folder / "one" / "statement.json").exists()


def test_a_commit_that_is_refused_leaves_nothing_and_says_what_stands(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(Ledger, "commit", refuse)
    with pytest.raises(Unreleased) as broken:
        shelf.release("one")
    assert broken.value.entry == 2
    assert str(broken.value) == (
        "The release broke off after it was charged (disk I/O error). Entry 2 stays in the ledger and its "
        "epsilon stays spent; no bundle was published. `python -m hexcursion ledger void 2` would give the "
        "epsilon back: that is right only if the draw cannot have been seen by anyone, and the person "
        "who does it answers for it by name."
    )
    assert list(shelf.folder.iterdir()) == []


def test_a_charge_voided_meanwhile_is_not_said_to_stand(shelf: Shelf) -> None:
    def void() -> None:
        shelf.place.open().void(2, "a mistake", "Ada")

    with pytest.raises(Unreleased, match="Entry 2 was given back meanwhile; no bundle was published"):
        shelf.release("one", void)
    assert list(shelf.folder.iterdir()) == []


def test_an_error_after_the_database_has_committed_is_none(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Ledger.commit

    def late(ledger: Ledger, number: int, name: str, digest: str) -> None:
        commit(ledger, number, name, digest)
        raise OSError("the connection was lost on the way back")

    monkeypatch.setattr(Ledger, "commit", late)
    shelf.release("one")
    assert "one" in shelf.start_again().committed()


def test_a_place_that_is_taken_meanwhile_is_named_and_filled_once_it_is_free(shelf: Shelf) -> None:
    taken = shelf.folder / "one.zip"
    with pytest.raises(Unreleased, match=r"was committed as entry 2, but .*waits in"):
        shelf.release("one", lambda: taken.write_text("somebody else's"))
    ledger = shelf.place.open()
    assert recover(shelf.folder, ledger.identity, ledger.committed).waiting == ("one",)
    assert taken.read_text() == "somebody else's"
    taken.unlink()
    assert recover(shelf.folder, ledger.identity, ledger.committed).placed == ("one",)
    shelf.start_again()


@pytest.mark.parametrize("at", ["commit", "place"])
def test_an_interrupt_after_the_commit_says_that_the_bundle_comes(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    commit = Ledger.commit

    def stop(holder: Any, *given: Any) -> None:
        if at == "commit":
            commit(holder, *given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Ledger if at == "commit" else write.Staged, at, stop)
        with pytest.raises(KeyboardInterrupt) as stopped:
            shelf.release("one")
    (note,) = stopped.value.__notes__
    assert note.endswith("but entry 2 was committed: the next start puts its bundle in place.")
    assert not (shelf.folder / "one").exists()
    ledger = shelf.place.open()
    assert recover(shelf.folder, ledger.identity, ledger.committed).placed == ("one",)
    assert "one" in shelf.start_again().committed()


def test_an_interrupt_after_the_bundle_is_in_place_says_that_it_stands(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = write.Staged.place

    def late(staged: write.Staged) -> None:
        place(staged)
        raise KeyboardInterrupt

    monkeypatch.setattr(write.Staged, "place", late)
    with pytest.raises(KeyboardInterrupt) as stopped:
        shelf.release("one")
    place = shelf.folder / "one"
    assert stopped.value.__notes__ == [f"The release one is charged; its bundle is in {place}."]
    assert (shelf.folder / "one").is_dir()


def test_an_interrupt_stays_an_interrupt_and_is_noted(shelf: Shelf) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        shelf.release("one", stop)
    assert any("Entry 2 stays in the ledger" in note for note in stopped.value.__notes__)
    assert list(shelf.folder.iterdir()) == []


def test_a_living_process_keeps_its_work_folder(shelf: Shelf, tmp_path: Path) -> None:
    drawing, go_on = os.pipe(), os.pipe()

    def hold() -> None:
        os.write(drawing[1], b"1")
        os.read(go_on[0], 1)

    child = start(lambda: shelf.release("held", hold))
    os.read(drawing[0], 1)
    try:
        ledger = shelf.place.open()
        assert recover(shelf.folder, ledger.identity, ledger.committed).deleted == 0
        (work,) = shelf.folder.iterdir()
        assert work.name.startswith(".held.work-")
    finally:
        os.write(go_on[1], b"1")
        status = os.waitpid(child, 0)[1]
    assert status == 0
    assert "held" in shelf.start_again().committed()
    for end in (*drawing, *go_on):
        os.close(end)


def test_what_waits_for_another_ledger_is_left_alone(
    shelf: Shelf, make_place: Callable[[str], Place]
) -> None:
    assert killed(lambda: shelf.release("one", die_at_commit))
    (work,) = shelf.folder.iterdir()
    stranger = make_place("sqlite").open()
    assert recover(shelf.folder, stranger.identity, stranger.committed).deleted == 0
    assert work.exists()
    (shelf.folder / ".not-a-work-folder").mkdir()
    (shelf.folder / ".empty.work-abcdefgh").mkdir()
    ledger = shelf.place.open()
    assert recover(shelf.folder, ledger.identity, ledger.committed).deleted == 2
    assert [path.name for path in shelf.folder.iterdir()] == [".not-a-work-folder"]


def die_at_commit() -> None:
    def fatal(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    Ledger.commit = fatal  # type: ignore[assignment, method-assign]


def test_a_note_that_names_a_path_is_no_note(shelf: Shelf) -> None:
    work = shelf.folder / ".evil.work-abcdefgh"
    for text in (
        '{"release_id": "x", "name": "../up", "digest": "d", "ledger": "l"}',
        "[]",
        "not JSON",
        "{}",
    ):
        work.mkdir()
        (work / "pending.json").write_text(text)
        ledger = shelf.place.open()
        assert recover(shelf.folder, ledger.identity, ledger.committed).deleted == 1
    assert transaction.read_note(work) is None
