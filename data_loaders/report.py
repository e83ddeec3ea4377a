"""The report of a load: what was read, what was kept, and why the rest was dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LoadReport:
    """Rows read, kept and dropped; every row read is kept or has exactly one reason, else `ValueError`."""

    source: str  # a file name, never its folder
    rows_read: int  # header not counted
    kept: int  # rows that became observations (or postcodes)
    dropped: tuple[tuple[str, int], ...] = ()  # reason in words and rows, in the order of checks
    notes: tuple[str, ...] = ()  # sentences about how the input was understood

    def __post_init__(self) -> None:
        if min(self.rows_read, self.kept, *(count for _, count in self.dropped), 0) < 0:
            raise ValueError("a report cannot count a negative number of rows.")
        if self.kept + self.rows_dropped != self.rows_read:
            raise ValueError("a report must account for every row read.")

    @property
    def rows_dropped(self) -> int:
        """Rows that were not kept."""
        return sum(count for _, count in self.dropped)

    def lines(self) -> tuple[str, ...]:
        """Put the report in words, a sentence a line, for the curator's screen."""
        first = f"{self.source}: {self.rows_read:,} rows read, {self.kept:,} kept."
        reasons = (f"{count:,} dropped: {reason}." for reason, count in self.dropped if count)
        return (first, *reasons, *self.notes)


def tables_note(names: Sequence[str]) -> tuple[str, ...]:
    """Say which tables of an archive were read as one, naming at most ten; nothing for a single table."""
    if len(names) < 2:
        return ()
    more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    return (f"{len(names):,} tables were read as one: {', '.join(names[:10])}{more}.",)


class Tally:
    """Counts rows and drop reasons while a file streams by."""

    def __init__(self) -> None:
        self.rows_read = 0
        self._reasons: dict[str, int] = {}

    def read(self, rows: int) -> None:
        """Count data rows as met."""
        self.rows_read += rows

    def drop(self, reason: str, rows: int) -> None:
        """Count rows as dropped; zero rows keep the reason's place in the order."""
        self._reasons[reason] = self._reasons.get(reason, 0) + rows

    def drop_where(self, reason: str, bad: NDArray[np.bool_], alive: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Drop, and count once, the (n,) `bad` rows that are still alive; return the rows still alive
        afterwards."""
        lost = alive & bad
        self.drop(reason, int(np.count_nonzero(lost)))
        return alive & ~lost

    @property
    def main_reason(self) -> str:
        """The reason that cost most rows, or "" before any was dropped."""
        return max(self._reasons, key=lambda reason: self._reasons[reason], default="")

    def report(self, source: str, kept: int, notes: tuple[str, ...] = ()) -> LoadReport:
        """Close the account of `kept` rows; reasons that dropped nothing are left out."""
        dropped = tuple((reason, count) for reason, count in self._reasons.items() if count)
        return LoadReport(source, self.rows_read, kept, dropped, notes)
