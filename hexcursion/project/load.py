"""Loading a project: the domain first, then the private and the reference data, which may not overlap."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from data_loaders import LoadReport, Observations, bound_contributions, load_sensors
from data_loaders.files.guarded import reading
from data_loaders.repeats import clashes_dropped, repeats_of
from dpgp_core.errors import InvalidValue
from dpgp_core.priors.lattice import Lattice
from geo import Domain, accuracy_note, crs_by_name
from geo.basemap import read_basemap
from geo.context.own_layers import own_layer
from hexcursion.errors import Report, WorkflowError
from hexcursion.project.area import build_domain, document_of, layer_name, load_layers, refuse_private_layers
from hexcursion.project.copies import refuse_overlap
from hexcursion.project.model import HeldTable, Loaded, Project, answers_of
from hexcursion.project.public_numbers import (
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
    public_places,
    rounding_note,
)
from hexcursion.project.response import Answers, ResponseScale, tidy
from hexcursion.project.simulated import simulate_reference
from hexcursion.project.trip import trip_protection
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import ReferenceKind, Transform
from hexcursion.words import plural

CLIP_QUANTILE = 0.9


def change_response(settings: ReleaseSettings, spread: float) -> ResponseScale:
    """Public scale of change: centred at none, clipped where 90 % of the reference lie around its map.

    `spread` is the distance, in transformed units, that holds these 90 %.
    """
    transform: Transform = "log" if settings.uses_log else "identity"
    centre = 0.0 if settings.centre is None else settings.centre
    level = float(ResponseScale(transform, 0.0, 1.0, "").forward(settings.threshold))
    reach = max(spread, 1.25 * abs(level - centre), 1e-6)
    clip = settings.clip if settings.clip is not None else float(f"{reach:.4g}")
    given = settings.centre is not None and settings.clip is not None
    origin = "given by the curator as public" if given else "from the reference data around their own map"
    return ResponseScale(transform, centre, clip, origin)


def choose_response(settings: ReleaseSettings, reference: PlacedObservations | None) -> ResponseScale:
    """Public centre and clip bound: as given, otherwise from reference data; never from the private data.

    The centre is then the median over cells of the cells' medians (a path falls back to it where there are no
    records, so crowded cells must not pull it), and the clip bound is the distance from it that holds 90 % of
    the observations and always reaches the threshold. Raise `WorkflowError` if neither is to be had.
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
    lost = 0.0 if settings.centre is not None else 2.0 * abs(centre - middle)  # by rounding the centre
    clip = settings.clip if settings.clip is not None else tidy(reach)
    if settings.clip is None and reach <= lost:
        raise WorkflowError("The reference values do not vary: give a public `clip` bound.")
    return ResponseScale(transform, centre, clip, "from the reference data")


PADDING_RINGS = 4
LONGEST_YES = 80  # characters of what a yes is and of the word for a record: both stand in a map's legend

# What the loader says of a table in memory, which has neither delimiter nor encoding
_WRITTEN = re.compile(r"^Read with delimiter comma, (.*), encoding utf-8(?:, line breaks within quotes)?\.$")


def load_source(
    source: SourceSettings, unit: str = "", owner: str | None = None, held: HeldTable | None = None
) -> tuple[Observations, LoadReport]:
    """Read one source with its loader, of `LOADERS`; a table held in memory is read there and not kept.

    `owner` is the column that names the sensor or person of a row. The report says where the conversion of
    coordinates loses more than half a metre. Raise `DataError`, `CrsError` or `WorkflowError`.
    """
    named = replace(source, crs=crs_by_name(source.crs))
    if held is not None:
        found, report = load_sensors(held.content, named, unit, owner)
        notes = (_WRITTEN.sub(r"Read with \1.", each) for each in report.notes)
        report = replace(report, notes=tuple(notes))
    else:
        found, report = read_or_remembered(named, unit, owner, lambda: _read_records(named, unit, owner))
    note = "" if named.is_sales else accuracy_note(named.crs)
    return found, replace(report, notes=(*report.notes, note)) if note else report


