"""Bounds how many rows each owner contributes, by a public rule: what makes owner-level privacy possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_loaders.errors import DataError
from data_loaders.observations import Observations, OwnerWord
from data_loaders.repeats import bits_of, mixed

_ROW = ("x", "y", "value", "time", "place_sd")  # what a row says, beside whose it is and how it is named


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
    """Keep at most q = `most` >= 1 rows of each owner: those whose content (place, value, time) has the
    smallest hash, a public one that favours no value. With `cells`, the (n,) cell of each row, all inside the
    domain, at most one row of an owner is kept in each: the sharper price of proposition 3 in
    docs/units-of-protection.md holds. Raise `DataError` where there is no owner column, no whole `most` from
    1 on, or not one cell for each row.

    What an owner keeps is a function of the set of that owner's rows, in whatever order the file has them.
    Hence two data sets that differ in one owner's rows differ, after bounding, in that owner's at most q rows
    and in nothing else, which the guarantee rests on (docs/units-of-protection.md, lemma 1). Without `cells`
    one row of an owner exchanged, or one more, exchanges at most one kept row (lemma 3)."""
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
    rows = np.lexsort((*_ties(observations), _content(observations), owner))
    if cells is not None:
        rows = _one_per_cell(rows, owner, cells)
    kept = np.sort(rows[_rank(owner[rows]) < int(most)])
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


_START = np.uint64(0x9E3779B97F4A7C15)  # what every hash of a content begins with, the same for everybody


def _ties(observations: Observations) -> tuple[NDArray[Any], ...]:
    """What orders rows whose hashes agree: their content, so never their order in the file."""
    return tuple(column for name in _ROW if (column := getattr(observations, name)) is not None)


def _content(observations: Observations) -> NDArray[np.uint64]:
    """(n,) a hash of each row's content, the same in every process and on every machine."""
    start = np.full(observations.size, _START)
    return mixed(start, *(bits_of(column) for column in _ties(observations)))


def _one_per_cell(
    rows: NDArray[np.int64], owner: NDArray[np.int64], cells: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Of each owner's rows in each cell the first, in the given order."""
    pairs = np.column_stack([owner[rows], cells[rows]])
    _, first = np.unique(pairs, axis=0, return_index=True)
    return rows[np.sort(first)]


def _rank(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) how many rows of the same owner come before, of rows sorted by owner."""
    _, start, count = np.unique(owner, return_index=True, return_counts=True)
    return np.asarray(np.arange(owner.size) - np.repeat(start, count), dtype=np.int64)
