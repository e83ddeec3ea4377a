"""The two GeoJSON layers of a bundle and the boundary they lie in, from the released paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geo import Domain, decimals_for
from geo.export.geojson import cells_collection, collection_bytes, regions_collection
from hexcursion.bundle.products.at_threshold import SHARE_DECIMALS, Floats, Products
from hexcursion.bundle.products.classes import class_column
from hexcursion.bundle.products.regions import Drawn

CLASS = "class"
"""The column of the classes; bundles of earlier versions are without it."""
THREE_WAY = {1: "above", 0: "cannot tell", -1: "below"}


def cells_geojson(
    domain: Domain, products: Products, facts: Mapping[str, Any], *, rehearsed: bool = False
) -> bytes:
    """One feature per cell of the domain, whether or not it is in the set; the facts stand once.

    Parameters
    ----------
    rehearsed
        Whether these cells were written before: their outlines are public, and not checked again then.
    """
    decimals = decimals_for(domain.resolution)
    made = cells_collection(domain, cell_properties(products), facts, decimals)
    return collection_bytes(made, checked=rehearsed)


def cell_properties(products: Products) -> dict[str, list[Any]]:
    """What each cell says: class, in or out, share of paths, and where they are known its other numbers."""
    properties: dict[str, list[Any]] = {CLASS: class_column(products), "in_set": products.vote_set.tolist()}
    if products.probability is not None:
        properties["probability"] = np.round(products.probability, SHARE_DECIMALS).tolist()
    properties["vote_fraction"] = np.round(products.votes, SHARE_DECIMALS).tolist()
    if products.surely is not None:
        properties["excursion_function"] = np.round(products.surely, SHARE_DECIMALS).tolist()
    if products.records is not None:
        properties["expected_records"] = np.round(products.records, SHARE_DECIMALS).tolist()
    return properties


def cell_columns(
    domain: Domain, products: Products, field: tuple[Floats, Floats] | None
) -> dict[str, Sequence[Any]]:
    """The columns of every export: `h3`, what each cell says, and mean and deviation where there are.

    Parameters
    ----------
    field
        (N,) mean and standard deviation of the cells given the release, response units
    """
    columns: dict[str, Sequence[Any]] = {"h3": list(domain.cells), **cell_properties(products)}
    if field is not None:
        columns |= {"mean": field[0].tolist(), "sd": field[1].tolist()}
    return columns


def cell_properties_of_format1(products: Products) -> dict[str, list[Any]]:
    """What each cell said in format 1: no probability, but above, below or cannot tell where supported."""
    properties: dict[str, list[Any]] = {
        "vote_fraction": products.votes.tolist(),
        "in_set": products.vote_set.tolist(),
    }
    if products.three_way is not None:
        properties["three_way"] = [THREE_WAY[int(value)] for value in products.three_way]
    return properties


def regions_geojson(domain: Domain, regions: Drawn, facts: Mapping[str, Any]) -> bytes:
    """One dissolved feature per path (the first `MAX_PATH_REGIONS`) and per summarising product."""
    return collection_bytes(regions_collection(regions, facts, decimals_for(domain.resolution)))


def boundary_geojson(domain: Domain, facts: Mapping[str, Any], *, rehearsed: bool = False) -> bytes:
    """The public region as one feature; `rehearsed` as for `cells_geojson`."""
    made = regions_collection([(domain.region, {"product": "boundary"})], facts)
    return collection_bytes(made, checked=rehearsed)
