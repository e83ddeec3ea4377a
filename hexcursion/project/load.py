"""Loads a project: the domain first, then the private and the reference data, which must not
overlap."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from data_loaders import LoadReport, Observations, bound_contributions, load_sensors
from data_loaders.files.guarded import reading
from data_loaders.repeats import clashes_dropped, repeats_of
from dpgp_core.errors import InvalidValue
from dpgp_core.priors.lattice import Lattice
from geo import Domain, accuracy_note, crs_by_name
from geo.basemap import read_basemap
from geo.context.own_layers import OwnLayer, own_layer
from hexcursion.errors import Report, WorkflowError
from hexcursion.project.area import build_domain, document_of, layer_name, load_layers, refuse_private_layers
from hexcursion.project.copies import refuse_overlap
from hexcursion.project.logarithms import with_logarithms, with_lowest
from hexcursion.project.model import HeldTable, Loaded, Project, answers_of, refuse_long_words
from hexcursion.project.public_numbers import (
    BaselineField,
    Covariates,
    Exposure,
    even_exposure,
    load_covariates,
    load_population,
    relative_field,
)
from hexcursion.project.record_store import read_or_remembered
from hexcursion.project.records import (
    PlacedObservations,
    cell_medians,
    located,
    place,
    places_in_words,
    public_n,
    rounding_note,
)
from hexcursion.project.response import Answers, ResponseScale, tidy
from hexcursion.project.simulated import stand_in
from hexcursion.project.trip import trip_protection
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import ReferenceKind, Transform
from hexcursion.words import plural

CLIP_QUANTILE = 0.9


def change_response(settings: ReleaseSettings, spread: float) -> ResponseScale:
    """Return the public scale of change: centred at no change, clipped at the range of 90 % of the
    reference around its map.

    `spread` is this range, in transformed units.
    """
    transform: Transform = "log" if settings.uses_log else "identity"
    centre = 0.0 if settings.centre is None else settings.centre
    level = float(ResponseScale(transform, 0.0, 1.0, "").forward(settings.threshold))
    reach = max(spread, 1.25 * abs(level - centre), 1e-6)
    clip = settings.clip if settings.clip is not None else float(f"{reach:.4g}")
    is_stated = settings.centre is not None and settings.clip is not None
    origin = "given by the curator as public" if is_stated else "from the reference data around their own map"
    return ResponseScale(transform, centre, clip, origin)


def choose_response(settings: ReleaseSettings, reference: PlacedObservations | None) -> ResponseScale:
    """Return the public centre and clip bound, as stated or from reference data, never from private
    data.

    From reference data, the centre is the median over cells of the cells' medians (a path returns
    to it without records, so crowded cells must not move it), and the clip bound is the distance
    from it that covers 90 % of the observations and the threshold. Raise `WorkflowError` without
    either source.
    """
    if settings.values == "yes-no":
        return ResponseScale("probit", 0.0, 1.0, "the same for all answers of yes and no")
    transform: Transform = "log" if settings.uses_log else "identity"
    if settings.centre is not None and settings.clip is not None:
        return ResponseScale(transform, settings.centre, settings.clip, "given by the curator as public")
    if reference is None:
        raise WorkflowError(
            "Without reference data the public centre and clip bound must be given: set `centre` and `clip` "
            f"in {'log units' if transform == 'log' else 'the data unit'}, or name `reference` data."
        )
    unscaled = ResponseScale(transform, 0.0, 1.0, "")
    value = unscaled.forward(reference.value)
    middle = float(np.median(unscaled.forward(cell_medians(reference)[1])))
    centre = settings.centre if settings.centre is not None else tidy(middle)
    level = float(unscaled.forward(settings.threshold))
    spread = float(np.quantile(np.abs(value - centre), CLIP_QUANTILE))
    reach = max(spread, 1.25 * abs(level - centre))
    # by rounding the centre
    lost = 0.0 if settings.centre is not None else 2.0 * abs(centre - middle)
    clip = settings.clip if settings.clip is not None else tidy(reach)
    if settings.clip is None and reach <= lost:
        raise WorkflowError("The reference values do not vary: give a public `clip` bound.")
    return ResponseScale(transform, centre, clip, "from the reference data")


PADDING_RINGS = 4

# The loader's note on a table in memory, which has neither delimiter nor encoding
_WRITTEN = re.compile(r"^Read with delimiter comma, (.*), encoding utf-8(?:, line breaks within quotes)?\.$")


def load_source(
    source: SourceSettings, unit: str = "", owner: str | None = None, table: HeldTable | None = None
) -> tuple[Observations, LoadReport]:
    """Read one source with its loader, of `LOADERS`, or from memory, without storing it.

    `owner` is the column of sensors or persons. The report warns if the conversion of coordinates
    loses more than half a metre. Raise `DataError`, `CrsError` or `WorkflowError`.
    """
    source_settings = replace(source, crs=crs_by_name(source.crs))
    if table is not None:
        observations, report = load_sensors(table.content, source_settings, unit, owner)
        notes = (_WRITTEN.sub(r"Read with \1.", line) for line in report.notes)
        report = replace(report, notes=tuple(notes))
    else:
        observations, report = read_or_remembered(
            source_settings, unit, owner, lambda: _read_records(source_settings, unit, owner)
        )
    note = "" if source_settings.is_sales else accuracy_note(source_settings.crs)
    return observations, replace(report, notes=(*report.notes, note)) if note else report


def _read_records(source: SourceSettings, unit: str, owner: str | None) -> tuple[Observations, LoadReport]:
    """Read a source, counting a repeated record once, also for loaders of other packages."""
    observations, report = source.read_by.read(source, unit, owner)
    if source.read_by.once_each:
        return observations, report
    repeats = repeats_of(observations, source.equal_rows or "once")
    if repeats.kept.all():
        return observations, report
    dropped = (*report.dropped, *(reason for reason in repeats.reasons if reason[1]))
    observations, notes = observations.take(repeats.kept), (*report.notes, *repeats.notes)
    return observations, replace(report, kept=observations.size, dropped=dropped, notes=notes)


def place_private(
    observations: Observations,
    report: LoadReport,
    domain: Domain,
    most_per_owner: int | None = None,
    *,
    once_per_hexagon: bool = False,
) -> Loaded:
    """Place the private rows, and keep at most `most_per_owner` rows of each owner inside the domain.

    The `observations` of the result are all rows, because the ledger must recognise rows that
    another release keeps. Raise `WorkflowError` if no row is inside the domain.
    """
    loaded = Loaded(report, place(observations, domain), observations)
    if most_per_owner is None:
        return loaded
    cell = located(observations, domain)[0]
    inside = cell >= 0
    bounded = bound_contributions(
        observations.take(inside), most_per_owner, cells=cell[inside] if once_per_hexagon else None
    )
    bounded_places = place(bounded.observations, domain)
    loaded = replace(
        loaded, placed=replace(bounded_places, read=loaded.placed.read, outside=loaded.placed.outside)
    )
    for sentence in bounded.lines():
        loaded = loaded.with_note(sentence)
    return loaded


def build_lattice(domain: Domain) -> Lattice:
    """Return the lattice of a domain for priors, with padding rings for graph priors."""
    return Lattice(*domain.lattice_arrays(padding_rings=PADDING_RINGS))


def load_project(
    settings: ReleaseSettings, progress: Report | None = None, tables: Mapping[str, HeldTable] | None = None
) -> Project:
    """Load the domain first, then the sources. `progress(fraction, text)` may raise to cancel;
    `tables` are tables in memory, by the `path` in their settings. Raise `WorkflowError`,
    `DataError` or `GeoError` for unusable settings or files."""
    report, memory_tables = progress or (lambda fraction, text: None), tables or {}
    trip = None if settings.data.trip is None else trip_protection(settings.data.trip)
    domain, layers = _load_area(settings, report)
    report(0.2, "Reading the private data")
    private = _load_private(settings, domain, memory_tables.get(settings.data.path), report)
    observations = private.observations
    refuse_private_layers(layers, observations, places_public=settings.places_public)
    covariates = _load_covariates(settings, domain, private)
    exposure = _exposure(settings, domain, private.placed, observations)
    private = _as_responses(settings, private, exposure)
    if covariates is not None and answers_of(settings) is not None:
        covariates.refuse_private(private.placed, places_public=settings.places_public)
    lattice = build_lattice(domain)
    origin = ""
    if settings.reference is None:
        compared = _without_reference(settings, domain, lattice, private, exposure)
    else:
        report(0.6, "Reading the reference data")
        table = memory_tables.get(settings.reference.path)
        origin = "" if table is None else table.origin
        compared = with_reference(settings, table, domain, lattice, private)
    private, response = compared.private, compared.response
    if response.transform == "log":
        private = with_logarithms(settings, private)
    report(1.0, "Loaded")
    return Project(
        settings,
        domain,
        lattice,
        response,
        private,
        compared.reference,
        compared.kind,
        tuple(dict.fromkeys((*observations.attribution, *compared.attribution))),
        observations.generated,
        trip=trip,
        relative=compared.relative,
        layers=layers,
        covariates=covariates,
        reference_origin=origin,
        exposure=exposure,
    )


def _load_covariates(settings: ReleaseSettings, domain: Domain, private: Loaded) -> Covariates | None:
    """The public columns; refuse those that show where the private records are."""
    files, names, public = settings.covariates, settings.covariate_columns, settings.places_public
    covariates = load_covariates(files, names, domain, private.observations, places_public=public)
    if covariates is not None:
        covariates.refuse_private(private.placed, places_public=public)
    return covariates


def unit_as_read(settings: ReleaseSettings) -> str:
    """Return the unit of measure of the values as they are read."""
    return settings.value_unit or {"yes-no": "%", "count": "records"}.get(settings.values, "")


def _load_area(settings: ReleaseSettings, report: Report) -> tuple[Domain, tuple[OwnLayer, ...]]:
    """Return the domain and the curator's public layers over it."""
    report(0.0, "Filling the region with hexagons")
    domain = build_domain(settings, lambda share, text: report(0.2 * share, text))
    about = settings.records_about
    if about is not None and settings.unit == "cell" and about > domain.size:
        raise WorkflowError(
            f"The area has {plural(domain.size, 'hexagon')}, of which not {about:,} can hold records: "
            "state a smaller number with `records_about`, or take smaller hexagons."
        )
    layers = load_layers(
        settings.layers, settings.label_columns, domain, settings.layer_colours, settings.layer_widths
    )
    if settings.basemap is not None:
        read_basemap(settings.basemap).refuse_elsewhere(domain)
    return domain, layers


