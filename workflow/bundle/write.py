"""Writing a bundle: built and checked in memory, then put in place whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from geo import GeoError, domain_from_cells, geometry_dict
from workflow.bundle import layout
from workflow.bundle.archive import zip_bytes_to
from workflow.bundle.errors import BundleError
from workflow.bundle.label import label_html
from workflow.bundle.maps import boundary_geojson, cells_geojson, regions_geojson
from workflow.bundle.papers import attribution_text, readme_text
from workflow.bundle.paths import MAX_VALUES, paths_bytes, rounded
from workflow.bundle.print_map import map_png
from workflow.bundle.read import bundle_from_contents, published_products
from workflow.bundle.registry import registry_yaml
from workflow.bundle.schema_check import check_statement, schema_bytes
from workflow.bundle.statement import build_statement, facts
from workflow.released import Release

REDRAW_PATH = Path(__file__).parent / "resources" / "redraw.py"


@dataclass(frozen=True)
class BundlePaths:
    """Where a bundle was written: the folder, and the same files as one zip beside it."""

    directory: Path
    zip: Path


def write_bundle(release: Release, directory: str | Path) -> BundlePaths:
    """Write the bundle to a new folder and to `<folder>.zip`; BundleError if either exists or cannot be made.

    Everything is written beside its place first and renamed, so that nobody ever meets half a bundle.
    """
    folder, archive = _targets(directory)
    contents = bundle_contents(release)
    workplace = _workplace(folder)
    try:
        made = workplace / folder.name
        _write_folder(made, contents)
        made_zip = workplace / archive.name
        with made_zip.open("xb") as stream:
            zip_bytes_to(stream, folder.name, contents)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(made_zip, archive)  # fails, unlike a rename, where someone else was faster
        try:
            os.rename(made, folder)
        except BaseException:
            archive.unlink()
            raise
    except FileExistsError as error:
        raise BundleError(f"{folder} was made by somebody else meanwhile: name a new folder.") from error
    except OSError as error:
        raise BundleError(f"The bundle could not be written to {folder}: {error.strerror}.") from error
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
    return BundlePaths(folder, archive)


def rehearse_bundle(release: Release, directory: str | Path) -> None:
    """Raise what `write_bundle` would raise, with paths of zeros in place of the real ones.

    For before the draw: what stops a bundle only afterwards costs its whole epsilon.
    """
    bundle_contents(replace(release, paths=np.zeros_like(release.paths)))
    _targets(directory)


def bundle_contents(release: Release) -> dict[str, bytes]:
    """All files of a release's bundle, already read back once with the reader's own eyes."""
    if release.paths.size > MAX_VALUES:
        raise BundleError(
            f"{release.paths.size:,} path values are too many for a bundle: release fewer paths or a coarser "
            "resolution."
        )
    if release.paths.shape[0] != release.design.paths:
        raise BundleError("The release does not hold as many paths as its design says.")
    statement = check_statement(build_statement(release))
    shared = facts(statement)
    paths = rounded(release.paths)
    try:
        domain = domain_from_cells(release.cells, release.region)
        products = published_products(statement, domain, paths)
        contents = {
            layout.CELLS: cells_geojson(domain, products, shared),
            layout.REGIONS: regions_geojson(domain, products, shared),
            layout.BOUNDARY: boundary_geojson(domain, shared),
        }
    except GeoError as error:
        raise BundleError(f"The released cells or region cannot be written as GeoJSON: {error}") from error
    region = geometry_dict(domain.region)
    contents |= {
        layout.PATHS: paths_bytes(domain.cells, paths),
        layout.STATEMENT: (
            json.dumps(statement, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        ).encode(),
        layout.SCHEMA: schema_bytes(),
        layout.REGISTRY: registry_yaml(statement).encode(),
        layout.LABEL: label_html(statement, domain.cells, region, products).encode(),
        layout.MAP: map_png(statement, domain, products),
        layout.REDRAW: REDRAW_PATH.read_bytes(),
        layout.README: readme_text(statement).encode(),
        layout.ATTRIBUTION: attribution_text(statement).encode(),
    }
    contents[layout.SUMS] = layout.sums_text(contents).encode()
    for name, content in contents.items():
        if len(content) > layout.MAX_BYTES[name]:
            raise BundleError(f"{name} would be too large to be read again: use a coarser resolution.")
    bundle_from_contents(contents)
    return contents


def _targets(directory: str | Path) -> tuple[Path, Path]:
    """The folder and the zip, neither of which may exist, in a place where one can write."""
    folder = Path(directory)
    if folder.name in ("", ".."):
        raise BundleError("Name a new folder for the bundle.")
    archive = folder.with_name(f"{folder.name}.zip")
    for target in (folder, archive):
        if os.path.lexists(target):
            raise BundleError(f"{target} exists already: name a new folder, bundles are never overwritten.")
    shutil.rmtree(_workplace(folder))
    return folder, archive


def _workplace(folder: Path) -> Path:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise BundleError(f"No bundle can be written in {folder.parent}: {error.strerror}.") from error


def _write_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    folder.mkdir()  # with the usual permissions: the private 0700 of the workplace is not for a publication
    for name, content in contents.items():
        with (folder / name).open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
