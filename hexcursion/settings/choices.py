"""Every public choice of one release, with its type, limits, words and default in one place.

Settings files, the command line, the screens' help texts and docs/settings.md all derive from the
annotations below: a new setting is one field here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from data_loaders import SEGMENTS, owner_word_of, split_unit
from data_loaders.house_prices.segments import years_in_words
from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion.settings.data_settings import DataSettings
from hexcursion.settings.field import Setting
from hexcursion.settings.names import (
    DEFAULT_MECHANISMS,
    DENSE_CELLS,
    Direction,
    ExecutorName,
    Focus,
    Objective,
    Transform,
    UnitWord,
    bound_names,
    mechanism_names,
    prior_names,
)
from hexcursion.settings.privacy_settings import NOTHING_STATED, PrivacySettings, Scope, StatedFacts


@dataclass(frozen=True, kw_only=True)
class Choices(PrivacySettings, DataSettings):
    """The fields of a release's settings; `ReleaseSettings` checks that they are consistent."""

    # fmt: off
    threshold: Annotated[float, Setting(
        "Threshold of the excursion set, for example 442413.", "set", measure="the data's own unit",
    )]
    direction: Annotated[Direction, Setting("Side of the threshold that is asked for.", "set")] = "above"
    focus: Annotated[Focus, Setting(
        "What the design is made for: this threshold alone, or all. Without reference data this "
        "takes 500 records.", "set",
    )] = "all"
    cutoff: Annotated[float | None, Setting(
        "Probability, or share of the paths, from which a cell counts as inside the set; free.", "set",
        above=0, maximum=1, remedy="try 0.5", otherwise="what agrees best with the reference data",
    )] = None
    looks: Annotated[int, Setting(
        "Releases for one payment, of amounts without reference data: the second looks where the "
        "first has shown that it should.", "design", minimum=1, maximum=2, remedy="1 or 2",
    )] = 1
    accept_low_agreement: Annotated[bool, Setting(
        "Release although the expected agreement is low; the statement says so.", "set",
    )] = False
    accept_dropped: Annotated[bool, Setting(
        "Release although over 5 % of the rows are outside, lack a value or place, or are "
        "duplicates.", "set",
    )] = False
    transform: Annotated[Transform | None, Setting(
        "Scale on which values are modelled.", "design", otherwise="log for sales, otherwise identity",
    )] = None
    centre: Annotated[float | None, Setting(
        "Public centre of the values.", "design", measure="transformed units",
        remedy="name a public value near the middle of the data", otherwise="the reference data's median",
    )] = None
    clip: Annotated[float | None, Setting(
        "Public distance from the centre at which values are clipped.", "design", measure="transformed units",
        above=0, otherwise="from the reference data",
    )] = None
    priors: Annotated[tuple[str, ...] | None, Setting(
        "Prior families that the search may use.", "design", names=prior_names, shortest=1, metavar="NAME",
        otherwise=f"car, and up to {DENSE_CELLS} hexagons exponential",
    )] = None
    mechanisms: Annotated[tuple[str, ...], Setting(
        "Mechanisms that the search may use, as far as they serve the unit of protection.",
        "design", names=mechanism_names, shortest=1, metavar="NAME",
    )] = DEFAULT_MECHANISMS
    bound: Annotated[str | None, Setting(
        "Proved bound that prices a design.", "design", names=bound_names, metavar="NAME",
        otherwise="the sharpest that holds",
    )] = None
    objective: Annotated[Objective, Setting(
        "What the search makes best: the expected agreement of the set (iou), or the "
        "cross-entropy of its chances (bce).", "design",
    )] = "iou"
    lengthscale: Annotated[float | None, Setting(
        "Lengthscale given by hand; with a ridge it replaces the search.", "design", measure="metres",
        above=0, otherwise="the search chooses",
    )] = None
    ridge: Annotated[float | None, Setting(
        "Noise-to-signal ratio given by hand; with a lengthscale it replaces the search.", "design", above=0,
        otherwise="the search chooses",
    )] = None
    shared_design: Annotated[str | None, Setting(
        "Design file of several holders, from `hexcursion design`: its sums are released, which "
        "`hexcursion together` adds.", "design", shortest=1,
        metavar="FILE", otherwise="a design of this release",
    )] = None
    quick: Annotated[bool, Setting("Search on a coarser grid, which is faster.", "design")] = False
    budget: Annotated[float | None, Setting(
        "Total epsilon of all releases of this dataset, kept in the ledger.", "running", above=0,
        remedy="try 3", otherwise="the ledger's, at first this epsilon",
    )] = None
    ledger: Annotated[str | None, Setting(
        "Database of the ledger: a file, or an address; not from a settings file.", "running", shortest=1,
        metavar="URL|FILE", in_files=False, otherwise="$HEXCURSION_LEDGER, else this "
                                                      "installation's",
    )] = None
    executor: Annotated[ExecutorName, Setting(
        "Where designs are scored: one after the other, in processes of this machine, or on a "
        "Dask cluster.",
        "running",
    )] = "serial"
    dask: Annotated[str | None, Setting(
        "Address of the Dask scheduler, tls://HOST:PORT; not from a settings file.", "running", shortest=1,
        metavar="ADDRESS", in_files=False, otherwise="$HEXCURSION_DASK, else this machine",
    )] = None
    title: Annotated[str, Setting(
        "Title of the release.", "statement", one_line=True, longest=200, metavar="TEXT",
        otherwise="what is measured and the threshold",
    )] = ""
    notes: Annotated[tuple[str, ...], Setting(
        "Remarks that go along with these settings.", "statement", metavar="TEXT", otherwise="none",
    )] = ()
    stated: Annotated[StatedFacts, Setting(
        "What the curator states for the privacy statement.", "statement", must_be="a table of texts",
    )] = NOTHING_STATED
    # fmt: on

    @property
    def called(self) -> str:
        """The name of the measured quantity: as stated, or the name of its column without the
        unit."""
        return self.value_name or split_unit(self.data.value or "")[0] or self.data.read_by.value_name

    @property
    def uses_log(self) -> bool:
        """Whether values are modelled on the log scale; by default counts and prices are."""
        if self.values == "count":
            return True
        return (self.transform or ("log" if self.data.read_by.log_scale else "identity")) == "log"

    @property
    def uses_public_counts(self) -> bool:
        """Whether published reference data are the prior of the counts; by default they are."""
        published = self.reference is not None and self.reference_public
        return published if self.public_counts is None else self.public_counts

    @property
    def tries_public_map(self) -> bool:
        """Whether the search compares releases with and without the public map as prior mean.

        A question about change is already relative to that map.
        """
        published = self.reference is not None and self.reference_public
        return self.prior_mean is None and published and not self.change

    @property
    def weighs_drift(self) -> bool:
        """Whether a release starts from the public map and weighs the drift of the field since."""
        return self.tries_public_map and any(MECHANISMS[name].weighs_drift for name in self.mechanisms)

    @property
    def unit_word(self) -> UnitWord:
        """The word for one record of these data."""
        if self.unit == "cell":
            return "cell"
        if self.owner is not None and self.records_per_owner == 1:
            return owner_word_of(self.owner)
        is_count = self.values == "count" and not self.data.is_sales
        return self.record_word or ("record" if is_count else self.data.read_by.kind)

    @property
    def owner_block(self) -> dict[str, Any] | None:
        """The owners that epsilon protects, for the statement; None without a column of owners."""
        if self.owner is None or self.records_per_owner is None:
            return None
        return {
            "word": owner_word_of(self.owner),
            "records": self.records_per_owner,
            "apart": self.owner_once_per_hexagon,
        }

    @property
    def scope(self) -> Scope:
        """The population, period, filters and source of the values: public, like all settings."""
        data = self.data
        segment = "" if data.segment == "all" else SEGMENTS[data.segment].title
        filters = tuple(f"{column} = {' or '.join(entries)}" for column, entries in data.filters.items())
        return Scope(
            self.population or segment,
            self.period or years_in_words(data.years),
            filters,
            self.source,
            self._since,
        )

    @property
    def _since(self) -> str:
        """The year of the public map, where its source is of one; else ""."""
        source = self.reference if self.reference_public else None
        if source is None:
            return ""
        entries = {entry for entries in source.filters.values() for entry in entries}
        years = set(map(str, source.years)) or {
            entry for entry in entries if re.fullmatch(r"[12]\d{3}", entry)
        }
        return years.pop() if len(years) == 1 else ""
