"""Assesses a charge against its account and those that share its records, and drafts its
entries."""

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
    """The comparison of a dataset's records with those of every other dataset."""

    each: Mapping[str, Shared]  # the records that each other dataset shares, by its fingerprint
    # the compared hashes; None for a charge without records
    keys: RecordKeys | None = None
    sketches: Mapping[str, Sketch] | None = None
    # similarities of other datasets that share no recognised record
    alike: Mapping[str, Likeness] = field(default_factory=dict)

    @property
    def found(self) -> tuple[str, ...]:
        """The datasets that share at least one record."""
        return tuple(name for name, shared in self.each.items() if shared.count > 0)

    def same(self, links: Links, dataset: str, other: str) -> bool:
        """Whether another dataset has exactly the records of the compared one."""
        shared = self.each.get(other)
        if other == dataset or shared is None or self.keys is None or other not in links.digests:
            return other == dataset
        return shared.exact and shared.count == self.keys.n == links.records(other)

    def together(self, names: tuple[str, ...]) -> Shared:
        """Count the records that at least one of these datasets also holds."""
        if self.keys is None or self.sketches is None:
            return Shared(0, 0, True)
        return count_shared(self.keys, {n: self.sketches[n] for n in names if n in self.sketches})[1]


def meet(book: Book, dataset: str, keys: RecordKeys | None, hashes: Mapping[str, bytes]) -> Meeting:
    """Compare records with those of every registered dataset except `dataset`. Raise
    `LedgerDamaged` if the stored hashes do not match their digests in the chain."""
    if keys is None:
        return Meeting({})
    sketches = {}
    for name, digest in book.links.digests.items():
        if name != dataset:
            if name not in hashes:
                raise LedgerDamaged(
                    "The record hashes of an account are missing: restore the ledger from a backup."
                )
            sketches[name] = Sketch.from_bytes(hashes[name], digest)
    shared = count_shared(keys, sketches)[0]
    likenesses = {name: likeness(keys, sketch) for name, sketch in sketches.items() if not shared[name].count}
    return Meeting(
        shared, keys, sketches, {name: match for name, match in likenesses.items() if match is not None}
    )


def preview(book: Book, charge: Charge, meeting: Meeting, delta: float | None) -> Preview:
    """Preview the effect of a charge on its account and on those that share its records. Raise
    `NoBudget` without a budget and without `delta`."""
    account = charged_account(book, charge, meeting)
    forecast = account.preview(charge.cost, delta)
    broken = broken_promise(book, charge, account)
    refused = "" if broken is None or charge.accepts_weaker else str(broken)
    for other in _touched(book, account):
        try:
            other.admit(charge.cost, sharing=True)
        except BudgetExceeded as error:
            refused = refused or str(error)
    forecast = replace(forecast, breaks="" if broken is None else str(broken))
    if charge.records is None:
        return replace(forecast, refused=refused)
    return replace(
        forecast,
        refused=refused,
        standing=_standing(book, charge, charge.records.n, account, meeting, forecast),
        alike=_alike(book, account, meeting),
    )


def admit(book: Book, charge: Charge, meeting: Meeting) -> Preview:
    """Return the preview of a release that fits its own budget and the budget of every account that
    shares its records. Raise `NoBudget` or `BudgetExceeded` if it does not fit one of them. Raise
    `PromiseBroken` if it publishes facts that an earlier release promised to hide, and no person
    agreed."""
    account = charged_account(book, charge, meeting)
    broken = broken_promise(book, charge, account)
    if broken is not None and not charge.accepts_weaker:
        raise broken
    account.admit(charge.cost)
    for other in _touched(book, account):
        other.admit(charge.cost, sharing=True)
    return preview(book, charge, meeting, None)


def check(book: Book, charge: Charge, meeting: Meeting, budget: Budget | None) -> None:
    """Set the budget, if given, and charge in the book only, to raise the errors that the ledger
    would raise: `NoBudget` or `BudgetExceeded` as in `admit`, and `LedgerError` for a larger budget
    without a person and a reason."""
    if budget is not None and book.account(charge.dataset, charge.unit).takes(budget):
        book.set_budget(charge.dataset, charge.unit, budget)
    admit(book, charge, meeting)


def charged_account(book: Book, charge: Charge, meeting: Meeting) -> Account:
    """Return the charged account; a registered dataset has the neighbours in the book. Raise
    `LedgerError` if the charge names a dataset with the same records that a person has kept
    apart."""
    names = () if book.links.knows(charge.dataset) else meeting.found
    account = book.account(charge.dataset, charge.unit, (*names, *charge.same_as))
    if apart := set(charge.same_as) - {charge.dataset, *account.shares}:
        raise LedgerError(
            "These data were kept apart from those that are now said to hold the same records: take that "
            f"back with `ledger join {charge.dataset[:12]} {min(apart)[:12]} --reason WHY`."
        )
    return account


