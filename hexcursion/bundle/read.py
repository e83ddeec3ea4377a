"""Reading a bundle that anyone may have made: nothing executed, nothing unpickled, everything
checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dpgp_core.priors.lattice import smooth
from geo import Domain, GeoError, domain_from_cells
from geo.context.own_layers import OwnLayer
from hexcursion.bundle import layout
from hexcursion.bundle.areas import read_layers
from hexcursion.bundle.exports import EXPORTS
from hexcursion.bundle.layers import cell_columns, cell_properties, region_list
from hexcursion.bundle.layout import check_picture, check_script, contents_of
from hexcursion.bundle.page.label import label_html
from hexcursion.bundle.page.papers import picture_html
from hexcursion.bundle.products import CONFIDENCE, SHARE_DECIMALS, Floats, MapValues, Products, products_at
from hexcursion.bundle.signature import Signature, signature_of
from hexcursion.bundle.statement.build import facts
from hexcursion.bundle.statement.change import check_change
from hexcursion.bundle.statement.designs import todays_schema
from hexcursion.bundle.statement.expected import check_verdict
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.sums import StoredSums, sums_of
from hexcursion.bundle.tables import covariates_of, field_of, read_paths
from hexcursion.bundle.untrusted import BundleError, strict_json
from hexcursion.project.response import ResponseScale

# A share that another machine rounded the other way.
STEP = 1.01 * 10.0**-SHARE_DECIMALS


def check_layers(contents: Mapping[str, bytes], bundle: Bundle) -> None:
    """Raise BundleError, naming the first file and property of layers and exports that differs from
    the paths."""
    check_cells(strict_json(contents[layout.CELLS], layout.CELLS), bundle)
    check_regions(strict_json(contents[layout.REGIONS], layout.REGIONS), bundle)
    boundary = strict_json(contents[layout.BOUNDARY], layout.BOUNDARY)
    features_of(boundary, layout.BOUNDARY)
    _check_facts(boundary, bundle, layout.BOUNDARY)
    columns = cell_columns(bundle.domain, bundle.published, bundle.field, bundle.response)
    for name in EXPORTS:
        if name in contents:
            check_columns(_exported(name, contents[name]), columns, name)


def _exported(name: str, content: bytes) -> Mapping[str, Sequence[Any]]:
    return EXPORTS.use(name, lambda export: export.read(content))


def check_cells(collection: Any, bundle: Bundle) -> None:
    """Raise BundleError, naming the property of the cells that does not follow from the paths."""
    features = features_of(collection, layout.CELLS)
    if [_property(feature, "h3") for feature in features] != list(bundle.domain.cells):
        raise BundleError(f"{layout.CELLS} does not hold the cells of the paths.")
    for name, values in cell_properties(bundle.published).items():
        if not _same([_property(feature, name) for feature in features], values):
            raise BundleError(f"{layout.CELLS} does not follow from the paths: {name} differs.")
    _check_facts(collection, bundle, layout.CELLS)


def check_regions(collection: Any, bundle: Bundle) -> None:
    """Raise BundleError if products, numbers or facts of the regions do not follow from the
    paths."""
    features = features_of(collection, layout.REGIONS)
    region_facts = [
        {name: _property(feature, name) for name in ("product", "path", "cells")} for feature in features
    ]
    if region_facts != [properties for properties, _ in region_list(bundle.published)]:
        raise BundleError(f"{layout.REGIONS} does not follow from the paths.")
    _check_facts(collection, bundle, layout.REGIONS)


def _check_facts(collection: Any, bundle: Bundle, name: str) -> None:
    if collection.get("release") != facts(bundle.statement):
        raise BundleError(f"{name} and the privacy statement disagree about the release.")


def check_columns(
    export: Mapping[str, Sequence[Any]], expected: Mapping[str, Sequence[Any]], name: str
) -> None:
    """Raise BundleError, naming the first column of an export that is not what the paths give."""
    if strange := sorted(set(export) ^ set(expected)):
        raise BundleError(f"{name} does not have the columns of this release: {strange[0][:60]!r}.")
    for column, values in expected.items():
        if not _same(export[column], values):
            raise BundleError(f"{name} does not follow from the paths: {column} differs.")


def _same(column: Sequence[Any], values: Sequence[Any]) -> bool:
    """Equal; shares, and numbers of six digits, may differ by the last one that is written."""
    if len(column) != len(values):
        return False
    if not all(type(value) is float for value in values):
        return list(column) == list(values) and {type(value) for value in column} == {
            type(value) for value in values
        }
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in column)
    if not numbers:
        return False
    column_numbers, expected_numbers = np.array(column, dtype=float), np.array(values)
    return bool(
        np.all(np.abs(column_numbers - expected_numbers) <= STEP * np.maximum(1.0, np.abs(expected_numbers)))
    )


def features_of(collection: Any, name: str) -> list[dict[str, Any]]:
    """The features of a GeoJSON collection. Raise `BundleError`, with `name`, for anything else."""
    features = collection.get("features") if isinstance(collection, dict) else None
    if not isinstance(features, list) or not all(isinstance(feature, dict) for feature in features):
        raise BundleError(f"{name} is not a GeoJSON feature collection.")
    return features


def _property(feature: dict[str, Any], name: str) -> Any:
    properties = feature.get("properties")
    return properties.get(name) if isinstance(properties, dict) else None


@dataclass(frozen=True, eq=False)
class Bundle:
    """A checked bundle: its statement, its domain and its released paths. Nothing else is
    believed."""

    statement: Mapping[str, Any]  # the privacy statement, valid by schema and in itself
    domain: Domain  # the cells and the public region
    values: MapValues  # the released numbers, before smoothing
    map_png: bytes  # the shipped picture, bytes of a PNG
    # Public layers that the curator added: not computed from the paths
    layers: tuple[OwnLayer, ...] = ()
    # of its checksums, checked; None for an unsigned bundle. `Signers` name the owner of its key
    signature: Signature | None = None
    # the released sums and the public numbers of their reading, where its mechanism has them
    sums: StoredSums | None = None
    # (N, k) public numbers that the design reads with the records, where it reads any
    covariates: Floats | None = None
    # whether its schema is today's, so that its statement tells everything that follows from the
    # sums
    is_complete: bool = False

    @property
    def paths(self) -> Floats:
        """(L, N) released paths in response units, before smoothing."""
        return self.values.paths

    @property
    def field(self) -> tuple[Floats, Floats] | None:
        """(N,) mean and standard deviation of the field given the release, where its mechanism has them."""
        return self.values.field

    @property
    def draws(self) -> Floats | None:
        """(J, N) joint draws of the field given the release, where the paths are no draws."""
        return self.values.draws

    @property
    def records(self) -> Floats | None:
        """(N,) expected number of records given the release, where its mechanism knows it."""
        return self.values.records

    @property
    def drawn(self) -> bytes:
        """The released sums, or else the paths: they tell one draw from another, as no stated id does."""
        return (self.paths if self.sums is None else self.sums.kept.sums).tobytes()

    @property
    def threshold(self) -> float:
        """The published threshold in the data's own unit."""
        return float(self.statement["subject"]["threshold"])

    @property
    def response(self) -> ResponseScale:
        """The public map between the data's own unit and response units."""
        response = self.statement["response"]
        return ResponseScale(response["transform"], response["centre"], response["clip"], response["origin"])

    @cached_property
    def published(self) -> Products:
        """The products at the published threshold, smoothing and cutoff."""
        return published_products(self.statement, self.domain, self.values)

    @cached_property
    def label_html(self) -> str:
        """The label, made once from the checked statement: a shipped page could hold anything."""
        picture = picture_html(self.statement, self.domain, self.published, self.layers)
        return label_html(self.statement, self.published, picture)


