"""The rows that a first charge of a dataset brings along: its record hashes, and a budget from its kin."""

from __future__ import annotations

import getpass
import hashlib

from hexcursion.ledger.accounts.account import Budget
from hexcursion.ledger.accounts.assess import Meeting
from hexcursion.ledger.accounts.charge import Charge
from hexcursion.ledger.overlap.links import Links
from hexcursion.ledger.overlap.records import RecordKeys
from hexcursion.ledger.storage.entry import BUDGET, LINK, RECORDS, Draft
from hexcursion.ledger.storage.store import Writing

RECOGNISED = "a person recognised the same records in other words"
"""The reason of a decision that comes with a release."""


def joined(charge: Charge, links: Links) -> list[Draft]:
    """A person's word with a charge that other datasets hold its records, where that is not on record yet."""
    known = (charge.dataset, *links.neighbours(charge.dataset))
    facts = {"joined": True, "reason": RECOGNISED, "person": login_name() or "the curator"}
    return [
        Draft(LINK, {"other": other, **facts}, charge.dataset)
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
    return Draft(RECORDS, facts, dataset)


def inherited(charge: Charge, budget: Budget) -> Draft:
    """The first budget of a dataset that shares records with others: the smallest of theirs."""
    reason = "the smallest budget of the datasets that hold some of the same records"
    facts = {"epsilon": budget.epsilon, "delta": budget.delta, "reason": reason, "person": ""}
    return Draft(BUDGET, facts, charge.dataset, charge.unit)
