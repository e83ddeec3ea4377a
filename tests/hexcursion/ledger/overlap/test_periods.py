"""Whether releases of several periods share records, as the ledger tells it."""

from __future__ import annotations

import pytest

from hexcursion.ledger import Ledger, records
from hexcursion.ledger.overlap import PeriodsShared, nothing_known
from tests.hexcursion.ledger.overlap.market import market, pay
from tests.hexcursion.ledger.places import DIGEST


def test_disjoint_shared_same_and_unknown_records(ledger: Ledger) -> None:
    sales = market(300)
    first = pay(ledger, sales.part(slice(0, 100)).charge(ledger), "first")
    second = pay(ledger, sales.part(slice(100, 200)).charge(ledger), "second")
    pay(ledger, sales.part(slice(150, 300)).charge(ledger), "third")
    pay(ledger, sales.part(slice(0, 100)).charge(ledger), "again", budget=9.0)
    names = [(name, DIGEST) for name in ("first", "second", "third", "again", "nobody")]
    found = ledger.periods_shared([*names, ("second", "0" * 64)])
    assert found.known == (True, True, True, True, False, False)
    assert found.pairs[0, 1] == found.pairs[0, 2] == "none"
    assert found.pairs[1, 2] == "shared"
    assert found.pairs[0, 3] == "same"
    assert found.pairs[0, 4] == found.pairs[1, 5] == "unknown"
    assert found.together_with(0) == (0, 3, 4, 5)
    assert found.together_with(1) == (1, 2, 4, 5)
    ledger.decide(second, first, joined=True, reason="one register", person="curator")
    assert ledger.periods_shared(names[:2]).pairs == {(0, 1): "shared"}
    ledger.decide(second, first, joined=False, reason="two registers", person="curator")
    assert ledger.periods_shared(names[:2]).pairs == {(0, 1): "kept apart"}
    assert ledger.periods_shared(names[:2]).together_with(0) == (0,)


def test_of_many_records_only_a_sample_is_compared(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    sales = market(300)
    pay(ledger, sales.part(slice(0, 100)).charge(ledger), "first")
    pay(ledger, sales.part(slice(100, 300)).charge(ledger), "second")
    asked = [("first", DIGEST), ("second", DIGEST)]
    assert ledger.periods_shared(asked).pairs == {(0, 1): "none"}
    monkeypatch.setattr("hexcursion.ledger.overlap.EXACT_RECORDS", 150)
    found = ledger.periods_shared(asked)
    assert found.pairs == {(0, 1): "none in a sample"}
    assert found.together_with(1) == (1,)
    assert records.EXACT_RECORDS == 131_072


def test_without_a_ledger_everything_may_be_shared() -> None:
    found = nothing_known(3)
    assert found == PeriodsShared((False,) * 3, {(0, 1): "unknown", (0, 2): "unknown", (1, 2): "unknown"})
    assert found.together_with(1) == (0, 1, 2)
