"""Exit statuses of the command line, and the one JSON line for programs that run it on a schedule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hexcursion.errors import Cancelled
from hexcursion.ledger.errors import BudgetExceeded, LedgerBusy, NoBudget, Unreleased
from hexcursion.releasing.release_guard import LowAgreement

DONE, REFUSED = 0, 2
OUTCOMES: tuple[tuple[type[BaseException], int, str], ...] = (
    (Unreleased, 6, "charged, and stopped afterwards"),
    (BudgetExceeded, 3, "budget spent"),
    (NoBudget, 3, "budget spent"),
    (LowAgreement, 4, "map expected to be poor"),
    (LedgerBusy, 5, "ledger busy"),
    (Cancelled, 7, "stopped"),
    (KeyboardInterrupt, 7, "stopped"),
)
"""Errors with a status of their own, the first that fits; every other one is `REFUSED`."""


def status_of(error: BaseException) -> int:
    """Return the exit status of an error: what a schedule should do next depends on it.

    A stop after the charge carries a note that names the ledger's entry, and counts as charged.
    """
    return _outcome_of(error)[0]


def line_of(error: BaseException) -> str:
    """Return the JSON line of an error.

    It holds no sentence: sentences about data may quote them, and stay on standard error.
    """
    status, outcome = _outcome_of(error)
    return _line(status, outcome, {})


def line_of_release(facts: Mapping[str, Any]) -> str:
    """Return the JSON line of a release, with facts that are published anyway."""
    return _line(DONE, "released" if facts else "would be accepted", facts)


def _outcome_of(error: BaseException) -> tuple[int, str]:
    if getattr(error, "__notes__", ()):
        return next((status, words) for kind, status, words in OUTCOMES if kind is Unreleased)
    for kind, status, words in OUTCOMES:
        if isinstance(error, kind):
            return status, words
    return REFUSED, "refused"


def _line(status: int, outcome: str, facts: Mapping[str, Any]) -> str:
    return json.dumps({"status": status, "outcome": outcome, **facts}, ensure_ascii=True)
