"""The ledger of releases: an append-only, hash-chained account of every privacy budget.

See README.md in this folder for what it promises, and what it cannot see.
"""

from workflow.ledger.account import ROUNDING, Account, Budget, Overlap, Preview
from workflow.ledger.chain import Finding
from workflow.ledger.charge import Charge
from workflow.ledger.entry import Entry
from workflow.ledger.errors import (
    BudgetExceeded,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    NoBudget,
    NoLedger,
    RequestTaken,
)
from workflow.ledger.ledger import Ledger, Reservation
from workflow.ledger.opening import open_ledger
from workflow.ledger.records import RecordKeys
from workflow.ledger.standing import OtherUnit, Standing

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
    "open_ledger",
]
