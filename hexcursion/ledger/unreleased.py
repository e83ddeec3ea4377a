"""A charge that stands although nothing was released: what to say of it to the person who has to decide."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hexcursion.errors import WorkflowError
from hexcursion.ledger.account import Charge
from hexcursion.ledger.errors import LedgerError
from hexcursion.ledger.ledger import Ledger, Reservation


class Unreleased(WorkflowError):
    """A charge stands without a release: `entry` is its number."""

    def __init__(self, entry: int, text: str) -> None:
        self.entry = entry
        super().__init__(text)


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
