"""The ledger: reserve, draw, commit, void; every step an entry, every refusal a sentence."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core.accounting.rdp import ORDERS as GRID
from dpgp_core.mechanisms.design import Unit
from hexcursion.ledger import assess, chain
from hexcursion.ledger.account import (
    Account,
    Budget,
    Charge,
    Preview,
    check_account,
    encode,
    written_cost,
)
from hexcursion.ledger.book import Book, Outcome, TraceMarks
from hexcursion.ledger.entry import Draft, Entry, EntryKind, canonical_json
from hexcursion.ledger.errors import LedgerDamaged, LedgerError, Unreleased
from hexcursion.ledger.overlap import PeriodsShared
from hexcursion.ledger.places import LedgerKey
from hexcursion.ledger.records import RecordKeys, record_keys
from hexcursion.ledger.store import Snapshot, Store, Writing


@dataclass(frozen=True)
class Reservation:
    """A charge in the ledger. The steps of its release are, in order: `begin_draw` before the first
    private random number; then draw and store; then `commit`, and only then show or hand out
    anything. `release_unused` gives the charge back, but only before `begin_draw`."""

    ledger: Ledger
    entry: Entry
    preview: Preview

    @property
    def number(self) -> int:
        """The number of the entry."""
        return self.entry.number

    @property
    def seal(self) -> str:
        """`number:hash:tag`, public; from a bundle, `verify` checks that the entry is unchanged."""
        return self.ledger.seal(self.entry)

    def begin_draw(self, place: str | Path = "") -> None:
        """Declare that private randomness is about to be drawn; from here on the charge is not
        given back. `place` is the path of the release; a person cannot void the charge once this
        path exists."""
        self.ledger._follow(self.number, "draw", {"place": os.path.abspath(place)} if place else {})

    def commit(self, release_id: str, digest: str) -> None:
        """Record the release as stored under this id; `digest` is its SHA-256."""
        self.ledger.commit(self.number, release_id, digest)

    def release_unused(self) -> None:
        """Give the charge back; raise `LedgerError` after `begin_draw`."""
        self.ledger._follow(self.number, "unused", {})


class Ledger:
    """An open ledger; see `opening.open_ledger`. Safe to share between threads, since it has no
    state in memory. Methods that read accounts or write raise `LedgerDamaged` if the chain does not
    verify; every method raises `LedgerBusy` or `LedgerError` if the database, the witness or the
    arguments prevent it."""

    def __init__(self, store: Store, key: LedgerKey, seals: tuple[chain.Seen, ...] = ()) -> None:
        self._store = store
        self._key = key
        self._seals = seals

    @property
    def identity(self) -> str:
        """The public name of the ledger's key, which names the work folders of its releases."""
        return self._key.identity

    def fingerprint(self, *columns: ArrayLike) -> str:
        """Return the name of a dataset from its (n,) columns; see `LedgerKey.fingerprint`."""
        return self._key.fingerprint(*columns)

    def record_keys(
        self, longitude: ArrayLike, latitude: ArrayLike, value: ArrayLike, **named: Any
    ) -> RecordKeys:
        """Return keyed hashes of n records from (n,) columns; see `records.record_keys`."""
        return record_keys(self._key, longitude, latitude, value, **named)

    def request(self, *parts: str) -> str:
        """Return the name of a request from its parts, such as the plan and the session. Equal
        parts give equal names, so a second click differs from a new plan."""
        return self._key.mac("request", "".join(f"{len(part)}:{part}" for part in parts).encode())

    def seal(self, entry: Entry) -> str:
        """Return the seal of a charge for its bundle; see `chain`."""
        return chain.seal_of(entry, self._key)

    # Reading

    def entries(self) -> tuple[Entry, ...]:
        """Return every row, verified or not."""
        return self._store.read().entries

    def account(self, dataset: str, unit: Unit) -> Account:
        """Return the account of a dataset under one unit of protection."""
        check_account(dataset, unit)
        return self._book().account(dataset, unit)

    def accounts(self) -> tuple[Account, ...]:
        """Return every account with a budget."""
        return self._book().accounts()

    def preview(self, charge: Charge, delta: float | None = None) -> Preview:
        """Preview a charge without writing. `delta` applies if no budget is set yet."""
        book = self._book()
        return assess.preview(book, charge, self._meet(book, charge.dataset, charge.records), delta)

    def check_charge(self, charge: Charge, budget: Budget | None = None) -> None:
        """Raise the errors of `set_budget` (with a budget) and `reserve` without writing."""
        book = self._book()
        assess.check(book, charge, self._meet(book, charge.dataset, charge.records), budget)

    def committed(self) -> Mapping[str, str]:
        """Return release id -> SHA-256 of the stored release, for every committed release."""
        return self._book().digests

    def clock_note(self) -> str:
        """Return a sentence if this machine's clock is a minute behind the last entry, else ""."""
        return chain.clock_note(self._store.read().entries[-1])

    def check_room(self) -> None:
        """Raise LedgerError if the disk of a SQLite ledger has no room for a release."""
        self._store.check_room()

    def outcome(self, number: int) -> Outcome:
        """Return the outcome of a charge so far."""
        return self._book().outcome(number)

    def uncommitted(self) -> frozenset[Path]:
        """Return the bundles near the ledger that quote an uncommitted charge: no releases."""
        book = self._book()
        committed = set(book.releases.values())
        return frozenset(seal.where for seal in self._quoting(book) if seal.number not in committed)

    def charge_of(self, release_id: str) -> Entry | None:
        """Return the charge of a committed release, or None."""
        book = self._book()
        number = book.releases.get(release_id)
        return None if number is None else book.reserve_entry(number)

    def periods_shared(self, releases: Sequence[tuple[str, str]]) -> PeriodsShared:
        """Compare the records of releases by the hashes stored at their charges, as
        `Book.periods_shared`. Raise `LedgerDamaged` if the chain does not verify."""
        return self._book().periods_shared(releases)

    def verify(self, seen: Iterable[str] = ()) -> list[chain.Finding]:
        """Verify the whole ledger; an empty list means that no change was detected. `seen`: seals
        (`number:hash`) from released bundles or from notes."""
        noted = dict(chain.parse_seal(seal) for seal in seen)
        triggers = [
            chain.Finding(None, f"The append-only trigger {name} is missing or switched off.")
            for name in self._store.missing_triggers()
        ]
        try:
            witness, damaged = chain.read_witness(self._key), []
        except LedgerDamaged as error:
            witness, damaged = None, [chain.Finding(None, str(error))]
        snapshot = self._store.read()
        findings = chain.check_chain(snapshot, self._key, witness, noted, self._seals)
        if not findings:
            # Read after the rows, so that rows of a concurrent release are extra and not missing.
            findings = chain.check_tables(
                Book(snapshot.entries), self._store.records(), self._store.requests()
            )
        return [*findings, *damaged, *triggers]

    # Writing

    def set_budget(
        self, dataset: str, unit: Unit, epsilon: float, delta: float, *, reason: str = "", person: str = ""
    ) -> Budget:
        """Set or change the budget of a dataset; write nothing for an equal one. The first budget
        and a smaller one need no reason; a larger epsilon or delta needs a reason and a person."""
        check_account(dataset, unit)
        budget = Budget(float(epsilon), float(delta))
        account = self.account(dataset, unit)
        if account.takes(budget):
            facts = {"epsilon": budget.epsilon, "delta": budget.delta, "reason": reason, "person": person}
            self._append(lambda book, _: [Draft("budget", facts, dataset, unit)])
        return budget

    def decide(self, dataset: str, other: str, joined: bool, *, reason: str, person: str) -> None:
        """Record a person's decision whether two datasets hold the same records; it overrides the
        counts. If joined, every release of one also counts for the other, including earlier ones.
        If kept apart, no release does, and the person vouches that no record is in both."""
        facts = {"other": other, "joined": bool(joined), "reason": reason, "person": person}
        self._append(lambda book, _: [Draft("link", facts, dataset)])

    def datasets_of(self, entries: Iterable[int]) -> tuple[str, ...]:
        """Return the datasets of charges by number; raise LedgerError for other entries."""
        book = self._book()
        return tuple(dict.fromkeys(book.reserve_entry(number).dataset for number in entries))

    def reserve(self, charge: Charge, request: str = "") -> Reservation:
        """Charge a release before anything is drawn. A `request` is charged once, with any outcome.
        Raise `BudgetExceeded`, `NoBudget` or `RequestTaken` without writing."""
        previews: list[Preview] = []
        facts: dict[str, Any] = {"facts": charge.facts, "cost": written_cost(charge.cost)}
        if request:
            facts["request"] = request
        if charge.accepts_weaker:
            facts["accepts_weaker"] = True

        def admitted(book: Book, writing: Writing) -> list[Draft]:
            if request:
                book.check_request(request)
            meeting = assess.meet(
                book, charge.dataset, charge.records, writing.records() if charge.records else {}
            )
            preview = assess.admit(book, charge, meeting)
            previews.append(preview)
            drafts = assess.joined(charge, book.links)
            if charge.records is not None and not book.links.knows(charge.dataset):
                drafts.append(assess.registration(charge.dataset, charge.records, meeting, writing))
            budget = preview.budget
            if budget is not None and assess.charged_account(book, charge, meeting).inherited:
                drafts.append(assess.inherited(charge, budget))
            drafts.append(
                Draft("reserve", facts, charge.dataset, charge.unit, curve=encode(charge.cost.curve.values))
            )
            return drafts

        return Reservation(self, self._append(admitted, request), previews.pop())

    @contextmanager
    def charged(self, charge: Charge, request: str = "") -> Iterator[Reservation]:
        """Charge one release: `with ledger.charged(charge) as reservation:`; `request` as for
        `reserve`. The charge remains until `release_unused` or a person's void; an exception
        propagates and gives nothing back. Raise `LedgerError` on leaving without `commit` or
        `release_unused`."""
        reservation = self.reserve(charge, request)
        yield reservation
        if reservation.number in self.account(charge.dataset, charge.unit).open:
            raise LedgerError(
                f"The release of entry {reservation.number} ended without a commit: it stays charged until "
                "it is voided with a reason."
            )

    def commit(self, number: int, release_id: str, digest: str) -> None:
        """Record the release of a charge; see Reservation."""
        self._follow(number, "commit", {"release_id": release_id, "digest": digest})

    def void(self, number: int, reason: str, person: str) -> None:
        """Give back a charge that was never released, on a person's responsibility. Raise
        `LedgerError` if the charge is not open, or if a bundle exists at the path of the draw, or
        near the ledger with this charge's seal: it may have been seen."""
        book = self._book()
        place = book.places.get(number, "")
        bundles = [path for path in (place, f"{place}.zip") if place and os.path.lexists(path)]
        bundles += [str(seal.where) for seal in self._quoting(book) if seal.number == number]
        if bundles:
            raise LedgerError(
                f"Entry {number} has a bundle, in {bundles[0]}: its release stays charged. If it is "
                "not a release of this entry, move it away first."
            )
        self._follow(number, "void", {"reason": reason, "person": person})

    # How a row is written

    def _book(self) -> Book:
        witness = chain.read_witness(self._key)  # before the rows, so that it is not ahead of them
        return self._checked(self._store.read(), witness)

    def _checked(self, snapshot: Snapshot, witness: chain.Witness | None) -> Book:
        findings = chain.check_chain(snapshot, self._key, witness, seals=self._seals)
        if findings:
            raise LedgerDamaged(
                f"The ledger does not verify ({findings[0]}) Nothing is charged to it until `ledger verify` "
                "is clean: restore it from a backup."
            )
        return Book(snapshot.entries)

    def _quoting(self, book: Book) -> Iterator[chain.Seen]:
        """Return the seals near the ledger that quote one of its charges."""
        return (seal for seal in self._seals if book.is_charge(seal.number, seal.hash))

    def _meet(self, book: Book, dataset: str, records: RecordKeys | None) -> assess.Meeting:
        return assess.meet(book, dataset, records, self._store.records() if records is not None else {})

    def _follow(self, number: int, kind: EntryKind, facts: Mapping[str, Any]) -> None:
        def draft(book: Book, _: Writing) -> list[Draft]:
            charge = book.reserve_entry(number)
            return [Draft(kind, facts, charge.dataset, charge.unit, refers_to=number)]

        self._append(draft)

    def _append(self, make: Callable[[Book, Writing], Sequence[Draft]], request: str = "") -> Entry:
        """Append rows in one transaction: lock, verify, check them in the book, write them, sign
        the head. `request` belongs to the last row. A ledger with another grid of orders first gets
        an entry with the current one, in the same transaction."""
        with self._store.writing() as writing:
            book = self._checked(writing.snapshot, chain.read_witness(self._key))
            last = writing.snapshot.entries[-1]
            drafts = make(book, writing)
            regrid = [] if np.array_equal(book.orders, GRID) else [Draft("orders", {}, curve=encode(GRID))]
            for draft in (*regrid, *drafts):
                last = draft.after(last)
                book.accept(last)
                writing.append(last, chain.sign_head(self._key, last))
            if request:
                writing.keep_request(request, last.number)
        chain.advance_witness(self._key, chain.Witness(last.number + 1, last.hash))
        return last


