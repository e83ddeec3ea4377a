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
    """A charge that stands in the ledger. The steps of its release, in order: `begin_draw` before the first
    private random number; then draw and store; then `commit`, and only after it show or hand out anything.
    `release_unused` gives the charge back, before `begin_draw` only."""

    ledger: Ledger
    entry: Entry
    preview: Preview

    @property
    def number(self) -> int:
        """The number of the entry."""
        return self.entry.number

    @property
    def seal(self) -> str:
        """`number:hash:tag`, public: in a bundle, it lets `verify` tell whether the entry still stands."""
        return self.ledger.seal(self.entry)

    def begin_draw(self, place: str | Path = "") -> None:
        """Declare that private randomness is about to be drawn: from here on the charge is not given back.
        `place`: where the release will be put; a person cannot void the charge once something lies there."""
        self.ledger._follow(self.number, "draw", {"place": os.path.abspath(place)} if place else {})

    def commit(self, release_id: str, digest: str) -> None:
        """The release is stored under this id; `digest` is the SHA-256 of what was stored."""
        self.ledger.commit(self.number, release_id, digest)

    def release_unused(self) -> None:
        """Give the charge back; refused once a draw was declared."""
        self.ledger._follow(self.number, "unused", {})


class Ledger:
    """An open ledger; see `opening.open_ledger`. Safe to share between threads: nothing is kept in memory.
    What reads accounts or writes raises `LedgerDamaged` where the chain does not verify; every method raises
    `LedgerBusy` or `LedgerError` where the database, the witness or what is asked for does not allow it."""

    def __init__(self, store: Store, key: LedgerKey, beside: tuple[chain.Seen, ...] = ()) -> None:
        self._store = store
        self._key = key
        self._beside = beside

    @property
    def identity(self) -> str:
        """The public name of the ledger's key: what its releases' work folders are recognised by."""
        return self._key.identity

    def fingerprint(self, *columns: ArrayLike) -> str:
        """The name of a dataset in this ledger, from its columns, (n,) each; see `LedgerKey.fingerprint`."""
        return self._key.fingerprint(*columns)

    def record_keys(
        self, longitude: ArrayLike, latitude: ArrayLike, value: ArrayLike, **named: Any
    ) -> RecordKeys:
        """Keyed hashes of a dataset's n records, from columns of shape (n,); see `records.record_keys`."""
        return record_keys(self._key, longitude, latitude, value, **named)

    def request(self, *parts: str) -> str:
        """The name of a request, from everything that makes it one: the plan, and the session that asks. The
        same parts always give the same name, so a second click can be told from a new plan."""
        return self._key.mac("request", "".join(f"{len(part)}:{part}" for part in parts).encode())

    def seal(self, entry: Entry) -> str:
        """The seal of a charge, for its bundle; see `chain`."""
        return chain.seal_of(entry, self._key)

    # Reading

    def entries(self) -> tuple[Entry, ...]:
        """Every row as it stands, verified or not."""
        return self._store.read().entries

    def account(self, dataset: str, unit: Unit) -> Account:
        """Budget, spent and left of a dataset under one unit of protection."""
        check_account(dataset, unit)
        return self._book().account(dataset, unit)

    def accounts(self) -> tuple[Account, ...]:
        """Every account with a budget."""
        return self._book().accounts()

    def preview(self, charge: Charge, delta: float | None = None) -> Preview:
        """What `charge` would do; writes nothing. `delta` is used where no budget is set yet."""
        book = self._book()
        return assess.preview(book, charge, self._meet(book, charge.dataset, charge.records), delta)

    def check_charge(self, charge: Charge, budget: Budget | None = None) -> None:
        """Raise what `set_budget` (where a budget is given) and `reserve` would raise; writes nothing."""
        book = self._book()
        assess.check(book, charge, self._meet(book, charge.dataset, charge.records), budget)

    def committed(self) -> Mapping[str, str]:
        """Release id -> SHA-256 of what was stored, for every release that was committed."""
        return self._book().digests

    def check_room(self) -> None:
        """Raise LedgerError where the disk of a SQLite ledger has no room for the rows of a release."""
        self._store.check_room()

    def outcome(self, number: int) -> Outcome:
        """What became of a charge so far."""
        return self._book().outcome(number)

    def uncommitted(self) -> frozenset[Path]:
        """Bundles beside the ledger that quote one of its charges and were never committed: no releases."""
        book = self._book()
        committed = set(book.releases.values())
        return frozenset(seen.where for seen in self._quoting(book) if seen.number not in committed)

    def charge_of(self, release_id: str) -> Entry | None:
        """The charge behind a committed release, or None."""
        book = self._book()
        number = book.releases.get(release_id)
        return None if number is None else book.reserve_entry(number)

    def periods_shared(self, releases: Sequence[tuple[str, str]]) -> PeriodsShared:
        """Compare the records of releases by the hashes that were kept when each was charged; as
        `Book.periods_shared`. Raise `LedgerDamaged` if the chain does not verify."""
        return self._book().periods_shared(releases)

    def verify(self, seen: Iterable[str] = ()) -> list[chain.Finding]:
        """Recompute everything; an empty list means that nothing was changed, as far as can be known. `seen`:
        seals (`number:hash`) from released bundles or from notes kept elsewhere."""
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
        findings = chain.check_chain(snapshot, self._key, witness, noted, self._beside)
        if not findings:
            # Read after the rows: what a release at the same time adds is not missed, only not yet known.
            findings = chain.check_tables(
                Book(snapshot.entries), self._store.records(), self._store.requests()
            )
        return [*findings, *damaged, *triggers]

    # Writing

    def set_budget(
        self, dataset: str, unit: Unit, epsilon: float, delta: float, *, reason: str = "", person: str = ""
    ) -> Budget:
        """Set or change the budget of a dataset; setting what is set already writes nothing. The first budget
        and a smaller one need no reason; a larger epsilon or delta needs one, and a person."""
        check_account(dataset, unit)
        budget = Budget(float(epsilon), float(delta))
        account = self.account(dataset, unit)
        if account.takes(budget):
            facts = {"epsilon": budget.epsilon, "delta": budget.delta, "reason": reason, "person": person}
            self._append(lambda book, _: [Draft("budget", facts, dataset, unit)])
        return budget

    def decide(self, dataset: str, other: str, joined: bool, *, reason: str, person: str) -> None:
        """A person's word on whether two datasets hold the same records; it outweighs what was counted.
        Joined, every release of one counts for the other as well, from the first on. Kept apart, none does:
        the person answers for it that no record is in both."""
        facts = {"other": other, "joined": bool(joined), "reason": reason, "person": person}
        self._append(lambda book, _: [Draft("link", facts, dataset)])

    def datasets_of(self, entries: Iterable[int]) -> tuple[str, ...]:
        """The datasets of charges by their numbers; LedgerError for a number that is no charge."""
        book = self._book()
        return tuple(dict.fromkeys(book.reserve_entry(number).dataset for number in entries))

    def reserve(self, charge: Charge, request: str = "") -> Reservation:
        """Charge a release before anything is drawn. The same `request` is charged once, whatever became of
        it. Raise `BudgetExceeded`, `NoBudget` or `RequestTaken`; nothing is written then."""
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
            previews.append(assess.admit(book, charge, meeting))
            drafts = assess.joined(charge, book.links)
            if charge.records is not None and not book.links.knows(charge.dataset):
                drafts.append(assess.registration(charge.dataset, charge.records, meeting, writing))
            budget = previews[-1].budget
            if budget is not None and assess.charged_account(book, charge, meeting).inherited:
                drafts.append(assess.inherited(charge, budget))
            drafts.append(
                Draft("reserve", facts, charge.dataset, charge.unit, curve=encode(charge.cost.curve.values))
            )
            return drafts

        return Reservation(self, self._append(admitted, request), previews[0])

    @contextmanager
    def charged(self, charge: Charge, request: str = "") -> Iterator[Reservation]:
        """`with ledger.charged(charge) as reservation:` around one release; `request` as for `reserve`. The
        charge stands until `release_unused` or a person's void: an exception is passed on and gives nothing
        back. Raise `LedgerError` on leaving without commit or `release_unused`."""
        reservation = self.reserve(charge, request)
        yield reservation
        if reservation.number in self.account(charge.dataset, charge.unit).open:
            raise LedgerError(
                f"The release of entry {reservation.number} ended without a commit: it stays charged until "
                "it is voided with a reason."
            )

    def commit(self, number: int, release_id: str, digest: str) -> None:
        """Record that a charge was released; see Reservation."""
        self._follow(number, "commit", {"release_id": release_id, "digest": digest})

    def void(self, number: int, reason: str, person: str) -> None:
        """A person answers for giving back a charge that was never released; committed ones stay charged.
        Raise `LedgerError` if it is no open charge, or a bundle lies in the place that the draw named, or
        beside the ledger with this charge's seal: what exists may have been seen."""
        book = self._book()
        place = book.places.get(number, "")
        bundles = [path for path in (place, f"{place}.zip") if place and os.path.lexists(path)]
        bundles += [str(seen.where) for seen in self._quoting(book) if seen.number == number]
        if bundles:
            raise LedgerError(
                f"Entry {number} has a bundle, in {bundles[0]}: what was released stays charged. If it is "
                "not a release of this entry, move it away first."
            )
        self._follow(number, "void", {"reason": reason, "person": person})

    # How a row is written

    def _book(self) -> Book:
        witness = chain.read_witness(self._key)  # before the rows: it must not be ahead of them
        return self._checked(self._store.read(), witness)

    def _checked(self, snapshot: Snapshot, witness: chain.Witness | None) -> Book:
        findings = chain.check_chain(snapshot, self._key, witness, beside=self._beside)
        if findings:
            raise LedgerDamaged(
                f"The ledger does not verify ({findings[0]}) Nothing is charged to it until `ledger verify` "
                "is clean: restore it from a backup."
            )
        return Book(snapshot.entries)

    def _quoting(self, book: Book) -> Iterator[chain.Seen]:
        """The seals beside the ledger that quote one of its charges."""
        return (seen for seen in self._beside if book.is_charge(seen.number, seen.hash))

    def _meet(self, book: Book, dataset: str, records: RecordKeys | None) -> assess.Meeting:
        return assess.meet(book, dataset, records, self._store.records() if records is not None else {})

    def _follow(self, number: int, kind: EntryKind, facts: Mapping[str, Any]) -> None:
        def draft(book: Book, _: Writing) -> list[Draft]:
            charge = book.reserve_entry(number)
            return [Draft(kind, facts, charge.dataset, charge.unit, refers_to=number)]

        self._append(draft)

    def _append(self, make: Callable[[Book, Writing], Sequence[Draft]], request: str = "") -> Entry:
        """One transaction: lock, verify, ask the book whether the rows may follow, write them, sign the head.
        The last row is the one that `request` names. A ledger with another grid of orders is first brought to
        today's, in the same transaction."""
        with self._store.writing() as writing:
            book = self._checked(writing.snapshot, chain.read_witness(self._key))
            last = writing.snapshot.entries[-1]
            made = make(book, writing)
            regrid = [] if np.array_equal(book.orders, GRID) else [Draft("orders", {}, curve=encode(GRID))]
            for draft in (*regrid, *made):
                last = draft.after(last)
                book.accept(last)
                writing.append(last, chain.sign_head(self._key, last))
            if request:
                writing.keep_request(request, last.number)
        chain.advance_witness(self._key, chain.Witness(last.number + 1, last.hash))
        return last


