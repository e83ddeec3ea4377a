"""A project as search and release need it, and its records as the ledger knows them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from data_loaders import LoadReport, Observations
from dpgp_core.accounting.composition import Cost
from dpgp_core.numbers import significant
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import can_make
from geo import Domain, to_lonlat
from geo.context.own_layers import OwnLayer
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Ledger, RecordKeys
from hexcursion.project.public_numbers import BaselineField, Covariates, Exposure
from hexcursion.project.record_store import file_fingerprint
from hexcursion.project.records import PlacedObservations, places_in_words, public_n
from hexcursion.project.response import Answers, ResponseScale
from hexcursion.project.trip import TripProtection
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import TRIED_ON, ReferenceKind, TriedOn, default_priors, usual_delta
from hexcursion.words import a_word, plural, quantity


@dataclass(frozen=True, repr=False)
class HeldTable:
    """A sensor table in memory."""

    content: bytes  # text as CSV, with the columns that are read
    digest: str  # SHA-256 of all its columns: the ledger knows its rows again, whatever column is the value
    origin: str = ""  # the release that its rows stand in for, "" for real rows


UNNAMED = {"value", "values", "answer", "answers", "yes", "y"}
"""Names of a column that do not say what a yes is."""


def answers_of(settings: ReleaseSettings) -> Answers | None:
    """What a yes is by settings, None for amounts."""
    if settings.values != "yes-no":
        return None
    value, limit = settings.called, settings.yes_above
    if limit is None:
        return Answers("a yes" if value.lower() in UNNAMED else value, None)
    return Answers(f"{value} above {quantity(limit, settings.value_unit)}", limit)


@dataclass(frozen=True)
class Loaded:
    """One source after loading and placing."""

    report: LoadReport  # what the loader kept and dropped
    placed: PlacedObservations  # the rows inside the domain
    observations: Observations  # all rows
    digest: str = ""  # SHA-256 of the whole table in memory that they come from; "" for a file

    def with_note(self, sentence: str) -> Loaded:
        """The same with one more sentence for the curator."""
        return replace(self, report=replace(self.report, notes=(*self.report.notes, sentence)))

    def sentences(self) -> list[str]:
        """What was read, kept and dropped, in words."""
        lines = list(self.report.lines())
        if self.placed.outside:
            lines.append(f"{self.placed.outside:,} rows lie outside the domain and were dropped.")
        lines.append(f"{self.placed.index.size:,} rows lie inside the domain.")
        if self.placed.sure is not None:
            lines.append(
                "Places carry known noise: each row counts in its likeliest hexagon, which is right with "
                f"probability {self.placed.sure:.0%} on average. Larger hexagons are surer."
            )
        return lines


@dataclass(frozen=True)
class Pilot:
    """What an accounted look at the private records has cost."""

    cost: Cost  # everything that is proved about the look
    epsilon: float  # its own, an upper bound
    entry: str  # the seal of its ledger entry


@dataclass(frozen=True)
class Project:
    """All that the search and the release need. What `private` holds never leaves the curator."""

    settings: ReleaseSettings
    domain: Domain  # the cells and the public region
    lattice: Lattice  # the same as a prior sees it, padded
    response: ResponseScale  # the public map between values and responses
    private: Loaded  # the private rows, placed (curator only)
    reference: PlacedObservations  # what the design is tuned on
    reference_kind: ReferenceKind
    attribution: tuple[str, ...]  # credits of all data
    generated: bool  # whether the data are generated, so that no real person is described
    pilot: Pilot | None = None  # an accounted look that stands in for reference data
    trip: TripProtection | None = None  # how the places of a sanitised trip's readings are protected
    relative: BaselineField | None = None  # the public field to which all values here are relative, if any
    layers: tuple[OwnLayer, ...] = ()  # public layers of the curator's own, published with the map
    covariates: Covariates | None = None  # public numbers per hexagon that may explain the values
    exposure: Exposure | None = None  # the public numbers that records are counted over, where they are
    # ledger fingerprints of datasets with the same records, by the curator's word
    same_as: tuple[str, ...] = ()
    reference_origin: str = ""  # the earlier release that the reference stands for, or ""

    @property
    def unit(self) -> str:
        """Unit of measure of the values that are asked about, relative ones in words."""
        if self.exposure is not None:
            return self.exposure.unit
        if self.answers is not None:
            return "%"
        own = self.settings.value_unit or self.private.observations.unit
        return own if self.relative is None else self.relative.unit(own)

    @property
    def value_name(self) -> str:
        """What the map shows: the value, or the share of records that say yes."""
        if self.exposure is not None:
            record = self.settings.unit_word
            risk = self.exposure.per == "population"
            return f"risk of {a_word(record)}" if risk else f"density of {plural(2, record)[2:]}"
        if self.answers is not None:
            return f"share of {plural(2, self.settings.unit_word)[2:]} with {self.answers.yes}"
        return self.settings.called

    @property
    def answers(self) -> Answers | None:
        """What a yes is, where the values are answers of yes and no."""
        return answers_of(self.settings)

    @property
    def usual_answer(self) -> float:
        """The mean of published answers, -1 to 1, to which maps return far from all records; else 0."""
        if self.answers is None or self.settings.reference is None:
            return 0.0
        return float(self.reference.value.mean() / 50.0 - 1.0)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that go along with the release: how sure its places are, and rules of its values."""
        metres = self.settings.data.place_metres
        unsure = () if metres is None else (places_in_words(metres, self.domain),)
        trip = () if self.trip is None else (self.trip.in_words,)
        return (*trip, *unsure, *self.settings.data.rules_in_words)

    @property
    def public_n(self) -> int:
        """The number of records that is public before any look at them.

        Their own where one record is exchanged for another, a stated guess where one may be more or less.
        """
        about = self.settings.records_about
        return public_n(self.private.placed, self.settings.unit) if about is None else about

    @property
    def delta(self) -> float:
        """The delta of the release: that of the settings, or the usual one for its public number."""
        given = self.settings.delta
        return usual_delta(self.public_n) if given is None else given

    @property
    def simulated(self) -> bool:
        """Whether the reference data are simulated."""
        return self.reference_kind == "simulated"

    @property
    def tried_on(self) -> TriedOn:
        """What designs are tried on, as a screen says it: no reference data where the fields are invented."""
        return TRIED_ON[self.reference_kind]

    @property
    def level(self) -> float:
        """The threshold in response units."""
        return float(self.response.forward(self.settings.threshold))

    @property
    def priors(self) -> tuple[str, ...]:
        """The asked (else usual) prior families that can be made on so many cells, or all where none can."""
        asked = self.settings.priors or default_priors(self.lattice.size)
        return tuple(name for name in asked if can_make(name, self.lattice.size)) or asked

    def refuse_large_delta(self) -> None:
        """Raise `WorkflowError` for a delta of at least 1/n that was not agreed to explicitly.

        At such a delta a release that publishes one record chosen at random would keep the promise.
        """
        n, delta = self.public_n, self.delta
        if n * delta >= 1.0 and not self.settings.accept_large_delta:
            raise WorkflowError(
                f"delta {significant(delta, 3)} is at least one in the number of records, "
                f"{plural(n, 'record')}, so even publishing a whole record would keep the promise: choose "
                f"delta {usual_delta(n):g} or less, or set `accept_large_delta` to release anyway."
            )