def read_bundle(source: str | Path | bytes | BinaryIO, *, just_written: bool = False) -> Bundle:
    """Open a bundle's folder or zip. Checked are names, sizes, checksums, a signature where there
    is one, JSON and statement against schema and itself, the paths' columns and values, the cells,
    and that both GeoJSON files follow from the paths. A file of an unknown format is passed over,
    where the statement lists it. Layers that this process has `just_written` were compared with the
    paths then. Raise `BundleError` for the first check that fails."""
    return bundle_from_contents(contents_of(source), compared=just_written)


def bundle_from_contents(contents: Mapping[str, bytes], *, compared: bool = False) -> Bundle:
    """The checks of `read_bundle` on files in memory, without the comparison of layers and paths
    where they were `compared` before. Raise `BundleError` as `read_bundle`."""
    if layout.is_atlas(contents):
        raise BundleError(layout.IS_ATLAS)
    layout.check_names(contents)
    layout.check_sums(contents)
    signature = signature_of(contents)
    statement = check_statement(
        strict_json(contents[layout.STATEMENT], layout.STATEMENT), contents[layout.SCHEMA]
    )
    if "columns" in statement["design"]:
        raise BundleError("The design of this release has several columns, and its bundle has one.")
    layout.check_added(contents, statement.get("exports", ()))
    today = todays_schema(contents[layout.SCHEMA], statement["design"]["mechanism"])
    about = statement["paths"]
    stored = read_paths(
        contents[layout.PATHS],
        field=about["field"],
        records=about["field"] and about.get("records", False),
        cut_by_map=statement["products"].get("cut_by_map", False),
    )
    cells = stored.cells
    if stored.values.paths.shape[0] != about["count"]:
        raise BundleError("The privacy statement and paths.parquet disagree about cells or paths.")
    domain = _domain_of(contents, cells, statement["subject"]["domain"])
    check_picture(contents[layout.MAP])
    check_script(contents[layout.REDRAW])
    values = replace(stored.values, draws=_draws(contents, statement, cells))
    field_of(contents, statement, cells)
    covariates = covariates_of(contents, statement, cells)
    layers = read_layers(contents[layout.LAYERS]) if layout.LAYERS in contents else ()
    picture = contents[layout.MAP]
    if today and earlier_rules(statement):
        raise BundleError("The privacy statement does not say which hexagons are judged.")
    sums = sums_of(contents, statement, len(cells))
    bundle = Bundle(statement, domain, values, picture, layers, signature, sums, covariates, today)
    if not compared:
        check_layers(contents, bundle)
    complete = today and bundle.field is not None
    check_verdict(statement, bundle.published, sums=bundle.sums is not None, complete=complete)
    check_change(statement)
    return bundle


