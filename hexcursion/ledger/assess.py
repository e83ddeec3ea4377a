"""A charge against its own account and those that share its records; and the entries that it writes."""

from __future__ import annotations

import getpass
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dpgp_core.accounting.composition import HIDING, Cost
from dpgp_core.accounting.guarantee import group_epsilon, priced_for, together, weakest
from hexcursion.ledger.account import UNITS, Account, Budget, Charge, Preview, epsilon
from hexcursion.ledger.book import Book
from hexcursion.ledger.entry import Draft
from hexcursion.ledger.errors import BudgetExceeded, LedgerDamaged, LedgerError, PromiseBroken
from hexcursion.ledger.overlap import Likeness, Links, Shared, count_shared, likeness
from hexcursion.ledger.records import RecordKeys, Sketch
from hexcursion.ledger.sentences import Alike, OtherUnit, Standing, Stronger
from hexcursion.ledger.store import Writing


@dataclass(frozen=True)
class Meeting:
    """A dataset's records against those of every other one."""

    each: Mapping[str, Shared]  # what every other dataset shares, by its fingerprint
    # what was compared; None where a charge brings no records
    keys: RecordKeys | None = None
    sketches: Mapping[str, Sketch] | None = None
    # what makes other datasets alike that share no recognised record
    alike: Mapping[str, Likeness] = field(default_factory=dict)

    @property
    def found(self) -> tuple[str, ...]:
        """The datasets that share at least one record."""
        return tuple(name for name, shared in self.each.items() if shared.count > 0)

    def same(self, links: Links, dataset: str, other: str) -> bool:
        """Whether another dataset has the very records of the one compared, and no further ones."""
        seen = self.each.get(other)
        if other == dataset or seen is None or self.keys is None or other not in links.digests:
            return other == dataset
        return seen.exact and seen.count == self.keys.n == links.records(other)

    def together(self, names: tuple[str, ...]) -> Shared:
        """How many records at least one of these datasets holds as well."""
        if self.keys is None or self.sketches is None:
            return Shared(0, 0, True)
        return count_shared(self.keys, {n: self.sketches[n] for n in names if n in self.sketches})[1]


def meet(book: Book, dataset: str, keys: RecordKeys | None, kept: Mapping[str, bytes]) -> Meeting:
    """Compare records with those of every registered dataset but `dataset` itself. Raise `LedgerDamaged` if
    the kept hashes are not those that the chain tells of."""
    if keys is None:
        return Meeting({})
    sketches = {}
    for name, digest in book.links.digests.items():
        if name != dataset:
            if name not in kept:
                raise LedgerDamaged(
                    "The record hashes of an account are missing: restore the ledger from a backup."
                )
            sketches[name] = Sketch.from_bytes(kept[name], digest)
    each = count_shared(keys, sketches)[0]
    others = {name: likeness(keys, sketch) for name, sketch in sketches.items() if not each[name].count}
    return Meeting(each, keys, sketches, {name: seen for name, seen in others.items() if seen is not None})


def preview(book: Book, charge: Charge, meeting: Meeting, delta: float | None) -> Preview:
    """What the charge would do to its own account and to those that share its records. Raise `NoBudget`
    without a budget and without `delta`."""
    account = charged_account(book, charge, meeting)
    own = account.preview(charge.cost, delta)
    broken = broken_promise(book, charge, account)
    refused = "" if broken is None or charge.accepts_weaker else str(broken)
    for other in _touched(book, account):
        try:
            other.admit(charge.cost, sharing=True)
        except BudgetExceeded as error:
            refused = refused or str(error)
    own = replace(own, breaks="" if broken is None else str(broken))
    if charge.records is None:
        return replace(own, refused=refused)
    return replace(
        own,
        refused=refused,
        standing=_standing(book, charge, charge.records.n, account, meeting, own),
        alike=_alike(book, account, meeting),
    )