def _load_private(
    settings: ReleaseSettings, domain: Domain, table: HeldTable | None, report: Report
) -> Loaded:
    """Read and place the private rows, with a note on how exact their places are."""
    callback = _read_words(settings.data, lambda share, text: report(0.2 + 0.39 * share, text))
    with reading(callback), clashes_dropped(settings.records_about is not None):
        observations, rows = load_source(settings.data, unit_as_read(settings), settings.owner, table)
    private = place_private(
        observations,
        rows,
        domain,
        settings.records_per_owner,
        once_per_hexagon=settings.owner_once_per_hexagon,
    )
    metres = settings.data.place_metres
    sentence = rounding_note(observations, domain) if metres is None else places_in_words(metres, domain)
    private = private.with_note(sentence) if sentence else private
    return private if table is None else replace(private, digest=table.digest)


def _as_responses(settings: ReleaseSettings, private: Loaded, exposure: Exposure | None) -> Loaded:
    """Return the private rows with 1 for a record that is counted, 100 for a yes and 0 for a no."""
    if exposure is not None:
        return replace(private, placed=exposure.ones(private.placed))
    answers = answers_of(settings)
    if answers is None:
        return private
    refuse_long_words(settings, answers)
    return replace(private, placed=_answered(private.placed, answers, "Private"))


