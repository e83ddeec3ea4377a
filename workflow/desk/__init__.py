"""The desk: what the app's screens ask for before a release: example, uploads, previews, public files."""

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
from workflow.desk.example import EXAMPLE_REGION, example_folder, example_settings, is_example
from workflow.desk.exploring import paint, products_of, statement_text, threshold_stops
from workflow.desk.finished import Finished, example_job
from workflow.desk.places import Box, DomainFacts, domain_of, facts_of
from workflow.desk.portable import portable_settings, settings_with_files, source_words
from workflow.desk.previews import Preview, look_at, propose_columns
from workflow.desk.public_data import Fetched, Offer, by_hand, download_job, public_folder, public_offers
from workflow.desk.reach import Reach, reach
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
    "EXAMPLE_REGION",
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
    "Fetched",
    "Finished",
    "LedgerView",
    "Offer",
    "OfferedFile",
    "Preview",
    "PrivateFolder",
    "Reach",
    "Rehearsal",
    "ReportRow",
    "ShelvedBundle",
    "agreement",
    "baseline_at",
    "budget_state",
    "bundle_files",
    "by_hand",
    "curators_baseline",
    "describe",
    "domain_of",
    "dots",
    "download_job",
    "example_folder",
    "example_job",
    "example_settings",
    "facts_of",
    "family",
    "find_bundle",
    "is_example",
    "look_at",
    "open_bundle",
    "paint",
    "plan",
    "portable_settings",
    "products_of",
    "propose_columns",
    "public_folder",
    "public_offers",
    "reach",
    "rehearse",
    "release",
    "report_rows",
    "search_job",
    "settings_with_files",
    "settle_on",
    "shelf",
    "source_words",
    "statement_text",
    "threshold_stops",
    "view_ledger",
    "void_charge",
]
