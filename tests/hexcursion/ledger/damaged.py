"""A ledger with rows of every kind, to be damaged, and what it then finds."""

from __future__ import annotations

import numpy as np

from hexcursion.ledger.store import Snapshot, Store
from tests.hexcursion.ledger.places import Place, charge_for, release


def fill(place: Place) -> Place:
    ledger = place.open()
    dataset = ledger.fingerprint(np.arange(3.0))
    ledger.set_budget(dataset, "point", 2.0, 1e-5)
    release(ledger, charge_for(dataset, 0.1, note="first"), "first")
    ledger.reserve(charge_for(dataset, 0.1)).release_unused()
    broken = ledger.reserve(charge_for(dataset, 0.1))
    ledger.void(broken.number, "power cut", "Ada")
    ledger.set_budget(dataset, "point", 3.0, 1e-5, reason="agreed", person="Ada")
    assert ledger.verify() == []
    return place


def named(place: Place) -> list[int | None]:
    return [finding.entry for finding in place.open().verify()]


def snapshot_of(place: Place) -> Snapshot:
    return Store(place.url).read()
