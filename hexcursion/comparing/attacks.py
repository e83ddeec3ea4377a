"""Attacks on published tables: the shares of all records for which simple attacks succeed.

*Two editions*: the attacker has tables without and with the record and knows its hexagon. *Was it
in*: the attacker knows all other records; a rule without randomness either publishes another table
without the record, or the same table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betainc, ndtr

from dpgp_core.accounting.composition import Cost
from hexcursion.comparing.practice import Bools, Floats, Ints, Records, Rule, smoothed


def two_editions(records: Records, rule: Rule) -> float:
    """Share of the records whose value follows exactly from the tables without and with it."""
    fewest = rule.least
    if not rule.numbers:
        return 0.0
    if rule.kind == "smoothed":
        weights = records.kernel
        count, exposed = weights @ records.count, np.zeros(records.size, dtype=bool)
        for cell in np.unique(records.cell):
            near, weight = _row(weights, cell)
            exposed[cell] = np.any(count[near] - weight >= fewest)
        return float(np.mean(exposed[records.cell]))
    earlier = records.count[records.cell] - 1.0
    return float(np.mean((earlier >= fewest) | (fewest <= 1.0)))


def changes(records: Records, rule: Rule) -> float:
    """Share of the records without which the table would be another one."""
    if rule.kind == "smoothed":
        return _smoothed_changes(records, rule)
    count, fewest = records.count[records.cell], rule.least  # a shown hexagon's count changes
    changed = (count >= fewest) if rule.numbers else (count == fewest) | ((count > fewest) & _turns(records))
    return float(np.mean(changed))


def _turns(records: Records) -> Bools:
    """(n,) whether a hexagon's number changes its side without the record; False for a record
    alone in its hexagon."""
    order = np.lexsort((records.value, records.cell))
    turns = np.zeros(records.cell.size, dtype=bool)
    first = np.unique(records.cell[order], return_index=True)[1]
    for places in np.split(order, first[1:]):
        value, n = records.value[places], places.size
        if n < 2:
            continue
        if records.shares:
            mean = (value.sum() - value) / (n - 1)
            turns[places] = records.beyond(mean) != records.beyond(value.mean())
            continue
        low, high = (n - 2) // 2, (n - 1) // 2  # the middle of the other n - 1, which skip the record
        middle = [np.where(np.arange(n) <= j, value[j + 1], value[j]) for j in (low, high)]
        turns[places] = records.beyond(0.5 * (middle[0] + middle[1])) != records.beyond(np.median(value))
    return turns


def _smoothed_changes(records: Records, rule: Rule) -> float:
    weights, table, fewest = records.kernel, smoothed(records, rule.least), rule.least
    high = records.beyond(records.value)
    above = weights @ np.bincount(records.cell, weights=high.astype(np.float64), minlength=records.size)
    count = weights @ records.count
    outcome: dict[tuple[int, bool], bool] = {}
    for cell, side in {(int(cell), bool(side)) for cell, side in zip(records.cell, high, strict=True)}:
        near, weight = _row(weights, cell)
        left, left_above = count[near] - weight, above[near] - side * weight
        visible = left >= fewest
        inside = visible & (left_above > records.quorum * left)
        differs = np.any((visible != table.shown[near]) | (inside != table.inside[near]))
        outcome[cell, side] = bool(differs or (rule.numbers and table.shown[near].any()))
    return float(np.mean([outcome[int(c), bool(s)] for c, s in zip(records.cell, high, strict=True)]))


def _row(weights: csr_array, cell: int) -> tuple[Ints, Floats]:
    """Columns and values of a row."""
    part = slice(weights.indptr[cell], weights.indptr[cell + 1])
    return weights.indices[part], weights.data[part]


def told_apart(changed: float) -> float:
    """AUC of "was it in?" for a rule without randomness that changes for this share of the
    records."""
    return 0.5 * (1.0 + changed)


@dataclass(frozen=True)
class OneMore:
    """What two editions of a table of minimum counts reveal of one record: its hexagon without and
    with the record."""

    value: float  # of the record
    # number of records and their mean without the record; None if the hexagon is blank
    before: tuple[int, float] | None
    after: tuple[int, float] | None  # the same with the record
    side_before: bool | None  # whether the hexagon is in the set; None if it is blank
    side_after: bool | None

    @property
    def found(self) -> float | None:
        """The value that follows from both editions, or None if one of them is blank."""
        if self.before is None or self.after is None:
            return None
        return self.after[0] * self.after[1] - self.before[0] * self.before[1]


def one_more(records: Records, least: int, record: int) -> OneMore:
    """What editions without and with the record of this number reveal of it."""
    inside = records.cell == records.cell[record]
    editions = [records.value[inside & (np.arange(inside.size) != record)], records.value[inside]]
    means = [(part.size, float(part.mean())) if part.size >= least else None for part in editions]
    typical = np.mean if records.shares else np.median
    sides = [bool(records.beyond(typical(part))) if part.size >= least else None for part in editions]
    return OneMore(float(records.value[record]), *means, *sides)  # type: ignore[arg-type]


def as_it_happens(records: Records, least: int, editions: int) -> float:
    """Share of a year's records whose value a growing table exposes in `editions` a year.

    A record is exposed if it is the only new record of its hexagon in its period and the hexagon
    was shown before. Records fall into equal periods at random, and the share is the expectation.
    The `editions` >= 1 are equally spaced; the table has no records from before the year.
    """
    if editions < 2:
        return 0.0
    # Hexagons of one count share their sum, which keeps a million records and 52 editions in
    # memory.
    count, many = np.unique(records.count[records.count > 0], return_counts=True)
    neighbours = count - 1.0  # further records of the hexagon, all in other periods than the record
    earlier = np.arange(1, editions) / (editions - 1.0)  # chance that a neighbour is earlier
    alone = (1.0 - 1.0 / editions) ** neighbours
    # The chance that at least `least` neighbours are earlier is the upper tail of a binomial law,
    # an incomplete beta function.
    tail = betainc(least, np.maximum(neighbours - least + 1.0, 1.0)[:, None], earlier[None])
    visible = np.where(neighbours >= least, tail.sum(axis=1), 0.0) / editions
    return float(np.average(alone * visible, weights=many * count))


def most_told_apart(cost: Cost, epsilon: float, delta: float) -> float:
    """Upper bound of the AUC of "was it in?" for a release, for any knowledge of the attacker.

    The bound uses the normal curve if the cost has one, else the trade-off function of (epsilon,
    delta), whose area is exact (Dong, Roth & Su, arXiv:1905.02383v3, propositions 2.4 and 2.5).
    """
    if cost.gaussian_mu is not None:
        return min(1.0, float(ndtr(cost.gaussian_mu / math.sqrt(2.0))) + 2.0 * cost.distance)
    # f(x) = max(0, 1 - delta - e^eps x, e^-eps (1 - delta - x)): two lines that meet where x is
    # `knee`.
    knee = (1.0 - delta) / (1.0 + math.exp(min(epsilon, 700.0)))
    area = knee * ((1.0 - delta) + knee) / 2.0 + (1.0 - delta - knee) * knee / 2.0
    return 1.0 - area
