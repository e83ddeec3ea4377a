"""The entries replayed: what may follow what, and which charges stand."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from workflow.ledger.account import Account, Budget
from workflow.ledger.charge import Cost, Floats, check_account, decode, on_current_grid
from workflow.ledger.entry import (
    BUDGET,
    COMMIT,
    DRAW,
    GENESIS,
    ORDERS,
    RESERVE,
    UNUSED,
    VOID,
    Entry,
)
from workflow.ledger.errors import LedgerError

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass
class _Running:
    """An account while the entries are read."""

    budget: Budget | None = None
    costs: dict[int, Cost] = field(default_factory=dict)
    total: Cost = field(default_factory=Cost.nothing)

    def add(self, number: int, cost: Cost) -> None:
        self.costs[number] = cost
        self.total = self.total.plus(cost)

    def give_back(self, number: int) -> None:
        # Subtracting would round downwards; what remains is added up anew.
        del self.costs[number]
        self.total = Cost.nothing()
        for cost in self.costs.values():
            self.total = self.total.plus(cost)


class Book:
    """Undamaged entries read in order. `accept` is the one place that says what may follow.

    It does not ask whether a charge fits the budget: that is asked once, when the charge is made
    (`Account.admit`), with the budget and the program of that day.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.key_identity = ""
        self.orders: Floats = np.empty(0)
        self.releases: dict[str, int] = {}  # release id -> its reserve entry
        self._reserves: dict[int, Entry] = {}
        self._last: dict[int, str] = {}  # reserve entry -> kind of the last entry about it
        self._accounts: dict[tuple[str, str], _Running] = {}
        for entry in entries:
            self.accept(entry)

    def accept(self, entry: Entry) -> None:
        """Take one more entry in; raises LedgerError for one that may not follow, and changes nothing."""
        if (entry.kind == GENESIS) != (entry.number == 0):
            raise LedgerError("A ledger begins with its genesis entry and has one of them.")
        if entry.kind in (GENESIS, ORDERS):
            self._grid(entry)
        elif entry.kind == BUDGET:
            self._budget(entry)
        elif entry.kind == RESERVE:
            self._reserve(entry)
        else:
            self._follow(entry)

    def account(self, dataset: str, unit: str) -> Account:
        """The account as it stands; an empty one for a dataset or unit never seen."""
        running = self._accounts.get((dataset, unit), _Running())
        charged = tuple(running.costs)
        return Account(
            dataset=dataset,
            unit=unit,
            budget=running.budget,
            cost=running.total,
            charged=charged,
            open=tuple(number for number in charged if self._last[number] != COMMIT),
            note=self._note(dataset, unit),
        )

    def accounts(self) -> tuple[Account, ...]:
        """Every account that has a budget, in the order in which they appeared."""
        return tuple(self.account(dataset, unit) for dataset, unit in self._accounts)

    def reserve_entry(self, number: int) -> Entry:
        """The charge with this number; raises LedgerError if it is none."""
        if number not in self._reserves:
            raise LedgerError(f"Entry {number} is not a charge: `ledger show` lists the charges.")
        return self._reserves[number]

    def _grid(self, entry: Entry) -> None:
        if entry.kind == GENESIS:
            self.key_identity = entry.facts["key"]
        self.orders = decode(entry.curve)

    def _budget(self, entry: Entry) -> None:
        check_account(entry.dataset, entry.unit)
        facts = entry.facts
        budget = Budget(facts["epsilon"], facts["delta"])
        running = self._accounts.setdefault((entry.dataset, entry.unit), _Running())
        signed = facts["reason"].strip() and facts["person"].strip()
        if running.budget is not None and budget.raises(running.budget) and not signed:
            raise LedgerError("A budget is raised by a person with a reason: give both.")
        running.budget = budget

    def _reserve(self, entry: Entry) -> None:
        running = self._accounts.get((entry.dataset, entry.unit))
        if running is None or running.budget is None:
            raise LedgerError("A charge needs a budget first.")
        mu = entry.facts["gaussian_mu"]
        values = on_current_grid(self.orders, decode(entry.curve))
        if not np.all(values > 0):
            raise LedgerError("A charge has a positive cost at every order.")
        running.add(entry.number, Cost.of(values, None if mu is None else float.fromhex(mu)))
        self._reserves[entry.number] = entry
        self._last[entry.number] = RESERVE

    def _follow(self, entry: Entry) -> None:
        charge = self.reserve_entry(-1 if entry.refers_to is None else entry.refers_to)
        number, facts = charge.number, entry.facts
        if (entry.dataset, entry.unit) != (charge.dataset, charge.unit):
            raise LedgerError(f"Entry {number} belongs to another dataset or unit.")
        last = self._last[number]
        if last in (UNUSED, VOID):
            raise LedgerError(
                f"The charge of entry {number} was given back, so nothing may be drawn or published on it: "
                "discard what was made and reserve anew."
            )
        if last == COMMIT:
            raise LedgerError(
                f"Entry {number} is committed: what was released stays charged, and is published only once."
            )
        if entry.kind == DRAW:
            if last != RESERVE:
                raise LedgerError(f"Entry {number} has drawn already: reserve anew for another draw.")
        elif entry.kind == UNUSED:
            if last != RESERVE:
                raise LedgerError(f"Entry {number} may have drawn: only a person can void it, with a reason.")
        elif entry.kind == COMMIT:
            self._commit(number, last, facts["release_id"], facts["digest"])
        elif entry.kind == VOID:
            if not (facts["reason"].strip() and facts["person"].strip()):
                raise LedgerError("A charge is voided by a person with a reason: give both.")
        else:
            raise LedgerError(f"The ledger knows no entries of the kind {entry.kind!r}.")
        self._last[number] = entry.kind
        if entry.kind in (UNUSED, VOID):
            self._accounts[entry.dataset, entry.unit].give_back(number)

    def _commit(self, number: int, last: str, release_id: str, digest: str) -> None:
        if last != DRAW:
            raise LedgerError(f"Entry {number} has drawn nothing: declare the draw before it is made.")
        if not release_id.strip() or release_id in self.releases:
            raise LedgerError(f"The release id {release_id!r} is empty or taken: every release has its own.")
        if not _SHA256.fullmatch(digest):
            raise LedgerError("The digest of a release is the SHA-256 of its files, 64 hex digits.")
        self.releases[release_id] = number

    def _note(self, dataset: str, unit: str) -> str:
        others = [
            (name, len(running.costs))
            for (known, name), running in self._accounts.items()
            if known == dataset and name != unit and running.costs
        ]
        return " ".join(
            f"Not counted here: {count} release{'s' if count > 1 else ''} of this dataset with the unit "
            f"{name!r}. What protects a {name} does not protect a {unit} equally, so the two epsilons "
            "neither add up nor cover each other."
            for name, count in others
        )
