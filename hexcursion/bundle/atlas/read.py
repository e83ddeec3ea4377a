"""Reading an atlas that anyone may have made: each layer is checked as one column, then all
together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from dpgp_core.atlas.design import AtlasDesign
from dpgp_core.atlas.release import read_atlas_again
from dpgp_core.errors import CoreError
from dpgp_core.releasing import PublicFacts
from geo import Domain, GeoError, domain_from_cells
from geo.context.own_layers import OwnLayer
from hexcursion.bundle import layout
from hexcursion.bundle.again import check_follows, check_price, stored_sums, sums_facts
from hexcursion.bundle.areas import read_layers
from hexcursion.bundle.atlas.derived import stated_derived
from hexcursion.bundle.atlas.statement import check_atlas_statement, layer_names, todays_atlas
from hexcursion.bundle.atlas.sums import atlas_sums_of
from hexcursion.bundle.geopackage import layer_tables
from hexcursion.bundle.geopackage import read_layers as read_tables
from hexcursion.bundle.layers import cell_columns
from hexcursion.bundle.layout import check_picture, contents_of, of_layer
from hexcursion.bundle.read import (
    Bundle,
    bundle_from_contents,
    check_cells,
    check_columns,
    check_regions,
    features_of,
    region_of,
)
from hexcursion.bundle.signature import Signature, signature_of
from hexcursion.bundle.statement.designs import design_from
from hexcursion.bundle.statement.expected import check_verdict
from hexcursion.bundle.sums import StoredSums
from hexcursion.bundle.tables import read_paths
from hexcursion.bundle.untrusted import BundleError, strict_json
from hexcursion.settings.derived import Derived


@dataclass(frozen=True, eq=False)
class AtlasBundle:
    """A checked atlas: its one statement, and every layer as a bundle of its column."""

    statement: Mapping[str, Any]  # the statement of all layers
    layers: tuple[Bundle, ...]  # each with the statement of its column at the price of all
    # The layers that follow from others, as the statement names them
    derived: tuple[Derived, ...] = ()
    signature: Signature | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return layer_names(self.statement)

    @property
    def domain(self) -> Domain:
        """The hexagons, which all layers share."""
        return self.layers[0].domain

    @property
    def by_name(self) -> dict[str, Bundle]:
        """The layers by their columns."""
        return dict(zip(self.names, self.layers, strict=True))

    def layer(self, name: str) -> Bundle:
        """The bundle of one column; raise `BundleError` for an unknown name."""
        if name not in self.names:
            listed = ", ".join(self.names)
            raise BundleError(f"This atlas has no layer {name[:60]!r}: name one of {listed}.")
        return self.layers[self.names.index(name)]


def open_any(source: str | Path | bytes | BinaryIO) -> Bundle | AtlasBundle:
    """Open a bundle of one column or of several; raise `BundleError` as `read_bundle`."""
    return any_from_contents(contents_of(source))


def any_from_contents(contents: Mapping[str, bytes]) -> Bundle | AtlasBundle:
    """The checks of `open_any` on files in memory."""
    return atlas_from_contents(contents) if layout.is_atlas(contents) else bundle_from_contents(contents)


def layer_of(source: str | Path | bytes | BinaryIO, name: str | None) -> Bundle:
    """Open a bundle of one column, or one layer of an atlas by its name.

    Raise `BundleError` for an atlas without a name, and for a name where the bundle is not an
    atlas.
    """
    bundle = open_any(source)
    if isinstance(bundle, AtlasBundle):
        if name is None:
            raise BundleError(
                f"This bundle is an atlas: name one of its columns with --layer, {' or '.join(bundle.names)}."
            )
        return bundle.layer(name)
    if name is not None:
        raise BundleError("This bundle is a map of one column and has no layers: leave --layer out.")
    return bundle


def atlas_from_contents(contents: Mapping[str, bytes], *, compared: bool = False) -> AtlasBundle:
    """Check an atlas in memory as `read_bundle` checks one column; layers that were `compared`
    before are not compared with their paths again. Raise `BundleError` for the first check that
    fails."""
    for name in (layout.SUMS, layout.STATEMENT):
        if name not in contents:
            raise BundleError(f"This is not a complete atlas: it has no {name}.")
    layout.check_sums(contents)
    earlier = not todays_atlas(contents[layout.ATLAS_SCHEMA])
    content = strict_json(contents[layout.STATEMENT], layout.STATEMENT)
    joint_statement, statements = check_atlas_statement(content, earlier=earlier)
    layout.check_atlas_names(contents, len(statements))
    domain = _domain(contents, statements[0])
    sums = atlas_sums_of(contents, statements, domain.size)
    own_layers = read_layers(contents[layout.LAYERS]) if layout.LAYERS in contents else ()
    common = _Common(contents, domain, own_layers, signature_of(contents))
    layers = tuple(
        _layer(common, statement, number, sums[number - 1]) for number, statement in enumerate(statements, 1)
    )
    atlas = AtlasBundle(joint_statement, layers, signature=common.signature)
    if not compared:
        _check_layers(contents, atlas)
    for bundle in layers:
        check_verdict(bundle.statement, bundle.published, sums=True)
    return replace(atlas, derived=stated_derived(joint_statement, atlas.by_name))


def _domain(contents: Mapping[str, bytes], statement: Mapping[str, Any]) -> Domain:
    """The hexagons of the first layer's paths within the boundary."""
    stored = _paths(contents, statement, 1)
    subject = statement["subject"]["domain"]
    try:
        domain = domain_from_cells(stored.cells, region_of(contents[layout.BOUNDARY]))
    except GeoError as error:
        raise BundleError(f"The atlas' cells or boundary are not valid: {error}") from error
    if domain.resolution != subject["resolution"] or len(stored.cells) != subject["cells"]:
        raise BundleError("The privacy statement and paths-1.parquet disagree about the hexagons.")
    return domain


