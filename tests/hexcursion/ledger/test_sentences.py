"""What the ledger says in words and numbers, each written down: refusals, shared records, what is left."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from sqlalchemy.exc import OperationalError

from dpgp_core.accounting.rdp import ORDERS
from hexcursion.ledger import BudgetExceeded, LedgerBusy, LedgerError, RequestTaken
from hexcursion.ledger.account import Account, Budget, on_current_grid
from hexcursion.ledger.cli import _account_text
from hexcursion.ledger.places import LedgerKey, create_key
from hexcursion.ledger.records import record_keys
from hexcursion.ledger.sentences import Standing, shared_text
from hexcursion.ledger.store import POSTGRES_TRIGGERS, SQLITE_TRIGGERS
from tests.hexcursion.ledger.places import Place, charge_for

KEY = LedgerKey(Path("a.key"), bytes(range(32)))


@pytest.mark.parametrize(
    ("spent", "left", "rest"), [(1.75, 0.25, "0.25"), (2.0, 0.0, "0"), (2.5, 0.0, "0"), (1.5, 0.5, "0.5")]
)
def test_a_refusal_says_its_numbers(spent: float, left: float, rest: str) -> None:
    error = BudgetExceeded(unit="point", delta=1e-5, budget=2.0, spent=spent, asked=0.5, after=2.25)
    assert error.left == left
    assert str(error) == (
        f"This release does not fit the point budget of epsilon 2 at delta 1e-05: spent {spent:g}, asked "
        f"0.5, left {rest}, and together it would be 2.25; choose a design that costs less, or raise the "
        "budget and say why."
    )


@pytest.mark.parametrize(
    ("charges", "said"),
    [
        ((7,), "entry 7 has"),
        ((7, 8), "entries 7, 8 have"),
        ((1, 2, 3, 4, 5), "entries 1, 2, 3, 4, 5 have"),
        ((1, 2, 3, 4, 5, 6), "entries 1, 2, 3, 4, 5 and others have"),
    ],
)
def test_a_refusal_names_the_charges_without_a_release(charges: tuple[int, ...], said: str) -> None:
    error = BudgetExceeded(
        unit="cell", delta=1e-5, budget=2.0, spent=1.0, asked=2.0, after=3.0, sharing="ab" * 32, open=charges
    )
    assert "of dataset abababababab, which holds some of the same records: spent 1" in str(error)
    assert f" Of the spent epsilon, {said} no release: if none is under way" in str(error)


def test_a_request_that_was_charged_names_its_entry() -> None:
    error = RequestTaken(17, "given back since")
    assert error.entry == 17
    assert str(error).startswith("This very request was charged already, as entry 17 (given back since): ")


@pytest.mark.parametrize(
    ("n", "shared", "exact", "said"),
    [
        (1, 1, True, "The one record was"),
        (5, 5, True, "All 5 records were"),
        (5, 1, True, "1 of these 5 records was"),
        (5, 4, True, "4 of these 5 records were"),
        (5, 2, True, "2 of these 5 records were"),
        (5, 5, False, "About 5 (at most 1,234) of these 5 records were"),
        (5, 1, False, "About 1 (at most 1,234) of these 5 records were"),
    ],
)
def test_shared_records_are_said_in_their_number(n: int, shared: int, exact: bool, said: str) -> None:
    standing = Standing("point", 1e-5, n, shared, 1234, exact, before=1.0, after=1.5)
    assert shared_text(standing) == (
        f"{said} part of earlier releases. The release says of that: some or all."
    )


@pytest.mark.parametrize(
    ("spent", "left"), [(0.0, "0.5"), (0.49, "0.01"), (0.5 - 1e-12, "0"), (0.5, "0"), (0.7, "0")]
)
def test_next_to_nothing_is_shown_as_nothing_left(
    spent: float, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Account, "epsilon", lambda account, delta: spent)
    account = Account(
        "ab" * 32, "point", Budget(0.5, 1e-5), charge_for("ab" * 32).cost, (3, 4), (), "", (), (9,)
    )
    assert _account_text(account).splitlines() == [
        f"Dataset {'ab' * 32}, unit point",
        "  budget  epsilon 0.5 at delta 1e-05",
        f"  spent   epsilon {spent:.6g} in 3 charges, composed",
        f"  left    epsilon {left}",
    ]


def test_a_key_that_cannot_be_written_is_said_and_leaves_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    path = tmp_path / "ledger.key"
    with pytest.raises(LedgerError) as error:
        create_key(path)
    assert str(error.value) == f"The ledger's key could not be written to {path}: Permission denied."
    assert list(tmp_path.iterdir()) == []


def test_a_key_whose_name_is_too_long_is_one_sentence(tmp_path: Path) -> None:
    """A name takes 255 letters; the draft beside it has a shorter name, and is gone afterwards."""
    path = tmp_path / ("k" * 256)
    with pytest.raises(
        LedgerError, match=r"^The ledger's key could not be written to .*: File name too long\.$"
    ):
        create_key(path)
    assert list(tmp_path.iterdir()) == []


def test_a_held_ledger_is_waited_for_a_minute(place: Place) -> None:
    store = place.open()._store
    with (
        pytest.raises(LedgerBusy, match=r"^Another release has held the ledger .* for 60 seconds: try"),
        store._plain_errors(),
    ):
        raise OperationalError("", {}, Exception("database is locked"))


def test_each_trigger_is_made_under_the_name_by_which_it_is_missed() -> None:
    for triggers, many in ((SQLITE_TRIGGERS, 9), (POSTGRES_TRIGGERS, 13)):
        assert [statement.split()[2] for statement in triggers.values()] == list(triggers)
        assert len(triggers) == many


def test_a_refusal_names_a_budget_in_eight_digits_and_the_whose_it_is() -> None:
    error = BudgetExceeded(
        unit="cell",
        delta=0.001,
        budget=1.23456789,
        spent=1.23456789,
        asked=0.123456789,
        after=1.34567891,
        sharing="ab" * 32,
    )
    assert str(error) == (
        "This release does not fit the cell budget of epsilon 1.2345678 at delta 0.001 of dataset "
        "abababababab, which holds some of the same records: spent 1.23457, asked 0.123457, left 0, and "
        "together it would be 1.345679; choose a design that costs less, or raise the budget and say why."
    )


def test_two_charges_are_the_same_whatever_is_known_of_their_records() -> None:
    one = charge_for("ab" * 32)
    other = replace(one, records=record_keys(KEY, [0.0], [51.0], [7.0]))
    assert one == other
    assert repr(one) == repr(other)


def test_zero_has_no_sign_and_nothing_has_one_name() -> None:
    assert KEY.fingerprint([0.0, -0.0], [1.0, 2.0]) == (
        "d56efdf30505b09b7f539cec1cf057d61e648d7b0286b49a5c96dbb8c93f1afb"
    )
    assert KEY.fingerprint([-0.0], [1.0]) == KEY.fingerprint([0.0], [1.0])
    assert KEY.fingerprint([np.nan], [1.0]) == KEY.fingerprint([-np.nan], [1.0])
    assert KEY.fingerprint([1.0, 2.0], [3.0, 4.0]) == KEY.fingerprint([2.0, 1.0], [4.0, 3.0])
    assert KEY.fingerprint([1.0, 2.0]) != KEY.fingerprint([1.0], [2.0])


def test_places_and_values_are_hashed_on_these_grids() -> None:
    """Stored ledgers hold such hashes: another grid would not know one record again."""
    found = record_keys(KEY, [0.0, 0.1, 0.1], [51.0, 51.0, 51.0], [0.0, 0.001, 1e300])
    assert [hex(int(each)) for each in found.hashes["place"]] == [
        *("0x137eaee922360ed7", "0xaf16596c0fc273c2", "0x69090492a0294cc"),
    ]
    assert (found.chance, found.file, found.n) == ({"place": 0.0}, "", 3)


def test_a_curve_of_other_orders_is_read_at_the_next_higher_one() -> None:
    assert np.array_equal(on_current_grid(ORDERS, np.arange(ORDERS.size) * 1.0), np.arange(ORDERS.size))
    found = on_current_grid(np.array([ORDERS[0], ORDERS[3], ORDERS[5]]), np.array([1.0, 2.0, 4.0]))
    assert found[:8].tolist() == [1.0, 2.0, 2.0, 2.0, 4.0, 4.0, np.inf, np.inf]
