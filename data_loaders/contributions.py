"""Bounds how many rows each owner contributes, by a public rule, as owner-level privacy needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_loaders.errors import DataError
from data_loaders.observations import Observations, OwnerWord
from data_loaders.repeats import bits_of, mixed

# the content of a row, without its owner and identifier
_ROW = ("x", "y", "value", "time", "place_sd")


@dataclass(frozen=True, eq=False)
class BoundedContributions:
    """Observations with at most `most` rows per owner, and the rows lost; private to the
    curator."""

    observations: Observations  # the rows kept, in their own order
    most: int  # rows an owner may have at most, q >= 1
    kept: int  # rows
    dropped: int
    owners: int
    shortened: int  # owners that lost rows
    word: OwnerWord

    def lines(self) -> tuple[str, ...]:
        """Report the rows kept and dropped for the curator's screen, one sentence per line."""
        limit = "one reading" if self.most == 1 else f"{self.most:,} readings"
        first = f"At most {limit} of each {self.word}: {self.kept:,} rows kept, {self.dropped:,} dropped."
        if not self.shortened:
            return (first,)
        return (first, f"{self.shortened:,} of {self.owners:,} {self.word}s had more.")


def bound_contributions(
    observations: Observations, most: int, *, cells: NDArray[np.int64] | None = None
) -> BoundedContributions:
    """Keep at most q = `most` >= 1 rows of each owner: those whose content (place, value, time) has
    the smallest hash. The hash is public and favours no value. With `cells`, the (n,) cell of each
    row, all inside the domain, keep at most one row of an owner per cell; the sharper price of
    proposition 3 in docs/proofs/owners.md then holds. Raise `DataError` if the owner column
    is missing, `most` is not a whole number of at least 1, or `cells` does not have one cell per
    row.

    The rows kept of an owner are a function of the set of that owner's rows and do not depend on
    their order in the file. Hence two data sets that differ in one owner's rows differ, after
    bounding, only in at most q rows of that owner. The guarantee rests on this
    (docs/proofs/owners.md, lemma 1). Without `cells`, adding or exchanging one row of an
    owner exchanges at most one kept row (lemma 3)."""
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
    selection = np.sort(rows[_rank(owner[rows]) < int(most)])
    counts_after = np.bincount(owner[selection], minlength=int(owner.max()) + 1)
    counts_before = np.bincount(owner, minlength=counts_after.size)
    return BoundedContributions(
        observations=observations.take(selection),
        most=int(most),
        kept=int(selection.size),
        dropped=int(owner.size - selection.size),
        owners=int(np.count_nonzero(counts_before)),
        shortened=int(np.count_nonzero(counts_after < counts_before)),
        word=word,
    )


_START = np.uint64(0x9E3779B97F4A7C15)  # the public start of every content hash


def _ties(observations: Observations) -> tuple[NDArray[Any], ...]:
    """Return the columns that order rows with equal hashes: their content, never their order in the
    file."""
    return tuple(column for name in _ROW if (column := getattr(observations, name)) is not None)


def _content(observations: Observations) -> NDArray[np.uint64]:
    """Return (n,) hashes of the rows' contents, equal in every process and on every machine."""
    start = np.full(observations.size, _START)
    return mixed(start, *(bits_of(column) for column in _ties(observations)))


def _one_per_cell(
    rows: NDArray[np.int64], owner: NDArray[np.int64], cells: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the first row of each owner in each cell, in the order of `rows`."""
    pairs = np.column_stack([owner[rows], cells[rows]])
    _, first = np.unique(pairs, axis=0, return_index=True)
    return rows[np.sort(first)]


def _rank(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each of (n,) rows sorted by owner the number of earlier rows of that owner."""
    _, start, count = np.unique(owner, return_index=True, return_counts=True)
    return np.asarray(np.arange(owner.size) - np.repeat(start, count), dtype=np.int64)
