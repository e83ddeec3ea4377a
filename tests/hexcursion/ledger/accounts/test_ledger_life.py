"""The life of a charge: what may follow what, and what stays charged."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hexcursion.ledger import (
    Budget,
    BudgetExceeded,
    Ledger,
    LedgerBusy,
    LedgerError,
    NoBudget,
    NoLedger,
    open_ledger,
    store,
)
from hexcursion.ledger.account import encode, written_cost
from hexcursion.ledger.entry import Draft
from hexcursion.ledger.places import ledger_url
from tests.hexcursion.ledger.places import DIGEST, Place, charge_for, release

EPSILON, DELTA = 1.0, 1e-5


@pytest.fixture
def funded(ledger: Ledger, dataset: str) -> Ledger:
    ledger.set_budget(dataset, "point", EPSILON, DELTA)
    return ledger


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()]


def test_a_whole_release_is_three_entries_and_stays_charged(
    funded: Ledger, dataset: str, place: Place
) -> None:
    charge = charge_for(dataset, n=5, design={"prior": "car"})
    asked = charge.cost.curve.epsilon(DELTA).epsilon
    with funded.charged(charge) as reservation:
        assert reservation.preview.before == 0.0
        assert reservation.preview.after == reservation.preview.asked == pytest.approx(asked, rel=1e-12)
        assert reservation.preview.left == pytest.approx(EPSILON - asked)
        reservation.begin_draw()
        reservation.commit("first", DIGEST)
    assert kinds(funded) == ["genesis", "budget", "reserve", "draw", "commit"]
    account = place.open().account(dataset, "point")  # another process sees the same
    assert (account.charged, account.open) == ((2,), ())
    assert account.spent == pytest.approx(asked, rel=1e-12)
    assert account.left == EPSILON - account.spent
    stored = funded.charge_of("first")
    assert stored is not None
    assert stored.facts["facts"] == {"n": 5, "design": {"prior": "car"}}
    assert funded.charge_of("never") is None
    assert funded.verify([reservation.seal]) == []


def test_nothing_is_spent_without_a_budget(ledger: Ledger, dataset: str) -> None:
    charge = charge_for(dataset)
    with pytest.raises(NoBudget, match="set one before the first release"):
        ledger.reserve(charge)
    with pytest.raises(NoBudget):
        ledger.preview(charge)
    preview = ledger.preview(charge, delta=DELTA)
    assert (preview.fits, preview.left, preview.before) == (False, None, 0.0)
    assert preview.after == preview.asked > 0
    assert kinds(ledger) == ["genesis"]


def test_a_refusal_says_spent_asked_and_left_and_writes_nothing(funded: Ledger, dataset: str) -> None:
    release(funded, charge_for(dataset, 0.2), "first")
    rows = funded.entries()
    assert not funded.preview(charge_for(dataset, 0.2)).fits
    with pytest.raises(BudgetExceeded) as refused:
        funded.reserve(charge_for(dataset, 0.2))
    error, account = refused.value, funded.account(dataset, "point")
    assert (error.spent, error.left, error.budget) == (account.spent, account.left, EPSILON)
    assert error.asked == account.spent
    assert EPSILON < error.after < 2 * error.asked
    assert "\n" not in str(error)
    assert "spent 0.7944, asked 0.7944, left 0.2056, and" in str(error)
    assert funded.entries() == rows


def test_an_exception_after_the_reserve_gives_nothing_back(funded: Ledger, dataset: str) -> None:
    def fail(draws: bool) -> None:
        with funded.charged(charge_for(dataset)) as reservation:
            if draws:
                reservation.begin_draw()
            raise ZeroDivisionError

    for draws in (False, True):
        with pytest.raises(ZeroDivisionError):
            fail(draws)
    account = funded.account(dataset, "point")
    assert account.charged == account.open == (2, 3)
    assert account.spent > 0


def test_a_charge_is_given_back_only_before_the_draw(funded: Ledger, dataset: str) -> None:
    with funded.charged(charge_for(dataset)) as reservation:
        reservation.release_unused()
    assert funded.account(dataset, "point").spent == 0.0
    with pytest.raises(LedgerError, match="given back"):
        reservation.begin_draw()

    drawn = funded.reserve(charge_for(dataset))
    drawn.begin_draw()
    with pytest.raises(LedgerError, match="only a person can void it"):
        drawn.release_unused()
    with pytest.raises(LedgerError, match="drawn already"):
        drawn.begin_draw()
    assert funded.account(dataset, "point").open == (drawn.number,)


def test_leaving_without_a_commit_is_an_error_and_stays_charged(funded: Ledger, dataset: str) -> None:
    with (
        pytest.raises(LedgerError, match="ended without a commit"),
        funded.charged(charge_for(dataset)) as reservation,
    ):
        reservation.begin_draw()
    assert funded.account(dataset, "point").open == (reservation.number,)


def test_commit_needs_a_draw_a_fresh_id_and_a_digest_and_comes_once(funded: Ledger, dataset: str) -> None:
    taken = charge_for(dataset, 0.01)
    release(funded, taken, "taken")
    reservation = funded.reserve(taken)
    with pytest.raises(LedgerError, match="declare the draw"):
        reservation.commit("new", DIGEST)
    reservation.begin_draw()
    for release_id, digest in (("taken", DIGEST), (" ", DIGEST), ("new", "ab"), ("new", DIGEST.upper())):
        with pytest.raises(LedgerError):
            reservation.commit(release_id, digest)
    reservation.commit("new", DIGEST)
    with pytest.raises(LedgerError, match="published only once"):
        reservation.commit("newer", DIGEST)
    with pytest.raises(LedgerError, match="not a charge"):
        funded.commit(0, "newest", DIGEST)


def test_void_needs_reason_and_person_and_never_undoes_a_release(funded: Ledger, dataset: str) -> None:
    released = release(funded, charge_for(dataset), "first")
    broken = funded.reserve(charge_for(dataset))
    broken.begin_draw()
    spent = funded.account(dataset, "point").spent
    for reason, person in (("", "Ada"), ("power cut", " ")):
        with pytest.raises(LedgerError, match="give both"):
            funded.void(broken.number, reason, person)
    with pytest.raises(LedgerError, match="is committed"):
        funded.void(released, "we regret it", "Ada")
    assert funded.account(dataset, "point").spent == spent

    funded.void(broken.number, "power cut before the draw was stored", "Ada")
    account = funded.account(dataset, "point")
    assert account.charged == (released,)
    assert account.spent == charge_for(dataset).cost.curve.epsilon(DELTA).epsilon
    last = funded.entries()[-1]
    assert (last.kind, last.refers_to, last.facts["person"]) == ("void", broken.number, "Ada")
    for step in (lambda: broken.commit("late", DIGEST), lambda: funded.void(broken.number, "again", "Ada")):
        with pytest.raises(LedgerError, match="given back"):
            step()


def test_a_refusal_does_not_call_rounding_a_remainder() -> None:
    """1.6e-9 was said to be left."""
    said = [
        str(BudgetExceeded(unit="point", delta=1e-5, budget=1.0, spent=spent, asked=1.0, after=1.5))
        for spent in (1.0 - 1.6e-9, 1.0 - 2e-6)
    ]
    assert "left 0, and" in said[0]
    assert "left 2e-6, and" in said[1]


def test_a_refusal_names_the_charges_that_stand_without_a_release(funded: Ledger, dataset: str) -> None:
    release(funded, charge_for(dataset, 0.05), "first")
    broken = funded.reserve(charge_for(dataset, 0.05))
    with pytest.raises(BudgetExceeded) as error:
        funded.reserve(charge_for(dataset, 0.9))
    assert str(error.value).endswith(
        f" Of the spent epsilon, entry {broken.number} has no release: if none is under way and the draw "
        "cannot have been seen, `python -m hexcursion ledger void N` gives its epsilon back."
    )


def test_what_would_be_refused_is_said_without_a_word_in_the_ledger(ledger: Ledger, dataset: str) -> None:
    rows = ledger.entries()
    with pytest.raises(NoBudget):
        ledger.check_charge(charge_for(dataset, 0.2))
    ledger.check_charge(charge_for(dataset, 0.2), Budget(0.9, DELTA))
    with pytest.raises(BudgetExceeded):
        ledger.check_charge(charge_for(dataset, 0.2), Budget(0.1, DELTA))
    assert ledger.entries() == rows
    ledger.set_budget(dataset, "point", EPSILON, DELTA)
    ledger.check_charge(charge_for(dataset, 0.2))
    with pytest.raises(
        LedgerError, match="A budget is raised by a person with a reason: give both with `python"
    ):
        ledger.check_charge(charge_for(dataset, 0.2), Budget(2.0, DELTA))
    assert len(ledger.entries()) == len(rows) + 1


def test_a_charge_is_not_written_before_a_budget(ledger: Ledger, dataset: str) -> None:
    """Whoever writes it: the book refuses the entry itself."""
    charge = charge_for(dataset, 0.2)
    facts = {"facts": charge.facts, "cost": written_cost(charge.cost)}
    draft = Draft("reserve", facts, dataset, "point", curve=encode(charge.cost.curve.values))
    with pytest.raises(LedgerError, match=r"^A charge needs a budget first\.$"):
        ledger._append(lambda book, _: [draft])


def test_raising_a_budget_needs_a_reason_lowering_does_not(funded: Ledger, dataset: str) -> None:
    for epsilon, delta in ((2.0, DELTA), (EPSILON, 1e-4), (0.5, 1e-4)):
        with pytest.raises(LedgerError, match="give both"):
            funded.set_budget(dataset, "point", epsilon, delta)
    for half in ({"reason": "agreed"}, {"person": "Ada"}, {"reason": "agreed", "person": " "}):
        with pytest.raises(LedgerError, match="give both"):
            funded.set_budget(dataset, "point", 2.0, DELTA, **half)
    rows = len(funded.entries())
    funded.set_budget(dataset, "point", EPSILON, DELTA)
    assert len(funded.entries()) == rows, "setting what is set writes nothing"
    release(funded, charge_for(dataset, 0.2), "first")
    funded.set_budget(dataset, "point", 0.1, DELTA)
    account = funded.account(dataset, "point")
    assert account.spent > 0.1
    assert account.left == 0.0
    with pytest.raises(BudgetExceeded):
        funded.reserve(charge_for(dataset, 1e-6))
    funded.set_budget(dataset, "point", 3.0, DELTA, reason="the board agreed on 3", person="Ada")
    release(funded, charge_for(dataset, 0.2), "second")
    assert funded.verify() == []


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0, 1e-5), (-1, 1e-5), (np.inf, 1e-5), (np.nan, 1e-5), (1, 0), (1, 1), (1, np.nan)],
)
def test_a_budget_is_positive_and_finite(ledger: Ledger, dataset: str, epsilon: float, delta: float) -> None:
    with pytest.raises(LedgerError):
        ledger.set_budget(dataset, "point", epsilon, delta)


def test_units_have_their_own_budgets_and_say_so(funded: Ledger, dataset: str) -> None:
    funded.set_budget(dataset, "cell", EPSILON, DELTA)
    release(funded, charge_for(dataset, 0.2, "cell"), "cells")
    release(funded, charge_for(dataset, 0.2, "point"), "points")
    cell, point = (funded.account(dataset, unit) for unit in ("cell", "point"))
    assert cell.spent == point.spent > 0
    assert "1 release of this dataset with the unit 'cell'" in point.note
    assert "neither add up nor cover each other" in cell.note
    assert [account.unit for account in funded.accounts()] == ["point", "cell"]
    with pytest.raises(LedgerError, match="'cell' or 'point'"):
        funded.account(dataset, "sale")


def test_datasets_do_not_share_budgets(funded: Ledger) -> None:
    other = funded.fingerprint([1.0], [2.0], [3.0])
    assert funded.account(other, "point").budget is None
    with pytest.raises(NoBudget):
        funded.reserve(charge_for(other))
    with pytest.raises(LedgerError, match="64 hex digits"):
        funded.account("london sales", "point")


@pytest.mark.parametrize("value", [np.inf, (1, 2), {1, 2}, {1: "x"}, object(), "y" * 70_000])
def test_facts_are_plain_json_and_short(dataset: str, value: object) -> None:
    with pytest.raises(LedgerError):
        charge_for(dataset, fact=value)


def test_a_writer_who_waits_too_long_is_told_so(
    funded: Ledger, dataset: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "WAIT_SECONDS", 1)
    second = place.open()
    with store.Store(place.url).writing():
        assert second.account(dataset, "point").spent == 0.0, "readers do not wait"
        with pytest.raises(LedgerBusy, match="try again"):
            second.reserve(charge_for(dataset))
    second.reserve(charge_for(dataset))


def test_the_default_place_is_the_home_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("elsewhere") / "home"
    monkeypatch.delenv("HEXCURSION_LEDGER", raising=False)
    monkeypatch.setenv("HEXCURSION_HOME", str(home))
    with pytest.raises(NoLedger, match="no ledger"):
        open_ledger(create=False)
    open_ledger()
    assert {path.name for path in home.iterdir()} == {"ledger.sqlite", "ledger.key"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in [home, *home.iterdir()])
    monkeypatch.setenv("HEXCURSION_LEDGER", str(home / "other.sqlite"))
    open_ledger()
    assert (home / "other.key").exists()


def test_an_unreachable_server_is_a_sentence_without_the_password(tmp_path: object) -> None:
    with pytest.raises(LedgerError) as refused:
        open_ledger("postgresql://ada:hunter2@127.0.0.1:1/ledger")
    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://ada:x@db.example.org/l", "require"),
        ("postgresql://ada:x@192.0.2.1:5432/l", "require"),
        ("postgresql://ada:x@127.0.0.1,db.example.org/l", "require"),
        ("postgresql:///l?host=db.example.org", "require"),
        ("postgresql:///l?host=127.0.0.1&host=db.example.org", "require"),
        ("postgresql:///l?hostaddr=192.0.2.1", "require"),
        ("postgresql://ada:x@db.example.org/l?sslmode=disable", "disable"),
        ("postgresql://ada:x@db.example.org/l?sslmode=verify-full", "verify-full"),
        ("postgresql://ada:x@localhost/l", None),
        ("postgresql://ada:x@127.0.0.1/l", None),
        ("postgresql://ada:x@[::1]/l", None),
        ("postgresql:///l", None),
        ("postgresql:///l?host=/run/postgresql", None),
    ],
)
def test_a_password_leaves_this_machine_over_tls_unless_the_address_says_otherwise(
    address: str, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGSSLMODE"):
        monkeypatch.delenv(name, raising=False)
    assert ledger_url(address).query.get("sslmode") == said
    monkeypatch.setenv("PGHOST", "db.example.org")
    assert ledger_url("postgresql:///l").query.get("sslmode") == "require"
    monkeypatch.setenv("PGSSLMODE", "verify-ca")
    assert "sslmode" not in ledger_url("postgresql://ada:x@db.example.org/l").query


def test_a_file_that_is_no_database_is_refused(make_place: Callable[[str], Place]) -> None:
    place = make_place("sqlite")
    place.open()
    with open(place.address, "wb") as file:
        file.write(b"id,price\n1,250000\n" * 100)
    with pytest.raises(
        LedgerError,
        match="not a database; name the ledger's own file, or restore",
    ):
        place.open()


def test_a_ledgers_new_folder_is_its_owners_alone(tmp_path: Path) -> None:
    open_ledger(str(tmp_path / "new" / "ledger.sqlite"), tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "ledger.sqlite").stat().st_mode) == 0o600
