"""The two GeoJSON layers of a bundle and the boundary they lie in, from the released paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from geo import Domain, dissolve
from geo.geojson import cells_collection, collection_bytes, regions_collection
from workflow.bundle.products import Bools, Products
from workflow.bundle.statement import MAX_PATH_REGIONS

THREE_WAY = {1: "above", 0: "cannot tell", -1: "below"}


def cells_geojson(domain: Domain, products: Products, facts: Mapping[str, Any]) -> bytes:
    """One feature per cell of the domain, whether or not it is in the set."""
    return collection_bytes(cells_collection(domain, cell_properties(products), facts))


def cell_properties(products: Products) -> dict[str, list[Any]]:
    """What each cell says: share of the paths, in or out, and above / below / cannot tell if supported."""
    properties: dict[str, list[Any]] = {
        "vote_fraction": products.votes.tolist(),
        "in_set": products.vote_set.tolist(),
    }
    if products.three_way is not None:
        properties["three_way"] = [THREE_WAY[int(value)] for value in products.three_way]
    return properties


def regions_geojson(domain: Domain, products: Products, facts: Mapping[str, Any]) -> bytes:
    """One dissolved feature per path (the first `MAX_PATH_REGIONS`) and per summarising product."""
    cells = np.array(domain.cells)
    regions = [
        (dissolve(cells[members].tolist()), properties) for properties, members in region_list(products)
    ]
    return collection_bytes(regions_collection(regions, facts))


def region_list(products: Products) -> list[tuple[dict[str, Any], Bools]]:
    """(properties, members) of every region, in the order of the file."""
    named: list[tuple[str, int | None, Bools]] = [
        ("path", k + 1, members) for k, members in enumerate(products.paths[:MAX_PATH_REGIONS])
    ]
    named += [(name, None, members) for name, members in products.sets().items()]
    return [
        ({"product": name, "path": path, "cells": int(members.sum())}, members)
        for name, path, members in named
    ]


def boundary_geojson(domain: Domain, facts: Mapping[str, Any]) -> bytes:
    """The public region as one feature."""
    return collection_bytes(regions_collection([(domain.region, {"product": "boundary"})], facts))