@dataclass(frozen=True)
class Compared:
    """The private rows and the public facts on which a design is tuned."""

    private: Loaded  # relative to `relative`, if the question is
    response: ResponseScale
    relative: BaselineField | None
    reference: PlacedObservations
    kind: ReferenceKind
    attribution: tuple[str, ...] = ()  # credits of the reference data


def _without_reference(
    settings: ReleaseSettings, domain: Domain, lattice: Lattice, private: Loaded, exposure: Exposure | None
) -> Compared:
    """Simulate observations in place of reference data."""
    relative = relative_field(settings, domain, lattice, None)
    if relative is not None:
        private = replace(private, placed=relative.of(private.placed))
    response = choose_response(settings, None) if exposure is None else exposure.scale
    reference = stand_in(settings, lattice, response, private, exposure)
    return Compared(private, response, relative, reference, "simulated")


def with_reference(
    settings: ReleaseSettings, table: HeldTable | None, domain: Domain, lattice: Lattice, private: Loaded
) -> Compared:
    """Read the reference data of settings that name some, which must not overlap with the private rows."""
    source, answers = settings.reference, answers_of(settings)
    assert source is not None
    observations, _ = load_source(source, unit_as_read(settings), table=table)
    two_values = answers is not None and answers.yes_above is None
    warning = refuse_overlap(private.observations, observations, answers=two_values)
    if warning is not None:
        private = private.with_note(warning)
    reference = place(observations, domain)
    if answers is not None:
        reference = _answered(reference, answers, "Reference")
    elif settings.uses_log:
        reference = with_lowest(reference, source)
    kind: ReferenceKind = "public reference data" if settings.reference_public else "reference data"
    relative = relative_field(settings, domain, lattice, reference)
    if relative is not None:
        private = replace(private, placed=relative.of(private.placed))
        reference = relative.of(reference)
    if relative is None or relative.clip is None:
        response = choose_response(settings, reference)
    else:  # the reference cannot show change against itself, so simulate change
        response = change_response(settings, relative.clip)
        reference, kind = stand_in(settings, lattice, response, private), "simulated"
    return Compared(private, response, relative, reference, kind, observations.attribution)


