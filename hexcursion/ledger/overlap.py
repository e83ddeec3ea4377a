"""Datasets that hold the same records: counted by keyed hashes, or decided by a person.

For each record, the strongest of identity, moment and place that both datasets have for all records
counts as proof, and so does a row of one file. A short whole number is not such an identity,
because unrelated tables are numbered alike. Any other kind of hash, such as this number with its
place or its value, counts only if many records agree in it, many more than chance explains. Then
the records are the same, and their names come from another column, their clock was off, or another
of their values is released.

Recognised: the same record in another order, file, filter, area or coordinate system, among any
other records, and after a change that is small against the grids. A change of size t gives about
the share t/step of the records another hash (under one in ten thousand for 1e-9). A record with an
identity that is not a short number, or as a row of the same file, is recognised after any change to
the rest. `studies.scale.disguises` lists the tested changes.

Not recognised: records without a common identity or file with changes to two of place, value and
time (or to one if times are unknown); numbered records with changes to place and value; few records
among many others; and coarse values at places with many records, where even two different periods
agree. Some of these are `alike` in their places or their file. The program reports this to
a person, who may join the accounts (`Ledger.decide`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from hexcursion.ledger.errors import LedgerError
from hexcursion.ledger.records import EXACT_RECORDS, Hashes, Kind, RecordKeys, Sketch


@dataclass(frozen=True)
class Decision:
    """A person's decision on two datasets, `joined` or kept apart; `entry` is its number in the
    ledger."""

    entry: int
    joined: bool
    reason: str
    person: str


Shares = Literal["same", "shared", "none", "none in a sample", "kept apart", "unknown"]
"""The relation of two releases: of one dataset; with common records, recognised or declared by a
person; without recognised records, among all or in a sample; kept apart by a person; unknown, if a
release or its hashes are not in the ledger."""


@dataclass(frozen=True)
class PeriodsShared:
    """The ledger's comparison of the records of T releases."""

    known: tuple[bool, ...]  # of each release, whether the ledger has it with its record hashes
    pairs: Mapping[tuple[int, int], Shares]  # the relation of each pair of places (i, j), i < j

    def together_with(self, place: int) -> tuple[int, ...]:
        """Return the places of the releases, including this one, that may hold one of its records;
        their costs add up. An unknown relation counts as shared."""
        disjoint = ("none", "none in a sample", "kept apart")
        overlapping = [
            pair for pair, shares in self.pairs.items() if place in pair and shares not in disjoint
        ]
        return tuple(sorted({place, *chain.from_iterable(overlapping)}))


def nothing_known(count: int) -> PeriodsShared:
    """Return the comparison without a ledger: all relations are unknown."""
    return PeriodsShared((False,) * count, dict.fromkeys(combinations(range(count), 2), "unknown"))


