"""The bundles on this machine, and the files of one that a reader can download."""

from __future__ import annotations

import io
import json
import os
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile

import numpy as np

from geo.context.surroundings import Surroundings, around
from hexcursion import words
from hexcursion.bundle import layout
from hexcursion.bundle.again import released_of
from hexcursion.bundle.atlas.page import atlas_label_html, atlas_map_html
from hexcursion.bundle.atlas.read import AtlasBundle, open_any
from hexcursion.bundle.exports import EXPORTS
from hexcursion.bundle.layers import Exported, cell_columns, cells_geojson, drawn_regions, regions_geojson
from hexcursion.bundle.layout import STATEMENT, contents_of, zip_bytes_to
from hexcursion.bundle.page.html import map_html
from hexcursion.bundle.page.papers import map_pdf, map_png, picture_frame, picture_html, without_picture
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.read import Bundle
from hexcursion.bundle.statement.build import facts, statement_text
from hexcursion.bundle.write import recover
from hexcursion.errors import WorkflowError
from hexcursion.ledger import LedgerError, open_ledger
from hexcursion.ledger.places import bundles_folder

MEDIA = {
    ".png": "image/png",
    ".pdf": "application/pdf",
    ".html": "text/html",
    ".geojson": "application/geo+json",
    ".json": "application/json",
    ".csv": "text/csv",
    ".gpkg": "application/geopackage+sqlite3",
    ".parquet": "application/vnd.apache.parquet",
    ".zip": "application/zip",
}
_DENSE = re.compile(r'(?<="dense":")([A-Za-z0-9+/]*={0,2})(?=")')  # chances of densities in a page
LONGEST = 60  # letters of the words in a file's name
TITLES = {"cells.csv": "Table (CSV)", "release.gpkg": "GeoPackage, for QGIS", "cells.parquet": "GeoParquet"}


@dataclass(frozen=True)
class Offer:
    """One file to take along."""

    title: str  # what it is, for a button
    file: str  # its name
    make: Callable[[], bytes]  # its bytes, made when they are asked for

    @property
    def media(self) -> str:
        """Its media type."""
        return media_of(self.file)


def media_of(file: str) -> str:
    """The media type of a file by its name."""
    return MEDIA.get(PurePath(file).suffix, "application/octet-stream")


def file_size(size: int) -> str:
    """The size of a file in kB or MB of 1,000 bytes, at least 1 kB."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{max(1, round(size / 1e3))} kB"


def page_of(bundle: Bundle, address: str = "", *, signed: str = "") -> bytes:
    """`map.html` of a checked bundle, with the coast and the places around it, where this
    installation has them. `address` is that of the site, for cards of links; `signed`: who
    signed it, as a list of signers says; never in the page of a bundle itself."""
    near = around(bundle.domain, bundle.layers)
    return map_html(released_of(bundle, near), bundle.published, address=address, signed=signed)


def offers(bundle: Bundle, atlas: AtlasBundle | None = None) -> tuple[Offer, ...]:
    """Picture, page, web page, layers and tables: those that most readers ask for first. Of a layer
    of an `atlas`, web page and statement are those of all layers, and so is one more label."""
    statement, domain = dict(bundle.statement), bundle.domain
    statement_of_all = statement if atlas is None else dict(atlas.statement)
    key_facts, layers = facts(statement), bundle.layers

    def exported(name: str) -> bytes:
        columns = cell_columns(domain, bundle.published, bundle.field, bundle.response)
        return EXPORTS[name].write(Exported(statement, key_facts, domain, bundle.published, columns, layers))

    def regions() -> bytes:
        return regions_geojson(domain, drawn_regions(domain.cells, bundle.published), key_facts)

    return (
        Offer("Picture (PNG)", layout.MAP, lambda: map_png(statement, domain, bundle.published, layers)),
        Offer("Page to print (PDF)", "map.pdf", lambda: map_pdf(statement, domain, bundle.published, layers)),
        Offer(
            "Interactive page (HTML)",
            layout.PAGE,
            lambda: page_of(bundle) if atlas is None else atlas_page(atlas),
        ),
        Offer("Hexagons (GeoJSON)", layout.CELLS, lambda: cells_geojson(domain, bundle.published, key_facts)),
        Offer("Regions (GeoJSON)", layout.REGIONS, regions),
        *(Offer(TITLES.get(name, name), name, partial(exported, name)) for name in EXPORTS),
        Offer(
            "Privacy statement (JSON)", layout.STATEMENT, lambda: statement_text(statement_of_all).encode()
        ),
        *(
            ()
            if atlas is None
            else (
                Offer(
                    "Label of all maps (HTML)",
                    layout.LABEL,
                    lambda: atlas_label_html(atlas.statement, atlas.layers).encode(),
                ),
            )
        ),
    )


def atlas_page(atlas: AtlasBundle) -> bytes:
    """`map.html` of a checked atlas, made anew."""
    first = atlas.layers[0]
    picture = picture_html(first.statement, first.domain, first.published, first.layers)
    return atlas_map_html(atlas, around(atlas.domain, first.layers), picture)


def slug(bundle: Bundle) -> str:
    """Value, population, period and release id, as part of a file's name."""
    question_and_id = (words.named(bundle.statement["subject"]), str(bundle.statement["release"]["id"]))
    parts = [
        re.sub(r"[^A-Za-z0-9]+", "-", text.replace(",", "")).strip("-").lower() for text in question_and_id
    ]
    return "-".join(filter(None, (parts[0][:LONGEST].strip("-"), parts[1][:40]))) or "release"


