"""Charging a released location trace: its marks, the check beforehand, and the entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hexcursion.ledger.accounts.traces import MOST_MARKS, TraceMarks
from hexcursion.ledger.errors import LedgerError
from hexcursion.ledger.ledger import Ledger
from hexcursion.ledger.storage.entry import TRACE, Draft, Entry, canonical_json

_DIGITS = 12


def trace_marks(ledger: Ledger, time: ArrayLike, longitude: ArrayLike, latitude: ArrayLike) -> TraceMarks:
    """The marks of a trace as it was recorded, before it is thinned. `time`, `longitude`, `latitude`: (n,),
    seconds since 1970, degrees. Raise `LedgerError` for an empty trace."""
    table = np.column_stack([np.asarray(part, dtype=np.float64) for part in (time, longitude, latitude)])
    if not table.size:
        raise LedgerError("There are no records of a trace to mark: load one first.")
    rows = (row.astype(">f8").tobytes() for row in table + 0.0)
    return TraceMarks(tuple(sorted({ledger._key.mac("trace", row)[:_DIGITS] for row in rows})[:MOST_MARKS]))


def check_trace(ledger: Ledger, marks: TraceMarks) -> None:
    """Raise LedgerError where some of these records were released before; writes nothing."""
    ledger._book().traces.check(marks, "")


def charge_trace(ledger: Ledger, marks: TraceMarks, facts: Mapping[str, Any], request: str) -> Entry:
    """Charge a trace's release before anything is drawn, once for each `request` (from `Ledger.request`); it
    is never given back. `facts`: public JSON. Raise `LedgerError` where some of its records were released
    before, `RequestTaken` for a request that was charged; nothing is written then."""
    body: dict[str, Any] = {"facts": dict(facts), "marks": list(marks.marks), "request": request}
    canonical_json(body)

    def draft(book: Any, _: object) -> Sequence[Draft]:
        book.traces.check(marks, request)
        return [Draft(TRACE, body)]

    return ledger._append(draft)
