"""Whether the layers and exports of a bundle say what follows from its released paths, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geo import Domain
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.exports.registry import EXPORTS
from hexcursion.bundle.files import layout
from hexcursion.bundle.files.maps import cell_columns, cell_properties
from hexcursion.bundle.products.at_threshold import SHARE_DECIMALS, Products
from hexcursion.bundle.products.regions import EARLIER_PATH_REGIONS, MAX_PATH_REGIONS, region_list
from hexcursion.bundle.statement.build import facts
from hexcursion.bundle.untrusted import strict_json
from hexcursion.project.response import ResponseScale

# A share that another machine rounded the other way.
STEP = 1.01 * 10.0**-SHARE_DECIMALS


class Drawn(Protocol):
    """What is asked of a bundle here."""

    @property
    def statement(self) -> Mapping[str, Any]:
        """The checked privacy statement."""

    @property
    def domain(self) -> Domain:
        """The cells and the public region."""

    @property
    def field(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """(N,) mean and standard deviation given the release, where the mechanism has them."""

    @property
    def response(self) -> ResponseScale:
        """The public map between the data's own unit and response units."""

    @property
    def published(self) -> Products:
        """The products at the published threshold."""


def check_layers(contents: Mapping[str, bytes], bundle: Drawn) -> None:
    """Raise BundleError, naming the first file and property of layers and exports that differs from the
    paths."""
    check_cells(strict_json(contents[layout.CELLS], layout.CELLS), bundle)
    check_regions(strict_json(contents[layout.REGIONS], layout.REGIONS), bundle)
    boundary = strict_json(contents[layout.BOUNDARY], layout.BOUNDARY)
    features_of(boundary, layout.BOUNDARY)
    _check_facts(boundary, bundle, layout.BOUNDARY)
    made = cell_columns(bundle.domain, bundle.published, bundle.field, bundle.response)
    for name in EXPORTS:
        if name in contents:
            _check_columns(_exported(name, contents[name]), made, name)


def _exported(name: str, content: bytes) -> Mapping[str, Sequence[Any]]:
    """Read the columns of a file as its format does."""
    return EXPORTS.use(name, lambda export: export.read(content))


def facts_of(bundle: Drawn) -> dict[str, Any]:
    """The facts of the release that stand in the bundle's GeoJSON files."""
    return facts(dict(bundle.statement))


def check_cells(collection: Any, bundle: Drawn) -> None:
    """Raise BundleError, naming the property of the cells that does not follow from the paths."""
    features = features_of(collection, layout.CELLS)
    if [_property(feature, "h3") for feature in features] != list(bundle.domain.cells):
        raise BundleError(f"{layout.CELLS} does not hold the cells of the paths.")
    for name, values in cell_properties(bundle.published).items():
        if not _same([_property(feature, name) for feature in features], values):
            raise BundleError(f"{layout.CELLS} does not follow from the paths: {name} differs.")
    _check_facts(collection, bundle, layout.CELLS)


def check_regions(collection: Any, bundle: Drawn) -> None:
    """Raise BundleError if products, numbers or facts of the regions do not follow from the paths."""
    features = features_of(collection, layout.REGIONS)
    expected = [
        [properties for properties, _ in region_list(bundle.published, most)]
        for most in (MAX_PATH_REGIONS, EARLIER_PATH_REGIONS)
    ]
    found = [
        {name: _property(feature, name) for name in ("product", "path", "cells")} for feature in features
    ]
    if found not in expected:
        raise BundleError(f"{layout.REGIONS} does not follow from the paths.")
    _check_facts(collection, bundle, layout.REGIONS)


def _check_facts(collection: Any, bundle: Drawn, name: str) -> None:
    if collection.get("release") != facts_of(bundle):
        raise BundleError(f"{name} and the privacy statement disagree about the release.")


def _check_columns(
    found: Mapping[str, Sequence[Any]], expected: Mapping[str, Sequence[Any]], name: str
) -> None:
    if strange := sorted(set(found) ^ set(expected)):
        raise BundleError(f"{name} does not have the columns of this release: {strange[0][:60]!r}.")
    for column, values in expected.items():
        if not _same(found[column], values):
            raise BundleError(f"{name} does not follow from the paths: {column} differs.")


def _same(found: Sequence[Any], values: Sequence[Any]) -> bool:
    """Equal; shares, and numbers of six digits, may differ by the last one that is written."""
    if len(found) != len(values):
        return False
    if not all(type(value) is float for value in values):
        return list(found) == list(values) and {type(value) for value in found} == {
            type(value) for value in values
        }
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in found)
    if not numbers:
        return False
    told, made = np.array(found, dtype=float), np.array(values)
    return bool(np.all(np.abs(told - made) <= STEP * np.maximum(1.0, np.abs(made))))


def features_of(collection: Any, name: str) -> list[dict[str, Any]]:
    """The features of a GeoJSON collection. Raise `BundleError`, with `name`, if it is none."""
    features = collection.get("features") if isinstance(collection, dict) else None
    if not isinstance(features, list) or not all(isinstance(feature, dict) for feature in features):
        raise BundleError(f"{name} is not a GeoJSON feature collection.")
    return features


def _property(feature: dict[str, Any], name: str) -> Any:
    properties = feature.get("properties")
    return properties.get(name) if isinstance(properties, dict) else None
