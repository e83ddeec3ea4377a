"""PostgreSQL alone: roles that can append and nothing else, and servers set up carelessly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from hexcursion.ledger import LedgerError, open_ledger
from tests.hexcursion.ledger.places import DIGEST, Place, charge_for, postgres_server, release

pytestmark = pytest.mark.postgres


@pytest.fixture
def owner(make_place: Callable[[str], Place]) -> Place:
    place = make_place("postgres")
    place.open()
    return place


@pytest.fixture
def curator(owner: Place) -> Iterator[Place]:
    """The same ledger through a role with the grants that the README names."""
    schema = owner.key.stem
    role, password = f"role_{schema}", "secret"
    owner.sql(f"CREATE ROLE {role} LOGIN PASSWORD '{password}'")
    owner.sql(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    owner.sql(f"GRANT SELECT, INSERT ON ledger_entries, ledger_records, ledger_requests TO {role}")
    owner.sql(f"GRANT SELECT, UPDATE ON ledger_head TO {role}")
    url = owner.url.set(username=role, password=password)
    yield Place(url.render_as_string(hide_password=False), owner.key)
    with create_engine(postgres_server(), poolclass=NullPool).begin() as connection:
        connection.execute(text(f"DROP OWNED BY {role}"))
        connection.execute(text(f"DROP ROLE {role}"))


def test_a_role_that_may_only_append_can_keep_the_ledger(curator: Place, owner: Place) -> None:
    ledger = curator.open()
    dataset = ledger.fingerprint([1.0])
    ledger.set_budget(dataset, "point", 1.0, 1e-5)
    records = ledger.record_keys([1.0], [2.0], [3.0])
    charge = replace(charge_for(dataset), records=records)
    with ledger.charged(charge, ledger.request("plan")) as reservation:
        reservation.begin_draw()
        reservation.commit("first", DIGEST)
    assert ledger.verify() == owner.open().verify() == []
    for statement in (
        "DELETE FROM ledger_entries",
        "UPDATE ledger_entries SET unit = 'cell'",
        "TRUNCATE ledger_entries",
        "DELETE FROM ledger_head",
        "ALTER TABLE ledger_entries DISABLE TRIGGER USER",
        "DROP TABLE ledger_entries",
        "DELETE FROM ledger_records",
        "UPDATE ledger_requests SET entry = 1",
    ):
        with pytest.raises(Exception, match=r"permission denied|must be owner"):
            curator.sql(statement)
    assert owner.open().verify() == []


def test_a_server_with_other_defaults_is_overruled(owner: Place) -> None:
    """Asynchronous commits and serializable transactions by default: releases at once still only wait."""
    careless = "-csynchronous_commit=off -cdefault_transaction_isolation=serializable"
    url = owner.url.update_query_dict({"options": f"{owner.url.query['options']} {careless}"})
    ledger = open_ledger(url.render_as_string(hide_password=False), owner.key)
    dataset = ledger.fingerprint([1.0])
    ledger.set_budget(dataset, "point", 5.0, 1e-5)
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(lambda name: release(ledger, charge_for(dataset), name), "abcdefgh"))
    assert ledger.account(dataset, "point").charged == tuple(sorted(numbers))
    assert ledger.verify() == []


def test_a_refused_login_is_one_sentence_without_the_password(owner: Place) -> None:
    url = owner.url.set(password="not-the-password")
    with pytest.raises(LedgerError) as refused:
        open_ledger(url.render_as_string(hide_password=False), owner.key)
    assert "not-the-password" not in str(refused.value)
    assert "\n" not in str(refused.value)
