"""Whether releases of several periods share records, as far as the ledger's record hashes tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
        apart = ("none", "none in a sample", "kept apart")
        others = (
            other
            for other in range(len(self.known))
            if other != place and self.pairs[min(place, other), max(place, other)] not in apart
        )
        return tuple(sorted((place, *others)))


def nothing_known(count: int) -> PeriodsShared:
    """What is known without a ledger: nothing."""
    pairs = {(one, other): "unknown" for one in range(count) for other in range(one + 1, count)}
    return PeriodsShared((False,) * count, pairs)  # type: ignore[arg-type]


def periods_shared(ledger: Ledger, releases: Sequence[tuple[str, str]]) -> PeriodsShared:
    """Look releases up and compare their records by the hashes that were kept when each was charged.
    `releases`: of each the id and the SHA-256 of its `SHA256SUMS`: a bundle that only bears the id is not
    known. Raise `LedgerDamaged` if the chain does not verify."""
    book = ledger._book()
    datasets = [_dataset(book, name, digest) for name, digest in releases]
    count = len(datasets)
    pairs: dict[tuple[int, int], Shares] = {
        (one, other): _between(book.links, datasets[one], datasets[other])
        for one in range(count)
        for other in range(one + 1, count)
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
