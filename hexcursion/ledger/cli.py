"""`python -m hexcursion ledger show | verify | budget | void | join | apart`: the ledger in a
terminal."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from dpgp_core.numbers import lower, upper
from hexcursion.ledger.account import Account
from hexcursion.ledger.assess import login_name
from hexcursion.ledger.chain import clock_notes
from hexcursion.ledger.entry import Entry
from hexcursion.ledger.errors import LedgerDamaged, LedgerError
from hexcursion.ledger.ledger import Ledger
from hexcursion.ledger.opening import open_ledger
from hexcursion.words import remaining

MOST_LETTERS = 1_000


def add_ledger_commands(subparsers: Any) -> None:
    """Register `ledger` and its commands; `options.run` is the chosen one: (options) -> exit
    status. Exit status: 0 done, 1 the ledger does not verify, 2 refused, with one sentence on
    stderr."""
    text = "show, verify and keep the ledger of releases"
    parser = subparsers.add_parser("ledger", help=text, description=text)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    show_parser = _command(commands, "show", _show, "every account and every entry")
    show_parser.add_argument("--json", action="store_true", help="the same as JSON, with every field")
    text = "recompute the chain and name every entry that was changed"
    _command(commands, "verify", _verify, text).add_argument(
        "--seal",
        action="append",
        default=[],
        metavar="NUMBER:HASH",
        help="an entry as a released bundle quotes it; may be repeated",
    )
    budget = _command(commands, "budget", _budget, "set or change the budget of a dataset")
    budget.add_argument("dataset", help="fingerprint of the dataset, 64 hex digits, or its beginning")
    budget.add_argument("--unit", choices=("point", "cell"), required=True, help="unit of protection")
    budget.add_argument("--epsilon", type=float, required=True, help="total epsilon of all releases")
    budget.add_argument("--delta", type=float, required=True, help="at this delta, between 0 and 1")
    _add_signature(budget, "why (needed to raise a budget)", default="")
    text = "give back a charge that was never released; this is itself an entry"
    void = _command(commands, "void", _void, text)
    void.add_argument("entry", type=int, help="number of the charge, from `ledger show`")
    _add_signature(void, "why it is certain that nothing was released", required=True)
    for name, joined, text in (
        ("join", True, "together: they hold the same records, whatever was seen"),
        ("apart", False, "apart: they hold no record in common, whatever was seen"),
    ):
        run = partial(_decide, joined=joined)
        decision = _command(commands, name, run, f"count releases of two datasets {text}")
        decision.add_argument("dataset", help="fingerprint of one dataset, 64 hex digits, or its beginning")
        decision.add_argument("other", help="fingerprint of the other one")
        _add_signature(decision, "why that is certain", required=True)


def _command(commands: Any, name: str, run: Callable[[Ledger, argparse.Namespace], int], text: str) -> Any:
    """Add a command with the options of the ledger's place."""
    parser = commands.add_parser(name, help=text, description=text)
    parser.add_argument(
        "--ledger",
        metavar="URL|FILE",
        help="ledger database (default: $HEXCURSION_LEDGER, else ledger.sqlite in $HEXCURSION_HOME "
        "or .hexcursion)",
    )
    parser.add_argument("--key", metavar="FILE", help="the curator's key (default: next to the ledger)")
    parser.set_defaults(run=lambda options: _run(run, options))
    return parser


def _add_signature(parser: Any, why: str, **reason: Any) -> None:
    """Add the reason of a decision and the person who answers for it."""
    parser.add_argument("--reason", type=_words, help=why, **reason)
    parser.add_argument(
        "--person", type=_words, default=login_name(), help="who answers for it (default: the login name)"
    )


def show(ledger: Ledger) -> str:
    """Return accounts and entries as text; show the entries even if the chain is broken."""
    entries = ledger.entries()
    try:
        accounts = "\n\n".join(_account_text(account) for account in ledger.accounts()) or "No accounts yet."
    except LedgerDamaged as error:
        accounts = f"NOT VERIFIED. {error}"
    return f"{accounts}\n\nEntries\n" + "\n".join(_entry_text(entry) for entry in entries)


def _show(ledger: Ledger, options: argparse.Namespace) -> int:
    if options.json:
        accounts = [
            {
                "dataset": account.dataset,
                "unit": account.unit,
                "budget": None if account.budget is None else asdict(account.budget),
                "spent": account.spent,
                "left": account.left,
                "charged": account.charged,
                "open": account.open,
                "shares": account.shares,
                "others": account.others,
                "note": account.note,
            }
            for account in ledger.accounts()
        ]
        rows = [{**asdict(entry), "body": entry.facts} for entry in ledger.entries()]
        print(json.dumps({"accounts": accounts, "entries": rows}, indent=2))
    else:
        print(show(ledger))
    return 0


