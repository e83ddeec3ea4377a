"""Numbers per hexagon from public layers: of their areas and points, and distances to their shapes."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray

from geo.context.own_layers import OwnLayer
from geo.coordinates.projection import project
from geo.domains.domain import Domain
from geo.domains.zones import CELL
from geo.errors import DomainError

LONGEST_HEADER = 2**16
"""Bytes of a table's first line."""


def table_columns(path: str | Path) -> tuple[str, ...]:
    """The columns of a table of hexagons beside `h3`.

    Raises
    ------
    DomainError
        Where it cannot be read, or is no such table.
    """
    place = Path(path)
    try:
        with place.open("rb") as stream:
            first = stream.readline(LONGEST_HEADER).decode("utf-8-sig")
        names = next(csv.reader([first]), [])
    except FileNotFoundError as error:
        raise DomainError(f"there is no file {place.name}: correct its name.") from error
    except (OSError, UnicodeError, csv.Error) as error:
        raise DomainError(f"{place.name} cannot be read as a table: save it as CSV in UTF-8.") from error
    if CELL not in names or len(names) < 2:
        raise DomainError(
            f"{place.name} must have a column {CELL} and one of numbers, with commas between them."
        )
    return tuple(name for name in names if name != CELL)


def layer_numbers(layer: OwnLayer, domain: Domain) -> NDArray[np.float64]:
    """Give each hexagon the number of the area in which its centre lies, or the mean of the points in it.

    Parameters
    ----------
    layer : OwnLayer
        Its labels are the numbers.
    domain : Domain

    Returns
    -------
    (N,) float64

    Raises
    ------
    DomainError
        With one sentence: for a label that is no number, a layer of lines, and a hexagon without a number.
    """
    found = np.full(domain.size, np.nan)
    total, many = np.zeros(domain.size), np.zeros(domain.size)
    centres = shapely.points(domain.centres_lonlat)
    for feature in layer.features:
        value = _number(feature.label, layer.name)
        if feature.kind == "line":
            raise DomainError(
                f"the layer {layer.name!r} has lines, which lie in no hexagon alone: leave its column out, "
                "and the distance to them is taken."
            )
        if feature.kind == "area":
            inside = shapely.intersects(feature.shape, centres)
            found[inside & np.isnan(found)] = value
            continue
        at = domain.locate(*shapely.get_coordinates(feature.shape).T)
        np.add.at(total, at[at >= 0], value)
        np.add.at(many, at[at >= 0], 1.0)
    pointed = np.isnan(found) & (many > 0)
    found[pointed] = total[pointed] / many[pointed]
    if missing := int(np.isnan(found).sum()):
        raise DomainError(
            f"{missing:,} of {domain.size:,} hexagons have no number in the layer {layer.name!r}: give one "
            "that covers the area."
        )
    return found


def distances(layer: OwnLayer, domain: Domain) -> NDArray[np.float64]:
    """(N,) metres from each hexagon's centre to the nearest shape of a layer; 0 inside its areas."""
    shapes = [
        shapely.transform(feature.shape, lambda lonlat: project(lonlat, domain.crs))
        for feature in layer.features
    ]
    tree = shapely.STRtree(shapes)
    _, found = tree.query_nearest(shapely.points(domain.centres), return_distance=True, all_matches=False)
    return np.asarray(found, dtype=np.float64)


def _number(label: str, name: str) -> float:
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DomainError(f"the layer {name!r} has a feature without a number in that column: give each one.")
    return number
