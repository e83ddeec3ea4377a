"""What a source holds, and the public area: read for the curator's eyes, before any privacy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_loaders import ColumnGuess, DataError, Observations, guess_columns
from data_loaders.columns.specification import Written
from data_loaders.observations import Kind
from dpgp_core.errors import HexcursionError
from dpgp_core.numbers import significant
from geo import (
    Domain,
    GeoError,
    exchanged,
    looks_swapped,
    outside_reason,
    part_columns,
    part_names,
    to_lonlat,
    with_unit,
)
from geo.context.own_layers import OwnLayer
from geo.domains.areas import Areas
from geo.maps.linked import PLACE_CLASSES
from hexcursion.bundle.again import density_of
from hexcursion.bundle.areas import AreaAnswer
from hexcursion.bundle.density import Density
from hexcursion.bundle.published.view import Viewer, answers_from, area_answers
from hexcursion.bundle.read import Bundle
from hexcursion.errors import Report, WorkflowError
from hexcursion.estimates.forecasts import COARSEST, FINEST, Proposal, propose
from hexcursion.project import model
from hexcursion.project.area import (
    NamedArea,
    document_of,
    load_layers,
    share_inside,
)
from hexcursion.project.atlas import joined, refuse_idle, refuse_numbering
from hexcursion.project.load import load_source
from hexcursion.settings.data_settings import SourceSettings

ROWS_SHOWN = 6
QUANTILES = 1_000  # of reference values: shares are known to a tenth of a per cent
PLACES_SHOWN = 1_500  # enough to see a pattern, small enough to send at every rerun


@dataclass(frozen=True, repr=False)
class Preview:
    """What a curator sees of one source; private, so it prints nothing of itself."""

    lines: tuple[str, ...]  # the load report
    size: int  # rows kept
    unit: str
    kind: Kind
    generated: bool
    attribution: tuple[str, ...]
    # The first few: longitude, latitude (degrees), value (the data's unit)
    rows: tuple[tuple[float, float, float], ...]
    places: tuple[tuple[float, float], ...]  # up to PLACES_SHOWN (longitude, latitude) pairs, evenly taken
    quantiles: tuple[float, ...] = ()  # QUANTILES + 1 even ones, smallest first; of reference data only
    classes: tuple[int, ...] = ()  # of the value at each place
    limits: tuple[float, ...] = ()  # between classes, in the data's unit; for the curator's eyes only


@contextmanager
def as_workflow_errors() -> Iterator[None]:
    """Raise what the libraries say of a file as `WorkflowError`, in the same words."""
    try:
        yield
    except (DataError, GeoError, OSError) as error:
        raise WorkflowError(str(error)) from error


@as_workflow_errors()
def look_at(source: SourceSettings, unit: str = "", *, spread: bool = False) -> Preview:
    """Read a source and say how many rows it kept and dropped; `spread` keeps quantiles: of reference data,
    never of private ones. `WorkflowError` if it cannot be read."""
    observations, report = load_source(source, unit)
    preview = _preview(observations, report.lines())
    if not spread or observations.size == 0:
        return preview
    quantiles = np.quantile(observations.value, np.linspace(0.0, 1.0, QUANTILES + 1))
    return replace(preview, quantiles=tuple(quantiles.tolist()))


@as_workflow_errors()
def missing_shares(source: SourceSettings, units: Mapping[str, str]) -> dict[str, float]:
    """The share of rows without a value of each column, in [0, 1], for the curator's eyes only; `units` are
    those of all columns. `WorkflowError` for a column that cannot be released with the others."""
    parts = [
        load_source(replace(source, value=name, equal_rows="each"), unit)[0] for name, unit in units.items()
    ]
    _, value = joined(parts)
    for name, column in zip(units, value.T, strict=True):
        refuse_numbering(name, column)
        refuse_idle(name, column)
    return dict(zip(units, np.isnan(value).mean(axis=0).tolist(), strict=True))


@as_workflow_errors()
def propose_columns(
    path: str,
    layer: str | None = None,
    notation: Written = Written(),  # noqa: B008 - frozen
) -> ColumnGuess:
    """Guess which columns of a table hold coordinates and value, for a person to confirm; `WorkflowError` if
    it cannot be read."""
    return guess_columns(path, layer=layer, said=notation)


def _preview(observations: Observations, lines: tuple[str, ...]) -> Preview:
    step = max(1, -(-observations.size // PLACES_SHOWN))
    sample = np.unique(np.r_[0 : observations.size : step, 0 : min(ROWS_SHOWN, observations.size)])
    longitude, latitude = to_lonlat(observations.x[sample], observations.y[sample], observations.crs)
    places = np.round(np.column_stack([longitude, latitude]), 5)
    first, located = min(ROWS_SHOWN, observations.size), np.isfinite(places).all(axis=1)
    classes, limits = value_classes(observations.value[sample][located])
    rows = np.column_stack([places[:first], observations.value[:first]])
    return Preview(
        lines=lines,
        size=observations.size,
        unit=observations.unit,
        kind=observations.kind,
        generated=observations.generated,
        attribution=observations.attribution,
        rows=tuple(map(tuple, rows.tolist())),
        places=tuple(map(tuple, places[located].tolist())),
        classes=classes,
        limits=limits,
    )


def value_classes(values: NDArray[np.float64]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the class of each of (n,) values and the limits between, about as many values in each class;
    none where all are equal. A value at a limit belongs to the class below it."""
    shares = np.arange(1, PLACE_CLASSES) / PLACE_CLASSES
    if not values.size or values.min() == values.max():
        return (), ()
    limits = np.quantile(values, shares, method="inverted_cdf")
    if len(two := np.unique(values)) == 2:  # such as answers of 1 and 0, most of which may be either
        limits[:] = two.mean()
    return tuple(np.searchsorted(limits, values, side="left").tolist()), tuple(limits.tolist())


