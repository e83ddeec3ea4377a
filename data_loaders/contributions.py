"""Bounds how many rows each owner contributes, by a public rule: what makes owner-level privacy possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data_loaders.errors import DataError
from data_loaders.observations import Observations, OwnerWord


@dataclass(frozen=True, eq=False)
class BoundedContributions:
    """Observations of which no owner has more than `most`, and what that cost; private to the curator."""

    observations: Observations  # the rows kept, in their own order
    most: int  # rows an owner may have at most, q >= 1
    kept: int  # rows
    dropped: int
    owners: int
    shortened: int  # owners that lost rows
    word: OwnerWord

    def lines(self) -> tuple[str, ...]:
        """Say what was kept and dropped, a sentence a line, for the curator's screen."""
        each = "one reading" if self.most == 1 else f"{self.most:,} readings"
        first = f"At most {each} of each {self.word}: {self.kept:,} rows kept, {self.dropped:,} dropped."
        if not self.shortened:
            return (first,)
        return (first, f"{self.shortened:,} of {self.owners:,} {self.word}s had more.")


def bound_contributions(
    observations: Observations, most: int, *, cells: NDArray[np.int64] | None = None
) -> BoundedContributions:
    """Keep at most q = `most` >= 1 rows of each owner, chosen by a public rule that does not look at the
    values: those at positions, in the order of the file, that look drawn at random and depend on the number
    of the owner's rows alone. With `cells`, the (n,) cell of each row, all inside the domain, at most one row
    of an owner is kept in each: the sharper price of proposition 3 in docs/units-of-protection.md holds.
    Raise `DataError` where there is no owner column, no whole `most` from 1 on, or not one cell for each row.

    What an owner keeps is a function of that owner's rows alone. Hence two data sets that differ in one
    owner's rows differ, after bounding, in that owner's at most q rows and in nothing else, which the
    guarantee rests on (docs/units-of-protection.md, lemma 1). Not looking at values is honesty, not privacy:
    keeping each owner's largest values would bend the map."""
    if isinstance(most, bool) or most != int(most) or most < 1:
        raise DataError(f"An owner keeps a whole number of rows, at least 1, not {most!r}.")
    owner, word = observations.owner, observations.owner_word
    if owner is None or word is None:
        raise DataError(
            "Contributions can be bounded only where a column names the sensor or person of each row: "
            "choose that column."
        )
    if cells is not None and cells.shape != owner.shape:
        raise DataError(f"Cells are one for each of the {owner.size:,} rows, not {cells.size:,}.")
    rows = np.argsort(owner, kind="stable")
    if cells is not None:
        rows = _one_per_cell(rows, owner, cells)
    kept = np.sort(rows[_chosen(owner[rows], int(most))])
    left = np.bincount(owner[kept], minlength=int(owner.max()) + 1)
    had = np.bincount(owner, minlength=left.size)
    return BoundedContributions(
        observations=observations.take(kept),
        most=int(most),
        kept=int(kept.size),
        dropped=int(owner.size - kept.size),
        owners=int(np.count_nonzero(had)),
        shortened=int(np.count_nonzero(left < had)),
        word=word,
    )


def _one_per_cell(
    rows: NDArray[np.int64], owner: NDArray[np.int64], cells: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Of each owner's rows in each cell the first, in the given order."""
    pairs = np.column_stack([owner[rows], cells[rows]])
    _, first = np.unique(pairs, axis=0, return_index=True)
    return rows[np.sort(first)]


def _chosen(owner: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Which of the rows (sorted by owner) are kept: a function of rank and number within each owner."""
    _, start, count = np.unique(owner, return_index=True, return_counts=True)
    rank = np.arange(owner.size) - np.repeat(start, count)
    number = np.repeat(count, count)
    # A fixed scrambling: pandas documents its hash as deterministic. Of an owner's m rows those q are kept
    # whose hash of (rank, m) is smallest.
    scrambled = pd.util.hash_array(rank + (number << 32))
    order = np.lexsort((scrambled, np.repeat(np.arange(count.size), count)))
    place = np.empty(owner.size, dtype=np.int64)
    place[order] = np.arange(owner.size) - np.repeat(start, count)
    return np.asarray(place < most)
