"""The desk: what the app's screens ask for before a release: example, uploads, previews."""

from data_loaders import SEGMENTS
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
from workflow.desk.places import DomainFacts, domain_of, facts_of
from workflow.desk.previews import Preview, look_at, propose_columns
from workflow.desk.uploads import PrivateFolder

# The named parts of the market and how they are called on a screen.
SEGMENT_TITLES = {name: segment.title for name, segment in SEGMENTS.items()}

__all__ = [
    "FAMILIES",
    "MECHANISMS",
    "SEGMENT_TITLES",
    "DomainFacts",
    "Dot",
    "Preview",
    "PrivateFolder",
    "Rehearsal",
    "ReportRow",
    "describe",
    "domain_of",
    "dots",
    "example_settings",
    "facts_of",
    "family",
    "look_at",
    "propose_columns",
    "rehearse",
    "report_rows",
    "search_job",
    "settle_on",
]
