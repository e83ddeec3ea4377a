"""The ledger of releases: an append-only, hash-chained account of every privacy budget.

See README.md in this folder for what it promises, and what it cannot see.
"""

from hexcursion.ledger.account import ROUNDING, Account, Budget, Charge, Preview
from hexcursion.ledger.chain import Finding
from hexcursion.ledger.entry import Entry
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
from hexcursion.ledger.opening import begin, ledger_to_plan, open_ledger
from hexcursion.ledger.records import RecordKeys
from hexcursion.ledger.sentences import OtherUnit, Standing

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
    "Preview",
    "RecordKeys",
    "RequestTaken",
    "Reservation",
    "Standing",
    "begin",
    "ledger_to_plan",
    "open_ledger",
]