def admit(book: Book, charge: Charge, meeting: Meeting) -> Preview:
    """The preview, if the release fits its own budget and that of every account that shares its records.
    Raise `NoBudget` or `BudgetExceeded` if it does not fit one of them. Raise `PromiseBroken` if it publishes
    what an earlier release promised to hide, and nobody agreed to that."""
    account = charged_account(book, charge, meeting)
    broken = broken_promise(book, charge, account)
    if broken is not None and not charge.accepts_weaker:
        raise broken
    account.admit(charge.cost)
    for other in _touched(book, account):
        other.admit(charge.cost, sharing=True)
    return preview(book, charge, meeting, None)


def check(book: Book, charge: Charge, meeting: Meeting, budget: Budget | None) -> None:
    """Raise what setting the budget, where one is given, and charging would raise; only the book learns it.
    Raise `NoBudget` or `BudgetExceeded` as `admit`. Raise `LedgerError` for a budget that is raised without a
    person and a reason."""
    if budget is not None and book.account(charge.dataset, charge.unit).takes(budget):
        book.set_budget(charge.dataset, charge.unit, budget)
    admit(book, charge, meeting)


def charged_account(book: Book, charge: Charge, meeting: Meeting) -> Account:
    """The charged account; of a dataset that is registered, with the neighbours that are on record. Raise
    `LedgerError` for a dataset that is said to hold the same records although a person has kept it apart."""
    seen = () if book.links.knows(charge.dataset) else meeting.found
    account = book.account(charge.dataset, charge.unit, (*seen, *charge.same_as))
    if apart := set(charge.same_as) - {charge.dataset, *account.shares}:
        raise LedgerError(
            "These data were kept apart from those that are now said to hold the same records: take that "
            f"back with `ledger join {charge.dataset[:12]} {min(apart)[:12]} --reason WHY`."
        )
    return account


def _alike(book: Book, account: Account, meeting: Meeting) -> tuple[Alike, ...]:
    """Charged datasets that are alike and not counted, unless a person has kept them apart."""
    found = []
    for name, seen in meeting.alike.items():
        charged = [number for unit in UNITS for number in book.account(name, unit).charged]
        if charged and name not in account.shares and not book.links.decided(account.dataset, name):
            title = str(book.reserve_entry(max(charged)).facts["facts"].get("title", ""))
            found.append(Alike(name, max(charged), title, seen.places, seen.file))
    return tuple(sorted(found, key=lambda each: -each.places))


def broken_promise(book: Book, charge: Charge, account: Account) -> PromiseBroken | None:
    """Why a person has to agree to this release; None where it breaks no promise, or none that still held.
    Releases of either unit promise, since a number of hexagons tells of records as well. A person agrees once
    to break the promises made until then of these very records: what was released of other records, and what
    was released before a promise, breaks none."""
    rank = HIDING.index(charge.cost.neighbours)
    promised, agreed = [], -1
    for unit in UNITS:
        for name in (charge.dataset, *account.shares):
            for number in book.account(name, unit).charged:
                hidden = HIDING.index(book.cost_of(number).neighbours)
                consent = book.reserve_entry(number).facts.get("accepts_weaker", False)
                if hidden > rank:
                    promised.append(number)
                elif consent and (name, unit) == (charge.dataset, charge.unit):
                    agreed = max(agreed, number)
    earlier = sum(number > agreed for number in promised)
    return PromiseBroken(charge.cost.neighbours, earlier) if earlier else None


def _touched(book: Book, account: Account) -> tuple[Account, ...]:
    """The accounts of other datasets whose sum grows by a charge to this one, where they have a budget."""
    others = (book.account(name, account.unit, (account.dataset,)) for name in account.shares)
    return tuple(other for other in others if other.budget is not None and not other.inherited)


