"""Small files that unfold to large ones: one of each kind that is read, made when a test asks for it."""

from __future__ import annotations

import gzip
import io
import sqlite3
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

_NS = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/></Types>',
    "xl/workbook.xml": f'<workbook {_NS} xmlns:r="{_OFFICE}"><sheets><sheet name="S" sheetId="1" '
    'r:id="rId1"/></sheets>'
    "</workbook>",
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
    f'relationships"><Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
}


def at_a_path(read: Callable[[Path], Any], suffix: str = "") -> Callable[[bytes], Any]:
    """A reader of files as a reader of bytes."""

    def from_bytes(content: bytes) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"file{suffix}"
            path.write_bytes(content)
            return read(path)

    return from_bytes


HEAD = "".join(f'<c r="{c}1" t="inlineStr"><is><t>{c}</t></is></c>' for c in "AB")


def workbook(rows: str, text: str = "x") -> bytes:
    """A workbook of one sheet with these rows (XML) below a header, and one shared text."""
    sheet = f'<worksheet {_NS}><sheetData><row r="1">{HEAD}</row>{rows}</sheetData></worksheet>'
    return zipped(
        {
            **_PARTS,
            "xl/worksheets/sheet1.xml": sheet,
            "xl/sharedStrings.xml": f"<sst {_NS}><si><t>{text}</t></si></sst>",
        }
    )


def repeated_text(cells: int, length: int) -> bytes:
    """A workbook whose cells all mean one long text."""
    rows = "".join(f'<row r="{k}"><c r="A{k}" t="s"><v>0</v></c></row>' for k in range(2, cells + 2))
    return workbook(rows, "x" * length)


def wide_sheet(rows: int) -> bytes:
    """A workbook with one cell far to the right, and empty rows below."""
    return workbook('<row r="2"><c r="BXX2"><v>1</v></c></row>' + "<row/>" * rows)


def zipped(contents: dict[str, str | bytes]) -> bytes:
    """A zip of these files."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return held.getvalue()


def many_entries(count: int) -> bytes:
    """A zip that names one file very often."""
    name = b"a.csv"
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0) + name
    entry = (
        struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0) + name
    )
    directory = entry * count
    end = struct.pack(
        "<4s4H2IH", b"PK\5\6", 0, 0, min(count, 65535), min(count, 65535), len(directory), len(local), 0
    )
    return local + directory + end


def many_members(count: int) -> bytes:
    """A packed tar of empty files that are no tables."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    block = held.getvalue()[:512].replace(b"a.txt", b"a.png", 1)
    name = bytearray(block)
    name[148:156] = b" " * 8
    name[148:156] = b"%06o\0 " % sum(name)
    return gzip.compress(bytes(name) * count + bytes(1024))


def unfolding_geopackage(path: Path, table: str, levels: int = 4) -> Path:
    """Turn a table's only leaf into `levels` floors of pages that each name the one below many times."""
    with closing(sqlite3.connect(path)) as database:
        [(size,)] = database.execute("PRAGMA page_size")
        [(root,)] = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
        [(count,)] = database.execute("PRAGMA page_count")
    content = bytearray(path.read_bytes())
    leaf = content[(root - 1) * size : root * size]
    assert leaf[0] == 13, "the table has one leaf"
    below, pages = count + 1, [bytes(leaf)]
    for _ in range(levels):
        pages.append(_floor(size, below))
        below += 1
    content[(root - 1) * size : root * size] = pages.pop()
    path.write_bytes(bytes(content) + b"".join(pages))
    total = len(path.read_bytes()) // size
    with path.open("r+b") as file:
        file.seek(28)
        file.write(struct.pack(">I", total))
    return path


def _floor(size: int, child: int) -> bytes:
    """An interior page of a table's tree, all of whose children are one page."""
    cells = min(200, size // 8 - 4)
    cell = struct.pack(">I", child) + b"\x81\x00"  # the largest key below it: 128
    start = size - cells * len(cell)
    head = struct.pack(">BHHHBI", 5, 0, cells, start, 0, child)
    places = b"".join(struct.pack(">H", start + k * len(cell)) for k in range(cells))
    page = head + places
    return page + bytes(start - len(page)) + cell * cells


def pmtiles_with(path: Path, part: str, unpacked: int) -> Path:
    """An archive one part of which ("root", "metadata") unpacks to so many zero bytes."""
    content = bytearray(path.read_bytes())
    place = {"root": 8, "metadata": 24}[part]
    packed = gzip.compress(bytes(unpacked), 9)
    content[place : place + 16] = struct.pack("<QQ", len(content), len(packed))
    path.write_bytes(bytes(content) + packed)
    return path


def feature_table(path: Path) -> str:
    """The first feature layer of a GeoPackage."""
    with closing(sqlite3.connect(path)) as database:
        [(name,), *_] = database.execute("SELECT table_name FROM gpkg_contents WHERE data_type = 'features'")
    return str(name)
