"""Which datasets hold the same records: counted by their keyed hashes, or decided by a person.

The most telling of identity, moment and place that both have for every record is believed for each record,
and so is a row of one file. A short whole number is no such identity: the tables of strangers are numbered
alike. Any other kind, such as this number with its place or its value, is believed where many records agree
in it, many more than chance lets agree: then the records are the same, and their names were taken from
another column, their clock was off, or another of their values is released.

What is recognised: the same record in another order, file, filter, area or coordinate system, beside any
other records, and after a change that is small against the grids: one of size t moves about the share t/step
of the records to another hash (under one in ten thousand for 1e-9). With an identity that is no short number,
or as a row of the same file, whatever happened to the rest. `studies.scale.disguises` lists what is tried.

What is not: records without a common identity or file of which two of place, value and time were changed (or
one, where times are not known); numbered records of which place and value were changed; few records among
many others; and values so coarse, of places with so many records, that two different periods agree as well.
Some of these are `alike` in their places or their file, which a person is told of, who may join the accounts
(`Ledger.decide`).
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
    """A person's word on two datasets: `joined` or kept apart; `entry` is its number in the ledger."""

    entry: int
    joined: bool
    reason: str
    person: str


Shares = Literal["same", "shared", "none", "none in a sample", "kept apart", "unknown"]
"""Of two releases: one dataset; records recognised in both, or joined by a person; none recognised, among all
or in a sample; kept apart by a person; not known, where a release or its hashes are not in the ledger."""


@dataclass(frozen=True)
class PeriodsShared:
    """What a ledger knows of the records of T releases."""

    known: tuple[bool, ...]  # of each release, whether the ledger has it with its record hashes
    pairs: Mapping[tuple[int, int], Shares]  # for each pair of places (i, j), i < j, what is known

    def together_with(self, place: int) -> tuple[int, ...]:
        """Places of the releases, this one among them, that may hold one of its records: costs add over them.
        What is not known counts as shared."""
        disjoint = ("none", "none in a sample", "kept apart")
        joined = [pair for pair, shares in self.pairs.items() if place in pair and shares not in disjoint]
        return tuple(sorted({place, *chain.from_iterable(joined)}))


def nothing_known(count: int) -> PeriodsShared:
    """What is known without a ledger: nothing."""
    return PeriodsShared((False,) * count, dict.fromkeys(combinations(range(count), 2), "unknown"))


