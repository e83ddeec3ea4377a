"""Writing a bundle: checked in memory, staged next to its place, put there whole, even after a
crash."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpgp_core.releasing import PublicFacts
from geo import GeoError, domain_from_cells
from geo.context.surroundings import around
from hexcursion.bundle import layout
from hexcursion.bundle.again import released_of
from hexcursion.bundle.areas import layers_bytes, read_layers
from hexcursion.bundle.atlas.write import atlas_contents
from hexcursion.bundle.exports import EXPORTS
from hexcursion.bundle.layers import Exported, boundary_geojson, cell_columns, cells_geojson, regions_geojson
from hexcursion.bundle.layout import script_bytes, zip_bytes_to
from hexcursion.bundle.page.html import map_html
from hexcursion.bundle.page.label import label_html
from hexcursion.bundle.page.papers import attribution_text, map_png, picture_html, readme_text
from hexcursion.bundle.products import MapValues
from hexcursion.bundle.read import Bundle, bundle_from_contents, published_products, region_of
from hexcursion.bundle.statement.build import build_statement, facts, statement_text
from hexcursion.bundle.statement.change import change_of
from hexcursion.bundle.statement.designs import schema_bytes
from hexcursion.bundle.statement.expected import map_block, verdict_block
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.sums import sums_bytes, sums_of
from hexcursion.bundle.tables import (
    MAX_VALUES,
    covariates_bytes,
    covariates_of,
    field_bytes,
    paths_bytes,
    rounded_field,
    rounded_values,
)
from hexcursion.bundle.untrusted import BundleError
from hexcursion.bundle.workplace import Workplace
from hexcursion.new_place import sync_folder
from hexcursion.record import AnyRelease, AtlasRelease, Release


@dataclass(frozen=True)
class BundlePaths:
    """The place of a bundle: the folder, and the same files as one zip next to it."""

    directory: Path
    zip: Path


@dataclass(frozen=True)
class Staged:
    """A whole bundle in a work folder, flushed to disk, one rename away from its place."""

    target: Path  # where its folder will be; the zip goes next to it
    work: Path  # the work folder that holds both under their final names
    digest: str  # SHA-256 of its SHA256SUMS, hex

    def place(self) -> BundlePaths:
        """Put folder and zip in their place. May be repeated after a crash: files in place stay.
        Raise `BundleError` if another bundle is there by now, or the disk refuses."""
        made_folder, made_zip = self.work / self.target.name, self.work / f"{self.target.name}.zip"
        archive = self.target.with_name(made_zip.name)
        try:
            if not (archive.exists() and made_zip.exists() and os.path.samefile(archive, made_zip)):
                os.link(made_zip, archive)  # fails, unlike a rename, where someone else was faster
            if made_folder.exists():
                os.rename(made_folder, self.target)
            sync_folder(self.target.parent)
        except OSError as error:
            reason = "is taken by another one" if os.path.lexists(self.target) else f"({error.strerror})"
            raise BundleError(
                f"The bundle could not be put in its place: {self.target} {reason}. It waits in {self.work}."
            ) from error
        return BundlePaths(self.target, archive)


def write_bundle(release: Release, directory: str | Path) -> BundlePaths:
    """Write the bundle to a new folder and to `<folder>.zip`. Everything is written beside its
    place first and renamed, so that no reader ever meets half a bundle. Raise `BundleError` if either
    exists or cannot be made, or the release cannot be written as a bundle."""
    folder, archive = targets(directory)
    with Workplace.make(folder) as work:
        try:
            staged = stage_bundle(release, folder, work.folder)
            try:
                return staged.place()
            except BaseException:  # nothing waits for this bundle: half of it must not stay
                if archive.exists() and os.path.samefile(archive, work.folder / archive.name):
                    archive.unlink()
                raise
        finally:
            work.remove()


def stage_bundle(
    release: AnyRelease,
    folder: Path,
    work: Path,
    public: PublicFacts | None = None,
    *,
    rehearsed: bool = False,
) -> Staged:
    """Write the whole bundle into a work folder and flush it to disk; its place stays empty. Raise
    `BundleError` if it cannot be written. `public` and `rehearsed` as for `bundle_contents`."""
    contents = bundle_contents(release, public, rehearsed=rehearsed)
    try:
        _write_folder(work / folder.name, contents)
        with (work / f"{folder.name}.zip").open("xb") as stream:
            zip_bytes_to(stream, folder.name, contents)
            stream.flush()
            os.fsync(stream.fileno())
        sync_folder(work)
    except OSError as error:
        raise BundleError(f"The bundle could not be written to {folder}: {error.strerror}.") from error
    return Staged(folder, work, hashlib.sha256(contents[layout.SUMS]).hexdigest())


def bundle_contents(
    release: AnyRelease, public: PublicFacts | None = None, *, rehearsed: bool = False
) -> dict[str, bytes]:
    """All files of a release's bundle, already read back once with the reader's own eyes.

    `public`: the facts of the plan, whose work on the domain is used again; `rehearsed`: whether a
    bundle of the same domain was made before, when the public part of its layers was checked. Raise
    `BundleError` for too many values, and for whatever a reader would refuse.
    """
    if isinstance(release, AtlasRelease):
        return atlas_contents(release, public, rehearsed=rehearsed)
    _check_number_of_paths(release)
    statement = check_statement(build_statement(release))
    shared = facts(statement)
    values = rounded_values(release)
    own_layers = layers_bytes(release.layers) if release.layers else b""
    layers = read_layers(own_layers) if own_layers else ()
    try:
        exact_domain = domain_from_cells(release.cells, release.region)
        boundary = boundary_geojson(exact_domain, shared, rehearsed=rehearsed)
        # Rounded, as every reader has it
        domain = domain_from_cells(release.cells, region_of(boundary))
        shown_map = None if release.shown_map is None else rounded_field(*release.shown_map)
        products = published_products(statement, domain, values)
        change = change_of(release, statement["subject"])
        of_map = map_block(products, shown_map, release.map_draws)
        verdict = verdict_block(products, statement, of_map, release.model_check, change)
        statement = {**statement, "told": verdict}
        if added_names := layout.added_files(EXPORTS):
            statement["exports"] = added_names
        columns = cell_columns(domain, products, values.field, release.response)
        exported = Exported(statement, shared, domain, products, columns, layers)
        contents = {
            layout.CELLS: cells_geojson(domain, products, shared, rehearsed=rehearsed),
            layout.REGIONS: regions_geojson(domain, exported.regions, shared),
            layout.BOUNDARY: boundary,
        }
    except GeoError as error:
        raise BundleError(f"The released cells or region cannot be written as GeoJSON: {error}") from error
    if own_layers:
        contents[layout.LAYERS] = own_layers
    contents |= {name: _exported(name, exported) for name in EXPORTS}
    picture = picture_html(statement, domain, products, layers)
    contents |= {
        layout.PATHS: paths_bytes(domain.cells, values),
        layout.STATEMENT: statement_text(statement).encode(),
        layout.SCHEMA: schema_bytes(release.design.mechanism),
        layout.LABEL: label_html(statement, products, picture).encode(),
        layout.MAP: map_png(statement, domain, products, layers),
        layout.REDRAW: script_bytes(),
        layout.README: readme_text(statement, products).encode(),
        layout.ATTRIBUTION: attribution_text(statement).encode(),
    }
    contents |= _optional_tables(release, domain.cells, values.draws)
    read = Bundle(
        statement,
        domain,
        values,
        contents[layout.MAP],
        sums=sums_of(contents, statement, domain.size),
        covariates=covariates_of(contents, statement, domain.cells),
    )
    released = released_of(read, around(domain, layers), public)
    contents[layout.PAGE] = map_html(released, products, picture=picture)
    layout.seal(contents)
    bundle_from_contents(contents)
    return contents


def _check_number_of_paths(release: Release) -> None:
    """Raise `BundleError` for too many values, or other paths than the design states."""
    size = max(release.paths.size, 0 if release.draws is None else release.draws.size)
    if size > MAX_VALUES:
        raise BundleError(
            f"{size:,} path values are too many for a bundle: release fewer paths or a coarser resolution."
        )
    if release.paths.shape[0] != release.design.paths:
        raise BundleError("The release does not hold as many paths as its design says.")


def _optional_tables(
    release: Release, cells: Sequence[str], draws: NDArray[np.float64] | None
) -> dict[str, bytes]:
    """Return the tables that only some releases have: public inputs, released sums, rounded draws."""
    tables = {}
    if release.relative is not None:
        tables[layout.PUBLIC_FIELD] = field_bytes(cells, release.relative.field)
    if release.sums is not None:
        tables[layout.RELEASED_SUMS] = sums_bytes(release.sums, release.prior_mean)
    if release.covariates is not None:
        tables[layout.COVARIATES] = covariates_bytes(cells, release.covariates)
    if draws is not None:
        tables[layout.DRAWS] = paths_bytes(cells, MapValues(draws), "draw")
    return tables


def _exported(name: str, exported: Exported) -> bytes:
    """A file of a format, of the program or of a package."""
    if name not in EXPORTS.own and not layout.may_be_added(name):
        raise EXPORTS.refusal(name, "is no name of a further file of data, such as cells.jsonl")
    content = EXPORTS.use(name, lambda export: export.write(exported))
    if not isinstance(content, bytes):
        raise EXPORTS.refusal(name, f"is written as {type(content).__name__}, not as bytes")
    return content


def targets(directory: str | Path) -> tuple[Path, Path]:
    """The folder and the zip of a new bundle, in a place where one can write. Raise `BundleError`
    if one of them exists, or nothing can be written there."""
    folder = Path(directory)
    if folder.name in ("", ".."):
        raise BundleError("Name a new folder for the bundle.")
    archive = folder.with_name(f"{folder.name}.zip")
    for target in (folder, archive):
        if os.path.lexists(target):
            raise BundleError(f"{target} exists already: name a new folder, bundles are never overwritten.")
    with Workplace.make(folder) as work:
        work.remove()
    return folder, archive


def _write_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    # With the usual permissions: the private 0700 of the workplace is not for a publication
    folder.mkdir()
    for name, content in contents.items():
        with (folder / name).open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    sync_folder(folder)


NOTE = "pending.json"


@dataclass(frozen=True)
class Pending:
    """What a staged bundle waits for: the commit of this release with this digest in this
    ledger."""

    release_id: str
    name: str  # of the bundle's folder
    digest: str  # SHA-256 of its SHA256SUMS, hex
    ledger: str  # the public identity of the ledger's key


@dataclass(frozen=True)
class Recovered:
    """The finished and the unfinished parts."""

    placed: tuple[str, ...] = ()  # release ids that were put in their place
    waiting: tuple[str, ...] = ()  # release ids that wait because their place is taken
    deleted: int = 0  # how many work folders of dead processes were deleted


def note_pending(work: Path, pending: Pending) -> None:
    """Leave word in a work folder, flushed to disk, before the commit is asked for."""
    draft = work / f".{NOTE}"
    with draft.open("w", encoding="utf-8") as stream:
        json.dump(asdict(pending), stream)
        stream.flush()
        os.fsync(stream.fileno())
    draft.rename(work / NOTE)


def recover(parent: Path, ledger: str, committed: Callable[[], Mapping[str, str]]) -> Recovered:
    """Finish or delete what dead processes left in a folder of bundles. A folder without a note was
    left before anything could be committed. With one, the ledger decides: if it committed this
    release with this digest (`committed`), the bundle is put in its place; otherwise the charge is
    open or was given back, the bundle was never in its place, and it is deleted. What waits for another
    ledger is left alone."""
    placed_ids, waiting, deleted = [], [], 0
    for work in Workplace.abandoned(parent):
        pending = read_note(work.folder)
        if pending is None:
            work.remove()
            deleted += 1
        elif pending.ledger == ledger:
            if committed().get(pending.release_id) != pending.digest:
                work.remove()
                deleted += 1
                continue
            try:
                Staged(parent / pending.name, work.folder, pending.digest).place()
            except BundleError:
                waiting.append(pending.release_id)
            else:
                placed_ids.append(pending.release_id)
                work.remove()
    return Recovered(tuple(placed_ids), tuple(waiting), deleted)


def read_note(work: Path) -> Pending | None:
    """What a work folder waits for; None where nothing was staged to its end."""
    try:
        pending = Pending(**json.loads((work / NOTE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    # The name becomes a path: it must be one plain name.
    plain = isinstance(pending.name, str) and Path(pending.name).name == pending.name not in ("", "..")
    return pending if plain else None
