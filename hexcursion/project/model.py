"""A project for search and release, and the keyed hashes of its records for the ledger."""

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

    content: bytes  # CSV text with the columns to read
    # SHA-256 of all columns, so that the ledger recognises its rows with any value column
    digest: str
    origin: str = ""  # the release that its rows represent, "" for real rows


UNNAMED = {"value", "values", "answer", "answers", "yes", "y"}
"""Names of a column that do not describe a yes."""


def answers_of(settings: ReleaseSettings) -> Answers | None:
    """Return the definition of a yes in settings; None for amounts."""
    if settings.values != "yes-no":
        return None
    value, limit = settings.called, settings.yes_above
    if limit is None:
        return Answers("a yes" if value.lower() in UNNAMED else value, None)
    return Answers(f"{value} above {quantity(limit, settings.value_unit)}", limit)


LONGEST_YES = 80  # characters of the words for a yes and for a record, both in the legend of a map


def refuse_long_words(settings: ReleaseSettings, answers: Answers) -> None:
    """Raise `WorkflowError` for words of a yes and a record that are too long for the legend of a map."""
    if len(answers.yes) + len(settings.unit_word) > LONGEST_YES:
        raise WorkflowError("The map names what a yes is: take a shorter `value_name` or `record_word`.")


@dataclass(frozen=True)
class Loaded:
    """One source after loading and placing."""

    report: LoadReport  # of rows kept and dropped
    placed: PlacedObservations  # the rows inside the domain
    observations: Observations  # all rows
    digest: str = ""  # SHA-256 of the whole table in memory; "" for a file

    def with_note(self, sentence: str) -> Loaded:
        """Return a copy with a further sentence for the curator."""
        return replace(self, report=replace(self.report, notes=(*self.report.notes, sentence)))

    def sentences(self) -> list[str]:
        """Report the rows read, kept and dropped, in words."""
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


class RowsDropped(WorkflowError):
    """Many rows are dropped, so the release is stopped; nothing was charged."""


MOST_DROPPED = 0.05
"""The share of dropped rows up to which a release needs no consent."""


@dataclass(frozen=True)
class WorldModel:
    """The law of one simulated world."""

    lengthscale: float  # range of the field, metres
    spread: float  # standard deviation of the field, in clip bounds
    scatter: float  # of a record around it, in clip bounds


@dataclass(frozen=True)
class Pilot:
    """The cost of an accounted look at the private records."""

    cost: Cost  # the proved cost of the look
    epsilon: float  # of the look alone, an upper bound
    entry: str  # the seal of its ledger entry
    law: WorldModel | None = None  # of the simulated field, where it was chosen privately


