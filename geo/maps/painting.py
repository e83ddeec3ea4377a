"""The painting of a map, for screen and print: the class of each cell, the legend and the tooltips.

A painting is made from released arrays only, except those named baseline or difference, which are
for the curator. Tooltips repeat released values and never measured ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geo.colours import Role, Theme, colour, steps
from geo.measures import format_value, with_unit

CLASSES_OF_A_FIELD = 7
SHARE_LIMITS = (0.2, 0.4, 0.6, 0.8)
"""Limits of the classes of probabilities, confidences, and vote fractions of more than five
paths."""
CANNOT_TELL, NO_RECORDS = "cannot tell", "few or no records"
FEW_RECORDS = "few records or none"  # the tooltip of these cells


@dataclass(frozen=True)
class Entry:
    """One class of a map."""

    label: str
    role: Role


@dataclass(frozen=True)
class LegendEntry:
    """One line of a drawn legend."""

    label: str
    colour: str  # "#rrggbb"
    cells: int | None = None  # number of cells of the class, if the legend shows it


@dataclass(frozen=True, eq=False)
class Painting:
    """The classes of N cells, and their words."""

    classes: NDArray[np.int64]  # (N,) index into `entries`
    entries: tuple[Entry, ...]  # in legend order
    notes: tuple[str, ...]  # N tooltip lines
    title: str  # for the legend's heading
    # (N,) values of a continuous painting, for means over larger hexagons
    values: NDArray[np.float64] | None = None
    # paints (M,) such means of larger hexagons in the same classes and words
    again: Callable[[NDArray[np.float64]], Painting] | None = None

    def __post_init__(self) -> None:
        if self.classes.ndim != 1 or not self.entries:
            raise ValueError("a painting needs a class for each cell and at least one class.")
        if self.classes.size and not 0 <= self.classes.min() <= self.classes.max() < len(self.entries):
            raise ValueError("a painting's classes must be positions in its entries.")
        if len(self.notes) != self.classes.size:
            raise ValueError("a painting needs one note for each cell.")


def legend(painting: Painting, theme: Theme = "light") -> tuple[LegendEntry, ...]:
    """Make the legend of a painting. Classes without a cell keep their line, so that the legend
    does not jump."""
    counts = np.bincount(painting.classes, minlength=len(painting.entries))
    return tuple(
        LegendEntry(
            label=entry.label,
            colour=colour(entry.role, theme),
            cells=int(count),
        )
        for entry, count in zip(painting.entries, counts, strict=True)
    )


def paint_set(
    mask: ArrayLike,
    *,
    inside: str,
    outside: str,
    title: str,
    empty: ArrayLike | None = None,
    other_side: Role = "outside",
) -> Painting:
    """Paint a (N,) set; cells of few records or none (`empty`) are a third class.

    Beside a map of classes, `other_side="below"` gives both the same colours.
    """
    classes = np.where(_mask(mask), 0, 1)
    entries = [Entry(inside, "inside"), Entry(outside, other_side)]
    if empty is not None:
        classes[_mask(empty)] = 2
        entries.append(Entry(NO_RECORDS, "empty"))
    notes = _spread([f"Released: {word}" for word in (inside, outside, FEW_RECORDS)], classes)
    return Painting(classes, tuple(entries), notes, title)


def paint_baseline(
    mask: ArrayLike, what: str, *, empty: ArrayLike | None = None, other_side: Role = "below"
) -> Painting:
    """Paint the curator's (N,) set without privacy; by default in the colours of a map of classes."""
    outside, title = f"not {what}", "Without privacy"
    return paint_set(mask, inside=what, outside=outside, title=title, empty=empty, other_side=other_side)


def paint_cells(count: int) -> Painting:
    """Paint the cells of a domain alike, before a release."""
    note = "Hexagon of the public area"
    return Painting(np.zeros(count, dtype=np.int64), (Entry(note, "cell"),), (note,) * count, "")


