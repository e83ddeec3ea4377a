"""What a reader can take along from a checked bundle: every file is made anew from what was checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

from geo.context.surroundings import around
from hexcursion import words
from hexcursion.bundle.exports.base import Exported
from hexcursion.bundle.exports.registry import EXPORTS
from hexcursion.bundle.files import layout
from hexcursion.bundle.files.maps import cell_columns, cells_geojson, regions_geojson
from hexcursion.bundle.page.drawn import Released
from hexcursion.bundle.page.html import map_html
from hexcursion.bundle.page.print_map import map_pdf, map_png
from hexcursion.bundle.products.regions import drawn_regions
from hexcursion.bundle.reading.read import Bundle
from hexcursion.bundle.statement.build import facts

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
LONGEST = 60  # letters of the words in a file's name
TITLES = {
    "cells.csv": "Table (CSV)",
    "release.gpkg": "GeoPackage, for QGIS",
    "cells.parquet": "GeoParquet",
}


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


def page_of(bundle: Bundle, address: str = "", *, named: bool = True, signed: str = "") -> bytes:
    """`map.html` of a checked bundle; `address` is where it will stand, for cards of links. `signed`: who
    signed it, as a list of signers says; never in the page of a bundle itself. `named`: with the coast and
    the places around it, where this installation has them."""
    near = around(bundle.domain, bundle.layers, world=named)
    drawn, voted = bundle.draws, bundle.draws is not None
    released = Released(bundle.statement, bundle.domain, bundle.paths, bundle.field, voted, near, drawn)
    return map_html(released, bundle.published, address=address, signed=signed)


def offers(bundle: Bundle) -> tuple[Offer, ...]:
    """Picture, page, web page, layers and tables: those that most readers ask for first."""
    statement, domain = dict(bundle.statement), bundle.domain
    stated, layers = facts(statement), bundle.layers

    def exported(name: str) -> bytes:
        columns = cell_columns(domain, bundle.published, bundle.field, bundle.response)
        return EXPORTS[name].write(Exported(statement, stated, domain, bundle.published, columns, layers))

    def regions() -> bytes:
        return regions_geojson(domain, drawn_regions(domain.cells, bundle.published), stated)

    return (
        Offer("Picture (PNG)", layout.MAP, lambda: map_png(statement, domain, bundle.published, layers)),
        Offer("Page to print (PDF)", "map.pdf", lambda: map_pdf(statement, domain, bundle.published, layers)),
        Offer("Interactive page (HTML)", layout.PAGE, lambda: page_of(bundle)),
        Offer("Hexagons (GeoJSON)", layout.CELLS, lambda: cells_geojson(domain, bundle.published, stated)),
        Offer("Regions (GeoJSON)", layout.REGIONS, regions),
        *(Offer(TITLES.get(name, name), name, partial(exported, name)) for name in EXPORTS),
        Offer(
            "Privacy statement (JSON)",
            layout.STATEMENT,
            lambda: json.dumps(statement, indent=2, ensure_ascii=False).encode(),
        ),
    )


def slug(bundle: Bundle) -> str:
    """What was measured, of what and when, and the release's id, as part of a file's name."""
    said = (words.named(bundle.statement["subject"]), str(bundle.statement["release"]["id"]))
    parts = [re.sub(r"[^A-Za-z0-9]+", "-", text.replace(",", "")).strip("-").lower() for text in said]
    return "-".join(filter(None, (parts[0][:LONGEST].strip("-"), parts[1][:40]))) or "release"
