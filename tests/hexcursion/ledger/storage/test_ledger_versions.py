"""Versions: a ledger of version 1 opens, keeps what it holds, and is brought to today's by one entry."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import create_engine, insert
from sqlalchemy.pool import NullPool

from dpgp_core.accounting.composition import Cost
from hexcursion.ledger import Charge, LedgerError, NoLedger, RequestTaken, open_ledger, opening
from hexcursion.ledger.storage.entry import Draft
from hexcursion.ledger.storage.schema import ENTRIES, HEAD, METADATA, POSTGRES_DDL, SQLITE_DDL, VERSION_1
from tests.hexcursion.ledger.places import BACKENDS, Place, release

# Written by the last program of version 1: a dataset with a budget of 2, one release committed, one charge
# broken off after its draw.
FIXTURE: dict[str, Any] = json.loads((Path(__file__).parent / "ledger_v1.json").read_text())
DATASET = "245104c7affe259686e5964378c392d6aa8f91ebef9fa315bc2c51a4a7d1b1d4"
RECORDS = (np.array([10.0, 10.1, 10.2]), np.array([50.0, 50.1, 50.2]), np.array([1.0, 2.0, 3.0]))
SPENT = 0.8197283303990389
"""Of charges that do not say what they hide: each at the price of one record less and one more."""


@pytest.fixture(params=BACKENDS)
def old(request: pytest.FixtureRequest, make_place: Callable[[str], Place]) -> Place:
    """A ledger exactly as version 1 left it: its tables, its rows, its key, its witness beside the key."""
    place = make_place(request.param)
    place.key.write_text(FIXTURE["key"] + "\n")
    place.key.chmod(0o600)
    place.key.with_suffix(".head").write_text(json.dumps(FIXTURE["witness"]))
    engine = create_engine(place.url, poolclass=NullPool)
    with engine.begin() as connection:
        METADATA.create_all(connection, tables=VERSION_1)
        for statement in SQLITE_DDL if place.sqlite else POSTGRES_DDL:
            connection.exec_driver_sql(statement)
        for row in FIXTURE["entries"]:
            connection.execute(insert(ENTRIES).values(**row))
        connection.execute(insert(HEAD).values(id=1, **FIXTURE["head"]))
    return place


def test_a_ledger_of_version_1_is_read_without_being_changed(old: Place) -> None:
    ledger = open_ledger(old.address, old.key, create=False)
    assert ledger.verify([FIXTURE["seal"]]) == []
    assert len(ledger.entries()) == 7
    account = ledger.account(DATASET, "point")
    assert account.spent == pytest.approx(SPENT, rel=1e-12)
    assert (account.charged, account.open) == ((2, 5), (5,))
    ledger.void(5, "power cut", "Ada")
    assert ledger.verify() == []


def test_opening_it_for_work_adds_its_version_and_grid_and_keeps_every_other(old: Place) -> None:
    before = open_ledger(old.address, old.key, create=False).entries()
    ledger = old.open()
    entries = ledger.entries()
    assert entries[:7] == before
    assert [entry.kind for entry in entries[7:]] == ["schema", "orders"]
    assert entries[7].facts == {"schema": 4}
    assert ledger.verify([FIXTURE["seal"]]) == []
    assert old.open().entries() == entries, "once"
    assert ledger.account(DATASET, "point").spent == pytest.approx(SPENT, rel=1e-12)


def test_its_datasets_are_charged_on_and_know_records_and_requests(old: Place) -> None:
    ledger = old.open()
    assert ledger.fingerprint(*RECORDS) == DATASET
    charge = Charge(DATASET, "point", Cost.gaussian(0.1), {}, ledger.record_keys(*RECORDS))
    request = ledger.request("plan")
    reservation = ledger.reserve(charge, request)
    assert [entry.kind for entry in ledger.entries()][7:] == ["schema", "orders", "records", "reserve"]
    assert reservation.preview.before == pytest.approx(SPENT, rel=1e-12)
    with pytest.raises(RequestTaken):
        ledger.reserve(charge, request)
    part = ledger.record_keys(*(column[:2] for column in RECORDS))
    assert [overlap.shared for overlap in ledger.overlaps(part)] == [2]
    assert ledger.verify() == []


@pytest.mark.postgres
@pytest.mark.parametrize("old", ["postgres"], indirect=True)
def test_a_role_that_owns_no_table_is_told_who_upgrades(old: Place) -> None:
    schema = old.key.stem
    role = f"role_{schema}"
    old.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
    old.sql(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    old.sql(
        f"GRANT SELECT, INSERT ON ledger_entries TO {role}; GRANT SELECT, UPDATE ON ledger_head TO {role}"
    )
    try:
        url = old.url.set(username=role, password="secret")
        with pytest.raises(LedgerError, match="open it once with the role that owns its tables"):
            open_ledger(url.render_as_string(hide_password=False), old.key)
    finally:
        old.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")
    assert len(old.open().entries()) == 9


def test_a_first_write_upgrades_too(old: Place) -> None:
    ledger = open_ledger(old.address, old.key, create=False)
    charge = Charge(DATASET, "point", Cost.gaussian(0.1), {}, ledger.record_keys(*RECORDS))
    release(ledger, charge, "first of today")
    assert [entry.kind for entry in ledger.entries()][7:] == [
        "schema",
        "orders",
        "records",
        "reserve",
        "draw",
        "commit",
    ]


def test_the_witness_beside_the_key_still_counts(old: Place) -> None:
    """Its memory of seven rows is not lost by moving: a copy cut short is found before the new one exists."""
    old.tamper("DELETE FROM ledger_entries WHERE number > 4")
    ledger = open_ledger(old.address, old.key, create=False)
    assert any(finding.entry == 6 for finding in ledger.verify())


def test_a_newer_ledger_is_refused_with_one_sentence(
    make_place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make_place("sqlite"), make_place("sqlite")
    with monkeypatch.context() as later:
        later.setattr(opening, "SCHEMA_VERSION", 5)
        with pytest.raises(LedgerError, match="newer Hexcursion"):
            first.open().accounts()
    with pytest.raises(LedgerError, match="newer Hexcursion"):
        first.open()
    ledger = second.open()
    for version, sentence in ((5, "newer Hexcursion"), (4, "only goes forward")):
        later_entry = Draft("schema", {"schema": version})
        with pytest.raises(LedgerError, match=sentence):
            ledger._append(lambda book, _, draft=later_entry: [draft])
    assert second.open().verify() == []


def test_a_place_without_a_ledger_is_still_none(make_place: Callable[[str], Place]) -> None:
    place = make_place("sqlite")
    with pytest.raises(NoLedger, match="There is no ledger"):
        open_ledger(place.address, place.key, create=False)
