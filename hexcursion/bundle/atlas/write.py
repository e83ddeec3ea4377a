"""Writing the files of an atlas: each layer as one column's, and what all layers share once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpgp_core.atlas.design import AtlasDesign
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.sums import KeptSums
from geo import Domain, GeoError, domain_from_cells
from geo.context.own_layers import OwnLayer
from hexcursion.bundle import layout
from hexcursion.bundle.areas import layers_bytes, read_layers
from hexcursion.bundle.atlas.derived import derived_block
from hexcursion.bundle.atlas.page import atlas_papers
from hexcursion.bundle.atlas.read import AtlasBundle, atlas_facts, atlas_from_contents
from hexcursion.bundle.atlas.statement import atlas_schema_bytes, atlas_statement
from hexcursion.bundle.atlas.sums import atlas_sums_bytes
from hexcursion.bundle.geopackage import layer_tables, write_layers
from hexcursion.bundle.layers import Exported, boundary_geojson, cell_columns, cells_geojson, regions_geojson
from hexcursion.bundle.layout import of_layer
from hexcursion.bundle.page.label import label_html
from hexcursion.bundle.page.papers import map_png, picture_html
from hexcursion.bundle.read import Bundle, published_products, region_of
from hexcursion.bundle.statement.build import build_statement, facts, statement_text
from hexcursion.bundle.statement.change import change_of
from hexcursion.bundle.statement.expected import map_block, verdict_block
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.tables import MAX_VALUES, paths_bytes, rounded_field, rounded_values
from hexcursion.bundle.untrusted import BundleError
from hexcursion.record import AtlasRelease, Release


def _sums_of(release: AtlasRelease) -> tuple[AtlasDesign, list[KeptSums]]:
    """The design of an atlas and the sums of each layer."""
    if sum(layer.paths.size for layer in release.layers) > MAX_VALUES:
        raise BundleError("All layers together have too many path values: use a coarser resolution.")
    design, sums = (
        release.layers[0].design,
        [layer.sums for layer in release.layers if layer.sums is not None],
    )
    if not isinstance(design, AtlasDesign) or len(sums) < len(release.layers):
        raise BundleError("An atlas is released with the sums of all its layers.")
    return design, sums


def atlas_contents(
    release: AtlasRelease, public: PublicFacts | None = None, *, rehearsed: bool = False
) -> dict[str, bytes]:
    """All files of an atlas, already read back once with the reader's own eyes.

    `public` and `rehearsed` as for `bundle_contents`. Raise `BundleError` for too many values, and for
    whatever a reader would refuse.
    """
    first, (design, layer_sums) = release.layers[0], _sums_of(release)
    own_layers = layers_bytes(first.layers) if first.layers else b""
    layers = read_layers(own_layers) if own_layers else ()
    statements = [check_statement(build_statement(layer)) for layer in release.layers]
    try:
        exact_domain = domain_from_cells(first.cells, first.region)
        boundary = boundary_geojson(
            exact_domain, _boundary_facts(statements, len(layer_sums)), rehearsed=rehearsed
        )
        domain = domain_from_cells(first.cells, region_of(boundary))  # rounded, as every reader has it
        pictured = [
            _layer(layer, statement, domain, layers)
            for layer, statement in zip(release.layers, statements, strict=True)
        ]
        contents = {layout.BOUNDARY: boundary}
        exported = [_exported(bundle) for bundle, _ in pictured]
        for number, ((bundle, picture), layer) in enumerate(zip(pictured, exported, strict=True), 1):
            contents |= _files(bundle, picture, number, layer, rehearsed=rehearsed)
        tables = dict(zip(layer_tables(release.names), exported, strict=True))
        contents[layout.GEOPACKAGE] = write_layers(tables)
    except GeoError as error:
        raise BundleError(f"The released cells or region cannot be written as GeoJSON: {error}") from error
    bundles = [bundle for bundle, _ in pictured]
    layer_statements = [bundle.statement for bundle in bundles]
    by_name = dict(zip(release.names, bundles, strict=True))
    derived = [derived_block(by_name, layer) for layer in release.derived]
    joint_statement = atlas_statement(release, layer_statements, derived)
    if own_layers:
        contents[layout.LAYERS] = own_layers
    contents |= {
        layout.RELEASED_SUMS: atlas_sums_bytes(
            design, layer_sums, [layer.prior_mean for layer in release.layers]
        ),
        layout.STATEMENT: statement_text(joint_statement).encode(),
        layout.ATLAS_SCHEMA: atlas_schema_bytes(),
        **atlas_papers(AtlasBundle(joint_statement, tuple(bundles), release.derived), pictured[0][1]),
    }
    layout.seal(contents)
    atlas_from_contents(contents)
    return contents


def _boundary_facts(statements: list[dict[str, Any]], columns: int) -> dict[str, Any]:
    """The properties of the boundary, which is written before the statement is whole."""
    return atlas_facts({**statements[0], "layers": [None] * columns})


def _layer(
    release: Release, statement: dict[str, Any], domain: Domain, layers: tuple[OwnLayer, ...]
) -> tuple[Bundle, str]:
    """One layer as a bundle of its column, and its picture for pages."""
    if release.mean is None or release.sd is None or release.draws is not None:
        raise BundleError("A layer of an atlas has a field, and paths that are draws of it.")
    values = rounded_values(release)
    shown_map = None if release.shown_map is None else rounded_field(*release.shown_map)
    products = published_products(statement, domain, values)
    change = change_of(release, statement["subject"])
    of_map = map_block(products, shown_map, release.map_draws)
    verdict = verdict_block(products, statement, of_map, release.model_check, change)
    statement = {**statement, "told": verdict}
    picture = picture_html(statement, domain, products, layers)
    png = map_png(statement, domain, products, layers)
    return Bundle(statement, domain, values, png, layers, is_complete=True), picture


def _exported(bundle: Bundle) -> Exported:
    columns = cell_columns(bundle.domain, bundle.published, bundle.field, bundle.response)
    shared = facts(bundle.statement)
    return Exported(bundle.statement, shared, bundle.domain, bundle.published, columns, bundle.layers)


def _files(
    bundle: Bundle, picture: str, number: int, exported: Exported, *, rehearsed: bool
) -> Mapping[str, bytes]:
    """The files of one layer, by their numbered names."""
    products, domain = bundle.published, bundle.domain
    files = {
        layout.CELLS: cells_geojson(domain, products, exported.facts, rehearsed=rehearsed),
        layout.REGIONS: regions_geojson(domain, exported.regions, exported.facts),
        layout.PATHS: paths_bytes(domain.cells, bundle.values),
        layout.LABEL: label_html(bundle.statement, products, picture).encode(),
        layout.MAP: bundle.map_png,
    }
    return {of_layer(name, number): content for name, content in files.items()}
