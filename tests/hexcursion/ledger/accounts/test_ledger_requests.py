"""Requests: the ledger knows what it was asked, so a double click, a retry or a race charges once."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest
from sqlalchemy import Table, make_url
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.schema import CreateTable

from dpgp_core.accounting.composition import Cost
from hexcursion.ledger import BudgetExceeded, Charge, Ledger, LedgerError, RequestTaken, Reservation
from hexcursion.ledger.account import epsilon
from hexcursion.ledger.entry import SCHEMA_VERSION
from hexcursion.ledger.store import ENTRIES, HEAD, METADATA, Store
from tests.hexcursion.ledger.places import DIGEST, Place, charge_for, release
from tests.patience import HANG

PROCESSES = multiprocessing.get_context("fork")
ATTEMPTS = 20
MU = 0.01


@pytest.fixture
def funded(ledger: Ledger, dataset: str) -> Ledger:
    ledger.set_budget(dataset, "point", 5.0, 1e-5)
    return ledger


def test_a_charge_names_fingerprints_and_a_unit_before_it_is_asked_for() -> None:
    """Also where a person's word says that another dataset holds the same records."""
    real = "a1" * 32
    assert Charge(real, "point", Cost.gaussian(MU), same_as=("b2" * 32,)).dataset == real
    for dataset, same in ((real[1:], ()), (real.upper(), ()), (real, ("sales.csv",))):
        with pytest.raises(LedgerError, match="fingerprint of 64 hex digits"):
            Charge(dataset, "point", Cost.gaussian(MU), same_as=same)
    with pytest.raises(LedgerError, match="'cell' or 'point', not 'row'"):
        Charge(real, "row", Cost.gaussian(MU))  # type: ignore[arg-type]


def test_a_request_has_one_name_and_only_for_the_same_parts(funded: Ledger, place: Place) -> None:
    name = funded.request("plan", "session")
    assert name == place.open().request("plan", "session")
    assert (
        len({name, funded.request("plan", "other"), funded.request("plans", "ession"), funded.request()}) == 4
    )
    assert len(name) == 64


def test_the_same_request_is_refused_and_told_what_became_of_it(funded: Ledger, dataset: str) -> None:
    request = funded.request("plan", "session")
    with funded.charged(charge_for(dataset, MU), request) as reservation:
        with pytest.raises(RequestTaken, match=r"as entry 2 \(under way, or broken off and still charged\)"):
            funded.reserve(charge_for(dataset, MU), request)
        reservation.begin_draw()
        reservation.commit("0123456789abcdef", DIGEST)
    rows = funded.entries()
    with pytest.raises(RequestTaken) as refused:
        funded.reserve(charge_for(dataset, 2 * MU), request)
    assert refused.value.entry == reservation.number == 2
    assert str(refused.value) == (
        "This very request was charged already, as entry 2 (released as 0123456789abcdef): nothing was "
        "charged again; make a new plan for another release."
    )
    assert funded.entries() == rows
    release(funded, charge_for(dataset, MU), "without a request")
    with funded.charged(charge_for(dataset, MU), funded.request("plan", "session 2")) as second:
        second.release_unused()
    with pytest.raises(RequestTaken, match="given back since"):
        funded.reserve(charge_for(dataset, MU), funded.request("plan", "session 2"))
    assert funded.verify() == []


def test_a_second_click_is_told_of_the_first_even_where_the_budget_is_spent(
    ledger: Ledger, dataset: str
) -> None:
    charge = charge_for(dataset, MU)
    ledger.set_budget(dataset, "point", epsilon(charge.cost, 1e-5), 1e-5)
    ledger.reserve(charge, ledger.request("plan"))
    with pytest.raises(RequestTaken):
        ledger.reserve(charge, ledger.request("plan"))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge, ledger.request("another plan"))


def ask(place: Place, dataset: str, start: Barrier, results: Any, name: int) -> None:
    ledger = place.open()
    request = ledger.request("the plan", "the session")
    start.wait()
    try:
        with ledger.charged(charge_for(dataset, MU), request) as reservation:
            reservation.begin_draw()
            reservation.commit(f"release {name}", DIGEST)
        results.put(("released", reservation.number))
    except RequestTaken as error:
        results.put(("refused", error.entry))