def class_words(preview: Preview) -> tuple[str, ...]:
    """What the values of each class are, in their unit; a class that holds none is left out."""
    if set(preview.limits) == {0.5} and {row[2] for row in preview.rows} <= {0.0, 1.0}:
        return "no", "yes"
    limits = [with_unit(significant(limit, 3), preview.unit) for limit in preview.limits]
    words = [f"up to {limits[0]}"] if limits else []
    words += [f"{below} to {above}" for below, above in pairwise(limits)]
    words += [f"above {limits[-1]}"] if limits else []
    return tuple(words[number] for number in sorted(set(preview.classes)))


Box = tuple[float, float, float, float]
LONLAT = "EPSG:4326"


@dataclass(frozen=True)
class Stray:
    """Why no row is inside the area, and whether longitude and latitude explain it."""

    reason: str
    swapped: bool


@as_workflow_errors()
def domain_of(area: NamedArea, resolution: int) -> Domain:
    """Return the cells of an area; `WorkflowError` for an empty one."""
    return area.filled(resolution)


def area_of_choices(choices: Mapping[str, Any]) -> NamedArea:
    """The area that choices name: file or box, features and date line."""
    return NamedArea(
        choices.get("region"),
        choices.get("bbox"),
        choices.get("features", ()),
        choices.get("feature_column"),
        choices.get("crosses_date_line"),
        choices.get("land_only", True),
    )


def domain_of_choices(area_choice: tuple[str | None, Box | None, int], choices: Mapping[str, Any]) -> Domain:
    """The cells of the file or box that was asked for, with the features and date line of choices."""
    region, bbox, resolution = area_choice
    return domain_of(replace(area_of_choices(choices), region=region, bbox=bbox), resolution)


@as_workflow_errors()
def layers_of(choices: Mapping[str, Any], domain: Domain) -> tuple[OwnLayer, ...]:
    """Return the public layers that choices name; `WorkflowError` if one cannot be drawn."""
    keys = ("layers", "label_columns", "layer_colours", "layer_widths")
    paths, columns, colours, widths = (choices.get(name, ()) for name in keys)
    return load_layers(paths, columns, domain, colours, widths)


