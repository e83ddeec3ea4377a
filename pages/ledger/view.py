"""The ledger on a screen: its accounts and entries in words, and what a person may void."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dpgp_core.numbers import significant, upper
from hexcursion.ledger import Account, Entry, Ledger, LedgerDamaged, NoLedger, open_ledger
from hexcursion.ledger.chain import clock_notes
from hexcursion.ledger.entry import EntryKind
from hexcursion.words import plural, remaining

NAMED = 3  # of the names of a dataset
SHOWN_DIGITS = 10  # of a fingerprint or hash on a screen
KINDS: dict[EntryKind, str] = {
    "genesis": "ledger begun",
    "orders": "new grid of orders",
    "records": "record hashes kept",
    "link": "decision of a person",
    "budget": "budget set",
    "reserve": "charged",
    "draw": "drawing began",
    "commit": "released",
    "unused": "given back, nothing drawn",
    "void": "voided by a person",
    "trace": "trace released",
}


@dataclass(frozen=True)
class AccountView:
    """One dataset under one unit of protection; epsilons as text, `share` spent in [0, 1] for a bar."""

    name: str  # the file and the releases, as its charges call them
    protects: str
    dataset: str  # the beginning of its fingerprint
    delta: str
    budget: str
    spent: str
    left: str
    share: float
    releases: str
    note: str


@dataclass(frozen=True)
class LedgerView:
    """The ledger as a curator sees it: `findings` is empty when the chain holds; `open` may be voided."""

    accounts: tuple[AccountView, ...]
    entries: tuple[dict[str, Any], ...]
    findings: tuple[str, ...]
    notes: tuple[str, ...]
    open: tuple[int, ...]


def view_ledger(place: str | None = None) -> LedgerView | None:
    """The ledger in words, verified; None before the first release."""
    try:
        ledger = open_ledger(place, create=False)
    except NoLedger:
        return None
    findings = tuple(str(finding) for finding in ledger.verify())
    entries = ledger.entries()
    names = names_of(entries)
    return LedgerView(
        accounts=tuple(_account(account, names) for account in _accounts(ledger)),
        entries=tuple(_entry(entry, names) for entry in entries),
        findings=findings,
        notes=tuple(str(note) for note in clock_notes(entries)),
        open=tuple(number for account in _accounts(ledger) for number in account.open),
    )


def void_charge(number: int, reason: str, person: str, place: str | None = None) -> None:
    """Give back a charge that was never released; `LedgerError` names what it lacks."""
    open_ledger(place, create=False).void(number, reason.strip(), person.strip())


def _accounts(ledger: Ledger) -> tuple[Account, ...]:
    try:
        return ledger.accounts()
    except LedgerDamaged:  # `verify` names the damage; no sum may be shown of a damaged chain
        return ()


def names_of(entries: Iterable[Entry]) -> dict[str, str]:
    """Name each dataset by its file and the titles of its charges, the latest first; damaged entries are not
    read."""
    titles_of: dict[str, dict[str, None]] = {}
    for entry in entries:
        if entry.kind in ("reserve", "trace") and entry.hash == entry.expected_hash():
            facts = entry.facts.get("facts", {})
            for word in ("title", "file"):
                text = str(facts.get(word) or "").strip()
                if text:
                    titles = titles_of.setdefault(str(entry.dataset), {})
                    titles.pop(text, None)
                    titles[text] = None
    return {dataset: _few(list(reversed(texts))) for dataset, texts in titles_of.items()}


def _few(texts: list[str]) -> str:
    """The first names, and how many more there are."""
    left_out = len(texts) - NAMED
    return ", ".join(texts[:NAMED]) + (f" and {left_out:,} more" if left_out > 0 else "")


def _account(account: Account, names: Mapping[str, str]) -> AccountView:
    budget = account.budget
    total = 0.0 if budget is None else budget.epsilon
    return AccountView(
        name=names.get(account.dataset, "Data without a name"),
        protects=f"{'Each record' if account.unit == 'point' else 'Each hexagon'} protected",
        dataset=account.dataset[:SHOWN_DIGITS],
        delta="–" if budget is None else significant(budget.delta, 3),
        budget=significant(total, 4),
        spent=upper(account.spent, 4),
        left=remaining(account.left),
        share=min(1.0, account.spent / total) if total > 0 else 1.0,
        releases=plural(len(account.charged), "release"),
        note=account.note,
    )


def _entry(entry: Entry, names: Mapping[str, str]) -> dict[str, Any]:
    """Return one row of the ledger in words, by the headings of its table."""
    return {
        "No.": entry.number,
        "When (UTC)": str(entry.created)[:19].replace("T", " "),
        "What": KINDS.get(entry.kind, str(entry.kind)),
        "Data": names.get(str(entry.dataset), str(entry.dataset)[:SHOWN_DIGITS]),
        "Details": _details(entry),
        "Seal": str(entry.hash)[:SHOWN_DIGITS],
    }


def _charged(facts: Mapping[str, Any]) -> str:
    """The purpose of a charge, and its cost as its own release states it; a charge need not say either."""
    parts = [str(facts[name]) for name in ("title", "mechanism") if facts.get(name)]
    if {"epsilon", "delta"} <= facts.keys():
        parts.append(f"ε {upper(facts['epsilon'], 4)} at δ {significant(facts['delta'], 3)}")
    return ", ".join(parts)


def _details(entry: Entry) -> str:
    """The few facts of an entry that a person asks for; of a damaged entry, none."""
    if entry.hash != entry.expected_hash():
        return "changed after it was written"
    facts = entry.facts
    if entry.kind == "reserve":
        return _charged(facts["facts"])
    if entry.kind == "trace":
        charge = facts["facts"]
        secrets = plural(charge["secrets"], "secret")
        return f"{secrets} of {charge['records']:,} records, μ {upper(charge['mu'], 4)}, in no sum with ε"
    if entry.kind == "budget":
        return f"ε {significant(facts['epsilon'], 4)} at δ {significant(facts['delta'], 3)}"
    if entry.kind == "commit":
        return f"{facts['release_id']} (charge {entry.refers_to})"
    if entry.kind == "void":
        return f"charge {entry.refers_to}: {facts['reason']} ({facts['person']})"
    if entry.kind == "records":
        shared = len(facts["shares"])
        with_others = f"some shared with {plural(shared, 'other dataset')}" if shared else "none known before"
        return f"{plural(facts['n'], 'record')}, {with_others}"
    if entry.kind == "link":
        verb = "joined with" if facts["joined"] else "kept apart from"
        return f"{verb} {facts['other'][:SHOWN_DIGITS]}: {facts['reason']} ({facts['person']})"
    return f"charge {entry.refers_to}" if entry.refers_to is not None else ""
