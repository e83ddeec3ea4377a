"""What a published table tells of one record: shares of all records for which simple attacks succeed.

*Two editions*: tables without and with the record, its hexagon known. *Was it in*: all other records known; a
rule without randomness either publishes another table when the record is taken out, or the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betainc, ndtr

from dpgp_core.accounting.composition import Cost
from hexcursion.comparing.practice import (
    CAP,
    Bools,
    Floats,
    Ints,
    Records,
    Rule,
    Table,
    rounded,
    smoothed,
    units_of,
)

EXACT = 0.5  # units within which a recovered value is exact


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
    if rule.kind == "merged":
        return float(np.mean(_by_units(records, int(least))[0][records.cell]))
    if rule.kind == "minimum":
        before = records.count[records.cell] - 1.0
        return float(np.mean((before >= least) | (least <= 1.0)))
    return float(
        np.mean([abs(found - value) <= EXACT for found, value in _by_rounded_sums(records, int(least))])
    )


def _by_units(records: Records, least: int) -> tuple[Bools, Bools]:
    """(N,) for a record of each hexagon: whether two editions tell its value, and whether one differs."""
    count, after = records.count, units_of(records, least)
    exact, changed = np.zeros((2, records.size), dtype=bool)
    shown = _published(after, count, least)
    for cell in np.unique(records.cell):
        less = count.copy()
        less[cell] -= 1.0
        before = units_of(records, least, less)
        region = max(after == after[cell], before == before[cell], key=np.count_nonzero)
        exact[cell] = _whole(after, count, region, least) and _whole(before, less, region, least)
        changed[cell] = bool(np.any(_published(before, less, least) != shown))
    return exact, changed


def _published(unit: Ints, count: Floats, least: int) -> Floats:
    """(N,) published count of each hexagon's unit; -1 where it is blank."""
    many = np.bincount(unit, weights=count)[unit]
    return np.where(many >= least, many, -1.0)


def _whole(unit: Ints, count: Floats, region: Bools, least: int) -> bool:
    """Whether the published units add up to all records of a region (N,), which is a union of units."""
    many = np.bincount(unit[region], weights=count[region])
    return bool(many.max() >= least and np.all((many == 0.0) | (many >= least)))


def _by_rounded_sums(records: Records, least: int) -> list[tuple[float, float]]:
    """For each record the difference of its hexagon's published sums (NaN where blank), and its value."""
    full = rounded(records, least)
    assert full.count is not None
    assert full.mean is not None
    found: list[tuple[float, float]] = []
    for cell, value, alone in _without_each(records):
        if alone is None or alone.cell.size < least:
            found.append((np.nan, value))
            continue
        before = rounded(alone, least, _cap_without(records, value))
        assert before.count is not None
        assert before.mean is not None
        now = float(full.count[cell] * full.mean[cell])
        found.append((now - float(before.count[0] * before.mean[0]), value))
    return found


def changes(records: Records, rule: Rule) -> float:
    """Share of the records without which the table would be another one."""
    if rule.kind == "smoothed":
        return _smoothed_changes(records, rule)
    count, least = records.count[records.cell], int(rule.least)
    if rule.kind == "minimum":  # its count tells, where the hexagon is shown
        found = (count >= least) if rule.numbers else (count == least) | ((count > least) & _turns(records))
        return float(np.mean(found))
    if rule.kind == "merged":
        return float(np.mean(_by_units(records, least)[1][records.cell]))
    full, changed = rounded(records, least), 0
    for cell, value, alone in _without_each(records):
        if alone is None:
            changed += bool(full.shown[cell])
            continue
        table = rounded(alone, least, _cap_without(records, value))
        changed += not _same(full, cell, table, numbers=rule.numbers)
    return changed / records.cell.size


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


def _without_each(records: Records) -> Iterator[tuple[int, float, Records | None]]:
    """Each record's hexagon and value, and the others of that hexagon, alone on one; None without others."""
    order = np.argsort(records.cell, kind="stable")
    places, first = np.unique(records.cell[order], return_index=True)
    for cell, values in zip(places, np.split(records.value[order], first[1:]), strict=True):
        for place, value in enumerate(values):
            others = np.delete(values, place)
            alone = replace(
                records, cell=np.zeros(others.size, dtype=np.int64), value=others, centres=records.centres[:1]
            )
            yield int(cell), float(value), alone if others.size else None


def _cap_without(records: Records, value: float) -> float:
    """The cap of the rounding rule where one record of that value is taken out."""
    return float(np.quantile(np.delete(records.value, np.flatnonzero(records.value == value)[0]), CAP))


def _same(full: Table, cell: int, alone: Table, *, numbers: bool) -> bool:
    if full.shown[cell] != alone.shown[0]:
        return False
    if not full.shown[cell]:
        return True
    if full.inside[cell] != alone.inside[0]:
        return False
    pairs = ((full.count, alone.count), (full.mean, alone.mean), (full.median, alone.median))
    return not numbers or all(one is None or other is None or one[cell] == other[0] for one, other in pairs)


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


def own_medians(table: Table, records: Records) -> float:
    """IoU with the sides of the hexagons' own medians, over occupied ones; a blank one is outside the set."""
    occupied, truth = records.count > 0, records.beyond(records.typical)
    both, either = table.inside & truth, table.inside | truth
    return float(both[occupied].sum() / max(1, either[occupied].sum()))


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
    told = [(each.size, float(each.mean())) if each.size >= least else None for each in values]
    typical = np.mean if records.shares else np.median
    sides = [bool(records.beyond(typical(each))) if each.size >= least else None for each in values]
    return OneMore(float(records.value[record]), *told, *sides)  # type: ignore[arg-type]


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