_DIGITS, _MOST_MARKS = 12, 2000
"""Of each mark, and of the marks that are kept: the smallest, so that two traces with common records keep
common marks."""


def trace_marks(ledger: Ledger, time: ArrayLike, longitude: ArrayLike, latitude: ArrayLike) -> TraceMarks:
    """The marks of a trace as it was recorded, before it is thinned. `time`, `longitude`, `latitude`: (n,),
    seconds since 1970, degrees. Raise `LedgerError` for an empty trace."""
    table = np.column_stack([np.asarray(part, dtype=np.float64) for part in (time, longitude, latitude)])
    if not table.size:
        raise LedgerError("There are no records of a trace to mark: load one first.")
    rows = (row.astype(">f8").tobytes() for row in table + 0.0)
    return tuple(sorted({ledger._key.mac("trace", row)[:_DIGITS] for row in rows})[:_MOST_MARKS])


def check_trace(ledger: Ledger, marks: TraceMarks) -> None:
    """Raise LedgerError where some of these records were released before; writes nothing."""
    ledger._book().traces.check(marks, "")


def charge_trace(ledger: Ledger, marks: TraceMarks, facts: Mapping[str, Any], request: str) -> Entry:
    """Charge a trace's release before anything is drawn, once for each `request` (from `Ledger.request`); it
    is never given back. `facts`: public JSON. Raise `LedgerError` where some of its records were released
    before, `RequestTaken` for a request that was charged; nothing is written then."""
    body: dict[str, Any] = {"facts": dict(facts), "marks": list(marks), "request": request}
    canonical_json(body)

    def draft(book: Book, _: Writing) -> list[Draft]:
        book.traces.check(marks, request)
        return [Draft("trace", body)]

    return ledger._append(draft)


