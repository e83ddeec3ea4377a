"""The ledger under load: what a charge costs as the chain grows, and who is refused when processes race.

python -m studies.scale.ledger                                SQLite
source .ci/postgres.sh && python -m studies.scale.ledger      SQLite and PostgreSQL
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from dpgp_core.accounting.composition import Cost
from hexcursion.ledger import BudgetExceeded, Charge, Ledger, open_ledger

DELTA, MU = 1e-5, 0.05
PROCESSES = multiprocessing.get_context("fork")


def places(folder: Path) -> dict[str, str]:
    """A fresh place per available database."""
    name = f"bench_{uuid.uuid4().hex[:8]}"
    addresses = {"SQLite": str(folder / f"{name}.sqlite")}
    if address := os.environ.get("HEXCURSION_TEST_POSTGRES"):
        server = make_url(address)
        with create_engine(server).begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        url = server.update_query_dict({"options": f"-csearch_path={name}"})
        addresses["PostgreSQL"] = url.render_as_string(hide_password=False)
    return addresses


def release(ledger: Ledger, dataset: str, name: str, mu: float) -> None:
    """Reserve, draw, commit: three entries."""
    with ledger.charged(Charge(dataset, "point", Cost.gaussian(mu))) as charge:
        charge.begin_draw()
        charge.commit(name, "ab" * 32)


def growth(database: str, address: str, key: Path) -> None:
    """Seconds per release and per verification at several lengths of the chain."""
    ledger = open_ledger(address, key)
    dataset = ledger.fingerprint([1.0])
    ledger.set_budget(dataset, "point", 1e6, DELTA)
    count = 0
    for target in (10, 100, 300):
        while count < target:
            release(ledger, dataset, f"{count}", MU)
            count += 1
        begun = time.perf_counter()
        for extra in range(5):
            release(ledger, dataset, f"timed {target} {extra}", MU)
        seconds = (time.perf_counter() - begun) / 5
        begun = time.perf_counter()
        assert ledger.verify() == []
        check = time.perf_counter() - begun
        entries = len(ledger.entries())
        print(f"{database:10}  {entries:5} entries  {seconds:6.3f} s a release  {check:6.3f} s to verify")
        count += 5


def racer(address: str, key: Path, dataset: str, attempts: int, name: int, results: Any) -> None:
    """One process of the race; puts (accepted, refused)."""
    ledger = open_ledger(address, key)
    refused = 0
    for attempt in range(attempts):
        try:
            release(ledger, dataset, f"{dataset} {name} {attempt}", MU)
        except BudgetExceeded:
            refused += 1
    results.put((attempts - refused, refused))


def race(database: str, address: str, key: Path, processes: int, attempts: int) -> None:
    """Processes that spend a budget of epsilon 1 to exhaustion together."""
    ledger = open_ledger(address, key)
    dataset = ledger.fingerprint([float(processes)])
    ledger.set_budget(dataset, "point", 1.0, DELTA)
    results = PROCESSES.Queue()
    children = [
        PROCESSES.Process(target=racer, args=(address, key, dataset, attempts, name, results))
        for name in range(processes)
    ]
    for child in children:
        child.start()
    counts = [results.get(timeout=600) for _ in children]
    for child in children:
        child.join()
    account = ledger.account(dataset, "point")
    accepted, refused = (sum(column) for column in zip(*counts, strict=True))
    assert account.spent <= 1.0
    assert ledger.verify() == []
    print(
        f"{database:10}  {processes} processes  {accepted:3} accepted  {refused:3} refused  "
        f"spent {account.spent:.6f} of 1"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEXCURSION_WITNESS"] = folder
        for database, address in places(Path(folder)).items():
            key = Path(folder) / f"{database}.key"
            race(database, address, key, 2, 20)
            race(database, address, key, 8, 5)
            growth(database, address, key)
    print(
        "No random numbers but keys and names. A release is three entries; its time is the mean of five, in "
        "seconds of the clock, since a database waits for its disk. Each race was run once."
    )


if __name__ == "__main__":
    main()
