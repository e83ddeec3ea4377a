"""The layers of a bundle as GeoJSON, and what a further format of the same cells, an export, is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from shapely.geometry import MultiPolygon

from geo import Domain, decimals_for, dissolve
from geo.context.own_layers import OwnLayer
from geo.domains.hexagons import cell_polygons
from geo.geojson import cells_collection, collection_bytes, regions_collection
from hexcursion.bundle.products import (
    CLASSES,
    SHARE_DECIMALS,
    Bools,
    Floats,
    ProductName,
    Products,
    class_column,
)
from hexcursion.project.response import ResponseScale

# A dissolved region is written for this many paths; all paths are in the Parquet file.
MAX_PATH_REGIONS = 8

if TYPE_CHECKING:  # it is loaded where a table is made
    from geopandas import GeoDataFrame

Drawn = list[tuple[MultiPolygon, dict[str, Any]]]


def region_list(products: Products) -> list[tuple[dict[str, Any], Bools]]:
    """(properties, members (N,)) of every region, as in the file: classes first, paths last."""
    regions: list[tuple[ProductName, int | None, Bools]] = [
        *((name, None, products.classes == place) for place, name in enumerate(CLASSES)),
        *((name, None, members) for name, members in products.sets().items()),
        *(("path", k + 1, members) for k, members in enumerate(products.paths[:MAX_PATH_REGIONS])),
    ]
    return [
        ({"product": name, "path": path, "cells": int(members.sum())}, members)
        for name, path, members in regions
    ]


def drawn_regions(cells: Sequence[str], products: Products) -> Drawn:
    """(outline, properties) of every region: half of the work of the files that hold them."""
    cell_names = np.array(cells)
    return [
        (dissolve(cell_names[members].tolist()), properties) for properties, members in region_list(products)
    ]


CLASS = "class"
LARGEST_LOG = 700.0  # beyond all data, and far within what `exp` can hold


def cells_geojson(
    domain: Domain, products: Products, facts: Mapping[str, Any], *, rehearsed: bool = False
) -> bytes:
    """Write one feature per cell of the domain, inside the set or not; the collection holds the facts.

    `rehearsed` says that the cells were written before: their public outlines are not checked again.
    """
    decimals = decimals_for(domain.resolution)
    collection = cells_collection(domain, cell_properties(products), facts, decimals)
    return collection_bytes(collection, checked=rehearsed)


def cell_properties(products: Products) -> dict[str, list[Any]]:
    """What each cell says: class, chance, in or out, share of paths, and where they are known others."""
    properties: dict[str, list[Any]] = {CLASS: class_column(products)}
    if products.probability is not None:
        properties["probability"] = np.round(products.probability, SHARE_DECIMALS).tolist()
    properties["in_set"] = products.in_set.tolist()
    properties["vote_fraction"] = np.round(products.votes, SHARE_DECIMALS).tolist()
    if products.surely is not None:
        properties["excursion_function"] = np.round(products.surely, SHARE_DECIMALS).tolist()
    if products.records is not None:
        properties["expected_records"] = np.round(products.records, SHARE_DECIMALS).tolist()
    return properties


def cell_columns(
    domain: Domain, products: Products, field: tuple[Floats, Floats] | None, scale: ResponseScale
) -> dict[str, Sequence[Any]]:
    """The columns of every export: `h3`, class and chance, the value and its deviation, then the others.
    `field`: (N,) mean and standard deviation of the cells given the release, response units; `scale`: the map
    from these to the data's own unit."""
    properties = cell_properties(products)
    first = {name: properties.pop(name) for name in (CLASS, "probability") if name in properties}
    columns: dict[str, Sequence[Any]] = {"h3": list(domain.cells), **first}
    if field is None:
        return columns | properties
    mean, sd = scale.centre + scale.clip * field[0], scale.clip * field[1]
    if scale.transform == "probit":
        columns |= {"value_median": _short(scale.value(field[0]))}
    elif scale.transform == "identity":
        columns |= {"value_mean": _short(mean), "value_sd": _short(sd)}
    else:
        median = np.exp(np.clip(mean, -LARGEST_LOG, LARGEST_LOG))
        columns |= {"value_median": _short(median), "log_mean": _short(mean), "log_sd": _short(sd)}
    return columns | properties


def _short(values: Floats) -> list[float]:
    """Numbers with six digits: more say nothing, and take room."""
    return [float(f"{value:.6g}") for value in values.tolist()]


def regions_geojson(domain: Domain, regions: Drawn, facts: Mapping[str, Any]) -> bytes:
    """One dissolved feature per path (the first `MAX_PATH_REGIONS`) and per summarising product."""
    return collection_bytes(regions_collection(regions, facts, decimals_for(domain.resolution)))


def boundary_geojson(domain: Domain, facts: Mapping[str, Any], *, rehearsed: bool = False) -> bytes:
    """The public region as one feature; `rehearsed` as for `cells_geojson`."""
    collection = regions_collection([(domain.region, {"product": "boundary"})], facts)
    return collection_bytes(collection, checked=rehearsed)


DECLARED = "Public layers that the curator declared to be public. They do not follow from the released paths."


@dataclass(frozen=True, eq=False)
class Exported:
    """What every export is made from: public, checked, the same for all."""

    statement: Mapping[str, Any]  # the checked privacy statement
    facts: Mapping[str, Any]  # the key facts of the release, flat and harmless in a spreadsheet
    domain: Domain  # the cells and the public region
    products: Products  # what the release says at its published threshold
    columns: Mapping[str, Sequence[Any]]  # name -> N values: `h3` and the properties of each cell
    layers: Sequence[OwnLayer] = ()  # public layers that the curator added: not computed from the release

    @cached_property
    def outlines(self) -> list[MultiPolygon]:
        """(N,) exact outlines of the cells, WGS 84."""
        return cell_polygons(self.domain.cells)

    @cached_property
    def regions(self) -> Drawn:
        """(outline, properties) of every region."""
        return drawn_regions(self.domain.cells, self.products)


def frame_of(columns: Mapping[str, Any], outlines: Sequence[MultiPolygon]) -> GeoDataFrame:
    """Return columns of N values as a table with the (N,) outlines of the cells, WGS 84.

    An outline is a polygon; that of a cell across the date line is a multipolygon of two.
    """
    from geopandas import GeoDataFrame

    shapes = [shape.geoms[0] if len(shape.geoms) == 1 else shape for shape in outlines]
    return GeoDataFrame(dict(columns), geometry=shapes, crs="EPSG:4326")


@dataclass(frozen=True)
class Export:
    """One format."""

    file: str  # the file's name in the bundle; one that a package adds ends as a file of data does
    says: str  # one line for the README
    most_bytes: int  # the largest size that a reader accepts
    write: Callable[[Exported], bytes]  # the file's bytes
    # N values for each name, found in a stranger's file; BundleError for a file of another format
    read: Callable[[bytes], Mapping[str, Sequence[Any]]]
