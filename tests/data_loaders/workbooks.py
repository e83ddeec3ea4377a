"""Workbooks, GeoPackages and GeoJSON points written by hand, shared by this room's tests."""

from __future__ import annotations

import json
import sqlite3
import struct
import zipfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_DATE = 1  # index of the date style
Cell = str | int | float | None


def workbook(*sheets: Sequence[Sequence[Cell]], names: Sequence[str] = (), extra: str = "") -> bytes:
    """An Excel workbook of rows of text and numbers; `extra` is raw XML at the end of the first sheet.

    A text such as "=44927.5" becomes a number shown as a date.
    """
    titles = names or [f"Sheet{k + 1}" for k in range(len(sheets))]
    listed = "".join(
        f'<sheet name="{escape(title)}" sheetId="{k + 1}" r:id="rId{k + 1}"/>'
        for k, title in enumerate(titles)
    )
    links = "".join(
        f'<Relationship Id="rId{k + 1}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{k + 1}.xml"/>'
        for k in range(len(sheets))
    )
    links += f'<Relationship Id="rId99" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" '
        f'ContentType="{_TYPE}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" '
        f'ContentType="{_TYPE}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="rId1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}">{links}</Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="22" applyNumberFormat="1"/></cellXfs></styleSheet>',
    }
    for k, rows in enumerate(sheets):
        body = "".join(_row(number, row) for number, row in enumerate(rows, start=1))
        data = f"<sheetData>{body}{extra if k == 0 else ''}</sheetData>"
        parts[f"xl/worksheets/sheet{k + 1}.xml"] = f'<worksheet xmlns="{_MAIN}">{data}</worksheet>'
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in parts.items():
            entry = zipfile.ZipInfo(name)  # without the time of day, so that equal sheets are equal bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return held.getvalue()


def _row(number: int, cells: Sequence[Cell]) -> str:
    written = [_cell(f"{chr(65 + at)}{number}", cell) for at, cell in enumerate(cells) if cell is not None]
    return f'<row r="{number}">{"".join(written)}</row>'


def _cell(place: str, cell: str | int | float) -> str:
    if isinstance(cell, str) and cell.startswith("="):
        return f'<c r="{place}" s="{_DATE}"><v>{cell[1:]}</v></c>'
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
    return f'<c r="{place}"><v>{cell!r}</v></c>'


def geojson(points: Sequence[tuple[float, float] | None], rows: Sequence[dict[str, object]]) -> bytes:
    """A FeatureCollection of points with properties; None is a feature without a geometry."""
    features = [
        {
            "type": "Feature",
            "properties": row,
            "geometry": None if point is None else {"type": "Point", "coordinates": list(point)},
        }
        for point, row in zip(points, rows, strict=True)
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def geopackage(
    path: Path,
    points: Sequence[tuple[float, float] | None],
    values: Sequence[float],
    sites: Sequence[str],
    epsg: int = 28992,
    layers: Sequence[str] = ("soil",),
) -> Path:
    """A GeoPackage with columns `site` and `value`, written with SQLite alone, after OGC 12-128r18."""
    with sqlite3.connect(path) as database:
        database.executescript(
            """
            PRAGMA application_id = 0x47504B47;
            PRAGMA user_version = 10300;
            CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY,
                organization TEXT NOT NULL, organization_coordsys_id INTEGER NOT NULL,
                definition TEXT NOT NULL, description TEXT);
            CREATE TABLE gpkg_contents (table_name TEXT PRIMARY KEY, data_type TEXT NOT NULL,
                identifier TEXT UNIQUE, description TEXT DEFAULT '', last_change DATETIME,
                min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER);
            CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL,
                geometry_type_name TEXT NOT NULL, srs_id INTEGER NOT NULL, z TINYINT, m TINYINT);
            """
        )
        definition = "undefined"
        for srs in dict.fromkeys((-1, 0, 4326, epsg)):
            database.execute(
                "INSERT INTO gpkg_spatial_ref_sys VALUES (?, ?, ?, ?, ?, '')",
                (f"srs {srs}", srs, "EPSG" if srs > 0 else "NONE", srs, definition),
            )
        for layer in layers:
            database.execute(
                f'CREATE TABLE "{layer}" (fid INTEGER PRIMARY KEY, geom POINT, site TEXT, value DOUBLE)'
            )
            database.execute(
                "INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) "
                "VALUES (?, 'features', ?, ?)",
                (layer, layer, epsg),
            )
            database.execute(
                "INSERT INTO gpkg_geometry_columns VALUES (?, 'geom', 'POINT', ?, 0, 0)", (layer, epsg)
            )
            rows = [
                (None if point is None else _blob(point, epsg), site, value)
                for point, site, value in zip(points, sites, values, strict=True)
            ]
            database.executemany(f'INSERT INTO "{layer}" (geom, site, value) VALUES (?, ?, ?)', rows)
    database.close()
    return path


def _blob(point: tuple[float, float], srs: int) -> bytes:
    """A point in GeoPackage's binary form: header without envelope, then WKB, little-endian."""
    return b"GP\0\1" + struct.pack("<i", srs) + struct.pack("<BIdd", 1, 1, *point)
