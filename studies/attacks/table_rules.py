"""Further rules of disclosure control that studies compare: rounding, and larger units for few records.

`hexcursion.comparing` has the rules of the screens and their attacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from geo.domains.hexagons import parents
from hexcursion.comparing import attacks
from hexcursion.comparing.practice import Bools, Floats, Ints, Records, Rule, Table, minimum

CAP = 0.95  # quantile at which the rounding rule caps values
TO = 5.0  # to which it rounds counts
EXACT = 0.5  # units within which a recovered value is exact


@dataclass(frozen=True)
class Rounded:
    """Minimum counts of capped values, in round numbers."""

    least: int

    def apply(self, records: Records) -> Table:
        """What it publishes of these records."""
        return rounded(records, self.least)

    def two_editions(self, records: Records) -> float:
        """Share of the records whose value follows exactly from the tables without and with it."""
        sums = _by_rounded_sums(records, self.least)
        return float(np.mean([abs(found - value) <= EXACT for found, value in sums]))

    def changes(self, records: Records) -> float:
        """Share of the records without which the table would be another one."""
        full, changed = rounded(records, self.least), 0
        for cell, value, alone in _without_each(records):
            if alone is None:
                changed += bool(full.shown[cell])
            else:
                changed += not _same(full, cell, rounded(alone, self.least, _cap_without(records, value)))
        return changed / records.cell.size


@dataclass(frozen=True, eq=False)
class Merged:
    """Minimum counts, of larger units for hexagons with few records: see `units_of`."""

    least: int
    # for one and two resolutions coarser, (N,) number of the hexagon that contains each one
    above: tuple[Ints, ...]

    def apply(self, records: Records) -> Table:
        """What it publishes of these records."""
        return merged(records, self.least, self.above)

    def two_editions(self, records: Records) -> float:
        """Share of the records whose value follows exactly from the tables without and with it."""
        return float(np.mean(_by_units(records, self.least, self.above)[0][records.cell]))

    def changes(self, records: Records) -> float:
        """Share of the records without which the table would be another one."""
        return float(np.mean(_by_units(records, self.least, self.above)[1][records.cell]))


AnyRule = Rule | Rounded | Merged


def rules_of(cells: Sequence[str]) -> dict[str, AnyRule]:
    """All rules by their names, on these N cells."""
    return {
        "everything": Rule("minimum", 1.0),
        "at least 3": Rule("minimum", 3.0),
        "at least 5": Rule("minimum", 5.0),
        "at least 10": Rule("minimum", 10.0),
        "at least 5, by larger units": Merged(5, above_of(cells)),
        "at least 5, rounded": Rounded(5),
        "smoothed, at least 10": Rule("smoothed", 10.0),
        "at least 5, class only": Rule("minimum", 5.0, numbers=False),
        "smoothed, class only": Rule("smoothed", 10.0, numbers=False),
    }


def two_editions(records: Records, rule: AnyRule) -> float:
    """Share of the records whose value follows exactly from the tables without and with it."""
    return attacks.two_editions(records, rule) if isinstance(rule, Rule) else rule.two_editions(records)


def changes(records: Records, rule: AnyRule) -> float:
    """Share of the records without which the table would be another one."""
    return attacks.changes(records, rule) if isinstance(rule, Rule) else rule.changes(records)


def rounded(records: Records, least: int, cap: float | None = None) -> Table:
    """The same with values capped at a quantile of all, counts to the nearest 5, and two digits."""
    top = np.quantile(records.value, CAP) if cap is None else cap
    capped = replace(records, value=np.minimum(records.value, top))
    table = minimum(capped, least)
    assert table.count is not None
    assert table.mean is not None
    assert table.median is not None
    median = two_digits(table.median)
    inside = table.shown & records.beyond(median)
    return Table(table.shown, inside, TO * np.round(table.count / TO), two_digits(table.mean), median)


def units_of(records: Records, least: int, above: tuple[Ints, ...], count: Floats | None = None) -> Ints:
    """(N,) number of the unit in which each hexagon is published.

    A hexagon with records, but fewer than `least`, is merged with its siblings into their parent; a parent
    with too few likewise. After two steps units below `least` are hidden, as in the quadtrees of Sune et al.
    2017. `count` (N,) replaces that of the records.
    """
    count = records.count if count is None else count
    levels, level = (np.arange(records.size), *above), np.zeros(records.size, dtype=np.int64)
    for up in range(1, len(levels)):
        many = np.bincount(levels[up - 1], weights=count)[levels[up - 1]]
        merged_hexagons = (level == up - 1) & (many > 0) & (many < least)
        level[np.isin(levels[up], levels[up][merged_hexagons])] = up
    place = np.stack(levels)[level, np.arange(records.size)]
    return np.unique(np.stack([level, place]), axis=1, return_inverse=True)[1].ravel()


def merged(records: Records, least: int, above: tuple[Ints, ...]) -> Table:
    """Count, mean and median of units of hexagons with at least `least` records; see `units_of`."""
    unit = units_of(records, least, above)
    first = np.unique(unit, return_index=True)[1]
    table = minimum(replace(records, cell=unit[records.cell], centres=records.centres[first]), least)
    assert table.mean is not None
    assert table.median is not None
    return Table(table.shown[unit], table.inside[unit], None, table.mean[unit], table.median[unit])


def two_digits(values: Floats) -> Floats:
    """Values of any shape, rounded to two significant digits, NaN included."""
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 10.0 ** (np.floor(np.log10(np.abs(values))) - 1.0)
        return np.where(values == 0.0, 0.0, np.round(values / unit) * unit)


def _by_units(records: Records, least: int, above: tuple[Ints, ...]) -> tuple[Bools, Bools]:
    """(N,) for a record of each hexagon: whether two editions reveal its value, and whether they differ."""
    count, full = records.count, units_of(records, least, above)
    exact, changed = np.zeros((2, records.size), dtype=bool)
    published = _published(full, count, least)
    for cell in np.unique(records.cell):
        less = count.copy()
        less[cell] -= 1.0
        smaller = units_of(records, least, above, less)
        region = max(full == full[cell], smaller == smaller[cell], key=np.count_nonzero)
        exact[cell] = _whole(full, count, region, least) and _whole(smaller, less, region, least)
        changed[cell] = bool(np.any(_published(smaller, less, least) != published))
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
    rows: list[tuple[float, float]] = []
    for cell, value, alone in _without_each(records):
        if alone is None or alone.cell.size < least:
            rows.append((np.nan, value))
            continue
        smaller = rounded(alone, least, _cap_without(records, value))
        assert smaller.count is not None
        assert smaller.mean is not None
        now = float(full.count[cell] * full.mean[cell])
        rows.append((now - float(smaller.count[0] * smaller.mean[0]), value))
    return rows


def _without_each(records: Records) -> Iterator[tuple[int, float, Records | None]]:
    """Each record's hexagon and value, and the other records of that hexagon; None without others."""
    order = np.argsort(records.cell, kind="stable")
    places, first = np.unique(records.cell[order], return_index=True)
    for cell, values in zip(places, np.split(records.value[order], first[1:]), strict=True):
        for place, value in enumerate(values):
            rest = np.delete(values, place)
            alone = replace(
                records,
                cell=np.zeros(rest.size, dtype=np.int64),
                value=rest,
                centres=records.centres[:1],
            )
            yield int(cell), float(value), alone if rest.size else None


