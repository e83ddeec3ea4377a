"""The same ledger tests run on SQLite and on PostgreSQL; PostgreSQL gets a schema of its own per test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.pool import NullPool

from hexcursion.ledger import Ledger
from tests.hexcursion.ledger.damaged import fill
from tests.hexcursion.ledger.places import BACKENDS, Place, postgres_server


@pytest.fixture
def make_place(tmp_path: Path) -> Iterator[Callable[[str], Place]]:
    """A fresh place on the backend that is asked for."""
    made: list[tuple[URL, str]] = []

    def make(backend: str) -> Place:
        name = f"test_{uuid.uuid4().hex[:12]}"
        key = tmp_path / f"{name}.key"
        if backend == "sqlite":
            return Place(str(tmp_path / f"{name}.sqlite"), key)
        server = postgres_server()
        engine = create_engine(server, poolclass=NullPool)
        with engine.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        made.append((server, name))
        url = server.update_query_dict({"options": f"-csearch_path={name}"})
        return Place(url.render_as_string(hide_password=False), key)

    yield make
    for server, name in made:
        with create_engine(server, poolclass=NullPool).begin() as connection:
            connection.execute(text(f"DROP SCHEMA {name} CASCADE"))


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest, make_place: Callable[[str], Place]) -> Place:
    return make_place(request.param)


@pytest.fixture
def ledger(place: Place) -> Ledger:
    return place.open()


@pytest.fixture
def dataset(ledger: Ledger) -> str:
    return ledger.fingerprint(np.arange(5.0), np.ones(5), np.linspace(0, 1, 5))


@pytest.fixture
def filled(place: Place) -> Place:
    """Rows of every kind but `orders`."""
    return fill(place)
