"""The table of drivers of GDAL and pyarrow; the content of a file selects its driver, not its
name."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeAlias
from xml.parsers.expat import ExpatError, ParserCreate

from data_loaders.errors import DataError
from data_loaders.files.bombs import MAGIC, refuse_doctype
from data_loaders.files.guarded import GEOJSON_TYPE

_Places: TypeAlias = Literal[
    "GPKG", "GeoJSON", "GeoJSONSeq", "ESRI Shapefile", "LIBKML", "FlatGeobuf", "GML", "OSM"
]
Format: TypeAlias = Literal["XLSX", "ODS", _Places, "Parquet", "Arrow", "ORC"]


@dataclass(frozen=True)
class Driver:
    """How files of one format are read, and their largest size."""

    words: str  # the format in messages
    suffix: str  # of the copy that GDAL opens
    most_bytes: int  # of the unpacked file
    part: Literal["sheet", "layer"] = "layer"
    prefix: str = ""  # selects the driver in front of the path, if GDAL supports this
    options: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[str, ...] = ()  # the layers read, for a format with fixed layers
    xml: bool = False


_TEXT, _BINARY = 256 << 20, 1 << 30
DRIVERS: dict[Format, Driver] = {
    "XLSX": Driver("Excel workbook", ".xlsx", _TEXT, "sheet", "XLSX:"),
    "ODS": Driver("OpenDocument spreadsheet", ".ods", _TEXT, "sheet"),
    # Immutable, so that SQLite writes no files next to it.
    "GPKG": Driver("GeoPackage", ".gpkg", _BINARY, prefix="GPKG:", options={"IMMUTABLE": "YES"}),
    "GeoJSON": Driver("GeoJSON file", ".geojson", _TEXT, layers=("",)),
    "GeoJSONSeq": Driver("GeoJSON file", ".geojsonl", _TEXT, layers=("",)),
    "ESRI Shapefile": Driver("Shapefile", ".shp", _BINARY),
    "LIBKML": Driver("KML file", ".kml", _TEXT, xml=True),
    "FlatGeobuf": Driver("FlatGeobuf file", ".fgb", _BINARY),
    "GML": Driver("GML file", ".gml", _TEXT, xml=True, options={"DOWNLOAD_SCHEMA": "NO", "WRITE_GFS": "NO"}),
    "OSM": Driver("OpenStreetMap file", ".osm", _TEXT, layers=("points", "multipolygons"), xml=True),
    "Parquet": Driver("Parquet file", ".parquet", _BINARY, layers=("",)),
    "Arrow": Driver("Arrow file", ".arrow", _BINARY, layers=("",)),
    "ORC": Driver("ORC file", ".orc", _BINARY, layers=("",)),
}
PYARROW: tuple[Format, ...] = ("Parquet", "Arrow", "ORC")
FEATURES: tuple[Format, ...] = ("GeoJSON", "GeoJSONSeq")  # read by `features`
SHAPEFILE_PARTS = (".shp", ".shx", ".dbf", ".prj", ".cpg")
_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (MAGIC, "GPKG"),
    (b"PAR1", "Parquet"),
    (b"ARROW1\0\0", "Arrow"),
    (b"fgb\x03fgb", "FlatGeobuf"),
    (b"\x00\x00\x27\x0a", "ESRI Shapefile"),
)
_ROOT = re.compile(rb"<(?:[\w.-]+:)?(kml|osm|FeatureCollection)[\s>/]")
_ROOTS: dict[bytes, Format] = {b"kml": "LIBKML", b"osm": "OSM", b"FeatureCollection": "GML"}
_LINES = re.compile(
    rb'\A(?:\xef\xbb\xbf)?\s*\x1e?\{[^\r\n]*"type"\s*:\s*"Feature"[^\r\n]*\}\s*[\r\n]+\s*\x1e?\{'
)


@dataclass(frozen=True)
class OpenFile:
    """An open file of a known format."""

    kind: Format
    name: str  # in messages
    handle: Any  # binary and seekable
    path: Path | None = None  # where it can be read in place

    @property
    def driver(self) -> Driver:
        """The driver of its format."""
        return DRIVERS[self.kind]


def driver_of(head: bytes) -> Format | None:
    """Recognise a file by the first bytes of its content; None for text, archives and unknown
    formats."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head.startswith(b"ORC") and b"\0" in head[:512]:
        return "ORC"
    if _LINES.match(head):
        return "GeoJSONSeq"
    if GEOJSON_TYPE.match(head):
        return "GeoJSON"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<") and (root := _ROOT.search(start)) and start[:9].lower() != b"<!doctype":
        return _ROOTS[root[1]]
    return None


def driver_of_zip(members: list[zipfile.ZipInfo]) -> Format | None:
    """Recognise a workbook, a packed Shapefile or a KMZ file by the members of a zip file."""
    names = {member.filename.lower() for member in members}
    if "xl/workbook.xml" in names:
        return "XLSX"
    if {"content.xml", "mimetype"} <= names:
        return "ODS"
    suffixes = {PurePosixPath(name).suffix for name in names}
    if ".shp" in suffixes:
        return "ESRI Shapefile"
    return "LIBKML" if ".kml" in suffixes else None


def check_xml(name: str, stream: Any) -> None:
    """Read an XML document to its end; raise `DataError` if it is malformed or declares a document
    type, whose entities may expand without bound or name other files."""
    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = refuse_doctype
    failed = False
    try:
        while content := stream.read(1 << 20):
            parser.Parse(content)
        parser.Parse(b"", True)
    except (ExpatError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        failed = True
    if failed:  # outside the handler, so that expat's error does not travel with the sentence
        raise DataError(f"{name} is damaged: save or export it again.")
