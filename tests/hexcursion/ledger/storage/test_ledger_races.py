"""Races: processes that spend one budget at the same time never spend more than it together."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest

from dpgp_core.accounting.composition import Cost, epsilon
from hexcursion.ledger import BudgetExceeded, Charge, open_ledger
from tests.hexcursion.ledger.places import DIGEST, Place
from tests.patience import HANG

MU, DELTA = 0.05, 1e-5
PROCESSES = multiprocessing.get_context("fork")


def charge(dataset: str) -> Charge:
    return Charge(dataset, "point", Cost.gaussian(MU))


def spend(place: Place, dataset: str, attempts: int, start: Barrier, results: Any, name: int) -> None:
    start.wait()
    ledger = place.open()
    refused = 0
    for attempt in range(attempts):
        try:
            with ledger.charged(charge(dataset)) as reservation:
                reservation.begin_draw()
                reservation.commit(f"{name}-{attempt}", DIGEST)
        except BudgetExceeded:
            refused += 1
    results.put(refused)


def capacity_budget(capacity: int) -> float:
    """A budget that holds exactly `capacity` of the charges: halfway to the next one."""
    one = charge("0" * 64).cost
    return sum(epsilon([one] * count, DELTA).epsilon for count in (capacity, capacity + 1)) / 2


@pytest.mark.parametrize(
    ("processes", "attempts", "capacity"),
    [(2, 8, 9), (8, 1, 3), (8, 3, 13), pytest.param(8, 20, 100, marks=pytest.mark.slow)],
)
def test_processes_exhaust_a_budget_together_exactly(
    place: Place, processes: int, attempts: int, capacity: int
) -> None:
    ledger = place.open()
    dataset = ledger.fingerprint([1.0, 2.0, 3.0])
    ledger.set_budget(dataset, "point", capacity_budget(capacity), DELTA)
    start, results = PROCESSES.Barrier(processes), PROCESSES.Queue()
    children = [
        PROCESSES.Process(target=spend, args=(place, dataset, attempts, start, results, name))
        for name in range(processes)
    ]
    for child in children:
        child.start()
    refused = sum(results.get(timeout=HANG) for _ in children)
    for child in children:
        child.join(HANG)
        assert child.exitcode == 0

    account = place.open().account(dataset, "point")
    print(f"{refused} of {processes * attempts} releases were refused")  # shown by pytest -rP
    assert len(account.charged) == capacity, "neither one too many nor one too few"
    assert refused == processes * attempts - capacity
    assert account.open == ()
    assert account.budget is not None
    assert account.spent <= account.budget.epsilon
    assert ledger.verify() == []


def open_at_once(place: Place, start: Barrier, results: Any) -> None:
    start.wait()
    ledger = place.open()
    results.put((ledger.entries()[0].hash, ledger.fingerprint([1.0])))


def test_processes_begin_one_ledger_at_once(place: Place) -> None:
    start, results = PROCESSES.Barrier(8), PROCESSES.Queue()
    children = [PROCESSES.Process(target=open_at_once, args=(place, start, results)) for _ in range(8)]
    for child in children:
        child.start()
    seen = {results.get(timeout=HANG) for _ in children}
    for child in children:
        child.join(HANG)
        assert child.exitcode == 0
    assert len(seen) == 1, "one genesis, one key"
    ledger = open_ledger(place.address, place.key)
    assert len(ledger.entries()) == 1
    assert ledger.verify() == []
