"""Settings of the guarantee of a release: the unit of protection, the neighbours and the budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hexcursion.settings.field import Checked, Setting
from hexcursion.settings.names import PeriodShares, PilotBy, Relation, Unit

MOST_RECORDS = 100_000_000
"""The largest stated number of records: simulations draw as many, at about fifty bytes each."""


@dataclass(frozen=True, kw_only=True)
class PrivacySettings(Checked):
    """Unit of protection, budget and neighbours; part of `ReleaseSettings`."""

    # fmt: off
    unit: Annotated[Unit, Setting(
        "Unit of protection: each record (point), or each hexagon's median (cell).", "privacy",
    )] = "point"
    epsilon: Annotated[float, Setting(
        "Privacy budget of this release.", "privacy", above=0, remedy="try 1",
    )] = 1.0
    delta: Annotated[float | None, Setting(
        "Slack of the guarantee: how much the chance of any result may change beyond epsilon; well "
        "below one in the number of records.", "privacy", above=0, below=1, remedy="try 1e-5",
        otherwise="1e-5, or a power of ten below one in ten times the records",
    )] = None
    periods: Annotated[int | None, Setting(
        "Periods in which the same records are published, as of stations: `epsilon` is then one's "
        "part of `budget`, unless given.", "privacy", minimum=2, maximum=1000, remedy="try 4",
        otherwise="none: every period has other records",
    )] = None
    period_number: Annotated[int, Setting(
        "Which of these periods this release is, from 1.", "privacy", minimum=1, remedy="try 1",
    )] = 1
    period_shares: Annotated[PeriodShares, Setting(
        "Whether all periods have equal parts, or the first one half.", "privacy",
    )] = "equal"
    relation: Annotated[Relation, Setting(
        "Neighbouring datasets: one record exchanged, whose number is then public, or one record "
        "more or less.", "privacy",
    )] = "replace-one"
    records_about: Annotated[int | None, Setting(
        "About how many records there are, by public knowledge: for 'add-or-remove', and to "
        "propose a resolution.", "privacy", minimum=1, maximum=MOST_RECORDS, remedy="try 1000",
        otherwise="the number of records, which is public",
    )] = None
    places_public: Annotated[bool, Setting(
        "The records' places are public, as those of known stations; only values are protected.",
        "privacy",
    )] = False
    paths: Annotated[int, Setting(
        "Number of released paths.", "privacy", minimum=1, maximum=1000, remedy="try 1",
    )] = 1
    pilot: Annotated[float | None, Setting(
        "Share of epsilon for an accounted pilot in place of reference data.", "privacy", above=0,
        below=1, remedy="try 0.3", otherwise="no pilot",
    )] = None
    pilot_by: Annotated[PilotBy, Setting(
        "What a pilot buys: noisy sums of all hexagons, or a private choice of a field's range, "
        "spread and scatter.", "privacy",
    )] = "sums"
    looked: Annotated[bool, Setting(
        "Design or threshold were chosen after looking at the private data: the release says so.", "privacy",
    )] = False
    accept_large_delta: Annotated[bool, Setting(
        "Release although delta is at least one in the number of records, which promises little.", "privacy",
    )] = False
    accept_weaker_promise: Annotated[bool, Setting(
        "Release although an earlier release promised to hide what this one publishes: number of "
        "records, or places.", "privacy",
    )] = False
    # fmt: on


LONGEST = 1000
UNSAID = "not stated by the curator"


def _fact(help: str) -> Setting:
    return Setting(help, "statement", shortest=1, longest=LONGEST, metavar="TEXT", otherwise=UNSAID)


@dataclass(frozen=True)
class StatedFacts(Checked):
    """Texts (1 to 1,000 characters) for the privacy statement, each None unless the curator states
    it."""

    # fmt: off
    trust_model: Annotated[str | None, _fact(
        "Who is trusted with the records before they are released.",
    )] = None
    actors: Annotated[str | None, _fact(
        "Who provides, holds, releases and receives the data, and who might attack.",
    )] = None
    collection: Annotated[str | None, _fact(
        "How, when and on what ground the records were collected.",
    )] = None
    retention: Annotated[str | None, _fact(
        "How long the private records are kept and how they are then deleted.",
    )] = None
    access: Annotated[str | None, _fact(
        "Who may read the private records, and how that is controlled and recorded.",
    )] = None
    justification: Annotated[str | None, _fact(
        "Why this epsilon, delta and unit of protection suit the harm that is feared.",
    )] = None
    contact: Annotated[str | None, _fact("Whom a reader may ask about the release.")] = None
    further_releases: Annotated[str | None, _fact(
        "What else was or will be published from the same records.",
    )] = None
    # fmt: on


NOTHING_STATED = StatedFacts()


@dataclass(frozen=True)
class Scope:
    """The scope of a release in addition to value and threshold; each part may be empty."""

    population: str = ""  # "existing leasehold flats"
    period: str = ""  # "2018"
    filters: tuple[str, ...] = ()  # of rows: "county = LANARK"
    source: str = ""  # provider of the records
    since: str = ""  # year of the public map
