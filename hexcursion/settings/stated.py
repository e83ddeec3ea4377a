"""What a curator states about a release beyond its numbers, by the components of NIST SP 800-226."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hexcursion.settings.checked import Checked
from hexcursion.settings.field import Setting

LONGEST = 1000
UNSAID = "not stated by the curator"


def _fact(help: str) -> Setting:
    return Setting(help, "statement", shortest=1, longest=LONGEST, metavar="TEXT", otherwise=UNSAID)


@dataclass(frozen=True)
class StatedFacts(Checked):
    """Texts (1 to 1,000 characters) for the privacy statement, each None where the curator says nothing."""

    trust_model: Annotated[str | None, _fact("Who is trusted with the records before they are released.")] = (
        None
    )
    actors: Annotated[
        str | None, _fact("Who provides, holds, releases and receives the data, and who might attack.")
    ] = None
    collection: Annotated[str | None, _fact("How, when and on what ground the records were collected.")] = (
        None
    )
    retention: Annotated[
        str | None, _fact("How long the private records are kept and how they are then deleted.")
    ] = None
    access: Annotated[
        str | None, _fact("Who may read the private records, and how that is controlled and recorded.")
    ] = None
    justification: Annotated[
        str | None, _fact("Why this epsilon, delta and unit of protection suit the harm that is feared.")
    ] = None
    contact: Annotated[str | None, _fact("Whom a reader may ask about the release.")] = None
    further_releases: Annotated[
        str | None, _fact("What else was or will be published from the same records.")
    ] = None


NOTHING_STATED = StatedFacts()


@dataclass(frozen=True)
class Scope:
    """What a release is of, beside value and threshold; each "" or empty where nothing is said."""

    population: str = ""  # of what the values are: "existing leasehold flats"
    period: str = ""  # when they were taken: "2018"
    filters: tuple[str, ...] = ()  # which rows were kept: "county = LANARK"
    source: str = ""  # who gave them
