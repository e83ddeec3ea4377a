"""Released location traces in the ledger: a protection of its own kind, in no sum with epsilon."""

from __future__ import annotations

from dataclasses import dataclass

from hexcursion.ledger.errors import LedgerError, RequestTaken
from hexcursion.ledger.storage.entry import Entry

MOST_MARKS = 2000  # kept of one trace: the smallest, so that two traces with common records keep common marks


@dataclass(frozen=True)
class TraceMarks:
    """Keyed hashes of a trace's records: they tell a second release of the same places, and nothing else."""

    marks: tuple[str, ...]  # 12 hex digits each, ascending, at most `MOST_MARKS`


class TraceBook:
    """The traces that were charged, read in order."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._seen: dict[str, int] = {}
        self._requests: dict[str, int] = {}

    def accept(self, entry: Entry) -> None:
        """Take one entry in. Raise `LedgerError` if some of its records were released before."""
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
