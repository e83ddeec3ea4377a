"""The ledger: reserve, draw, commit, void; every step an entry, every refusal a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core.orders import ORDERS as GRID
from workflow.ledger.account import Account, Budget, Preview
from workflow.ledger.book import Book
from workflow.ledger.chain import Finding, check_chain, sign_head
from workflow.ledger.charge import Charge, check_account, encode
from workflow.ledger.entry import (
    BUDGET,
    COMMIT,
    DRAW,
    ORDERS,
    RESERVE,
    UNUSED,
    VOID,
    Draft,
    Entry,
)
from workflow.ledger.errors import LedgerDamaged, LedgerError
from workflow.ledger.key import LedgerKey
from workflow.ledger.store import Snapshot, Store
from workflow.ledger.witness import Witness, advance_witness, read_witness


@dataclass(frozen=True)
class Reservation:
    """A charge that stands in the ledger. The steps of its release, in order:

    `begin_draw` before the first private random number; then draw and store; then `commit`, and only after
    it show or hand out anything. `release_unused` gives the charge back, before `begin_draw` only.
    """

    ledger: Ledger
    entry: Entry
    preview: Preview

    @property
    def number(self) -> int:
        """The number of the entry."""
        return self.entry.number

    @property
    def seal(self) -> str:
        """`number:hash`, public: kept in a bundle, it lets `verify` tell whether the entry still stands."""
        return f"{self.entry.number}:{self.entry.hash}"

    def begin_draw(self) -> None:
        """Declare that private randomness is about to be drawn: from here on the charge is not given back."""
        self.ledger.begin_draw(self.number)

    def commit(self, release_id: str, digest: str) -> None:
        """The release is stored under this id; `digest` is the SHA-256 of what was stored."""
        self.ledger.commit(self.number, release_id, digest)

    def release_unused(self) -> None:
        """Give the charge back; refused once a draw was declared."""
        self.ledger.release_unused(self.number)


class Ledger:
    """An open ledger; see `opening.open_ledger`. Safe to share between threads: nothing is kept in memory."""

    def __init__(self, store: Store, key: LedgerKey) -> None:
        self._store = store
        self._key = key

    def fingerprint(self, *columns: ArrayLike) -> str:
        """The name of a dataset in this ledger; see `LedgerKey.fingerprint`."""
        return self._key.fingerprint(*columns)

    # Reading

    def entries(self) -> tuple[Entry, ...]:
        """Every row as it stands, verified or not."""
        return self._store.read().entries

    def account(self, dataset: str, unit: str) -> Account:
        """Budget, spent and left; raises LedgerDamaged if the chain is broken."""
        check_account(dataset, unit)
        return self._book().account(dataset, unit)

    def accounts(self) -> tuple[Account, ...]:
        """Every account with a budget."""
        return self._book().accounts()

    def preview(self, charge: Charge, delta: float | None = None) -> Preview:
        """What `charge` would do; writes nothing. `delta` is used where no budget is set yet."""
        return self.account(charge.dataset, charge.unit).preview(charge.cost, delta)

    def charge_of(self, release_id: str) -> Entry | None:
        """The charge behind a committed release, or None."""
        book = self._book()
        number = book.releases.get(release_id)
        return None if number is None else book.reserve_entry(number)

    def verify(self, seen: Iterable[str] = ()) -> list[Finding]:
        """Recompute everything; an empty list means that nothing was changed, as far as can be known.

        seen  seals (`number:hash`) from released bundles or from notes kept elsewhere
        """
        noted = dict(_parse_seal(seal) for seal in seen)
        triggers = [
            Finding(None, f"The append-only trigger {name} is missing or switched off.")
            for name in self._store.missing_triggers()
        ]
        try:
            witness, damaged = read_witness(self._key), []
        except LedgerDamaged as error:
            witness, damaged = None, [Finding(None, str(error))]
        return [*check_chain(self._store.read(), self._key, witness, noted), *damaged, *triggers]

    # Writing

    def set_budget(
        self, dataset: str, unit: str, epsilon: float, delta: float, *, reason: str = "", person: str = ""
    ) -> Budget:
        """Set or change the budget of a dataset; setting what is set already writes nothing.

        The first budget and a smaller one need no reason; a larger epsilon or delta needs one, and a person.
        """
        check_account(dataset, unit)
        budget = Budget(float(epsilon), float(delta))
        if self.account(dataset, unit).budget != budget:
            facts = {"epsilon": budget.epsilon, "delta": budget.delta, "reason": reason, "person": person}
            self._append(lambda book: Draft(BUDGET, facts, dataset, unit))
        return budget

    def reserve(self, charge: Charge) -> Reservation:
        """Charge a release before anything is drawn; raises BudgetExceeded or NoBudget and writes nothing."""
        previews: list[Preview] = []
        mu = charge.gaussian_mu
        facts = {"facts": charge.facts, "gaussian_mu": None if mu is None else float(mu).hex()}

        def admitted(book: Book) -> Draft:
            previews.append(book.account(charge.dataset, charge.unit).admit(charge.cost))
            return Draft(RESERVE, facts, charge.dataset, charge.unit, curve=encode(charge.cost.values))

        entry = self._append(admitted)
        return Reservation(self, entry, previews[0])

    @contextmanager
    def charged(self, charge: Charge) -> Iterator[Reservation]:
        """`with ledger.charged(charge) as reservation:` around one release.

        Whatever happens inside, the charge stands until `release_unused` or a person's void: an exception is
        passed on and gives nothing back. Leaving without commit or release_unused is an error.
        """
        reservation = self.reserve(charge)
        yield reservation
        if reservation.number in self.account(charge.dataset, charge.unit).open:
            raise LedgerError(
                f"The release of entry {reservation.number} ended without a commit: it stays charged until "
                "it is voided with a reason."
            )

    def begin_draw(self, number: int) -> None:
        """Declare the draw of a charge; see Reservation."""
        self._follow(number, DRAW, {})

    def commit(self, number: int, release_id: str, digest: str) -> None:
        """Record that a charge was released; see Reservation."""
        self._follow(number, COMMIT, {"release_id": release_id, "digest": digest})

    def release_unused(self, number: int) -> None:
        """Give back a charge on which nothing was drawn; see Reservation."""
        self._follow(number, UNUSED, {})

    def void(self, number: int, reason: str, person: str) -> None:
        """A person answers for giving back a charge that was never released; committed ones stay charged."""
        self._follow(number, VOID, {"reason": reason, "person": person})

    # How a row is written

    def _book(self) -> Book:
        witness = read_witness(self._key)  # before the rows: it must not be ahead of them
        return self._checked(self._store.read(), witness)

    def _checked(self, snapshot: Snapshot, witness: Witness | None) -> Book:
        findings = check_chain(snapshot, self._key, witness)
        if findings:
            raise LedgerDamaged(
                f"The ledger does not verify ({findings[0]}) Nothing is charged to it until `ledger verify` "
                "is clean: restore it from a backup."
            )
        return Book(snapshot.entries)

    def _follow(self, number: int, kind: str, facts: Mapping[str, Any]) -> None:
        def draft(book: Book) -> Draft:
            charge = book.reserve_entry(number)
            return Draft(kind, facts, charge.dataset, charge.unit, refers_to=number)

        self._append(draft)

    def _append(self, make: Callable[[Book], Draft]) -> Entry:
        """One transaction: lock, verify, ask the book whether the row may follow, write it, sign the head."""
        with self._store.writing() as (snapshot, append):
            book = self._checked(snapshot, read_witness(self._key))
            last = snapshot.entries[-1]
            drafts = [make(book)]
            if not np.array_equal(book.orders, GRID):
                drafts.insert(0, Draft(ORDERS, {}, curve=encode(GRID)))
            for draft in drafts:
                last = draft.after(last)
                book.accept(last)
                append(last, sign_head(self._key, last))
        advance_witness(self._key, Witness(last.number + 1, last.hash))
        return last


def _parse_seal(seal: str) -> tuple[int, str]:
    number, _, digest = seal.partition(":")
    if not (number.isdigit() and digest):
        raise LedgerError(f"A seal is written NUMBER:HASH, not {seal!r}: copy it from a bundle's statement.")
    return int(number), digest