def _paths(contents: Mapping[str, bytes], statement: Mapping[str, Any], number: int) -> Any:
    about = statement["paths"]
    if not about["field"] or "draws" in about:
        raise BundleError("A layer of an atlas has a field, and paths that are draws of it.")
    return read_paths(
        contents[of_layer(layout.PATHS, number)],
        field=True,
        records=about.get("records", False),
        cut_by_map=statement["products"].get("cut_by_map", False),
    )


class _Common(NamedTuple):
    """The parts of an atlas that all its layers share."""

    contents: Mapping[str, bytes]
    domain: Domain
    own: tuple[OwnLayer, ...]  # the curator's public layers
    signature: Signature | None


def _layer(common: _Common, statement: Mapping[str, Any], number: int, sums: StoredSums) -> Bundle:
    """One layer as a bundle of its column."""
    contents, domain, own_layers, signature = common
    stored = _paths(contents, statement, number)
    if stored.cells != tuple(domain.cells) or stored.values.paths.shape[0] != statement["paths"]["count"]:
        raise BundleError(f"The layers of this atlas disagree about cells or paths: layer {number} differs.")
    domain_facts = statement["subject"]["domain"]
    if (domain_facts.get("cells"), domain_facts.get("resolution")) != (domain.size, domain.resolution):
        raise BundleError(f"The layers of this atlas disagree about the hexagons: layer {number} differs.")
    if "relative" in statement["subject"]:
        raise BundleError("A layer of an atlas is relative to no public field.")
    picture = contents[of_layer(layout.MAP, number)]
    check_picture(picture)
    return Bundle(statement, domain, stored.values, picture, own_layers, signature, sums, None, True)


def _check_layers(contents: Mapping[str, bytes], atlas: AtlasBundle) -> None:
    """Raise BundleError, naming the first file that does not follow from the paths of its layer."""
    tables = read_tables(contents[layout.GEOPACKAGE], layer_tables(atlas.names))
    for number, (bundle, table) in enumerate(zip(atlas.layers, tables, strict=True), 1):
        cells, regions = (of_layer(name, number) for name in (layout.CELLS, layout.REGIONS))
        check_cells(strict_json(contents[cells], cells), bundle)
        check_regions(strict_json(contents[regions], regions), bundle)
        columns = cell_columns(bundle.domain, bundle.published, bundle.field, bundle.response)
        check_columns(table, columns, layout.GEOPACKAGE)
    boundary = strict_json(contents[layout.BOUNDARY], layout.BOUNDARY)
    features_of(boundary, layout.BOUNDARY)
    if boundary.get("release") != atlas_facts(atlas.statement):
        raise BundleError(f"{layout.BOUNDARY} and the privacy statement disagree about the release.")


def atlas_facts(statement: Mapping[str, Any]) -> dict[str, Any]:
    """The key facts of an atlas, the properties of its boundary."""
    guarantee = statement["guarantee"]
    return {
        "release_id": statement["release"]["id"],
        "columns": len(statement["layers"]),
        "epsilon": guarantee["epsilon"],
        "delta": guarantee["delta"],
        "mechanism": statement["design"]["mechanism"],
    }


def atlas_doubts(atlas: AtlasBundle, shared: PublicFacts | None = None) -> tuple[str, ...]:
    """What makes a reader doubt an atlas whose files fit together: a sentence for each layer whose
    map does not follow from the released sums. Raise `BundleError` where it costs more than it
    states."""
    check_price(atlas.layers[0])
    design = design_from(atlas.statement["design"])
    assert isinstance(design, AtlasDesign)
    facts = sums_facts(atlas.layers[0], shared)
    try:
        fields_again = read_atlas_again(design, facts, [stored_sums(layer).kept for layer in atlas.layers])
    except (CoreError, ArithmeticError) as error:
        return (f"{layout.RELEASED_SUMS} cannot be read again: {str(error).rstrip('.')}.",)
    doubts = []
    for name, layer, again in zip(atlas.names, atlas.layers, fields_again, strict=True):
        try:
            check_follows(layer, again.shifted(stored_sums(layer).public_mean))
        except BundleError as error:
            doubts.append(f"{name}: {error}")
    return tuple(doubts)
