"""Reading a bundle that anyone may have made: nothing executed, nothing unpickled, everything checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion import smooth
from geo import Domain, GeoError, domain_from_cells, geometry_dict
from geo.context.own_layers import OwnLayer
from hexcursion.bundle.documents.label import label_html
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.files import layout
from hexcursion.bundle.files.archive import contents_of
from hexcursion.bundle.files.attached import check_picture, check_script
from hexcursion.bundle.files.own_layers import read_layers
from hexcursion.bundle.files.paths import read_paths
from hexcursion.bundle.files.public_field import covariates_of, field_of
from hexcursion.bundle.files.released_sums import StoredSums, sums_of
from hexcursion.bundle.products.at_threshold import CONFIDENCE, Products, products_at
from hexcursion.bundle.reading.layers import check_layers, features_of
from hexcursion.bundle.signing.signature import Signature, signature_of
from hexcursion.bundle.statement.expected import check_told
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.statement.schemas import SCHEMA_NAME, earlier_schema, schema_bytes, without_designs
from hexcursion.bundle.untrusted import strict_json
from hexcursion.project.response import ResponseScale


@dataclass(frozen=True, eq=False)
class Bundle:
    """A checked bundle: its statement, its domain and its released paths. Nothing else is believed."""

    statement: Mapping[str, Any]  # the privacy statement, valid by schema and in itself
    domain: Domain  # the cells and the public region
    paths: NDArray[np.float64]  # (L, N) released paths in response units, before smoothing
    map_png: bytes  # the shipped picture, bytes of a PNG
    # (N,) mean and standard deviation of the field given the release, where its mechanism has them
    field: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    # (J, N) joint draws of the field given the release, where the paths are none themselves
    draws: NDArray[np.float64] | None = None
    layers: tuple[OwnLayer, ...] = ()  # public layers that the curator added: not computed from the paths
    # of its checksums, checked; None where nobody signed it. Whose it is, `Signers` say
    signature: Signature | None = None
    # (N,) expected number of records given the release, where its mechanism knows it
    records: NDArray[np.float64] | None = None
    shown: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    # the released sums and what is public in their reading, where its mechanism has them
    sums: StoredSums | None = None
    # (N, k) public numbers that the design reads beside the records, where it reads any
    covariates: NDArray[np.float64] | None = None

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
        return published_products(
            self.statement, self.domain, self.paths, self.field, self.draws, self.records, self.shown
        )

    @property
    def label_html(self) -> str:
        """The label, made anew: a shipped page could hold anything, this one holds only checked text."""
        region = geometry_dict(self.domain.region)
        return label_html(self.statement, self.domain.cells, region, self.published, layers=self.layers)


def read_bundle(source: str | Path | bytes | BinaryIO) -> Bundle:
    """Open a bundle's folder or zip: a path, bytes or a binary stream. Checked: names, sizes, checksums, a
    signature where there is one, JSON and statement against the schema and against itself, the paths' columns
    and values, the cells, and that both GeoJSON files say what follows from the paths. A file of a format
    that is not known here is passed over, where the statement lists it. Raise `BundleError`, one sentence,
    for the first check that fails."""
    return bundle_from_contents(contents_of(source))


def bundle_from_contents(contents: Mapping[str, bytes]) -> Bundle:
    """The checks of `read_bundle` on files already in memory. Raise `BundleError` as `read_bundle`."""
    layout.check_names(contents)
    layout.check_sums(contents)
    signature = signature_of(contents)
    statement = check_statement(strict_json(contents[layout.STATEMENT], layout.STATEMENT))
    layout.check_added(contents, statement.get("exports", ()))
    _check_schema_file(contents[layout.SCHEMA], statement["design"]["mechanism"])
    about = statement["paths"]
    stored = read_paths(
        contents[layout.PATHS], field=about["field"], records=about["field"] and about.get("records", False),
        shown=statement["products"].get("cut_by_map", False),
    )  # fmt: skip
    cells, paths = stored.cells, stored.paths
    subject = statement["subject"]["domain"]
    if len(cells) != subject["cells"] or paths.shape[0] != statement["paths"]["count"]:
        raise BundleError("The privacy statement and paths.parquet disagree about cells or paths.")
    if any(a >= b for a, b in pairwise(cells)):
        raise BundleError("The cells in paths.parquet are not sorted, or some stand there twice.")
    try:
        domain = domain_from_cells(cells, region_of(contents[layout.BOUNDARY]))
    except GeoError as error:
        raise BundleError(f"The bundle's cells or boundary are not valid: {error}") from error
    if domain.resolution != subject["resolution"]:
        raise BundleError("The privacy statement and paths.parquet disagree about the resolution.")
    check_picture(contents[layout.MAP])
    check_script(contents[layout.REDRAW])
    draws = _draws(contents, statement, cells)
    field_of(contents, statement, cells)
    covariates = covariates_of(contents, statement, cells)
    layers = read_layers(contents[layout.LAYERS]) if layout.LAYERS in contents else ()
    picture = contents[layout.MAP]
    bundle = Bundle(
        statement, domain, paths, picture, stored.field, draws, layers, signature, stored.records,
        stored.shown, sums_of(contents, statement, len(cells)), covariates,
    )  # fmt: skip
    check_layers(contents, bundle)
    check_told(statement.get("told"), bundle.published)
    return bundle


def published_products(
    statement: Mapping[str, Any],
    domain: Domain,
    paths: NDArray[np.float64],
    field: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    draws: NDArray[np.float64] | None = None,
    records: NDArray[np.float64] | None = None,
    shown: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> Products:
    """Products at the statement's own threshold, smoothing, cutoff and confidence. `paths`: (L, N), before
    smoothing; `field`: (N,) mean and standard deviation; `draws`: (J, N) joint draws where the paths are
    none; `records`: (N,) expected numbers; `shown`: (N,) mean and deviation of the map without privacy;
    response units."""
    published = statement["products"]
    return products_at(
        smooth(domain.adjacency, paths, published["smoothing"]),
        statement["subject"]["threshold_response"],
        statement["subject"]["direction"],
        cutoff=published["cutoff"],
        confidence=published["confidence"] or CONFIDENCE,
        field=field,
        draws=draws,
        by_probability=published.get("excursion_function", False),
        records=records,
        shown=shown,
    )


def _draws(
    contents: Mapping[str, bytes], statement: Mapping[str, Any], cells: tuple[str, ...]
) -> NDArray[np.float64] | None:
    """The joint draws that the statement names; BundleError unless they are there exactly then."""
    stated = statement["paths"].get("draws")
    if (stated is None) != (layout.DRAWS not in contents):
        raise BundleError(f"The privacy statement and the bundle disagree about {layout.DRAWS}.")
    if stated is None:
        return None
    found = read_paths(contents[layout.DRAWS], kind="draw")
    if found.cells != cells or found.paths.shape[0] != stated["count"]:
        raise BundleError(f"The privacy statement and {layout.DRAWS} disagree about cells or draws.")
    return found.paths


def _check_schema_file(shipped: bytes, mechanism: str) -> None:
    rest = without_designs(strict_json(shipped, layout.SCHEMA))
    if rest != without_designs(json.loads(schema_bytes(mechanism))) and not earlier_schema(rest):
        raise BundleError(f"{layout.SCHEMA} is not the schema of {SCHEMA_NAME}.")


def region_of(content: bytes) -> Any:
    """The one geometry of a bundle's boundary file, WGS 84, as GeoJSON; raise `BundleError` unless it has
    just one."""
    features = features_of(strict_json(content, layout.BOUNDARY), layout.BOUNDARY)
    if len(features) != 1 or not isinstance(features[0].get("geometry"), dict):
        raise BundleError(f"{layout.BOUNDARY} must hold one region.")
    return features[0]["geometry"]