class Links:
    """Pairs of datasets that share records; a person's latest decision on a pair overrides the
    count. All datasets that hold a record share it, so they are neighbours of each other. Costs are
    never negative, so the sum over a dataset and its neighbours bounds the composed cost of all
    releases that could have contained the record, provided that shared records are recognised (see
    `records`) and no wrong decision keeps two datasets apart. Datasets that share records only with
    a common third one do not add up, since no record is in both."""

    def __init__(self) -> None:
        self._records: dict[str, Mapping[str, Any]] = {}
        self._shared: dict[str, dict[str, int]] = {}
        self._decided: dict[frozenset[str], Decision] = {}

    def register(self, dataset: str, facts: Mapping[str, Any]) -> None:
        """Add the counts from a dataset's first charge. Raise `LedgerError` if the dataset is
        registered already, or shares records with an unregistered one."""
        if dataset in self._records:
            raise LedgerError("The records of a dataset are written down once.")
        for other, count in facts["shares"].items():
            if other not in self._records or other == dataset or not count > 0:
                raise LedgerError("A dataset shares records only with datasets that are known before it.")
            self._shared.setdefault(dataset, {})[other] = count
            self._shared.setdefault(other, {})[dataset] = count
        self._records[dataset] = facts

    def decide(self, dataset: str, other: str, decision: Decision) -> None:
        """Add a person's decision on a pair. Raise `LedgerError` if the two datasets are the same,
        or a reason or a person is missing."""
        if dataset == other:
            raise LedgerError("A decision is about two different datasets.")
        if not (decision.reason.strip() and decision.person.strip()):
            raise LedgerError("Two datasets are joined or kept apart by a person with a reason: give both.")
        self._decided[frozenset((dataset, other))] = decision

    def between(self, dataset: str | None, other: str | None) -> Shares:
        """Return the relation of two datasets; None is an unknown dataset."""
        if dataset is None or other is None:
            return "unknown"
        if dataset == other:
            return "same"
        if other in self.neighbours(dataset):
            return "shared"
        if self.decided(dataset, other):
            return "kept apart"
        if not (self.knows(dataset) and self.knows(other)):
            return "unknown"
        return (
            "none" if max(self.records(dataset), self.records(other)) <= EXACT_RECORDS else "none in a sample"
        )

    def knows(self, dataset: str) -> bool:
        """Whether the ledger has the dataset's record hashes."""
        return dataset in self._records

    def records(self, dataset: str) -> int:
        """Return the number of records of a registered dataset."""
        return int(self._records[dataset]["n"])

    @property
    def digests(self) -> Mapping[str, str]:
        """SHA-256 of the stored record hashes of each registered dataset."""
        return {dataset: facts["digest"] for dataset, facts in self._records.items()}

    def neighbours(self, dataset: str, seen: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the other datasets that share records with this one, in a fixed order. `seen`:
        datasets found by a count for a dataset that is not registered yet."""
        names = {*self._shared.get(dataset, {}), *seen} - {dataset}
        names = {other for other in names if self._joined(dataset, other)}
        names |= {
            other
            for pair, decision in self._decided.items()
            if decision.joined and dataset in pair
            for other in pair - {dataset}
        }
        return tuple(sorted(names))

    def decided(self, dataset: str, other: str) -> bool:
        """Whether a person has decided on the pair."""
        return frozenset((dataset, other)) in self._decided

    def kept_apart(self, dataset: str) -> tuple[Decision, ...]:
        """Return the decisions that keep others apart from this dataset."""
        return tuple(
            decision for pair, decision in self._decided.items() if dataset in pair and not decision.joined
        )

    def _joined(self, dataset: str, other: str) -> bool:
        decision = self._decided.get(frozenset((dataset, other)))
        return decision is None or decision.joined


TELLING: tuple[Kind, ...] = ("identity", "moment", "place")
MISTAKE = 1e-6
"""The probability that the number of shared records exceeds `Shared.most`, if it was sampled."""
MANY, FEWEST = 0.1, 5
"""The share and the number of agreeing records from which a weaker kind of hash counts; the share
increases by twice the agreement by chance."""
ALIKE = 0.8
"""The share of common places, of the dataset with fewer places, from which two datasets are
alike."""


@dataclass(frozen=True)
class Shared:
    """The number of records of a dataset that others also hold."""

    count: int  # counted, or estimated from a sample
    # upper bound: `count` without sampling, otherwise wrong with probability at most MISTAKE
    most: int
    exact: bool  # whether it was counted without sampling


@dataclass(frozen=True)
class Likeness:
    """The similarity of two datasets without a recognised common record; only for the curator."""

    places: float  # share of the distinct places of the dataset with fewer of them that both have
    file: bool  # whether both come from one file


def matched(keys: RecordKeys, sketch: Sketch) -> NDArray[np.bool_]:
    """Return (n,) which records are recognised in a sketch. For a sampled sketch use only the kind
    of hash with the most matches, since each kind has a different sample."""
    common = [kind for kind in keys.hashes if kind in sketch.kept]
    first, *weaker_kinds = [kind for kind in TELLING if kind in common]
    masks = [_among(keys, sketch, kind) for kind in (first, "row") if kind in common]
    if first == "identity" and keys.numbered is not None:
        masks[0] = np.where(keys.numbered, _among(keys, sketch, weaker_kinds[0]), masks[0])
    matches = _together(masks, sketch)
    for kind in (*weaker_kinds, "occasion", "reading", "numbered place", "numbered value"):
        if kind in common and _many(again := _among(keys, sketch, kind), matches, keys, sketch, kind):
            masks.append(again)
            matches = _together(masks, sketch)
    return matches


def _together(masks: list[NDArray[np.bool_]], sketch: Sketch) -> NDArray[np.bool_]:
    return np.any(masks, axis=0) if sketch.exact else max(masks, key=np.count_nonzero)


def _many(
    again: NDArray[np.bool_], matches: NDArray[np.bool_], keys: RecordKeys, sketch: Sketch, kind: Kind
) -> bool:
    """Whether enough records agree in a weaker kind of hash that they must be the same ones."""
    size = min(keys.n * 2.0**-sketch.shift, sketch.kept[kind].size)
    # Many agree by chance only if both tables are coarse, so rows that a planner adds do not
    # decide.
    share = MANY + 2.0 * min(keys.chance.get(kind, 0.0), sketch.chance.get(kind, 0.0))
    count = np.count_nonzero(again)
    return bool(count > np.count_nonzero(matches) and count >= max(share * size, min(FEWEST, size)))


def likeness(keys: RecordKeys, sketch: Sketch) -> Likeness | None:
    """Return the similarity of the datasets apart from their records; None if too small to
    report."""
    places = _share(keys.spots[:EXACT_RECORDS], sketch.spots)
    same = bool(keys.file) and keys.file == sketch.file
    return Likeness(places, same) if places >= ALIKE or same else None


def _share(first: Hashes, second: Hashes) -> float:
    """Return the share of the shorter list that the other contains; of long lists, in their common
    range."""
    for cut in (first, second):
        if cut.size >= EXACT_RECORDS:
            first, second = first[first <= cut[-1]], second[second <= cut[-1]]
    fewer = min(first.size, second.size)
    return float(np.intersect1d(first, second).size / fewer) if fewer else 0.0


def _among(keys: RecordKeys, sketch: Sketch, kind: Kind) -> NDArray[np.bool_]:
    stored = sketch.kept[kind]
    values = keys.hashes[kind]
    place = np.minimum(np.searchsorted(stored, values), max(stored.size - 1, 0))
    return np.asarray(stored[place] == values) if stored.size else np.zeros(values.shape, dtype=bool)


def count_shared(keys: RecordKeys, sketches: Mapping[str, Sketch]) -> tuple[dict[str, Shared], Shared]:
    """Count the records that each sketch shares with the dataset, and those that any of them
    shares. For sampled sketches the joint number adds the records of each beyond the exact ones, so
    it errs upwards."""
    masks = {name: matched(keys, sketch) for name, sketch in sketches.items()}
    by_sketch = {
        name: _scaled(int(mask.sum()), sketches[name].shift, min(keys.n, sketches[name].n))
        for name, mask in masks.items()
    }
    matches = np.zeros(keys.n, dtype=bool)
    for name, mask in masks.items():
        if sketches[name].exact:
            matches |= mask
    count = bound = int(matches.sum())
    exact = True
    for name, mask in masks.items():
        if not sketches[name].exact:
            extra = _scaled(int((mask & ~matches).sum()), sketches[name].shift, min(keys.n, sketches[name].n))
            count, bound, exact = count + extra.count, bound + extra.most, False
    return by_sketch, Shared(min(count, keys.n), min(bound, keys.n), exact)


def _scaled(count: int, shift: int, limit: int) -> Shared:
    """Estimate the number of records from a `count` in a sample at rate 2^-shift."""
    if shift == 0:
        return Shared(count, count, True)
    rate = 2.0**-shift
    # P(Binomial(K, rate) <= found) falls in K: the largest K that is still likely
    low, high = count, limit
    while low < high:
        middle = (low + high + 1) // 2
        if bdtr(count, middle, rate) > MISTAKE:
            low = middle
        else:
            high = middle - 1
    return Shared(min(count << shift, limit), low, False)