@contextmanager
def charge_stands(ledger: Ledger, charge: Charge, request: str) -> Iterator[Reservation]:
    """`Ledger.charged`, with an error that names the entry and what voiding it would mean. Raise `Unreleased`
    in place of any error after the charge (an interrupt keeps its kind and gets a note); before it
    `BudgetExceeded`, `NoBudget` or `RequestTaken`."""
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
        error.add_note(text)  # an interrupt stays what it is
        raise


def standing_text(number: int, error: BaseException, ledger: Ledger) -> str:
    """What to say of a charge without a release, in words for the person who has to decide about it."""
    reason = (str(error) or type(error).__name__).strip().rstrip(".")
    broke_off = f"The release broke off after it was charged ({reason})"
    try:
        outcome = ledger.outcome(number)
        if outcome == "given back":
            return f"{broke_off}. Entry {number} was given back meanwhile; no bundle was published."
        if outcome == "released":
            return f"{broke_off}, but entry {number} was committed: the next start puts its bundle in place."
    except LedgerError:
        broke_off += "; the ledger cannot be asked now"
    return (
        f"{broke_off}. Entry {number} of the ledger stands and its epsilon stays spent; no bundle was "
        f"published. `python -m hexcursion ledger void {number}` would give the epsilon back: that is right "
        "only if nobody can have seen anything that was drawn, and whoever does it answers for it by name."
    )