LONGEST_STATEMENT = 4_000_000  # bytes of a statement that are read for its title
_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class StoredBundle:
    """A published bundle on disk: the release id, its title with its date, and its zip or its
    folder."""

    name: str
    title: str
    path: Path

    @property
    def made_here(self) -> bool:
        """Whether it has the name and the zip that a release of this installation has."""
        return _ID.fullmatch(self.name) is not None and self.path.is_file()

    def states(self, statement: Mapping[str, Any]) -> bool:
        """Whether its statement is this one: another release may state the same id, or bear it as the
        name of its file."""
        source = self.path if self.path.is_file() else self.path / STATEMENT
        try:
            return bool(json.loads(_statement(source)) == statement)
        except (OSError, ValueError, KeyError, TypeError, BadZipFile):
            return False

    def zipped(self) -> bytes:
        """The whole bundle as one zip."""
        if self.path.is_file():
            return self.path.read_bytes()
        stream = io.BytesIO()
        zip_bytes_to(stream, self.name, contents_of(self.path))
        return stream.getvalue()


def settle() -> frozenset[Path]:
    """Finish or delete what dead processes left among the bundles. Return those that quote a charge
    which was never committed, as far as a ledger on this machine tells: they are no releases, and
    are not shown."""
    with suppress(LedgerError):
        ledger = open_ledger(create=False)
        recover(bundles_folder(), ledger.identity, ledger.committed)
        return frozenset(path.with_suffix("") for path in ledger.uncommitted())
    return frozenset()


def stored_bundles() -> tuple[StoredBundle, ...]:
    """Every committed bundle in their folder, newest first; only titles are read, and no two are
    alike. An unpacked folder without its zip counts as well; so does a zip without
    its folder."""
    folder = bundles_folder()
    if not folder.is_dir():
        return ()
    hidden = settle()
    archives = [path for path in folder.glob("*.zip") if path.with_suffix("").absolute() not in hidden]
    unpacked = [
        path
        for path in folder.iterdir()
        if not path.name.startswith(".")
        and (path / STATEMENT).is_file()
        and not os.path.lexists(path.with_name(f"{path.name}.zip"))
        and path.absolute() not in hidden
    ]
    paths = [*archives, *unpacked]
    paths.sort(key=lambda path: (-path.stat().st_mtime_ns, path.name))
    bundles = [_stored(path) for path in paths]
    titles = Counter(bundle.title for bundle in bundles)
    return tuple(
        replace(bundle, title=f"{bundle.title}, {bundle.name}") if titles[bundle.title] > 1 else bundle
        for bundle in bundles
    )


def _stored(path: Path) -> StoredBundle:
    name = path.name.removesuffix(".zip")
    folder = path.with_name(name)
    return StoredBundle(name, _title(name, folder / STATEMENT if folder.is_dir() else path), path)


def find_bundle(name: str) -> Viewer:
    """The bundle of a release id on this machine. Raise `WorkflowError` if it is absent, or was
    not committed; `BundleError` if it is not to be trusted."""
    archive = bundles_folder() / f"{name}.zip"
    hidden = settle()
    if not _ID.fullmatch(name) or not archive.is_file() or archive.with_suffix("").absolute() in hidden:
        raise WorkflowError(
            "There is no release of this address on this machine: open its bundle file instead."
        )
    return open_bundle(archive)


def open_bundle(source: str | Path | bytes | BinaryIO) -> Viewer:
    """A checked bundle, ready to be looked at; of an atlas its first layer, which knows the others.
    Raise `WorkflowError`, one sentence, for an unreadable bundle; `BundleError` for one that must
    not be trusted."""
    try:
        bundle = open_any(source)
    except OSError as error:
        raise WorkflowError(f"The bundle cannot be read: {error.strerror}.") from error
    return Viewer(bundle.layers[0], bundle) if isinstance(bundle, AtlasBundle) else Viewer(bundle)


def is_page_of(page: bytes, bundle: Bundle) -> bool:
    """Whether a page that a browser would run follows from the checked bundle, with or without the
    places around the region, which an installation may lack. Chances of densities are computed from
    the sums again: they may differ by the last per cent, which another machine may have rounded
    otherwise."""
    page_parts = _DENSE.split(without_picture(page))
    released, frame = released_of(bundle, Surroundings()), picture_frame(bundle.published)
    for world in (True, False):
        near = around(bundle.domain, bundle.layers, world=world)
        page = map_html(replace(released, around=near), bundle.published, picture=frame)
        parts_again = _DENSE.split(without_picture(page))
        if page_parts[::2] == parts_again[::2] and all(map(_as_dense, page_parts[1::2], parts_again[1::2])):
            return True
    return False


def _as_dense(row: str, row_again: str) -> bool:
    """Whether two rows of bytes in base64 are as long and differ by 1 at most, each."""
    if len(row) != len(row_again) or row.count("=") != row_again.count("="):
        return False
    first, second = (np.frombuffer(b64decode(text), np.uint8).astype(int) for text in (row, row_again))
    return bool(np.all(np.abs(first - second) <= 1))


def _title(name: str, source: Path) -> str:
    """Title and date from a bundle's statement, in a file or a zip; its name where that cannot be
    read."""
    try:
        release = json.loads(_statement(source))["release"]
        return f"{release['title'] or name} ({str(release['created'])[:16].replace('T', ' ')} UTC)"
    except (OSError, ValueError, KeyError, TypeError, BadZipFile):
        return name


def _statement(source: Path) -> bytes:
    """The text of a statement, no longer than a statement may be; `KeyError` where a zip has
    none."""
    if source.name == STATEMENT:
        return source.read_bytes()
    with ZipFile(source) as archive:
        inside = (entry for entry in archive.namelist() if entry.rpartition("/")[2] == STATEMENT)
        with archive.open(next(inside, "")) as stream:
            return stream.read(LONGEST_STATEMENT)
