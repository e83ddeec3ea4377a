"""What a published table tells of one record: shares of all records for which simple attacks succeed.

*Two editions*: tables without and with the record, its hexagon known. *Was it in*: all other records known; a
rule without randomness either publishes another table when the record is taken out, or the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from studies.practice.rules import CAP, Bools, Records, Table, minimum, rounded, smoothed

EXACT = 0.5  # units within which a recovered value is exact


def two_editions(records: Records, rule: str, least: float) -> float:
    """Share of the records whose value follows exactly from the tables without and with it.

    Parameters
    ----------
    rule
        "minimum", "rounded" or "smoothed"
    least
        the rule's least count
    """
    if rule == "smoothed":
        weights = records.kernel()
        count = weights @ records.count
        seen = [bool(np.any((row > 0.0) & (count - row >= least))) for row in weights]
        return float(np.mean(np.array(seen)[records.cell]))
    if rule == "minimum":
        before = records.count[records.cell] - 1.0
        return float(np.mean((before >= least) | (least <= 1.0)))
    return float(
        np.mean([abs(found - value) <= EXACT for found, value in _by_rounded_sums(records, int(least))])
    )


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


def changes(records: Records, rule: str, least: float, *, numbers: bool) -> float:
    """Share of the records without which the table would be another one.

    Parameters
    ----------
    numbers
        Whether counts, means and medians are published beside the classes.
    """
    if rule == "smoothed":
        return _smoothed_changes(records, least, numbers=numbers)
    full, changed = minimum(records, int(least)) if rule == "minimum" else rounded(records, int(least)), 0
    for cell, value, alone in _without_each(records):
        if alone is None:
            changed += bool(full.shown[cell])
            continue
        table = (
            minimum(alone, int(least))
            if rule == "minimum"
            else rounded(alone, int(least), _cap_without(records, value))
        )
        changed += not _same(full, cell, table, numbers=numbers)
    return changed / records.cell.size


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


def _smoothed_changes(records: Records, least: float, *, numbers: bool) -> float:
    weights, table = records.kernel(), smoothed(records, least)
    high = records.value > records.threshold
    above = weights @ np.bincount(records.cell, weights=high.astype(np.float64), minlength=records.size)
    count = weights @ records.count
    other: dict[tuple[int, bool], bool] = {}
    for cell, side in {(int(cell), bool(side)) for cell, side in zip(records.cell, high, strict=True)}:
        near = weights[cell] > 0.0
        left, left_above = count[near] - weights[cell, near], above[near] - side * weights[cell, near]
        shown = left >= least
        inside = shown & (left_above > 0.5 * left)
        moved = np.any((shown != table.shown[near]) | (inside != table.inside[near]))
        other[cell, side] = bool(moved or (numbers and table.shown[near].any()))
    return float(np.mean([other[int(c), bool(s)] for c, s in zip(records.cell, high, strict=True)]))


def told_apart(changed: float) -> float:
    """AUC of "was it in?" for a rule without randomness that changes for this share of the records."""
    return 0.5 * (1.0 + changed)


def own_medians(table: Table, records: Records) -> float:
    """IoU with "the hexagon's own median is above", over occupied hexagons; blank ones count as not above."""
    occupied = records.count > 0
    with np.errstate(invalid="ignore"):
        truth: Bools = records.median > records.threshold
    both, either = table.inside & truth, table.inside | truth
    return float(both[occupied].sum() / max(1, either[occupied].sum()))