def _read_records(source: SourceSettings, unit: str, owner: str | None) -> tuple[Observations, LoadReport]:
    """Read a source; a record that it lists several times counts once, whoever wrote the loader."""
    found, report = source.read_by.read(source, unit, owner)
    if source.read_by.once_each:
        return found, report
    repeats = repeats_of(found, source.equal_rows or "once")
    if repeats.kept.all():
        return found, report
    dropped = (*report.dropped, *(reason for reason in repeats.reasons if reason[1]))
    found, notes = found.take(repeats.kept), (*report.notes, *repeats.notes)
    return found, replace(report, kept=found.size, dropped=dropped, notes=notes)


def place_private(
    observations: Observations,
    report: LoadReport,
    domain: Domain,
    most: int | None = None,
    *,
    once_per_hexagon: bool = False,
) -> Loaded:
    """Place the private rows, and bound what each owner contributes: at most `most` rows inside the domain.

    Its `observations` are all rows: the ledger must know those again that another release keeps. Raise
    `WorkflowError` where no row lies inside the domain.
    """
    loaded = Loaded(report, place(observations, domain), observations)
    if most is None:
        return loaded
    cell = located(observations, domain)[0]
    inside = cell >= 0
    bounded = bound_contributions(
        observations.take(inside), most, cells=cell[inside] if once_per_hexagon else None
    )
    placed = place(bounded.observations, domain)
    loaded = replace(loaded, placed=replace(placed, read=loaded.placed.read, outside=loaded.placed.outside))
    for sentence in bounded.lines():
        loaded = loaded.with_note(sentence)
    return loaded


def build_lattice(domain: Domain) -> Lattice:
    """The domain as a prior sees it, with padding rings for graph priors."""
    return Lattice(*domain.lattice_arrays(padding_rings=PADDING_RINGS))


def load_project(
    settings: ReleaseSettings, progress: Report | None = None, tables: Mapping[str, HeldTable] | None = None
) -> Project:
    """Load the domain first, then the sources.

    `progress(fraction, text)` may raise to cancel; `tables` are those in memory, by the `path` that their
    settings give. Raise `WorkflowError`, `DataError` or `GeoError` for settings or files that
    cannot be used.
    """
    report, held = progress or (lambda fraction, text: None), tables or {}
    unit = settings.value_unit or {"yes-no": "%", "count": "records"}.get(settings.values, "")
    trip = None if settings.data.trip is None else trip_protection(settings.data.trip)
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
    report(0.2, "Reading the private data")
    told = _read_words(settings.data, lambda share, text: report(0.2 + 0.39 * share, text))
    with reading(told), clashes_dropped(about is not None):
        observations, private_report = load_source(
            settings.data, unit, settings.owner, held.get(settings.data.path)
        )
    refuse_private_layers(layers, observations, places_public=settings.places_public)
    covariates = load_covariates(
        settings.covariates,
        settings.covariate_columns,
        domain,
        observations,
        places_public=settings.places_public,
    )
    private = place_private(
        observations,
        private_report,
        domain,
        settings.records_per_owner,
        once_per_hexagon=settings.owner_once_per_hexagon,
    )
    metres = settings.data.place_metres
    said = rounding_note(observations, domain) if metres is None else places_in_words(metres, domain)
    private = private.with_note(said) if said else private
    if settings.data.path in held:
        private = replace(private, digest=held[settings.data.path].digest)
    if covariates is not None:
        covariates.refuse_private(private.placed, places_public=settings.places_public)
    exposure = _exposure(settings, domain, private.placed, observations)
    if exposure is not None:
        private = replace(private, placed=exposure.ones(private.placed))
    answers = answers_of(settings)
    if answers is not None:
        if len(answers.yes) + len(settings.unit_word) > LONGEST_YES:
            raise WorkflowError("The map names what a yes is: take a shorter `value_name` or `record_word`.")
        private = replace(private, placed=_answered(private.placed, answers, "Private"))
        if covariates is not None:
            covariates.refuse_private(private.placed, places_public=settings.places_public)
    lattice = build_lattice(domain)
    if settings.reference is not None:
        report(0.6, "Reading the reference data")
        reference_observations, _ = load_source(
            settings.reference, unit, held=held.get(settings.reference.path)
        )
        two_values = answers is not None and answers.yes_above is None
        warning = refuse_overlap(observations, reference_observations, answers=two_values)
        if warning is not None:
            private = private.with_note(warning)
        reference = place(reference_observations, domain)
        if answers is not None:
            reference = _answered(reference, answers, "Reference")
        kind: ReferenceKind = "public reference data" if settings.reference_public else "reference data"
        relative = relative_field(settings, domain, lattice, reference)
        if relative is not None:
            private = replace(private, placed=relative.of(private.placed))
            reference = relative.of(reference)
        if relative is None or relative.clip is None:
            response = choose_response(settings, reference)
        else:  # the reference cannot show change against itself: simulated change stands in
            response = change_response(settings, relative.clip)
            reference, kind = _stand_in(settings, lattice, response, private), "simulated"
        attribution = observations.attribution + reference_observations.attribution
        generated = observations.generated
    else:
        relative = relative_field(settings, domain, lattice, None)
        if relative is not None:
            private = replace(private, placed=relative.of(private.placed))
        response = choose_response(settings, None) if exposure is None else exposure.scale
        reference = _stand_in(settings, lattice, response, private, exposure)
        kind = "simulated"
        attribution, generated = observations.attribution, observations.generated
    if about is not None and response.transform == "log":
        private = _with_logarithms(private)
    report(1.0, "Loaded")
    origin = (
        ""
        if settings.reference is None or settings.reference.path not in held
        else (held[settings.reference.path].origin)
    )
    return Project(
        settings, domain, lattice, response, private, reference, kind,
        tuple(dict.fromkeys(attribution)), generated, trip=trip, relative=relative, layers=layers,
        covariates=covariates, reference_origin=origin, exposure=exposure,
    )  # fmt: skip