def test_twenty_processes_with_one_request_make_one_release(
    place: Place, funded: Ledger, dataset: str
) -> None:
    start, results = PROCESSES.Barrier(ATTEMPTS), PROCESSES.Queue()
    children = [
        PROCESSES.Process(target=ask, args=(place, dataset, start, results, name)) for name in range(ATTEMPTS)
    ]
    for child in children:
        child.start()
    found = sorted(results.get(timeout=HANG) for _ in children)
    for child in children:
        child.join(HANG)
        assert child.exitcode == 0
    assert found == [("refused", 2)] * 19 + [("released", 2)]
    assert [entry.kind for entry in funded.entries()] == ["genesis", "budget", "reserve", "draw", "commit"]
    assert len(funded.account(dataset, "point").charged) == 1


def test_two_threads_of_one_program_are_two_askers(funded: Ledger, dataset: str) -> None:
    """A double click runs the same form in two threads that share everything."""

    def click(_: int) -> Reservation | RequestTaken:
        try:
            return funded.reserve(charge_for(dataset, MU), funded.request("plan", "session"))
        except RequestTaken as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        for round_ in range(5):
            funded_before = len(funded.account(dataset, "point").charged)
            outcomes = list(pool.map(click, range(2)))
            assert len(funded.account(dataset, "point").charged) == 1
            assert sum(isinstance(each, Reservation) for each in outcomes) == (1 if round_ == 0 else 0)
            assert funded_before <= 1


def test_the_database_itself_refuses_a_second_row_for_a_request(
    place: Place, funded: Ledger, dataset: str
) -> None:
    request = funded.request("plan")
    funded.reserve(charge_for(dataset, MU), request)
    with pytest.raises(Exception, match=r"(?i)unique"):
        place.sql(f"INSERT INTO ledger_requests (request, entry) VALUES ('{request}', 99)")
    with pytest.raises(Exception, match="append-only"):
        place.sql("DELETE FROM ledger_requests")
    place.tamper("DELETE FROM ledger_requests")
    assert str(place.open().verify()[0]) == "entry 2: has lost its request: that table was changed."
    with pytest.raises(RequestTaken):
        place.open().reserve(charge_for(dataset, MU), request)


def test_a_request_that_was_refused_for_its_cost_may_be_made_again(funded: Ledger, dataset: str) -> None:
    request = funded.request("dear")
    with pytest.raises(LedgerError):
        funded.reserve(charge_for(dataset, 10.0), request)
    funded.set_budget(dataset, "point", 500.0, 1e-5, reason="agreed", person="Ada")
    assert funded.reserve(charge_for(dataset, 10.0), request).number == 3


def test_the_database_itself_takes_no_request_without_its_entry(place: Place, ledger: Ledger) -> None:
    with pytest.raises(IntegrityError, match=r"(?i)not.null"):
        place.tamper("INSERT INTO ledger_requests (request) VALUES ('made up')")


def test_a_new_ledger_says_that_it_is_of_version_4(place: Place) -> None:
    """Older programs refuse a newer version by this number."""
    ledger = place.open()
    assert SCHEMA_VERSION == 4
    assert ledger.entries()[0].facts["schema"] == 4


@pytest.mark.parametrize("table", [ENTRIES, HEAD])
def test_the_ledger_numbers_its_rows_itself(table: Table) -> None:
    """PostgreSQL would make a sequence of a number that counts by itself; it leaves gaps."""
    assert "SERIAL" not in str(CreateTable(table).compile(dialect=postgresql.dialect()))


def test_the_columns_of_the_ledger_are_those_that_were_written() -> None:
    """Databases of years ago hold these; all are NOT NULL, but the entry that an entry refers to."""
    columns = {
        table.name: {column.name: (str(column.type), column.nullable) for column in table.columns}
        for table in METADATA.sorted_tables
    }
    number, text = ("INTEGER", False), ("TEXT", False)
    assert columns == {
        "ledger_entries": {
            "number": number, "kind": text, "created": text, "dataset": text, "unit": text,
            "refers_to": ("INTEGER", True), "curve": text, "body": text, "previous": text, "hash": text,
        },
        "ledger_head": {"id": number, "entries": number, "hash": text, "signature": text},
        "ledger_records": {"dataset": text, "hashes": ("BLOB", False)},
        "ledger_requests": {"request": text, "entry": number},
    }  # fmt: skip
    assert [
        table.name for table in METADATA.sorted_tables if not table.dialect_options["sqlite"]["strict"]
    ] == []


def test_of_what_a_database_says_the_first_line_is_told() -> None:
    store = Store(make_url("sqlite:///shelf/ledger.sqlite"))
    with pytest.raises(LedgerError, match=r"cannot be used: disk full\.$"), store._plain_errors():
        raise DBAPIError("INSERT", None, Exception("disk full\nHINT: make room"))