def share_classes(share: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class, 0 to 4, of each share in [0, 1], of any shape; a share at a limit is in the
    class below it, as its label says."""
    return np.asarray(np.searchsorted(SHARE_LIMITS, share - 1e-9), dtype=np.int64)


def paint_votes(votes: ArrayLike, paths: int, *, what: str, title: str) -> Painting:
    """Paint (N,) vote fractions, multiples of 1/L in [0, 1], of L released paths.

    `what` describes a cell in the set. Up to five paths have a class for each count, more paths
    classes of 20 %, since L paths support nothing finer; one path has the classes in and out. Raise
    `ValueError` for other fractions, or without a path.
    """
    fraction = np.asarray(votes, dtype=np.float64)
    if paths < 1 or fraction.ndim != 1 or not np.all((fraction >= 0) & (fraction <= 1)):
        raise ValueError("vote fractions must be in [0, 1] and come from at least one path.")
    if paths == 1:
        return paint_set(fraction >= 0.5, inside=what, outside=f"not {what}", title=title)
    counts = np.rint(fraction * paths).astype(np.int64)
    notes = tuple(f"Released: {what} in {k} of {paths} paths" for k in range(paths + 1))
    if paths <= 5:
        entries = tuple(
            Entry(f"in {k} of {paths} paths", role) for k, role in enumerate(steps("votes", paths + 1))
        )
        return Painting(counts, entries, _spread(notes, counts), title)
    classes = np.where(counts == 0, 0, 1 + share_classes(counts / paths))
    labels = ("in none", "up to 20 %", "20 to 40 %", "40 to 60 %", "60 to 80 %", "over 80 % of paths")
    entries = tuple(Entry(label, role) for label, role in zip(labels, steps("votes", 6), strict=True))
    return Painting(classes, entries, _spread(notes, counts), title)


def paint_three_way(
    ways: ArrayLike, *, threshold: str, title: str, empty: ArrayLike | None = None
) -> Painting:
    """Paint (N,) classes: surely above (1), surely at most the threshold (-1), and undecided (0).
    Cells of few records or none (`empty`) are a fourth class. Raise `ValueError` for other
    classes."""
    way = np.asarray(ways)
    if way.ndim != 1 or not np.isin(way, (-1, 0, 1)).all():
        raise ValueError("three-way classes are +1 (above), 0 (cannot tell) and -1 (below).")
    entries = [
        Entry(f"surely above {threshold}", "above"),
        Entry(CANNOT_TELL, "unsure"),
        Entry(f"surely at most {threshold}", "below"),
    ]
    classes = 1 - way.astype(np.int64)
    if empty is not None:
        classes[_mask(empty)] = 3
        entries.append(Entry(NO_RECORDS, "empty"))
    words = [*(entry.label for entry in entries[:3]), FEW_RECORDS]
    notes = _spread([f"Released: {word}" for word in words], classes)
    return Painting(classes, tuple(entries), notes, title)


def paint_field(
    values: ArrayLike,
    unit: str,
    *,
    title: str,
    breaks: Sequence[float] | None = None,
    threshold: float | None = None,
) -> Painting:
    """Paint (N,) released values in classes between increasing `breaks`, by default `field_breaks`.

    Maps side by side need the same breaks to have one legend. Raise `ValueError` if a value is not
    finite, or the breaks do not increase or are too many.
    """
    field = np.asarray(values, dtype=np.float64)
    if field.ndim != 1 or not np.all(np.isfinite(field)):
        raise ValueError("a field must be a finite value for each cell.")
    limits = list(field_breaks(field, threshold) if breaks is None else breaks)
    if len(limits) >= CLASSES_OF_A_FIELD or any(a >= b for a, b in pairwise(limits)):
        raise ValueError(f"breaks must increase and be at most {CLASSES_OF_A_FIELD - 1}.")
    texts = [with_unit(f"{limit:,.12g}", unit) for limit in limits]
    labels = [
        f"below {texts[0]}" if texts else "all cells",
        *[f"{low} to {high}" for low, high in pairwise(texts)],
        *([f"{texts[-1]} and more"] if texts else []),
    ]
    entries = tuple(
        Entry(label, role) for label, role in zip(labels, steps("field", len(labels)), strict=True)
    )
    notes = tuple(f"Released: {format_value(value, unit)}" for value in field.tolist())
    classes = np.searchsorted(limits, field, side="right").astype(np.int64)
    again = partial(paint_field, unit=unit, title=title, breaks=limits)
    return Painting(classes, entries, notes, title, field, again)


def paint_difference(
    released: ArrayLike, baseline: ArrayLike, *, title: str, empty: ArrayLike | None = None
) -> Painting:
    """Paint where a released (N,) set and the non-private one differ; for the curator only.

    Cells of few records or none (`empty`) are not compared. Raise `ValueError` if the sets are over
    different cells.
    """
    claimed, private = _mask(released), _mask(baseline)
    if claimed.shape != private.shape:
        raise ValueError("the released set and the baseline must have the same cells.")
    entries = [
        Entry("in both", "agree_in"),
        Entry("wrongly in: released, not on the map without privacy", "falsely_in"),
        Entry("wrongly out: on the map without privacy, not released", "falsely_out"),
        Entry("in neither", "agree_out"),
    ]
    classes = np.where(claimed, np.where(private, 0, 1), np.where(private, 2, 3))
    if empty is not None:
        classes[_mask(empty)] = 4
        entries.append(Entry(NO_RECORDS, "empty"))
    notes = _spread([f"Curator only: {entry.label}" for entry in entries], classes)
    return Painting(classes, tuple(entries), notes, title)


def as_baseline(painting: Painting, word: str = "Private baseline") -> Painting:
    """Reword the tooltips of a painting without a release; they begin with `word`."""
    notes = tuple(note.replace("Released:", f"{word}:", 1) for note in painting.notes)
    again = painting.again
    return replace(painting, notes=notes, again=again and (lambda means: as_baseline(again(means), word)))


def field_breaks(values: ArrayLike, threshold: float | None = None) -> tuple[float, ...]:
    """Choose at most six limits of the classes of (N,) values, with about equally many cells
    between them. Limits are rounded to a power of ten between a hundredth and a tenth of the
    field's range. A threshold, unrounded, replaces the limit nearest to
    it, so that the map shows where it is crossed."""
    field = np.asarray(values, dtype=np.float64)
    field = field[np.isfinite(field)]
    if field.size == 0:
        return ()
    candidates = np.quantile(field, np.arange(1, CLASSES_OF_A_FIELD) / CLASSES_OF_A_FIELD)
    reach = float(field.max() - field.min())
    if reach > 0:
        digits = 1 - math.floor(math.log10(reach))
        candidates = np.unique([round(limit, digits) for limit in candidates.tolist()])
    limits = [limit for limit in np.unique(candidates).tolist() if field.min() < limit <= field.max()]
    if threshold is not None and math.isfinite(threshold):
        nearest = min(range(len(limits)), key=lambda k: abs(limits[k] - threshold), default=None)
        limits = [limit for k, limit in enumerate(limits) if k != nearest] + [float(threshold)]
    return tuple(sorted(set(limits)))


def _mask(values: ArrayLike) -> NDArray[np.bool_]:
    mask = np.asarray(values)
    if mask.dtype != np.bool_ or mask.ndim != 1:
        raise ValueError("a set of cells is one boolean for each cell.")
    return mask


def _spread(notes: Sequence[str], classes: NDArray[np.int64]) -> tuple[str, ...]:
    return tuple(notes[k] for k in classes.tolist())


def paint_shares(shares: ArrayLike, *, what: str, title: str, word: str, averaged: bool = True) -> Painting:
    """Paint (N,) probabilities or confidences in [0, 1] in classes of 20 %.

    In tooltips `what` names the event and `word` the kind of share. `averaged` shares, such as
    probabilities, have means over several cells. Raise `ValueError` for other shares.
    """
    share = np.asarray(shares, dtype=np.float64)
    if share.ndim != 1 or not np.all((share >= 0) & (share <= 1)):
        raise ValueError("shares must be one number in [0, 1] for each cell.")
    classes = share_classes(share)
    labels = ("up to 20 %", "20 to 40 %", "40 to 60 %", "60 to 80 %", "over 80 %")
    entries = tuple(Entry(label, role) for label, role in zip(labels, steps("votes", 6)[1:], strict=True))
    notes = tuple(f"Released: {what}, {word} {_per_cent(value)}" for value in share.tolist())
    if not averaged:
        return Painting(classes, entries, notes, title)
    again = partial(paint_shares, what=what, title=title, word=word)
    return Painting(classes, entries, notes, title, share, again)


def _per_cent(share: float) -> str:
    """A share to the nearest per cent; only exact shares are 0 % or 100 %."""
    if share in (0.0, 1.0):
        return f"{share * 100:.0f} %"
    return "under 1 %" if share < 0.005 else "over 99 %" if share > 0.995 else f"{share * 100:.0f} %"