AREA_DIGITS = 16
# Hashing a large file takes seconds and a screen asks again with every click. The hashes live as long as the
# observations they belong to, and are nobody's but the ledger's whose identity stands beside them.
_KEPT: WeakKeyDictionary[Observations, tuple[str, RecordKeys]] = WeakKeyDictionary()


def record_keys(project: Project, ledger: Ledger) -> RecordKeys:
    """Keyed hashes of all located private rows, before any choice of domain, in WGS84."""
    private = project.private
    return keys_of(private.observations, project.settings.data, ledger, private.digest)


def keys_of(
    observations: Observations, source: SourceSettings, ledger: Ledger, digest: str = ""
) -> RecordKeys:
    """Keyed hashes of all rows of a source, as `record_keys`; `digest` is its table's, if it is no file."""
    kept = _KEPT.get(observations)
    if kept is None or kept[0] != ledger.identity:
        longitude, latitude = to_lonlat(observations.x, observations.y, observations.crs)
        names, time = observations.identifier, observations.time
        keys = ledger.record_keys(
            longitude,
            latitude,
            observations.value,
            time=None if time is None or bool(np.isnat(time).any()) else time,
            identity=None if names is None or bool((names == b"").any()) else names.astype(str),
            row=observations.row,
            file=digest or file_fingerprint(Path(source.path)),
            layer=source.layer or "",
        )
        kept = ledger.identity, keys
        _KEPT[observations] = kept
    return kept[1]


def area_facts(project: Project) -> dict[str, str | int]:
    """What the ledger remembers of a release's area, to tell later that another one is another."""
    cells = tuple(project.domain.cells)
    digest = hashlib.sha256("\n".join(cells).encode()).hexdigest()
    return {"area": digest[:AREA_DIGITS], "cells": len(cells)}
