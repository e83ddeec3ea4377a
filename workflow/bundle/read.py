"""Reading a bundle that anyone may have made: nothing executed, nothing unpickled, everything checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dpgp_core.smoothing import smooth
from geo import Domain, GeoError, domain_from_cells, geometry_dict
from workflow.bundle import layout
from workflow.bundle.archive import contents_of
from workflow.bundle.errors import BundleError
from workflow.bundle.label import label_html
from workflow.bundle.maps import cell_properties, region_list
from workflow.bundle.paths import read_paths
from workflow.bundle.products import CONFIDENCE, Products, products_at
from workflow.bundle.schema_check import check_statement, schema_bytes, strict_json
from workflow.bundle.statement import facts
from workflow.released import ResponseScale

PNG_START = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Bundle:
    """A checked bundle: its statement, its domain and its released paths. Nothing else is believed.

    statement  the privacy statement, valid by schema and in itself
    domain     the cells and the public region
    paths      (L, N) released paths in response units, before smoothing
    map_png    the shipped picture, bytes of a PNG
    """

    statement: Mapping[str, Any]
    domain: Domain
    paths: NDArray[np.float64]
    map_png: bytes

    @property
    def threshold(self) -> float:
        """The published threshold in the data's own unit."""
        return float(self.statement["subject"]["threshold"])

    @property
    def response(self) -> ResponseScale:
        """The public map between the data's own unit and response units."""
        stated = self.statement["response"]
        return ResponseScale(stated["transform"], stated["centre"], stated["clip"], stated["origin"])

    @cached_property
    def published(self) -> Products:
        """The products at the published threshold, smoothing and cutoff."""
        return published_products(self.statement, self.domain, self.paths)

    @property
    def label_html(self) -> str:
        """The label, made anew: a shipped page could hold anything, this one holds only checked text."""
        return label_html(
            self.statement, self.domain.cells, geometry_dict(self.domain.region), self.published
        )


def read_bundle(source: str | Path | bytes | BinaryIO) -> Bundle:
    """Open a bundle's folder or zip (path, bytes or binary stream); BundleError is one sentence.

    Checked: names, sizes, checksums, JSON and statement against the schema and against itself, the paths'
    columns and values, the cells, and that both GeoJSON files say what follows from the paths.
    """
    return bundle_from_contents(contents_of(source))


def bundle_from_contents(contents: Mapping[str, bytes]) -> Bundle:
    """The checks of `read_bundle` on files already in memory."""
    layout.check_sums(contents)
    statement = check_statement(strict_json(contents[layout.STATEMENT], layout.STATEMENT))
    if contents[layout.SCHEMA] != schema_bytes():
        raise BundleError(f"{layout.SCHEMA} is not the schema of version 1.")
    cells, paths = read_paths(contents[layout.PATHS])
    subject = statement["subject"]["domain"]
    if len(cells) != subject["cells"] or paths.shape[0] != statement["paths"]["count"]:
        raise BundleError("The privacy statement and paths.parquet disagree about cells or paths.")
    if any(a >= b for a, b in pairwise(cells)):
        raise BundleError("The cells in paths.parquet are not sorted, or some stand there twice.")
    try:
        domain = domain_from_cells(cells, _region(contents[layout.BOUNDARY]))
    except GeoError as error:
        raise BundleError(f"The bundle's cells or boundary are not valid: {error}") from error
    if domain.resolution != subject["resolution"]:
        raise BundleError("The privacy statement and paths.parquet disagree about the resolution.")
    if not contents[layout.MAP].startswith(PNG_START):
        raise BundleError(f"{layout.MAP} is not a PNG picture.")
    bundle = Bundle(statement, domain, paths, contents[layout.MAP])
    _check_cells(strict_json(contents[layout.CELLS], layout.CELLS), bundle)
    _check_regions(strict_json(contents[layout.REGIONS], layout.REGIONS), bundle)
    return bundle


def published_products(statement: Mapping[str, Any], domain: Domain, paths: NDArray[np.float64]) -> Products:
    """Products at the statement's own threshold, smoothing, cutoff and confidence."""
    published = statement["products"]
    return products_at(
        smooth(domain.adjacency, paths, published["smoothing"]),
        statement["subject"]["threshold_response"],
        statement["subject"]["direction"],
        cutoff=published["cutoff"],
        confidence=published["confidence"] or CONFIDENCE,
    )


def _region(content: bytes) -> Any:
    features = _features(strict_json(content, layout.BOUNDARY), layout.BOUNDARY)
    if len(features) != 1 or not isinstance(features[0].get("geometry"), dict):
        raise BundleError(f"{layout.BOUNDARY} must hold one region.")
    return features[0]["geometry"]


def _check_cells(collection: Any, bundle: Bundle) -> None:
    features = _features(collection, layout.CELLS)
    expected = cell_properties(bundle.published)
    if [_property(feature, "h3") for feature in features] != list(bundle.domain.cells):
        raise BundleError(f"{layout.CELLS} does not hold the cells of the paths.")
    for name, values in expected.items():
        if [_property(feature, name) for feature in features] != values:
            raise BundleError(f"{layout.CELLS} does not follow from the paths: {name} differs.")
    _check_facts(features, bundle, layout.CELLS)


def _check_regions(collection: Any, bundle: Bundle) -> None:
    features = _features(collection, layout.REGIONS)
    expected = [properties for properties, _ in region_list(bundle.published)]
    found = [
        {name: _property(feature, name) for name in ("product", "path", "cells")} for feature in features
    ]
    if found != expected:
        raise BundleError(f"{layout.REGIONS} does not follow from the paths.")
    _check_facts(features, bundle, layout.REGIONS)


def _check_facts(features: list[dict[str, Any]], bundle: Bundle, name: str) -> None:
    stated = facts(dict(bundle.statement))
    for feature in features:
        if any(_property(feature, fact) != value for fact, value in stated.items()):
            raise BundleError(f"{name} and the privacy statement disagree about the release.")


def _features(collection: Any, name: str) -> list[dict[str, Any]]:
    features = collection.get("features") if isinstance(collection, dict) else None
    if not isinstance(features, list) or not all(isinstance(feature, dict) for feature in features):
        raise BundleError(f"{name} is not a GeoJSON feature collection.")
    return features


def _property(feature: dict[str, Any], name: str) -> Any:
    properties = feature.get("properties")
    return properties.get(name) if isinstance(properties, dict) else None
