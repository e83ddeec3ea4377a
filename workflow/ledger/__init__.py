"""The ledger of releases: an append-only, hash-chained account of every privacy budget.

See README.md in this folder for what it promises, and what it cannot see.
"""

from workflow.ledger.accounts.account import ROUNDING, Account, Budget, Overlap, Preview
from workflow.ledger.accounts.charge import Charge
from workflow.ledger.chain import Finding
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
from workflow.ledger.overlap.records import RecordKeys
from workflow.ledger.overlap.standing import OtherUnit, Standing
from workflow.ledger.planning import begin, ledger_to_plan
from workflow.ledger.storage.entry import Entry

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
