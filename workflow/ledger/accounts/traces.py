"""Released location traces in the ledger: a protection of its own kind, in no sum with epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from workflow.ledger.errors import LedgerError, RequestTaken
from workflow.ledger.storage.entry import TRACE, Draft, Entry, canonical_json

if TYPE_CHECKING:
    from workflow.ledger.ledger import Ledger

MOST_MARKS = 2000  # kept of one trace: the smallest, so that two traces with common records keep common marks
_DIGITS = 12


@dataclass(frozen=True)
class TraceMarks:
    """Keyed hashes of a trace's records: they tell a second release of the same places, and nothing else.

    Parameters
    ----------
    marks
        12 hex digits each, ascending, at most `MOST_MARKS`.
    """

    marks: tuple[str, ...]


def trace_marks(ledger: Ledger, time: ArrayLike, longitude: ArrayLike, latitude: ArrayLike) -> TraceMarks:
    """The marks of a trace as it was recorded, before it is thinned.

    Parameters
    ----------
    time, longitude, latitude : (n,)
        Seconds since 1970, degrees.

    Raises
    ------
    LedgerError
        For an empty trace.
    """
    table = np.column_stack([np.asarray(part, dtype=np.float64) for part in (time, longitude, latitude)])
    if not table.size:
        raise LedgerError("There are no records of a trace to mark: load one first.")
    rows = (row.astype(">f8").tobytes() for row in table + 0.0)
    return TraceMarks(tuple(sorted({ledger._key.mac("trace", row)[:_DIGITS] for row in rows})[:MOST_MARKS]))


class TraceBook:
    """The traces that were charged, read in order."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._seen: dict[str, int] = {}
        self._requests: dict[str, int] = {}

    def accept(self, entry: Entry) -> None:
        """Take one entry in; raises LedgerError for one that may not stand."""
        facts = entry.facts
        before = self.released(TraceMarks(tuple(facts["marks"])))
        if before is not None:
            raise LedgerError(_again(before))
        self.entries.append(entry)
        self._seen.update(dict.fromkeys(facts["marks"], entry.number))
        self._requests[facts["request"]] = entry.number

    def released(self, marks: TraceMarks) -> int | None:
        """The entry of an earlier trace that holds some of these records, or None."""
        return next((self._seen[mark] for mark in marks.marks if mark in self._seen), None)

    def check(self, marks: TraceMarks, request: str) -> None:
        """Raise RequestTaken or LedgerError where the same click or the same records came before."""
        if request in self._requests:
            raise RequestTaken(self._requests[request], "a released trace")
        before = self.released(marks)
        if before is not None:
            raise LedgerError(_again(before))


def _again(before: int) -> str:
    return (
        f"Records of this trace were released before, as entry {before}: a second draw would tell more "
        f"than either "
        "says, so none is made. Use what was released then."
    )


def check_trace(ledger: Ledger, marks: TraceMarks) -> None:
    """Raise LedgerError where some of these records were released before; writes nothing."""
    ledger._book().traces.check(marks, "")


def charge_trace(ledger: Ledger, marks: TraceMarks, facts: Mapping[str, Any], request: str) -> Entry:
    """Write a trace's release down before anything is drawn; it is never given back.

    Parameters
    ----------
    marks
        Of all its records.
    facts
        Plain JSON, public: what is protected from whom, and how well.
    request
        A name from `Ledger.request`; the same one is charged once.

    Returns
    -------
    Entry
        For `Ledger.seal`.

    Raises
    ------
    LedgerError, RequestTaken
        Where some of the records were released before; nothing is written then.
    """
    body: dict[str, Any] = {"facts": dict(facts), "marks": list(marks.marks), "request": request}
    canonical_json(body)

    def draft(book: Any, _: object) -> Sequence[Draft]:
        book.traces.check(marks, request)
        return [Draft(TRACE, body)]

    return ledger._append(draft)
