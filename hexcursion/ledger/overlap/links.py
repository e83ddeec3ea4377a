"""Which datasets share records: what was counted when each was first charged, and what a person decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hexcursion.ledger.errors import LedgerError


@dataclass(frozen=True)
class Decision:
    """A person's word on two datasets: `joined` or kept apart; `entry` is its number in the ledger."""

    entry: int
    joined: bool
    reason: str
    person: str


class Links:
    """Pairs of datasets that share records. A person's latest decision on a pair outweighs what was counted.
    Why the sum over a dataset and its neighbours bounds the cost of every record in it: every dataset that
    holds a record shares that record with every other that holds it, so all of them are neighbours of each.
    Composition adds up costs that are never negative; adding those of neighbours that do not hold the record
    only raises the sum. It therefore bounds the composed cost of all releases that could have contained the
    record, as long as shared records are recognised (see `records`) and no wrong decision keeps two datasets
    apart. Datasets that share records only through a third one are not added up: no record is in both."""

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
