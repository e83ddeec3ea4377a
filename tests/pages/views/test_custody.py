"""The ledger on a screen: budgets and entries in words, damage named, voids with their reason."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dpgp_core.accounting.composition import Cost
from hexcursion.ledger import Charge, Ledger, LedgerError, open_ledger
from pages.ledger.view import view_ledger, void_charge

DATASET = "ab" * 32


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.sqlite")


@pytest.fixture
def ledger(place: str) -> Ledger:
    """A budget of 2, one release committed and one left open by a crash."""
    opened = open_ledger(place)
    opened.set_budget(DATASET, "point", 2.0, 1e-5)
    charge = Charge(
        dataset=DATASET,
        unit="point",
        cost=Cost.gaussian(0.05),
        facts={
            "title": "Lead above 50",
            "file": "lead.csv",
            "mechanism": "toy",
            "epsilon": 0.21234,
            "delta": 1e-5,
        },
    )
    first = opened.reserve(charge)
    first.begin_draw()
    first.commit("0123456789abcdef", "cd" * 32)
    opened.reserve(charge)
    return opened


def test_no_ledger_is_none_and_nothing_is_begun(place: str) -> None:
    assert view_ledger(place) is None
    assert not Path(place).exists()


def test_budget_spent_and_left_are_those_of_the_ledger(place: str, ledger: Ledger) -> None:
    view = view_ledger(place)
    assert view is not None
    (account,) = view.accounts
    true = ledger.account(DATASET, "point")
    assert float(account.budget) == 2.0
    assert float(account.spent) >= true.spent  # rounded up, never down
    assert float(account.spent) == pytest.approx(true.spent, rel=1e-3)
    assert float(account.left) <= true.left  # rounded down, never up
    assert float(account.left) == pytest.approx(true.left, rel=1e-3)
    assert account.releases == "2 releases"
    assert DATASET.startswith(account.dataset)
    assert account.name == "lead.csv, Lead above 50"
    assert account.protects == "Each record protected"
    assert [entry["Data"] for entry in view.entries][1:] == ["lead.csv, Lead above 50"] * 5
    assert view.findings == ()
    assert [entry["No."] for entry in view.entries] == list(range(len(ledger.entries())))
    assert [entry["Details"] for entry in view.entries] == [
        "",
        "ε 2 at δ 1e-5",
        "Lead above 50, toy, ε 0.2124 at δ 1e-5",
        "charge 2",
        "0123456789abcdef (charge 2)",
        "Lead above 50, toy, ε 0.2124 at δ 1e-5",
    ]


def test_an_open_charge_is_offered_and_voided_with_name_and_reason(place: str, ledger: Ledger) -> None:
    (number,) = view_ledger(place).open
    for reason, person in (("", "Ada"), ("crash before the draw", " ")):
        with pytest.raises(LedgerError):
            void_charge(number, reason, person, place)
    void_charge(number, "crash before the draw", "Ada", place)
    view = view_ledger(place)
    assert view.open == ()
    assert "crash before the draw (Ada)" in view.entries[-1]["Details"]


def test_a_changed_entry_is_named_and_no_sum_is_shown(place: str, ledger: Ledger) -> None:
    with sqlite3.connect(place) as database:
        for (name,) in database.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            database.execute(f'drop trigger "{name}"')
        table = database.execute("select name from sqlite_master where sql like '%previous%'").fetchone()[0]
        database.execute(f'update "{table}" set created = ? where number = 1', ("1999-01-01T00:00:00",))
    database.close()
    view = view_ledger(place)
    assert any("1" in finding for finding in view.findings)
    assert view.accounts == ()
    assert view.entries[1]["Details"] == "changed after it was written"


def test_a_dataset_is_called_by_its_file_and_its_latest_titles(place: str) -> None:
    opened = open_ledger(place)
    opened.set_budget(DATASET, "point", 9.0, 1e-5)
    opened.set_budget("cd" * 32, "point", 9.0, 1e-5)
    for title in "abca":
        facts = {"title": title, "file": "f.csv"}
        opened.reserve(Charge(dataset=DATASET, unit="point", cost=Cost.gaussian(0.05), facts=facts))
    opened.reserve(Charge(dataset="cd" * 32, unit="point", cost=Cost.gaussian(0.05)))
    names = {account.dataset[:2]: account.name for account in view_ledger(place).accounts}
    assert names == {"ab": "f.csv, a, c and 1 more", "cd": "Data without a name"}


def test_a_budget_is_said_with_four_digits_and_its_slack_with_three(place: str) -> None:
    open_ledger(place).set_budget(DATASET, "cell", 1.23456, 1.2345e-5)
    view = view_ledger(place)
    assert view is not None
    (account,) = view.accounts
    assert (account.budget, account.delta) == ("1.235", "1.23e-5")
    assert (account.name, account.protects) == ("Data without a name", "Each hexagon protected")
    assert (account.dataset, account.share, account.releases) == ("ababababab", 0.0, "0 releases")
    assert [entry["Details"] for entry in view.entries][-1] == "ε 1.235 at δ 1.23e-5"