_DIGITS, _MOST_MARKS = 12, 2000
"""The digits of a mark and the number of marks stored, the smallest ones, so that two traces with
common records have common marks."""


def trace_marks(ledger: Ledger, time: ArrayLike, longitude: ArrayLike, latitude: ArrayLike) -> TraceMarks:
    """Return the marks of a trace as recorded, before thinning. `time`, `longitude`, `latitude`:
    (n,), seconds since 1970, degrees. Raise `LedgerError` for an empty trace."""
    table = np.column_stack([np.asarray(part, dtype=np.float64) for part in (time, longitude, latitude)])
    if not table.size:
        raise LedgerError("There are no records of a trace to mark: load one first.")
    rows = (row.astype(">f8").tobytes() for row in table + 0.0)
    return tuple(sorted({ledger._key.mac("trace", row)[:_DIGITS] for row in rows})[:_MOST_MARKS])


def check_trace(ledger: Ledger, marks: TraceMarks) -> None:
    """Raise LedgerError, without writing, if some of these records were released before."""
    ledger._book().traces.check(marks, "")


def charge_trace(ledger: Ledger, marks: TraceMarks, facts: Mapping[str, Any], request: str) -> Entry:
    """Charge a trace's release before anything is drawn, once for each `request` (from
    `Ledger.request`); the charge is never given back. `facts`: public JSON. Without writing, raise
    `LedgerError` if some of its records were released before, `RequestTaken` for a request that was
    charged."""
    body: dict[str, Any] = {"facts": dict(facts), "marks": list(marks), "request": request}
    canonical_json(body)

    def draft(book: Book, _: Writing) -> list[Draft]:
        book.traces.check(marks, request)
        return [Draft("trace", body)]

    return ledger._append(draft)