def _with_logarithms(private: Loaded) -> Loaded:
    """The same without values that have no logarithm: a refusal would tell of one where n is hidden."""
    fits = private.placed.value > 0.0
    if fits.all():
        return private
    if not fits.any():
        raise WorkflowError("No value in the area has a logarithm: take `transform` identity.")
    placed = replace(private.placed.part(fits), read=private.placed.read, outside=private.placed.outside)
    number = plural(int((~fits).sum()), "row")
    return replace(private, placed=placed).with_note(
        f"{number} left out: only values above 0 have logarithms."
    )


def _answered(placed: PlacedObservations, answers: Answers, whose: str) -> PlacedObservations:
    """The same with 100 for yes and 0 for no; `WorkflowError` for values that are no answers."""
    try:
        return replace(placed, value=answers.of(placed.value))
    except InvalidValue as error:
        raise WorkflowError(f"{whose} data: {error}") from error


def _exposure(
    settings: ReleaseSettings, domain: Domain, placed: PlacedObservations, observations: Observations
) -> Exposure | None:
    """What records are counted over; None where they have values."""
    if settings.values != "count":
        return None
    path = settings.population_file
    if path is None:
        return even_exposure(domain, settings.records_about or public_n(placed, settings.unit))
    found = load_population(path, settings.population_column, domain)
    if Path(path).suffix.lower() != ".csv":
        layer = own_layer(document_of(path), domain, layer_name(path), "")
        refuse_private_layers((layer,), observations, places_public=False)
    found.refuse_private(placed)
    return found


def _read_words(source: SourceSettings, report: Report) -> Callable[[int], None]:
    """Say how much of a source is read: of its file alone, not of its postcodes."""
    path = Path(source.path)
    whole = path.stat().st_size if os.path.isfile(path) else 0

    def tell(done: int) -> None:
        share = min(done / whole, 1.0) if whole else 0.0
        far = f", {done / 1e6:,.0f} MB of {whole / 1e6:,.0f} MB" if whole >= 1e6 else ""  # never 0 MB of 0 MB
        report(share, f"Reading the private data{far}")

    return tell


def _stand_in(
    settings: ReleaseSettings,
    lattice: Lattice,
    response: ResponseScale,
    private: Loaded,
    exposure: Exposure | None = None,
) -> PlacedObservations:
    """Simulate observations, as many as the public number of private records."""
    n = settings.records_about or public_n(private.placed, settings.unit)
    known = public_places(private.placed) if settings.places_public else None
    return simulate_reference(settings, lattice, response, n, known, exposure=exposure)
