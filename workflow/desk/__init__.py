"""The desk: what the app's screens ask for before a release: example, uploads, previews."""

from data_loaders import SEGMENTS
from workflow.desk.custody import AccountView, EntryView, LedgerView, view_ledger, void_charge
from workflow.desk.designs import (
    FAMILIES,
    MECHANISMS,
    Dot,
    Rehearsal,
    ReportRow,
    describe,
    dots,
    family,
    rehearse,
    report_rows,
    search_job,
    settle_on,
)
from workflow.desk.example import example_settings
from workflow.desk.exploring import paint, products_of, statement_text, threshold_stops
from workflow.desk.finished import Finished, example_job
from workflow.desk.places import Box, DomainFacts, domain_of, facts_of
from workflow.desk.previews import Preview, look_at, propose_columns
from workflow.desk.releasing import (
    Bools,
    BudgetState,
    agreement,
    baseline_at,
    budget_state,
    curators_baseline,
    plan,
    release,
)
from workflow.desk.shelf import OfferedFile, ShelvedBundle, bundle_files, find_bundle, open_bundle, shelf
from workflow.desk.uploads import PrivateFolder

# The named parts of the market and how they are called on a screen.
SEGMENT_TITLES = {name: segment.title for name, segment in SEGMENTS.items()}

__all__ = [
    "FAMILIES",
    "MECHANISMS",
    "SEGMENT_TITLES",
    "AccountView",
    "Bools",
    "Box",
    "BudgetState",
    "DomainFacts",
    "Dot",
    "EntryView",
    "Finished",
    "LedgerView",
    "OfferedFile",
    "Preview",
    "PrivateFolder",
    "Rehearsal",
    "ReportRow",
    "ShelvedBundle",
    "agreement",
    "baseline_at",
    "budget_state",
    "bundle_files",
    "curators_baseline",
    "describe",
    "domain_of",
    "dots",
    "example_job",
    "example_settings",
    "facts_of",
    "family",
    "find_bundle",
    "look_at",
    "open_bundle",
    "paint",
    "plan",
    "products_of",
    "propose_columns",
    "rehearse",
    "release",
    "report_rows",
    "search_job",
    "settle_on",
    "shelf",
    "statement_text",
    "threshold_stops",
    "view_ledger",
    "void_charge",
]