def _domain_of(
    contents: Mapping[str, bytes], cells: Sequence[str], domain_facts: Mapping[str, Any]
) -> Domain:
    """The hexagons of a bundle, as many and as large as its statement says."""
    if len(cells) != domain_facts["cells"]:
        raise BundleError("The privacy statement and paths.parquet disagree about cells or paths.")
    if any(a >= b for a, b in pairwise(cells)):
        raise BundleError("The cells in paths.parquet are not sorted, or some are repeated.")
    try:
        domain = domain_from_cells(cells, region_of(contents[layout.BOUNDARY]))
    except GeoError as error:
        raise BundleError(f"The bundle's cells or boundary are not valid: {error}") from error
    if domain.resolution != domain_facts["resolution"]:
        raise BundleError("The privacy statement and paths.parquet disagree about the resolution.")
    return domain


def published_products(statement: Mapping[str, Any], domain: Domain, values: MapValues) -> Products:
    """Products at the statement's own threshold, smoothing, cutoff and confidence, of paths before
    smoothing."""
    published = statement["products"]
    return products_at(
        replace(values, paths=smooth(domain.adjacency, values.paths, published["smoothing"])),
        statement["subject"]["threshold_response"],
        statement["subject"]["direction"],
        cutoff=published["cutoff"],
        confidence=published["confidence"] or CONFIDENCE,
        earlier=earlier_rules(statement),
    )


def earlier_rules(statement: Mapping[str, Any]) -> bool:
    """Whether an earlier version made a bundle, by whose rules its products are found."""
    return "judged" not in statement["products"]


def _draws(
    contents: Mapping[str, bytes], statement: Mapping[str, Any], cells: tuple[str, ...]
) -> Floats | None:
    """The joint draws that the statement names; BundleError unless they are there exactly then."""
    draws_block = statement["paths"].get("draws")
    if (draws_block is None) != (layout.DRAWS not in contents):
        raise BundleError(f"The privacy statement and the bundle disagree about {layout.DRAWS}.")
    if draws_block is None:
        return None
    stored = read_paths(contents[layout.DRAWS], kind="draw")
    if stored.cells != cells or stored.values.paths.shape[0] != draws_block["count"]:
        raise BundleError(f"The privacy statement and {layout.DRAWS} disagree about cells or draws.")
    return stored.values.paths


def region_of(content: bytes) -> Any:
    """The one geometry of a bundle's boundary file, WGS 84, as GeoJSON; raise `BundleError` unless
    it has just one."""
    features = features_of(strict_json(content, layout.BOUNDARY), layout.BOUNDARY)
    if len(features) != 1 or not isinstance(features[0].get("geometry"), dict):
        raise BundleError(f"{layout.BOUNDARY} must hold one region.")
    return features[0]["geometry"]
