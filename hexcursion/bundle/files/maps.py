"""The two GeoJSON layers of a bundle and the boundary they lie in, from the released paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geo import Domain, decimals_for
from geo.geojson import cells_collection, collection_bytes, regions_collection
from hexcursion.bundle.products.at_threshold import SHARE_DECIMALS, Floats, Products
from hexcursion.bundle.products.classes import class_column
from hexcursion.bundle.products.regions import Drawn
from hexcursion.project.response import ResponseScale

CLASS = "class"
LARGEST_LOG = 700.0  # beyond all data, and far within what `exp` can hold


def cells_geojson(
    domain: Domain, products: Products, facts: Mapping[str, Any], *, rehearsed: bool = False
) -> bytes:
    """One feature per cell of the domain, whether or not it is in the set; the facts stand once. `rehearsed`:
    whether these cells were written before: their outlines are public, and not checked again then."""
    decimals = decimals_for(domain.resolution)
    made = cells_collection(domain, cell_properties(products), facts, decimals)
    return collection_bytes(made, checked=rehearsed)


def cell_properties(products: Products) -> dict[str, list[Any]]:
    """What each cell says: class, chance, in or out, share of paths, and where they are known others."""
    properties: dict[str, list[Any]] = {CLASS: class_column(products)}
    if products.probability is not None:
        properties["probability"] = np.round(products.probability, SHARE_DECIMALS).tolist()
    properties["in_set"] = products.vote_set.tolist()
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
    said = cell_properties(products)
    first = {name: said.pop(name) for name in (CLASS, "probability") if name in said}
    columns: dict[str, Sequence[Any]] = {"h3": list(domain.cells), **first}
    if field is None:
        return columns | said
    mean, sd = scale.centre + scale.clip * field[0], scale.clip * field[1]
    if scale.transform == "probit":
        columns |= {"value_median": _short(scale.value(field[0]))}
    elif scale.transform == "identity":
        columns |= {"value_mean": _short(mean), "value_sd": _short(sd)}
    else:
        median = np.exp(np.clip(mean, -LARGEST_LOG, LARGEST_LOG))
        columns |= {"value_median": _short(median), "log_mean": _short(mean), "log_sd": _short(sd)}
    return columns | said


def _short(values: Floats) -> list[float]:
    """Numbers with six digits: more say nothing, and take room."""
    return [float(f"{value:.6g}") for value in values.tolist()]


def regions_geojson(domain: Domain, regions: Drawn, facts: Mapping[str, Any]) -> bytes:
    """One dissolved feature per path (the first `MAX_PATH_REGIONS`) and per summarising product."""
    return collection_bytes(regions_collection(regions, facts, decimals_for(domain.resolution)))


def boundary_geojson(domain: Domain, facts: Mapping[str, Any], *, rehearsed: bool = False) -> bytes:
    """The public region as one feature; `rehearsed` as for `cells_geojson`."""
    made = regions_collection([(domain.region, {"product": "boundary"})], facts)
    return collection_bytes(made, checked=rehearsed)
