"""Every reader of files that a stranger may have made, as a function of bytes, and what it may raise."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from data_loaders import DataError
from data_loaders.files.blocks import RowLayout, blocks, first_rows, sniff_delimiter
from data_loaders.files.shapes import is_geopackage, shapes_of
from data_loaders.files.sources import open_tables
from dpgp_core.errors import HexcursionError
from geo import GeoError, domain_from_bbox
from geo.basemap import read_basemap
from geo.context.covariates import public_values, table_columns, table_totals, totals
from geo.context.own_layers import label_columns, own_layer
from geo.corrections import chosen_parts, part_columns, part_names
from geo.domains.areas import named_areas
from geo.region import region_from_geojson
from hexcursion.bundle import read_bundle
from hexcursion.bundle.exports import EXPORTS
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.tables import read_paths
from hexcursion.bundle.untrusted import strict_json
from hexcursion.settings import settings_from_toml
from hexcursion.settings.model import read_toml
from tests.data_loaders.material import load_sensors
from tests.readers.hostile import at_a_path

ROOT = Path(__file__).resolve().parents[2]
OURS = (HexcursionError, DataError, GeoError)
"""What a reader may raise: one sentence for a person."""

PLUGINS = [
    import_module(f"plugins.{path.parents[1].name}.tests.readers")
    for path in sorted(ROOT.glob("plugins/*/tests/readers.py"))
]
"""Of each plugin that reads files: `READERS`, `CORPUS`, and `hostile`, which puts files as `files` does."""

DOMAIN = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 6)


def _table(content: bytes) -> None:
    """As the first look at a file does, and then every row."""
    for table in open_tables(content, ask=False):
        text = table.head.decode("utf-8", "replace")
        delimiter = "," if table.typed else sniff_delimiter(text)
        (header, *_) = first_rows(text, delimiter, 1) or [[]]
        if header:
            wanted = {f"c{at}": at for at in range(min(len(header), 5))}
            for _ in blocks(table, wanted, RowLayout(len(header), header, delimiter)):
                pass
    load_sensors(content, value="v", unit="m", x="x", y="y")


def _shapes(path: Path) -> None:
    if is_geopackage(path):
        own_layer(shapes_of(path), DOMAIN, "layer")


def _polygons(content: bytes) -> None:
    for read in (
        label_columns,
        region_from_geojson,
        part_columns,
        part_names,
        lambda source: chosen_parts(source, ["a"]),
        lambda source: own_layer(source, DOMAIN, "layer"),
        lambda source: named_areas(source, DOMAIN),
    ):
        with suppress(GeoError):
            read(content)


def _public_table(path: Path) -> None:
    """A population, and covariates, of hexagons or of places."""
    for read in (
        table_columns,
        lambda place: public_values(place, DOMAIN),
        lambda place: public_values(place, DOMAIN, summed=True),
        lambda place: table_totals(place, DOMAIN, "value"),
    ):
        with suppress(GeoError):
            read(path)


def _public_zones(path: Path) -> None:
    for read in (
        lambda place: public_values(place, DOMAIN),
        lambda place: totals(place, DOMAIN, "layer", "value"),
    ):
        with suppress(GeoError):
            read(path)


def _settings(content: bytes) -> None:
    settings_from_toml(content.decode("utf-8", "replace"))


READERS: dict[str, Callable[[bytes], Any]] = {
    "table": _table,
    "shapes": at_a_path(_shapes, ".gpkg"),
    "polygons": _polygons,
    "public-table": at_a_path(_public_table, ".csv"),
    "public-zones": at_a_path(_public_zones, ".geojson"),
    "basemap": at_a_path(read_basemap, ".pmtiles"),
    "bundle": read_bundle,
    "paths": read_paths,
    "statement": lambda content: check_statement(strict_json(content, "statement.json")),
    "settings": _settings,
    "toml": at_a_path(read_toml, ".toml"),
    **{f"export-{name}": EXPORTS[name].read for name in EXPORTS.own},
    **{name: read for plugin in PLUGINS for name, read in plugin.READERS.items()},
}


def corpus_of(reader: str) -> Path:
    """The folder of the files that a reader's fuzzing begins with."""
    folders = [Path(__file__).parent / "corpus", *(plugin.CORPUS for plugin in PLUGINS)]
    return next(folder / reader for folder in folders if (folder / reader).is_dir())


def outcome(reader: str, content: bytes) -> str:
    """The sentence in which a reader refuses a file, "" where it reads it; anything else is a defect.

    Raises
    ------
    AssertionError
        For words that are not one line, or name a path of the reader's.
    """
    try:
        READERS[reader](content)
    except OURS as error:
        said = str(error)
        assert said.strip(), "an error without words"
        assert len(said.splitlines()) == 1, said
        return said
    return ""
