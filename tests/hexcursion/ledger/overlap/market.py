"""Sales that several tests of overlapping data share, and how a release of a part of them is paid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core.accounting.composition import Cost
from hexcursion.ledger import Charge, Ledger
from hexcursion.ledger.sentences import account_lines
from hexcursion.promises import Protected
from tests.hexcursion.ledger.places import release

DELTA = 1e-5
MU = 0.26805112321129176  # epsilon 1 at delta 1e-5


@dataclass(frozen=True)
class Market:
    """Sales: places, prices and identifiers; a part of them is a dataset of its own."""

    x: np.ndarray
    y: np.ndarray
    price: np.ndarray

    def part(self, chosen: slice | np.ndarray) -> Market:
        return Market(self.x[chosen], self.y[chosen], self.price[chosen])

    def with_row(self, x: float, y: float, price: float) -> Market:
        return Market(np.append(self.x, x), np.append(self.y, y), np.append(self.price, price))

    def charge(self, ledger: Ledger, unit: str = "point", mu: float = MU, **facts: object) -> Charge:
        return Charge(
            ledger.fingerprint(self.x, self.y, self.price),
            unit,
            Cost.gaussian(mu),
            facts,
            ledger.record_keys(self.x, self.y, self.price),
        )


def market(n: int = 1000, seed: int = 3) -> Market:
    rng = np.random.default_rng(seed)
    return Market(
        rng.uniform(-0.5, 0.3, n), rng.uniform(51.3, 51.7, n), rng.integers(2000, 20000, n).astype(float) * 50
    )


def pay(ledger: Ledger, charge: Charge, name: str, budget: float = 10.0) -> str:
    """A whole release with a budget of its own; returns the fingerprint."""
    if ledger.preview(charge, DELTA).budget is None:
        ledger.set_budget(charge.dataset, charge.unit, budget, DELTA)
    release(ledger, charge, name)
    return charge.dataset


def says(ledger: Ledger, charge: Charge) -> dict[str, str]:
    standing = ledger.preview(charge, DELTA).standing
    assert standing is not None
    return {line.topic: line.text for line in account_lines(standing, Protected("sale", charge.unit))}
