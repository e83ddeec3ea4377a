"""Bounds how many rows each owner contributes, by a public rule: what makes owner-level privacy possible."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data_loaders.errors import DataError
from data_loaders.files.blocks import STRIDE, strides
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


def one_record_per_owner(observations: Observations) -> BoundedContributions:
    """Replace the rows of each owner by one: their median value at the owner's place and the latest time,
    without identifier, in order of first appearance. For sensors that stand still this protects the whole
    sensor at the price of a single record (docs/units-of-protection.md, proposition 4), and keeps more of the
    data than one reading of each. Raise `DataError` where there is no owner column, or an owner has rows at
    several places."""
    owner, word = observations.owner, observations.owner_word
    if owner is None or word is None:
        raise DataError(
            "Rows can be joined only where a column names the sensor or person of each row: choose it."
        )
    count, first = _met(owner)
    for places in (observations.x, observations.y):
        if any((places[rows] != places[first[owner[rows]]]).any() for rows in strides(owner.size)):
            raise DataError(
                f"Some {word} has rows at several places, so its rows have no common place: bound the number "
                "of its rows instead."
            )
    numbers = np.flatnonzero(count)
    median, first = _medians(observations.value, owner, count)[numbers], first[numbers]
    shown = np.argsort(first)  # owners in order of first appearance
    made = replace(
        observations,
        x=observations.x[first[shown]],
        y=observations.y[first[shown]],
        value=median[shown],
        owner=numbers[shown],
        identifier=None,
        row=None,
        time=None
        if observations.time is None
        else _latest(observations.time, owner, count.size)[numbers[shown]],
        place_sd=None if observations.place_sd is None else observations.place_sd[first[shown]],
        spot=None if observations.spot is None else observations.spot[first[shown]],
    )
    several = int(np.count_nonzero(count > 1))
    return BoundedContributions(made, 1, made.size, owner.size - made.size, made.size, several, word)


def _met(owner: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(owners,) number of rows of each owner from 0 to the largest, and the first of them."""
    owners = int(owner.max()) + 1
    count, first = np.zeros(owners, np.int64), np.full(owners, owner.size)
    for rows in strides(owner.size):
        here, at = np.unique(owner[rows], return_index=True)
        first[here] = np.minimum(first[here], rows.start + at)
        count += np.bincount(owner[rows], minlength=owners)
    return count, first


def _medians(
    value: NDArray[np.float64], owner: NDArray[np.int64], count: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(owners,) median value of each owner's rows, in memory for some of the owners at a time."""
    median = np.full(count.size, np.nan)
    parts = -(-owner.size // (4 * STRIDE))
    for part in range(parts):
        mine = [rows.start + np.flatnonzero(owner[rows] % parts == part) for rows in strides(owner.size)]
        at = np.concatenate(mine)
        ordered = value[at][np.lexsort((value[at], owner[at]))]
        here = np.flatnonzero(count[part::parts]) * parts + part
        start = np.cumsum(count[here]) - count[here]
        low, high = start + (count[here] - 1) // 2, start + count[here] // 2
        median[here] = (ordered[low] + ordered[high]) / 2.0
    return median


def _latest(time: NDArray[np.datetime64], group: NDArray[np.int64], groups: int) -> NDArray[np.datetime64]:
    """(groups,) the latest known time of each group, NaT where none is known."""
    nothing = np.iinfo(np.int64).min  # what NaT is as a number
    latest = np.full(groups, nothing)
    for rows in strides(time.size):
        np.maximum.at(latest, group[rows], time[rows].astype("M8[s]").view(np.int64))
    return latest.view("M8[s]")


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
