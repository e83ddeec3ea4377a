"""Which regions a bundle draws: the classes first, the sets of specialists, then single paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from shapely.geometry import MultiPolygon

from geo import dissolve
from hexcursion.bundle.products.at_threshold import CLASSES, Bools, ProductName, Products

# A dissolved region is written for this many paths; all paths are in the Parquet file.
MAX_PATH_REGIONS = 8
EARLIER_PATH_REGIONS = 10  # of bundles that were written before

Drawn = list[tuple[MultiPolygon, dict[str, Any]]]


def region_list(products: Products, most: int = MAX_PATH_REGIONS) -> list[tuple[dict[str, Any], Bools]]:
    """(properties, members (N,)) of every region, as in the file: classes first, `most` paths last."""
    named: list[tuple[ProductName, int | None, Bools]] = [
        *((name, None, products.classes == place) for place, name in enumerate(CLASSES)),
        *((name, None, members) for name, members in products.sets().items()),
        *(("path", k + 1, members) for k, members in enumerate(products.paths[:most])),
    ]
    return [
        ({"product": name, "path": path, "cells": int(members.sum())}, members)
        for name, path, members in named
    ]


def drawn_regions(cells: Sequence[str], products: Products) -> Drawn:
    """(outline, properties) of every region: half of the work of the files that hold them."""
    named = np.array(cells)
    return [(dissolve(named[members].tolist()), properties) for properties, members in region_list(products)]