def _cap_without(records: Records, value: float) -> float:
    """The cap of the rounding rule without one record of that value."""
    return float(np.quantile(np.delete(records.value, np.flatnonzero(records.value == value)[0]), CAP))


def _same(full: Table, cell: int, alone: Table) -> bool:
    if full.shown[cell] != alone.shown[0]:
        return False
    if not full.shown[cell]:
        return True
    if full.inside[cell] != alone.inside[0]:
        return False
    pairs = ((full.count, alone.count), (full.mean, alone.mean), (full.median, alone.median))
    return all(one is None or other is None or one[cell] == other[0] for one, other in pairs)


def above_of(cells: Sequence[str]) -> tuple[Ints, ...]:
    """For one and two resolutions coarser, (N,) numbers of the hexagons that contain the cells."""
    numbers, at = [], list(cells)
    for _ in range(2):
        at = parents(at)
        numbers.append(np.unique(at, return_inverse=True)[1].astype(np.int64))
    return tuple(numbers)


def own_medians(table: Table, records: Records) -> float:
    """IoU with the sides of the hexagons' own medians, over occupied ones; a blank one is outside the set."""
    occupied, truth = records.count > 0, records.beyond(records.typical)
    intersection, union = table.inside & truth, table.inside | truth
    return float(intersection[occupied].sum() / max(1, union[occupied].sum()))
