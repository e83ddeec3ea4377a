"""The entries of a ledger read in order, also those of location traces: valid successors and
charges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from typing import Literal

import numpy as np

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.guarantee import together
from dpgp_core.mechanisms.design import Unit
from hexcursion.ledger.account import (
    UNITS,
    Account,
    Budget,
    Floats,
    check_account,
    decode,
    on_current_grid,
    read_cost,
)
from hexcursion.ledger.entry import SCHEMA_VERSION, Entry, EntryKind
from hexcursion.ledger.errors import LedgerError, RequestTaken
from hexcursion.ledger.overlap import Decision, Links, PeriodsShared
from hexcursion.words import plural

TraceMarks = tuple[str, ...]
"""Keyed hashes of a trace's records, 12 hex digits each, ascending, at most 2,000 of them. They
reveal a second release of the same places, and nothing else."""


class TraceBook:
    """The charged traces, read in order."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}  # mark -> its entry
        self._requests: dict[str, int] = {}

    def accept(self, entry: Entry) -> None:
        """Add an entry. Raise as `check`."""
        facts = entry.facts
        self.check(facts["marks"], facts["request"])
        self._seen.update(dict.fromkeys(facts["marks"], entry.number))
        self._requests[facts["request"]] = entry.number

    def check(self, marks: Iterable[str], request: str) -> None:
        """Raise RequestTaken or LedgerError if the same request or the same records were charged
        before."""
        if request in self._requests:
            raise RequestTaken(self._requests[request], "a released trace")
        for mark in marks:
            if mark in self._seen:
                raise LedgerError(
                    f"Records of this trace were released before, as entry {self._seen[mark]}: a second draw "
                    "would reveal more than either draw, so there is no second one. Use the first release."
                )


Outcome = Literal["open", "released", "given back"]
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass
class _Running:
    """The state of an account during reading."""

    budget: Budget | None = None
    costs: dict[int, Cost] = field(default_factory=dict)


def check_version(version: int) -> None:
    """Raise LedgerError for another schema: a newer one, or one from before the first release."""
    if version > SCHEMA_VERSION:
        raise LedgerError("This ledger was written by a newer Hexcursion: open it with that version.")
    if version < SCHEMA_VERSION:
        raise LedgerError(
            "This ledger was written before the first release of Hexcursion: keep it, and begin a new one."
        )


