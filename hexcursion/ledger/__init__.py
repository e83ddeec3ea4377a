"""The ledger of releases: an append-only, hash-chained account of every privacy budget.

See README.md in this folder for what it promises, and what it cannot see.
"""

from hexcursion.ledger.accounts.account import ROUNDING, Account, Budget, Overlap, Preview
from hexcursion.ledger.accounts.charge import Charge
from hexcursion.ledger.chain import Finding
from hexcursion.ledger.errors import (
    BudgetExceeded,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    NoBudget,
    NoLedger,
    RequestTaken,
)
from hexcursion.ledger.ledger import Ledger, Reservation
from hexcursion.ledger.opening import open_ledger
from hexcursion.ledger.overlap.records import RecordKeys
from hexcursion.ledger.overlap.standing import OtherUnit, Standing
from hexcursion.ledger.planning import begin, ledger_to_plan
from hexcursion.ledger.storage.entry import Entry

__all__ = [
    "ROUNDING",
    "Account",
    "Budget",
    "BudgetExceeded",
    "Charge",
    "Entry",
    "Finding",
    "Ledger",
    "LedgerBusy",
    "LedgerDamaged",
    "LedgerError",
    "NoBudget",
    "NoLedger",
    "OtherUnit",
    "Overlap",
    "Preview",
    "RecordKeys",
    "RequestTaken",
    "Reservation",
    "Standing",
    "begin",
    "ledger_to_plan",
    "open_ledger",
]