class Links:
    """Pairs of datasets that share records; a person's latest decision on a pair outweighs what was counted.
    Every dataset that holds a record shares it with every other that holds it, so all of them are neighbours
    of each. Adding the costs, never negative, of a dataset and its neighbours therefore bounds the composed
    cost of all releases that could have contained the record, as long as shared records are recognised (see
    `records`) and no wrong decision keeps two datasets apart. Datasets that share records only through a
    third one are not added up: no record is in both."""

    def __init__(self) -> None:
        self._records: dict[str, Mapping[str, Any]] = {}
        self._shared: dict[str, dict[str, int]] = {}
        self._decided: dict[frozenset[str], Decision] = {}

    def register(self, dataset: str, facts: Mapping[str, Any]) -> None:
        """Take in what was counted when a dataset's records were first seen. Raise `LedgerError` if they were
        seen before, or share records with a dataset that was not."""
        if dataset in self._records:
            raise LedgerError("The records of a dataset are written down once.")
        for other, count in facts["shares"].items():
            if other not in self._records or other == dataset or not count > 0:
                raise LedgerError("A dataset shares records only with datasets that are known before it.")
            self._shared.setdefault(dataset, {})[other] = count
            self._shared.setdefault(other, {})[dataset] = count
        self._records[dataset] = facts

    def decide(self, dataset: str, other: str, decision: Decision) -> None:
        """Take in a person's decision on a pair. Raise `LedgerError` if the datasets are one, or a reason or
        a person is missing."""
        if dataset == other:
            raise LedgerError("A decision is about two different datasets.")
        if not (decision.reason.strip() and decision.person.strip()):
            raise LedgerError("Two datasets are joined or kept apart by a person with a reason: give both.")
        self._decided[frozenset((dataset, other))] = decision

    def between(self, one: str | None, other: str | None) -> Shares:
        """What is known of two datasets, of which None stands for one that is not known."""
        if one is None or other is None:
            return "unknown"
        if one == other:
            return "same"
        if other in self.neighbours(one):
            return "shared"
        if self.decided(one, other):
            return "kept apart"
        if not (self.knows(one) and self.knows(other)):
            return "unknown"
        return "none" if max(self.records(one), self.records(other)) <= EXACT_RECORDS else "none in a sample"

    def knows(self, dataset: str) -> bool:
        """Whether the dataset's record hashes are kept."""
        return dataset in self._records

    def records(self, dataset: str) -> int:
        """How many records a dataset has whose hashes are kept."""
        return int(self._records[dataset]["n"])

    @property
    def digests(self) -> Mapping[str, str]:
        """SHA-256 of the kept record hashes of each dataset that has them."""
        return {dataset: facts["digest"] for dataset, facts in self._records.items()}

    def neighbours(self, dataset: str, seen: Iterable[str] = ()) -> tuple[str, ...]:
        """Datasets that share records with this one, in a fixed order, without itself. `seen`: datasets that
        a count found beyond those on record, for one that is not registered yet."""
        found = {*self._shared.get(dataset, {}), *seen} - {dataset}
        found = {other for other in found if self._joined(dataset, other)}
        found |= {
            other
            for pair, decision in self._decided.items()
            if decision.joined and dataset in pair
            for other in pair - {dataset}
        }
        return tuple(sorted(found))

    def decided(self, dataset: str, other: str) -> bool:
        """Whether a person has decided on the pair, one way or the other."""
        return frozenset((dataset, other)) in self._decided

    def kept_apart(self, dataset: str) -> tuple[Decision, ...]:
        """The decisions that keep others apart from this dataset."""
        return tuple(
            decision for pair, decision in self._decided.items() if dataset in pair and not decision.joined
        )

    def _joined(self, dataset: str, other: str) -> bool:
        decision = self._decided.get(frozenset((dataset, other)))
        return decision is None or decision.joined


TELLING: tuple[Kind, ...] = ("identity", "moment", "place")
MISTAKE = 1e-6
"""Chance that the number of shared records is above `Shared.most`, where it had to be sampled."""
MANY, FEWEST = 0.1, 5
"""Share, and number, of records that agree from which on a less telling kind is believed; chance comes on top
of the share, twice."""
ALIKE = 0.8
"""Share of the places of the dataset with fewer of them from which on both are alike in their places."""


@dataclass(frozen=True)
class Shared:
    """How many records of a dataset others hold as well."""

    count: int  # as counted, or as estimated from a sample
    # upper bound: `count` where nothing was sampled, otherwise wrong with probability MISTAKE at most
    most: int
    exact: bool  # whether nothing was sampled


@dataclass(frozen=True)
class Likeness:
    """What makes two datasets alike that share no recognised record; for the curator's eyes."""

    places: float  # share of the different places of the dataset with fewer of them that the other has too
    file: bool  # whether both come from one file


def matched(keys: RecordKeys, sketch: Sketch) -> NDArray[np.bool_]:
    """(n,) which records are recognised among the kept ones of a sketch. Of a sampled sketch one kind is
    counted, that of which most are found: each kind has its own sample."""
    both = [kind for kind in keys.hashes if kind in sketch.kept]
    first, *others = [kind for kind in TELLING if kind in both]
    masks = [_among(keys, sketch, kind) for kind in (first, "row") if kind in both]
    if first == "identity" and keys.numbered is not None:
        masks[0] = np.where(keys.numbered, _among(keys, sketch, others[0]), masks[0])
    found = _together(masks, sketch)
    for kind in (*others, "occasion", "reading", "numbered place", "numbered value"):
        if kind in both and _many(again := _among(keys, sketch, kind), found, keys, sketch, kind):
            masks.append(again)
            found = _together(masks, sketch)
    return found