@contextmanager
def charge_stands(ledger: Ledger, charge: Charge, request: str) -> Iterator[Reservation]:
    """`Ledger.charged` with errors that name the entry and the consequence of voiding it. After the
    charge raise `Unreleased` in place of any error (an interrupt keeps its type and gets a note);
    before it raise `BudgetExceeded`, `NoBudget` or `RequestTaken`."""
    number = None
    try:
        with ledger.charged(charge, request) as reservation:
            number = reservation.number
            yield reservation
    except BaseException as error:
        if number is None or isinstance(error, Unreleased):
            raise
        text = standing_text(number, error, ledger)
        if isinstance(error, Exception):
            raise Unreleased(number, text) from error
        error.add_note(text)  # an interrupt keeps its type
        raise


def standing_text(number: int, error: BaseException, ledger: Ledger) -> str:
    """Return the sentences about a charge without a release, for the person who decides."""
    reason = (str(error) or type(error).__name__).strip().rstrip(".")
    broke_off = f"The release broke off after it was charged ({reason})"
    try:
        outcome = ledger.outcome(number)
        if outcome == "given back":
            return f"{broke_off}. Entry {number} was given back meanwhile; no bundle was published."
        if outcome == "released":
            return f"{broke_off}, but entry {number} was committed: the next start puts its bundle in place."
    except LedgerError:
        return (
            f"{broke_off}, and the ledger cannot be asked now. If entry {number} was committed, the next "
            "start publishes its release; if not, nothing is published and its epsilon stays spent. "
            f"`python -m hexcursion ledger show` says which, once the ledger answers."
        )
    return (
        f"{broke_off}. Entry {number} stays in the ledger and its epsilon stays spent; no bundle was "
        f"published. `python -m hexcursion ledger void {number}` would give the epsilon back: that is right "
        "only if the draw cannot have been seen by anyone, and the person who does it answers for it by name."
    )
