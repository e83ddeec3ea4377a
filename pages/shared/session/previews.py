"""Previews for the curator's eyes: what a source holds, before any geography or privacy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from data_loaders import ColumnGuess, DataError, Observations, guess_columns
from data_loaders.observations import Kind
from geo import GeoError, to_lonlat
from geo.maps.linked import PLACE_CLASSES
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_source
from hexcursion.settings.source import SourceSettings

ROWS_SHOWN = 6
QUANTILES = 1_000  # of reference values: shares are known to a tenth of a per cent
PLACES_SHOWN = 1_500  # enough to see a pattern, small enough to send at every rerun


@dataclass(frozen=True, repr=False)
class Preview:
    """What a curator sees of one source; private, so it prints nothing of itself.

    Parameters
    ----------
    lines
        the load report in sentences
    size
        rows kept
    rows
        the first few rows as (longitude, latitude, value), degrees and the data's unit
    places
        up to PLACES_SHOWN (longitude, latitude) pairs, evenly taken
    quantiles
        QUANTILES + 1 even quantiles of the values, smallest first; of reference data only
    classes, limits
        the class of the value at each of the places, and the limits between classes in the data's unit; for
        the curator's eyes only
    """

    lines: tuple[str, ...]
    size: int
    unit: str
    kind: Kind
    generated: bool
    attribution: tuple[str, ...]
    rows: tuple[tuple[float, float, float], ...]
    places: tuple[tuple[float, float], ...]
    quantiles: tuple[float, ...] = ()
    classes: tuple[int, ...] = ()
    limits: tuple[float, ...] = ()


def look_at(source: SourceSettings, unit: str = "", *, spread: bool = False) -> Preview:
    """Read a source and say what was read, kept and dropped.

    Parameters
    ----------
    spread
        also keep quantiles of the values: for reference data, never for private ones

    Raises
    ------
    WorkflowError
        One sentence, if it cannot be read.
    """
    try:
        observations, report = load_source(source, unit)
        seen = _preview(observations, report.lines())
        if not spread or observations.size == 0:
            return seen
        quantiles = np.quantile(observations.value, np.linspace(0.0, 1.0, QUANTILES + 1))
        return replace(seen, quantiles=tuple(float(value) for value in quantiles))
    except (DataError, GeoError) as error:
        raise WorkflowError(str(error)) from error


def propose_columns(path: str, layer: str | None = None, header_row: int | None = None) -> ColumnGuess:
    """Which columns of a sensor table look like coordinates and value, for a person to confirm.

    Raises
    ------
    WorkflowError
        One sentence, if it cannot be read.
    """
    try:
        return guess_columns(path, layer=layer, header_row=header_row)
    except DataError as error:
        raise WorkflowError(str(error)) from error


def _preview(observations: Observations, lines: tuple[str, ...]) -> Preview:
    step = max(1, -(-observations.size // PLACES_SHOWN))
    shown = np.unique(np.r_[0 : observations.size : step, 0 : min(ROWS_SHOWN, observations.size)])
    longitude, latitude = to_lonlat(observations.x[shown], observations.y[shown], observations.crs)
    places = np.round(np.column_stack([longitude, latitude]), 5)
    first, known = min(ROWS_SHOWN, observations.size), np.isfinite(places).all(axis=1)
    classes, limits = value_classes(observations.value[shown][known])
    return Preview(
        lines=lines,
        size=observations.size,
        unit=observations.unit,
        kind=observations.kind,
        generated=observations.generated,
        attribution=observations.attribution,
        rows=tuple(
            (float(lon), float(lat), float(value))
            for (lon, lat), value in zip(places[:first], observations.value[:first], strict=True)
        ),
        places=tuple((float(lon), float(lat)) for lon, lat in places[known]),
        classes=classes,
        limits=limits,
    )


def value_classes(values: NDArray[np.float64]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The class of each of (n,) values, and the limits between the classes: about as many values in each.

    No class where all values are equal. A value at a limit belongs to the class below it.
    """
    shares = np.arange(1, PLACE_CLASSES) / PLACE_CLASSES
    if not values.size or values.min() == values.max():
        return (), ()
    limits = np.quantile(values, shares, method="inverted_cdf")
    return tuple(np.searchsorted(limits, values, side="left").tolist()), tuple(limits.tolist())