def _together(masks: list[NDArray[np.bool_]], sketch: Sketch) -> NDArray[np.bool_]:
    return np.any(masks, axis=0) if sketch.exact else max(masks, key=np.count_nonzero)


def _many(
    again: NDArray[np.bool_], found: NDArray[np.bool_], keys: RecordKeys, sketch: Sketch, kind: Kind
) -> bool:
    """Whether so many records agree in a less telling kind that they must be the same ones."""
    size = min(keys.n * 2.0**-sketch.shift, sketch.kept[kind].size)
    # Many agree by chance only where both tables are coarse: rows that a planner adds decide nothing.
    share = MANY + 2.0 * min(keys.chance.get(kind, 0.0), sketch.chance.get(kind, 0.0))
    count = np.count_nonzero(again)
    return bool(count > np.count_nonzero(found) and count >= max(share * size, min(FEWEST, size)))


def likeness(keys: RecordKeys, sketch: Sketch) -> Likeness | None:
    """What makes the datasets alike beside their records; None where it is too little to tell a person."""
    places = _share(keys.spots[:EXACT_RECORDS], sketch.spots)
    same = bool(keys.file) and keys.file == sketch.file
    return Likeness(places, same) if places >= ALIKE or same else None


def _share(one: Hashes, other: Hashes) -> float:
    """Of the shorter list the share that stands in the other; of long ones, as far as both were kept."""
    for cut in (one, other):
        if cut.size >= EXACT_RECORDS:
            one, other = one[one <= cut[-1]], other[other <= cut[-1]]
    fewer = min(one.size, other.size)
    return float(np.intersect1d(one, other, assume_unique=True).size / fewer) if fewer else 0.0


def _among(keys: RecordKeys, sketch: Sketch, kind: Kind) -> NDArray[np.bool_]:
    kept = sketch.kept[kind]
    values = keys.hashes[kind]
    place = np.minimum(np.searchsorted(kept, values), max(kept.size - 1, 0))
    return np.asarray(kept[place] == values) if kept.size else np.zeros(values.shape, dtype=bool)


def count_shared(keys: RecordKeys, sketches: Mapping[str, Sketch]) -> tuple[dict[str, Shared], Shared]:
    """How many records each sketch shares with the dataset, and how many are shared with any of them. Where
    sketches are samples the number for all together adds up what each holds beyond the exact ones, so it errs
    upwards."""
    masks = {name: matched(keys, sketch) for name, sketch in sketches.items()}
    each = {
        name: _scaled(int(mask.sum()), sketches[name].shift, min(keys.n, sketches[name].n))
        for name, mask in masks.items()
    }
    known = np.zeros(keys.n, dtype=bool)
    for name, mask in masks.items():
        if sketches[name].exact:
            known |= mask
    count = most = int(known.sum())
    exact = True
    for name, mask in masks.items():
        if not sketches[name].exact:
            more = _scaled(int((mask & ~known).sum()), sketches[name].shift, min(keys.n, sketches[name].n))
            count, most, exact = count + more.count, most + more.most, False
    return each, Shared(min(count, keys.n), min(most, keys.n), exact)


def _scaled(found: int, shift: int, limit: int) -> Shared:
    """Numbers of records from `found` in a sample at rate 2^-shift."""
    if shift == 0:
        return Shared(found, found, True)
    rate = 2.0**-shift
    low, high = found, limit  # P(Binomial(K, rate) <= found) falls in K: the largest K that is still likely
    while low < high:
        middle = (low + high + 1) // 2
        if bdtr(found, middle, rate) > MISTAKE:
            low = middle
        else:
            high = middle - 1
    return Shared(min(found << shift, limit), low, False)