def _verify(ledger: Ledger, options: argparse.Namespace) -> int:
    findings = ledger.verify(options.seal)
    for finding in findings:
        print(finding)
    if not findings:
        entries = ledger.entries()
        last = entries[-1]
        for note in clock_notes(entries):
            print(f"note: {note}")
        print(f"{len(entries)} entries verified; the last one is {last.number}:{last.hash}")
    return 1 if findings else 0


def _decide(ledger: Ledger, options: argparse.Namespace, joined: bool) -> int:
    dataset, other = _dataset(ledger, options.dataset), _dataset(ledger, options.other)
    ledger.decide(dataset, other, joined, reason=options.reason, person=options.person)
    verb = "joined" if joined else "kept apart"
    print(f"The two datasets are {verb}; the reason and {options.person!r} are in the ledger.")
    return 0


def _dataset(ledger: Ledger, beginning: str) -> str:
    """Complete the beginning of a fingerprint of an account's dataset; return it unchanged if
    unknown."""
    if not beginning:
        raise LedgerError("Name a dataset by its fingerprint or the beginning of it: see `ledger show`.")
    matches = {account.dataset for account in ledger.accounts() if account.dataset.startswith(beginning)}
    if len(matches) > 1:
        raise LedgerError(f"{beginning!r} begins the name of {len(matches)} datasets: give more digits.")
    return matches.pop() if matches else beginning


def _budget(ledger: Ledger, options: argparse.Namespace) -> int:
    dataset = _dataset(ledger, options.dataset)
    ledger.set_budget(
        dataset, options.unit, options.epsilon, options.delta, reason=options.reason, person=options.person
    )
    print(_account_text(ledger.account(dataset, options.unit)))
    return 0


def _void(ledger: Ledger, options: argparse.Namespace) -> int:
    ledger.void(options.entry, options.reason, options.person)
    print(f"Entry {options.entry} is void; the reason and {options.person!r} are in the ledger.")
    return 0


def _run(command: Callable[[Ledger, argparse.Namespace], int], options: argparse.Namespace) -> int:
    try:
        return command(open_ledger(options.ledger, options.key, create=False), options)
    except LedgerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, LedgerDamaged) else 2


def _account_text(account: Account) -> str:
    budget, charges = account.budget, len(account.charged) + len(account.others)
    lines = [
        f"Dataset {account.dataset}, unit {account.unit}",
        "  budget  none"
        if budget is None
        else f"  budget  epsilon {lower(budget.epsilon, 6)} at delta {budget.delta:g}",
        f"  spent   epsilon {upper(account.spent, 6)} in {charges} charges, composed",
        f"  left    epsilon {remaining(account.left)}",
    ]
    if account.open:
        numbers = ", ".join(map(str, account.open))
        lines.append(f"  open    {numbers}: under way, or broken off and charged until voided")
    if account.note:
        lines.append(f"  note    {account.note}")
    return "\n".join(lines)


def _entry_text(entry: Entry) -> str:
    about = f" on {entry.refers_to}" if entry.refers_to is not None else ""
    whose = f"  {entry.dataset[:12]} {entry.unit}" if entry.dataset else ""
    line = f"{entry.number!s:>5}  {entry.created}  {entry.kind}{about}{whose}{_detail(entry)}"
    # A damaged or malicious row must not steer the terminal.
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def _detail(entry: Entry) -> str:
    try:
        facts = entry.facts
        if entry.kind == "genesis":
            return f"  ledger {facts['ledger']}"
        if entry.kind == "budget":
            why = f"  ({facts['person']}: {facts['reason']})" if facts["reason"] else ""
            return f"  epsilon {facts['epsilon']:g} at delta {facts['delta']:g}{why}"
        if entry.kind in ("reserve", "trace"):
            return "  " + json.dumps(facts["facts"], sort_keys=True)
        if entry.kind == "commit":
            return f"  {facts['release_id']}"
        if entry.kind == "void":
            return f"  ({facts['person']}: {facts['reason']})"
        if entry.kind == "records":
            return f"  {facts['n']} records, shared with {len(facts['shares'])} datasets"
        if entry.kind == "link":
            verb = "joined with" if facts["joined"] else "kept apart from"
            return f"  {verb} {facts['other'][:12]}  ({facts['person']}: {facts['reason']})"
    except (ValueError, TypeError, KeyError):
        return "  unreadable"
    return ""


def _words(text: str) -> str:
    """Check a reason or a name as an option's type: the ledger keeps it, and `show` prints it."""
    if len(text) > MOST_LETTERS or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise argparse.ArgumentTypeError(f"takes at most {MOST_LETTERS:,} characters of text in UTF-8")
    return text