def _standing(
    book: Book, charge: Charge, n: int, account: Account, meeting: Meeting, own: Preview
) -> Standing:
    related = (charge.dataset, *account.shares)
    paid = tuple(name for name in account.shares if book.account(name, charge.unit).charged)
    shared = meeting.together(paid)
    joined = [name for name in paid if name not in meeting.each or not meeting.each[name].count]
    if account.charged or joined:  # all of them: its own releases, or those of data that a person joined
        shared = Shared(n, n, True)
    return Standing(
        unit=charge.unit, delta=own.delta, n=n, shared=shared.count, most=shared.most, exact=shared.exact,
        before=own.before, after=own.after, other_units=_other_units(book, charge, related, own.delta),
        other_numbers=_other_numbers(book, charge, related, meeting),
        unknown=sum(name not in related and not book.links.knows(name) for name in book.charged_datasets()),
        apart=book.links.kept_apart(charge.dataset), neighbours=own.neighbours,
        stronger=_stronger(book, charge, account, own.delta),
    )  # fmt: skip


def _stronger(book: Book, charge: Charge, account: Account, delta: float) -> tuple[Stronger, ...]:
    """The promises of single releases that all of them together do not keep, the strongest first."""
    costs = [*(book.cost_of(number) for number in (*account.charged, *account.others)), charge.cost]
    kept = HIDING.index(weakest(costs))
    found = []
    for neighbours in reversed(HIDING[kept + 1 :]):
        promising = [cost for cost in costs if cost.neighbours == neighbours]
        if promising:
            rank = HIDING.index(neighbours)
            hiding = [cost for cost in costs if HIDING.index(cost.neighbours) >= rank]
            found.append(Stronger(neighbours, len(hiding), epsilon(hiding, delta)))
    return tuple(found)


def _other_units(book: Book, charge: Charge, related: tuple[str, ...], delta: float) -> tuple[OtherUnit, ...]:
    found = []
    for unit in UNITS:
        charges = [number for name in related for number in book.account(name, unit).charged]
        if unit != charge.unit and charges:
            cost: Cost = together(book.cost_of(number) for number in charges)
            if cost.neighbours == "add-or-remove":
                cost = priced_for(cost, "replace-one")
            pair = group_epsilon(cost, 2, delta).epsilon
            found.append(OtherUnit(unit, len(charges), epsilon(cost, delta), pair, cost.neighbours))
    return tuple(found)


def _other_numbers(book: Book, charge: Charge, related: tuple[str, ...], meeting: Meeting) -> tuple[int, ...]:
    """Numbers of records of this unit that were stated for another area or by another filter.

    A dataset of the very same records, as another column of one table is, is no other filter.
    """
    area, numbers = charge.facts.get("area"), set()
    for name in related:
        for number in book.account(name, charge.unit).charged:
            facts = book.reserve_entry(number).facts["facts"]
            elsewhere = facts.get("area") != area or not meeting.same(book.links, charge.dataset, name)
            if elsewhere and isinstance(facts.get("n"), int):
                numbers.add(facts["n"])
    return tuple(sorted(numbers))


RECOGNISED = "a person recognised the same records in other words"
"""The reason of a decision that comes with a release."""


def joined(charge: Charge, links: Links) -> list[Draft]:
    """A person's word with a charge that other datasets hold its records, where that is not on record yet."""
    known = (charge.dataset, *links.neighbours(charge.dataset))
    facts = {"joined": True, "reason": RECOGNISED, "person": login_name() or "the curator"}
    return [
        Draft("link", {"other": other, **facts}, charge.dataset)
        for other in charge.same_as
        if other not in known
    ]


def login_name() -> str:
    """Who runs this process; "" where the system knows no name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def registration(dataset: str, records: RecordKeys, meeting: Meeting, writing: Writing) -> Draft:
    """Keep the record hashes of a dataset; the row that tells of them."""
    hashes = records.sketch().to_bytes()
    writing.keep_records(dataset, hashes)
    facts = {
        "n": records.n,
        "digest": hashlib.sha256(hashes).hexdigest(),
        "shares": {name: meeting.each[name].count for name in meeting.found},
    }
    return Draft("records", facts, dataset)


def inherited(charge: Charge, budget: Budget) -> Draft:
    """The first budget of a dataset that shares records with others: the smallest of theirs."""
    reason = "the smallest budget of the datasets that hold some of the same records"
    facts = {"epsilon": budget.epsilon, "delta": budget.delta, "reason": reason, "person": ""}
    return Draft("budget", facts, charge.dataset, charge.unit)
