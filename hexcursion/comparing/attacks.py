"""What a published table tells of one record: shares of all records for which simple attacks succeed.

*Two editions*: tables without and with the record, its hexagon known. *Was it in*: all other records known; a
rule without randomness either publishes another table when the record is taken out, or the same.
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
    least = rule.least
    if not rule.numbers:
        return 0.0
    if rule.kind == "smoothed":
        weights = records.kernel
        count, seen = weights @ records.count, np.zeros(records.size, dtype=bool)
        for cell in np.unique(records.cell):
            near, weight = _row(weights, cell)
            seen[cell] = np.any(count[near] - weight >= least)
        return float(np.mean(seen[records.cell]))
    before = records.count[records.cell] - 1.0
    return float(np.mean((before >= least) | (least <= 1.0)))


def changes(records: Records, rule: Rule) -> float:
    """Share of the records without which the table would be another one."""
    if rule.kind == "smoothed":
        return _smoothed_changes(records, rule)
    count, least = records.count[records.cell], rule.least  # its count tells, where the hexagon is shown
    found = (count >= least) if rule.numbers else (count == least) | ((count > least) & _turns(records))
    return float(np.mean(found))


def _turns(records: Records) -> Bools:
    """(n,) whether the hexagon's own number changes its side without the record; False where it is alone."""
    order, found = np.lexsort((records.value, records.cell)), np.zeros(records.cell.size, dtype=bool)
    first = np.unique(records.cell[order], return_index=True)[1]
    for places in np.split(order, first[1:]):
        value, n = records.value[places], places.size
        if n < 2:
            continue
        if records.shares:
            rest = (value.sum() - value) / (n - 1)
            found[places] = records.beyond(rest) != records.beyond(value.mean())
            continue
        low, high = (n - 2) // 2, (n - 1) // 2  # the middle of the other n - 1, which skip the record
        middle = [np.where(np.arange(n) <= j, value[j + 1], value[j]) for j in (low, high)]
        found[places] = records.beyond(0.5 * (middle[0] + middle[1])) != records.beyond(np.median(value))
    return found


def _smoothed_changes(records: Records, rule: Rule) -> float:
    weights, table, least = records.kernel, smoothed(records, rule.least), rule.least
    high = records.beyond(records.value)
    above = weights @ np.bincount(records.cell, weights=high.astype(np.float64), minlength=records.size)
    count = weights @ records.count
    other: dict[tuple[int, bool], bool] = {}
    for cell, side in {(int(cell), bool(side)) for cell, side in zip(records.cell, high, strict=True)}:
        near, weight = _row(weights, cell)
        left, left_above = count[near] - weight, above[near] - side * weight
        shown = left >= least
        inside = shown & (left_above > records.quorum * left)
        moved = np.any((shown != table.shown[near]) | (inside != table.inside[near]))
        other[cell, side] = bool(moved or (rule.numbers and table.shown[near].any()))
    return float(np.mean([other[int(c), bool(s)] for c, s in zip(records.cell, high, strict=True)]))


def _row(weights: csr_array, cell: int) -> tuple[Ints, Floats]:
    """Columns and values of a row."""
    part = slice(weights.indptr[cell], weights.indptr[cell + 1])
    return weights.indices[part], weights.data[part]


def told_apart(changed: float) -> float:
    """AUC of "was it in?" for a rule without randomness that changes for this share of the records."""
    return 0.5 * (1.0 + changed)


@dataclass(frozen=True)
class OneMore:
    """What two editions of a table of minimum counts say of one record: its hexagon without and with it."""

    value: float  # of the record
    # number of records and their mean without it; None where the hexagon is blank
    before: tuple[int, float] | None
    after: tuple[int, float] | None  # the same with it
    side_before: bool | None  # whether the hexagon is in the set; None where it is blank
    side_after: bool | None

    @property
    def found(self) -> float | None:
        """The value that follows from both, or None where one of them is blank."""
        if self.before is None or self.after is None:
            return None
        return self.after[0] * self.after[1] - self.before[0] * self.before[1]


def one_more(records: Records, least: int, record: int) -> OneMore:
    """What editions without and with the record of that number say of it."""
    here = records.cell == records.cell[record]
    values = [records.value[here & (np.arange(here.size) != record)], records.value[here]]
    shown = [(each.size, float(each.mean())) if each.size >= least else None for each in values]
    typical = np.mean if records.shares else np.median
    sides = [bool(records.beyond(typical(each))) if each.size >= least else None for each in values]
    return OneMore(float(records.value[record]), *shown, *sides)  # type: ignore[arg-type]


def as_it_happens(records: Records, least: int, editions: int) -> float:
    """Share of a year's records whose value a growing table gives away that is renewed so often a year.

    A record is exposed where it is the only new one of its hexagon in its period and the hexagon was shown
    before. Records fall into equal periods at random; the share is the expectation over that. The `editions`
    >= 1 lie at equal distance; what happened before the year is not in the table.
    """
    if editions < 2:
        return 0.0
    # Hexagons of one count share their sum: with a million records and 52 editions nothing else fits.
    count, many = np.unique(records.count[records.count > 0], return_counts=True)
    others = count - 1.0
    periods = np.arange(1, editions)  # the others all lie in other periods; so many of E - 1 are earlier
    alone = (1.0 - 1.0 / editions) ** others
    # At least `least` of them are earlier: the upper tail of a binomial law, as an incomplete beta function.
    tail = betainc(least, np.maximum(others - least + 1.0, 1.0)[:, None], periods[None] / (editions - 1.0))
    shown = np.where(others >= least, tail.sum(axis=1), 0.0) / editions
    return float(np.average(alone * shown, weights=many * count))


def most_told_apart(cost: Cost, epsilon: float, delta: float) -> float:
    """Upper bound of the AUC of "was it in?" for a release: nobody, whatever they know, does better.

    By the normal curve where the cost has one, else by the trade-off function of (epsilon, delta), whose area
    is exact (Dong, Roth & Su, arXiv:1905.02383v3, propositions 2.4 and 2.5).
    """
    if cost.gaussian_mu is not None:
        return min(1.0, float(ndtr(cost.gaussian_mu / math.sqrt(2.0))) + 2.0 * cost.distance)
    # f(x) = max(0, 1 - delta - e^eps x, e^-eps (1 - delta - x)): two lines that meet where x is `knee`.
    knee = (1.0 - delta) / (1.0 + math.exp(min(epsilon, 700.0)))
    area = knee * ((1.0 - delta) + knee) / 2.0 + (1.0 - delta - knee) * knee / 2.0
    return 1.0 - area