class Book:
    """Undamaged entries read in order. Only `accept` decides which entry may follow. It does not
    check that a charge fits the budget: `Account.admit` checks this once, when the charge is made,
    with the budget and the program of that day."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.key_identity = ""
        self.orders: Floats = np.empty(0)
        self.links = Links()
        self.traces = TraceBook()
        self.releases: dict[str, int] = {}  # release id -> its reserve entry
        self.digests: dict[str, str] = {}  # release id -> SHA-256 of the stored release
        self.requests: dict[str, int] = {}  # request -> its reserve entry
        self.places: dict[int, str] = {}  # reserve entry -> planned path of its bundle
        self._reserves: dict[int, Entry] = {}
        self._last: dict[int, EntryKind] = {}  # reserve entry -> kind of the last entry about it
        self._accounts: dict[tuple[str, str], _Running] = {}
        for entry in entries:
            self.accept(entry)

    def accept(self, entry: Entry) -> None:
        """Add an entry; raise `LedgerError`, changing nothing, if it may not follow."""
        if (entry.kind == "genesis") != (entry.number == 0):
            raise LedgerError("A ledger begins with its genesis entry and has one of them.")
        if entry.kind in ("genesis", "orders"):
            if entry.kind == "genesis":
                self.key_identity = entry.facts["key"]
                check_version(entry.facts["schema"])
            self.orders = decode(entry.curve)
        elif entry.kind == "records":
            check_account(entry.dataset, UNITS[0])
            self.links.register(entry.dataset, entry.facts)
        elif entry.kind == "link":
            self._link(entry)
        elif entry.kind == "budget":
            self._budget(entry)
        elif entry.kind == "reserve":
            self._reserve(entry)
        elif entry.kind == "trace":
            self.traces.accept(entry)
        else:
            self._follow(entry)

    def account(self, dataset: str, unit: Unit, seen: Iterable[str] = ()) -> Account:
        """Return the current account, an empty one for an unknown dataset or unit. `seen`: datasets
        that share records with this one before it is registered."""
        running = self._accounts.get((dataset, unit), _Running())
        shares = self.links.neighbours(dataset, seen)
        neighbours = [self._accounts[other, unit] for other in shares if (other, unit) in self._accounts]
        theirs = [other.budget for other in neighbours if other.budget is not None]
        inherited = running.budget is None and bool(theirs)
        return Account(
            dataset=dataset,
            unit=unit,
            budget=reduce(Budget.or_less, theirs) if inherited else running.budget,
            cost=together(cost for state in (running, *neighbours) for cost in state.costs.values()),
            charged=tuple(running.costs),
            open=tuple(number for number in running.costs if self._last[number] != "commit"),
            note=self._note(dataset, unit, shares),
            shares=shares,
            others=tuple(sorted(number for other in neighbours for number in other.costs)),
            inherited=inherited,
        )

    def set_budget(self, dataset: str, unit: Unit, budget: Budget, *, signed: bool = False) -> None:
        """Set the budget from this entry on. `signed`: whether a person gave a reason for it. Raise
        `LedgerError` for a larger one that is not signed."""
        running = self._accounts.setdefault((dataset, unit), _Running())
        if running.budget is not None and budget.raises(running.budget) and not signed:
            raise LedgerError(
                "A budget is raised by a person with a reason: give both with `python -m hexcursion ledger "
                f"budget {dataset[:12]} --unit {unit} --epsilon {budget.epsilon:g} --delta {budget.delta:g} "
                "--reason WHY --person WHO`."
            )
        running.budget = budget

    def accounts(self) -> tuple[Account, ...]:
        """Return every account that has a budget, in order of appearance."""
        return tuple(self.account(name, check_account(name, unit)) for name, unit in self._accounts)

    def reserve_entry(self, number: int) -> Entry:
        """Return the charge with this number; raise `LedgerError` if the entry is not a charge."""
        if number not in self._reserves:
            raise LedgerError(f"Entry {number} is not a charge: `ledger show` lists the charges.")
        return self._reserves[number]

    def charged_datasets(self) -> tuple[str, ...]:
        """Return the datasets with a charge that counts, under any unit, in order of appearance."""
        return tuple(dict.fromkeys(name for (name, _), running in self._accounts.items() if running.costs))

    def is_charge(self, number: int, digest: str) -> bool:
        """Whether the entry of this number is a charge and has this hash."""
        return number in self._reserves and self._reserves[number].hash == digest

    def cost_of(self, number: int) -> Cost:
        """Return the cost of a charge that counts."""
        entry = self.reserve_entry(number)
        return self._accounts[entry.dataset, entry.unit].costs[number]

    def state(self, number: int) -> str:
        """Describe the outcome of a charge."""
        outcome = self.outcome(number)
        if outcome == "released":
            return f"released as {next(name for name, at in self.releases.items() if at == number)}"
        return "given back since" if outcome == "given back" else "under way, or broken off and still charged"

    def outcome(self, number: int) -> Outcome:
        """Return the outcome of a charge; an open one is under way, or was interrupted and stays
        charged."""
        last = self._last[self.reserve_entry(number).number]
        return "released" if last == "commit" else "given back" if last in ("unused", "void") else "open"

    def periods_shared(self, releases: Sequence[tuple[str, str]]) -> PeriodsShared:
        """Compare the records of releases, each identified by its id and the SHA-256 of its
        `SHA256SUMS`; a bundle that matches only the id is unknown."""
        datasets = [
            self.reserve_entry(self.releases[name]).dataset if self.digests.get(name) == digest else None
            for name, digest in releases
        ]
        pairs = {
            (first, second): self.links.between(datasets[first], datasets[second])
            for first, second in combinations(range(len(datasets)), 2)
        }
        return PeriodsShared(
            tuple(dataset is not None and self.links.knows(dataset) for dataset in datasets), pairs
        )

    def check_request(self, request: str) -> None:
        """Raise RequestTaken if this request was charged before, with any outcome."""
        if request in self.requests:
            number = self.requests[request]
            raise RequestTaken(number, self.state(number))

    def _link(self, entry: Entry) -> None:
        facts = entry.facts
        for dataset in (entry.dataset, facts["other"]):
            check_account(dataset, UNITS[0])
        decision = Decision(entry.number, facts["joined"], facts["reason"], facts["person"])
        self.links.decide(entry.dataset, facts["other"], decision)

    def _budget(self, entry: Entry) -> None:
        facts = entry.facts
        budget = Budget(facts["epsilon"], facts["delta"])
        signed = bool(facts["reason"].strip() and facts["person"].strip())
        self.set_budget(entry.dataset, check_account(entry.dataset, entry.unit), budget, signed=signed)

    def _reserve(self, entry: Entry) -> None:
        running = self._accounts.get((entry.dataset, entry.unit))
        if running is None or running.budget is None:
            raise LedgerError("A charge needs a budget first.")
        cost = read_cost(on_current_grid(self.orders, decode(entry.curve)), entry.facts)
        request = entry.facts.get("request")
        if request is not None:
            self.check_request(request)
            self.requests[request] = entry.number
        running.costs[entry.number] = cost
        self._reserves[entry.number] = entry
        self._last[entry.number] = "reserve"

    def _follow(self, entry: Entry) -> None:
        charge = self.reserve_entry(-1 if entry.refers_to is None else entry.refers_to)
        number, facts = charge.number, entry.facts
        if (entry.dataset, entry.unit) != (charge.dataset, charge.unit):
            raise LedgerError(f"Entry {number} belongs to another dataset or unit.")
        last = self._last[number]
        if last in ("unused", "void"):
            raise LedgerError(
                f"The charge of entry {number} was given back, so nothing may be drawn or published on it: "
                "discard its results and reserve anew."
            )
        if last == "commit":
            raise LedgerError(
                f"Entry {number} is committed: its release stays charged, and is published only once."
            )
        if entry.kind == "draw":
            if last != "reserve":
                raise LedgerError(f"Entry {number} has drawn already: reserve anew for another draw.")
            if "place" in facts:
                self.places[number] = facts["place"]
        elif entry.kind == "unused":
            if last != "reserve":
                raise LedgerError(f"Entry {number} may have drawn: only a person can void it, with a reason.")
        elif entry.kind == "commit":
            self._commit(number, last, facts["release_id"], facts["digest"])
        elif entry.kind == "void":
            if not (facts["reason"].strip() and facts["person"].strip()):
                raise LedgerError("A charge is voided by a person with a reason: give both.")
        else:
            raise LedgerError(f"The ledger knows no entries of the kind {entry.kind!r}.")
        self._last[number] = entry.kind
        if entry.kind in ("unused", "void"):
            del self._accounts[entry.dataset, entry.unit].costs[number]

    def _commit(self, number: int, last: EntryKind, release_id: str, digest: str) -> None:
        if last != "draw":
            raise LedgerError(f"Entry {number} has drawn nothing: declare the draw before it is made.")
        if not release_id.strip() or release_id in self.releases:
            raise LedgerError(f"The release id {release_id!r} is empty or taken: every release has its own.")
        if not _SHA256.fullmatch(digest):
            raise LedgerError("The digest of a release is the SHA-256 of its files, 64 hex digits.")
        self.releases[release_id] = number
        self.digests[release_id] = digest

    def _note(self, dataset: str, unit: Unit, shares: tuple[str, ...]) -> str:
        (other_unit,) = (name for name in UNITS if name != unit)
        own_count = self._count(shares, unit)
        elsewhere = self._count((dataset, *shares), other_unit)
        notes = []
        if own_count:
            notes.append(
                f"Counted here too: {plural(own_count, 'release')} of datasets that hold some of the "
                "same records."
            )
        if elsewhere:
            whose = "these records" if shares else "this dataset"
            notes.append(
                f"Not counted here: {plural(elsewhere, 'release')} of {whose} with the unit {other_unit!r}. "
                f"What protects a {other_unit} does not protect a {unit} equally, so the two epsilons "
                "neither add up nor cover each other."
            )
        return " ".join(notes)

    def _count(self, datasets: Iterable[str], unit: Unit) -> int:
        """Return the number of charges of these datasets that count under a unit."""
        return sum(len(self._accounts.get((name, unit), _Running()).costs) for name in datasets)