def _answered(records: PlacedObservations, answers: Answers, whose: str) -> PlacedObservations:
    """Convert answers to 100 for yes and 0 for no; raise `WorkflowError` for other values."""
    try:
        return replace(records, value=answers.of(records.value))
    except InvalidValue as error:
        raise WorkflowError(f"{whose} data: {error}") from error


def _exposure(
    settings: ReleaseSettings, domain: Domain, records: PlacedObservations, observations: Observations
) -> Exposure | None:
    """Return the exposure over which records are counted; None for records with values."""
    if settings.values != "count":
        return None
    path = settings.population_file
    if path is None:
        return even_exposure(domain, settings.records_about or public_n(records, settings.unit))
    exposure = load_population(path, settings.population_column, domain)
    if Path(path).suffix.lower() != ".csv":
        layer = own_layer(document_of(path), domain, layer_name(path), "")
        refuse_private_layers((layer,), observations, places_public=False)
    exposure.refuse_private(records)
    return exposure


def _read_words(source: SourceSettings, report: Report) -> Callable[[int], None]:
    """Return a callback that reports the share of a source's file read, without its postcodes."""
    path = Path(source.path)
    total = path.stat().st_size if os.path.isfile(path) else 0

    def tell(bytes_read: int) -> None:
        share = min(bytes_read / total, 1.0) if total else 0.0
        # never 0 MB of 0 MB
        far = f", {bytes_read / 1e6:,.0f} MB of {total / 1e6:,.0f} MB" if total >= 1e6 else ""
        report(share, f"Reading the private data{far}")

    return tell