def _alike(book: Book, account: Account, meeting: Meeting) -> tuple[Alike, ...]:
    """Return the charged datasets that are alike and not counted, without those that a person
    decided on."""
    datasets = []
    for name, match in meeting.alike.items():
        charged = [number for unit in UNITS for number in book.account(name, unit).charged]
        if charged and name not in account.shares and not book.links.decided(account.dataset, name):
            title = str(book.reserve_entry(max(charged)).facts["facts"].get("title", ""))
            datasets.append(Alike(name, max(charged), title, match.places, match.file))
    return tuple(sorted(datasets, key=lambda dataset: -dataset.places))


def broken_promise(book: Book, charge: Charge, account: Account) -> PromiseBroken | None:
    """Return the error of a release that breaks a promise, to which a person must agree; None if it
    breaks no promise in force. Releases of both units count, since a number of hexagons also
    reveals records. A person agrees once to break all promises made so far about these records. A
    release of other records, or one before a promise, does not break it."""
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
    """Return the accounts of other datasets, with a budget, that a charge to this account also
    charges."""
    accounts = (book.account(name, account.unit, (account.dataset,)) for name in account.shares)
    return tuple(other for other in accounts if other.budget is not None and not other.inherited)


def _standing(
    book: Book, charge: Charge, n: int, account: Account, meeting: Meeting, forecast: Preview
) -> Standing:
    related = (charge.dataset, *account.shares)
    paid = tuple(name for name in account.shares if book.account(name, charge.unit).charged)
    shared = meeting.together(paid)
    by_person = [name for name in paid if name not in meeting.each or not meeting.each[name].count]
    # all of them: its own releases, or those of data that a person joined
    if account.charged or by_person:
        shared = Shared(n, n, True)
    return Standing(
        unit=charge.unit,
        delta=forecast.delta,
        n=n,
        shared=shared.count,
        most=shared.most,
        exact=shared.exact,
        before=forecast.before,
        after=forecast.after,
        other_units=_other_units(book, charge, related, forecast.delta),
        other_numbers=_other_numbers(book, charge, related, meeting),
        unknown=sum(name not in related and not book.links.knows(name) for name in book.charged_datasets()),
        apart=book.links.kept_apart(charge.dataset),
        neighbours=forecast.neighbours,
        stronger=_stronger(book, charge, account, forecast.delta),
    )


def _stronger(book: Book, charge: Charge, account: Account, delta: float) -> tuple[Stronger, ...]:
    """Return the promises that only some of the releases make, the strongest first."""
    costs = [*(book.cost_of(number) for number in (*account.charged, *account.others)), charge.cost]
    common = HIDING.index(weakest(costs))
    promises = []
    for neighbours in reversed(HIDING[common + 1 :]):
        promising = [cost for cost in costs if cost.neighbours == neighbours]
        if promising:
            rank = HIDING.index(neighbours)
            hiding = [cost for cost in costs if HIDING.index(cost.neighbours) >= rank]
            promises.append(Stronger(neighbours, len(hiding), epsilon(hiding, delta)))
    return tuple(promises)


def _other_units(book: Book, charge: Charge, related: tuple[str, ...], delta: float) -> tuple[OtherUnit, ...]:
    units = []
    for unit in UNITS:
        charges = [number for name in related for number in book.account(name, unit).charged]
        if unit != charge.unit and charges:
            cost: Cost = together(book.cost_of(number) for number in charges)
            if cost.neighbours == "add-or-remove":
                cost = priced_for(cost, "replace-one")
            pair = group_epsilon(cost, 2, delta).epsilon
            units.append(OtherUnit(unit, len(charges), epsilon(cost, delta), pair, cost.neighbours))
    return tuple(units)


def _other_numbers(book: Book, charge: Charge, related: tuple[str, ...], meeting: Meeting) -> tuple[int, ...]:
    """Return the numbers of records stated under this unit for another area or with another filter.

    A dataset of exactly the same records, such as another column of one table, is not another
    filter.
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
"""The reason of a decision made with a release."""


def joined(charge: Charge, links: Links) -> list[Draft]:
    """Draft the decisions of a person, given with a charge, that other datasets hold the same
    records."""
    linked = (charge.dataset, *links.neighbours(charge.dataset))
    facts = {"joined": True, "reason": RECOGNISED, "person": login_name() or "the curator"}
    return [
        Draft("link", {"other": other, **facts}, charge.dataset)
        for other in charge.same_as
        if other not in linked
    ]


def login_name() -> str:
    """Return the user who runs this process; "" without a name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def registration(dataset: str, records: RecordKeys, meeting: Meeting, writing: Writing) -> Draft:
    """Store the record hashes of a dataset and draft the entry with their digest."""
    hashes = records.sketch().to_bytes()
    writing.keep_records(dataset, hashes)
    facts = {
        "n": records.n,
        "digest": hashlib.sha256(hashes).hexdigest(),
        "shares": {name: meeting.each[name].count for name in meeting.found},
    }
    return Draft("records", facts, dataset)


def inherited(charge: Charge, budget: Budget) -> Draft:
    """Draft the first budget of a dataset that shares records with others: the smallest of
    theirs."""
    reason = "the smallest budget of the datasets that hold some of the same records"
    facts = {"epsilon": budget.epsilon, "delta": budget.delta, "reason": reason, "person": ""}
    return Draft("budget", facts, charge.dataset, charge.unit)