def stray(domain: Domain, preview: Preview | None) -> Stray | None:
    """Why no row is inside, for the curator's eyes; None where one does, or where there are no rows."""
    if preview is None or not preview.places:
        return None
    lon, lat = np.array(preview.places).T
    if bool((domain.locate(lon, lat) >= 0).any()):
        return None
    return Stray(outside_reason(lon, lat, LONLAT, domain), looks_swapped(lon, lat, domain))


MOST_PART_COLUMNS = 12


@dataclass(frozen=True)
class DomainFacts:
    """A domain in words: the area of a cell, the distance between cells, rows inside, and of which rows."""

    area: str
    spacing: str
    inside: str
    basis: str
    many_outside: bool = False  # more than may be outside without a question


def is_doubtful(bbox: Box) -> bool:
    """Whether a person must say if a box crosses the date line: west is east of east, or it is wide."""
    return bbox[0] > bbox[2] or bbox[2] - bbox[0] > 180.0


def facts_of(domain: Domain, preview: Preview | None) -> DomainFacts:
    """What a screen says about a domain; the last fact is for the curator's eyes."""
    # Centres of a regular hexagonal lattice at distance d leave each cell the area d^2 sqrt(3)/2.
    area = domain.spacing**2 * np.sqrt(3.0) / 2.0
    inside, basis, many = "–", "Of the places of the private rows.", False
    if preview is not None and preview.places:
        lon, lat = np.array(preview.places).T
        inside_count, looked = int((domain.locate(lon, lat) >= 0).sum()), len(preview.places)
        inside = f"{inside_count:,} of {preview.size:,}"
        many = looked - inside_count > model.MOST_DROPPED * looked
        if looked < preview.size:
            inside = f"about {100 * inside_count / looked:.0f} %"
            basis = (
                f"Of a sample of {looked:,} of the {preview.size:,} rows; the search and the release "
                "count all of them."
            )
    return DomainFacts(
        f"{significant(area / 1e6, 2)} km²" if area >= 1e4 else f"{significant(area, 2)} m²",
        f"{significant(domain.spacing, 2)} m",
        inside,
        basis,
        many,
    )


@as_workflow_errors()
def shape_of(area: NamedArea) -> Any:
    """Return the outline of an area, WGS 84 degrees; `WorkflowError` if it cannot be read."""
    return area.outline().shape


def proposal_of(shape: Any, records: int | None, reference: Preview | None = None) -> Proposal | None:
    """The resolution that suits an area and a stated number of records, without one as many as a public
    reference has there; None where no screen offers it."""
    if records is None and reference is not None and reference.places:
        lon, lat = np.array(reference.places).T
        records = round(share_inside(shape, lon, lat) * reference.size) or None
    proposal = propose(shape, records)
    return proposal if COARSEST <= proposal.resolution <= FINEST else None


def columns_of(path: str) -> dict[str, tuple[str, ...]]:
    """The columns by which parts of an area file can be chosen, and the names in each."""
    try:
        document = document_of(path)
        return {column: part_names(document, column) for column in part_columns(document)[:MOST_PART_COLUMNS]}
    except HexcursionError:
        return {}  # said where the area is filled


@as_workflow_errors()
def turned(path: str) -> bytes:
    """Return an area file with longitude and latitude exchanged; `WorkflowError` for another file."""
    return json.dumps(exchanged(path)).encode()


def area_shares(
    report: Report, viewer: Viewer, source: bytes | Areas, threshold: float
) -> tuple[Areas, list[AreaAnswer]]:
    """Return the areas of a file, or those read before, and an answer for each: for a subprocess."""
    if isinstance(source, Areas):
        return source, area_answers(viewer, source, threshold=threshold)
    return answers_from(viewer, source, threshold=threshold, progress=report)


def record_density(report: Report, bundle: Bundle, above: float) -> Density:
    """Say where there are more records per square kilometre than asked: for a subprocess."""
    return density_of(bundle, above)
