"""Where a test's ledger lives, how it is tampered with, and the shortest whole release."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import NullPool

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.rdp import RdpCurve
from hexcursion.ledger import Charge, Ledger, open_ledger
from hexcursion.ledger.chain import witness_path
from hexcursion.ledger.overlap import Shared
from hexcursion.ledger.places import ledger_url, read_key
from hexcursion.ledger.records import RecordKeys

BACKENDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
DIGEST = "ab" * 32


@dataclass(frozen=True)
class Place:
    """Where a test's ledger and its key are."""

    address: str
    key: Path

    @property
    def url(self) -> URL:
        return ledger_url(self.address)

    @property
    def sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @property
    def witness(self) -> Path:
        return witness_path(read_key(self.key))

    def open(self) -> Ledger:
        return open_ledger(self.address, self.key)

    def tamper(self, *statements: str, **values: object) -> None:
        """Run SQL as a database administrator would who switches the triggers off and on again."""
        engine = create_engine(self.url, poolclass=NullPool)
        with engine.connect() as connection:
            if self.sqlite:
                connection.exec_driver_sql("PRAGMA synchronous = OFF")
                found = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
                triggers = [tuple(row) for row in found]
                for name, _ in triggers:
                    connection.execute(text(f"DROP TRIGGER {name}"))
            else:
                for table in inspect(connection).get_table_names():
                    connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
            for statement in statements:
                connection.execute(text(statement), values)
            if self.sqlite:
                for _, ddl in triggers:
                    connection.exec_driver_sql(ddl)
            else:
                for table in inspect(connection).get_table_names():
                    connection.execute(text(f"ALTER TABLE {table} ENABLE TRIGGER USER"))
            connection.commit()
        engine.dispose()

    def sql(self, statement: str) -> None:
        """Run SQL as anybody with a connection could."""
        engine = create_engine(self.url, poolclass=NullPool)
        try:
            with engine.begin() as connection:
                connection.execute(text(statement))
        finally:
            engine.dispose()


def postgres_server() -> URL:
    """The server of the tests; a test that needs it is skipped, or fails where it is required."""
    address = os.environ.get("HEXCURSION_TEST_POSTGRES")
    if not address:
        if os.environ.get("HEXCURSION_REQUIRE_POSTGRES") == "1":
            pytest.fail("HEXCURSION_TEST_POSTGRES is not set: source .ci/postgres.sh")
        pytest.skip("no PostgreSQL: `source .ci/postgres.sh` starts one")
    return make_url(address)


def charge_for(dataset: str, mu: float = 0.1, unit: str = "point", **facts: object) -> Charge:
    """A charge priced by its curve alone."""
    return Charge(dataset, unit, Cost.renyi(RdpCurve.gaussian(mu)), facts)


def recognised(ledger: Ledger, records: RecordKeys, dataset: str = "") -> dict[str, Shared]:
    """How many of these records each other dataset holds, where it holds any."""
    meeting = ledger._meet(ledger._book(), dataset, records)
    return {name: meeting.each[name] for name in meeting.found}


def release(ledger: Ledger, charge: Charge, name: str) -> int:
    """One whole release; returns the number of its charge."""
    with ledger.charged(charge) as reservation:
        reservation.begin_draw()
        reservation.commit(name, DIGEST)
    return reservation.number