@dataclass(frozen=True)
class Project:
    """The inputs of search and release. The content of `private` never leaves the curator."""

    settings: ReleaseSettings
    domain: Domain  # the cells and the public region
    lattice: Lattice  # of the domain for priors, padded
    response: ResponseScale  # the public map between values and responses
    private: Loaded  # the private rows, placed (curator only)
    reference: PlacedObservations  # the data on which the design is tuned
    reference_kind: ReferenceKind
    attribution: tuple[str, ...]  # credits of all data
    generated: bool  # whether the data are generated and describe no real person
    pilot: Pilot | None = None  # an accounted look in place of reference data
    trip: TripProtection | None = None  # the protection of places from a sanitised trip
    # the public field to which all values are relative, if any
    relative: BaselineField | None = None
    layers: tuple[OwnLayer, ...] = ()  # public layers from the curator, published with the map
    covariates: Covariates | None = None  # public numbers per hexagon that may explain the values
    # the public numbers over which records are counted, if they are
    exposure: Exposure | None = None
    # ledger fingerprints of datasets that the curator declares to hold the same records
    same_as: tuple[str, ...] = ()
    reference_origin: str = ""  # the earlier release that the reference represents, or ""

    @property
    def unit(self) -> str:
        """Unit of measure of the values in the question, in words for relative values."""
        if self.exposure is not None:
            return self.exposure.unit
        if self.answers is not None:
            return "%"
        unit = self.settings.value_unit or self.private.observations.unit
        return unit if self.relative is None else self.relative.unit(unit)

    @property
    def value_name(self) -> str:
        """The quantity on the map: the value, or the share of records with a yes."""
        if self.exposure is not None:
            record = self.settings.unit_word
            risk = self.exposure.per == "population"
            return f"risk of {a_word(record)}" if risk else f"density of {plural(2, record)[2:]}"
        if self.answers is not None:
            return f"share of {plural(2, self.settings.unit_word)[2:]} with {self.answers.yes}"
        return self.settings.called

    @property
    def answers(self) -> Answers | None:
        """The definition of a yes, for answers of yes and no."""
        return answers_of(self.settings)

    @property
    def usual_answer(self) -> float:
        """The mean of published answers, -1 to 1, to which maps return far from all records; else
        0."""
        if self.answers is None or self.settings.reference is None:
            return 0.0
        return float(self.reference.value.mean() / 50.0 - 1.0)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences published with the release: the uncertainty of its places, and rules of its
        values."""
        metres = self.settings.data.place_metres
        unsure = () if metres is None else (places_in_words(metres, self.domain),)
        trip = () if self.trip is None else (self.trip.in_words,)
        return (*trip, *unsure, *self.settings.data.rules_in_words)

    @property
    def public_n(self) -> int:
        """The number of records that is public before any access to them.

        The actual number if neighbours exchange a record, a stated guess if they add or remove one.
        """
        about = self.settings.records_about
        return public_n(self.private.placed, self.settings.unit) if about is None else about

    @property
    def delta(self) -> float:
        """The delta of the release: from the settings, or the default for its public number."""
        delta = self.settings.delta
        return usual_delta(self.public_n) if delta is None else delta

    @property
    def simulated(self) -> bool:
        """Whether the reference data are simulated."""
        return self.reference_kind == "simulated"

    @property
    def tried_on(self) -> TriedOn:
        """The data on which designs are tried, in the words of a screen."""
        return TRIED_ON[self.reference_kind]

    @property
    def level(self) -> float:
        """The threshold in response units."""
        return float(self.response.forward(self.settings.threshold))

    @property
    def priors(self) -> tuple[str, ...]:
        """The requested, or default, prior families that are feasible on this lattice; all if none
        is."""
        names = self.settings.priors or default_priors(self.lattice.size)
        return tuple(name for name in names if can_make(name, self.lattice.size)) or names

    @property
    def dropped(self) -> tuple[int, int]:
        """The number of rows dropped although the filters keep them, and of rows that the filters
        keep.

        Private. An area of polygons is a filter; a box is not, since its edges and the sea may be
        wrong.
        """
        report, observations = self.private.report, self.private.placed
        outside = 0 if self.settings.bbox is None else observations.outside
        expected_rows = report.rows_read - report.filtered - (observations.outside - outside)
        return report.rows_dropped - report.filtered + outside, expected_rows

    @property
    def drops_many(self) -> bool:
        """Whether more than `MOST_DROPPED` of the rows that the filters keep are dropped."""
        lost, expected_rows = self.dropped
        return lost > MOST_DROPPED * expected_rows

    def refuse_dropped(self) -> None:
        """Raise `RowsDropped`, without private figures, if many rows are dropped without
        consent."""
        if self.drops_many and not self.settings.accept_dropped:
            raise RowsDropped(
                f"This release is stopped, and nothing was charged: more than {MOST_DROPPED:.0%} of the rows "
                "lie outside the box or in the sea, have no place or value, or are duplicates. Mend the area "
                "or the table, or release without these rows with --accept-dropped (accept_dropped)."
            )

    def refuse_large_delta(self) -> None:
        """Raise `WorkflowError` for a delta of at least 1/n without explicit consent.

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
# Hashing a large file takes seconds, and a screen needs the hashes with every click. They live as
# long as their observations, and belong only to the ledger of the stored identity.
_KEPT: WeakKeyDictionary[Observations, tuple[str, RecordKeys]] = WeakKeyDictionary()


def record_keys(project: Project, ledger: Ledger) -> RecordKeys:
    """Return keyed hashes of all located private rows, before any choice of domain, in WGS84."""
    private = project.private
    return keys_of(private.observations, project.settings.data, ledger, private.digest)


def keys_of(
    observations: Observations, source: SourceSettings, ledger: Ledger, digest: str = ""
) -> RecordKeys:
    """Return keyed hashes of all rows of a source, as `record_keys`; `digest` is that of a table in
    memory."""
    entry = _KEPT.get(observations)
    if entry is None or entry[0] != ledger.identity:
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
        entry = ledger.identity, keys
        _KEPT[observations] = entry
    return entry[1]


def area_facts(project: Project) -> dict[str, str | int]:
    """Return the facts about a release's area that the ledger stores, to compare later areas."""
    cells = tuple(project.domain.cells)
    digest = hashlib.sha256("\n".join(cells).encode()).hexdigest()
    return {"area": digest[:AREA_DIGITS], "cells": len(cells)}
