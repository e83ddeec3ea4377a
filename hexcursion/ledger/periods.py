"""Whether releases of several periods share records, as far as the ledger's record hashes tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Literal

from hexcursion.ledger.book import Book
from hexcursion.ledger.ledger import Ledger
from hexcursion.ledger.overlap import Links
from hexcursion.ledger.records import EXACT_RECORDS

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


def periods_shared(ledger: Ledger, releases: Sequence[tuple[str, str]]) -> PeriodsShared:
    """Look releases up and compare their records by the hashes that were kept when each was charged.
    `releases`: of each the id and the SHA-256 of its `SHA256SUMS`: a bundle that only bears the id is not
    known. Raise `LedgerDamaged` if the chain does not verify."""
    book = ledger._book()
    datasets = [_dataset(book, name, digest) for name, digest in releases]
    pairs = {
        (one, other): _between(book.links, datasets[one], datasets[other])
        for one, other in combinations(range(len(datasets)), 2)
    }
    return PeriodsShared(tuple(each is not None and book.links.knows(each) for each in datasets), pairs)


def _dataset(book: Book, release_id: str, digest: str) -> str | None:
    number = book.releases.get(release_id)
    if number is None or book.digests.get(release_id) != digest:
        return None
    return book.reserve_entry(number).dataset


def _between(links: Links, one: str | None, other: str | None) -> Shares:
    if one is None or other is None:
        return "unknown"
    if one == other:
        return "same"
    if other in links.neighbours(one):
        return "shared"
    if links.decided(one, other):
        return "kept apart"
    if not (links.knows(one) and links.knows(other)):
        return "unknown"
    return "none" if max(links.records(one), links.records(other)) <= EXACT_RECORDS else "none in a sample"
