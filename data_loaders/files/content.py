"""Recognises by its first bytes what is no CSV text, and says what it is instead."""

from __future__ import annotations

import re

# How a GeoJSON object begins: it names a type of RFC 7946 within the first bytes.
GEOJSON_TYPE = re.compile(
    rb'\A(?:\xef\xbb\xbf)?\s*\{.*"type"\s*:\s*"(?:Feature|FeatureCollection|GeometryCollection|'
    rb'(?:Multi)?(?:Point|LineString|Polygon))"',
    re.DOTALL,
)

# (first bytes, what it is and the remedy)
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "a PDF document: export the table as CSV"),
    (b"\xd0\xcf\x11\xe0", "a workbook of an old Excel: save it as .xlsx or CSV"),
    (b"PAR1", "a Parquet file: export it as CSV"),
    (b"SQLite format 3", "a database: export the table as CSV"),
    (b"\x89PNG", "a picture: choose the CSV file"),
    (b"\xff\xd8\xff", "a picture: choose the CSV file"),
    (b"\xff\xfe", "text in UTF-16: save it as CSV in UTF-8"),
    (b"\xfe\xff", "text in UTF-16: save it as CSV in UTF-8"),
    (b"PK\x03\x04", "a zip file inside another archive: unpack it once"),
    (b"\x1f\x8b", "a gzip file inside another archive: unpack it once"),
    (b"BZh", "a bzip2 file: unpack it, or pack it as .gz or .zip"),
    (b"\xfd7zXZ", "an xz file: unpack it, or pack it as .gz or .zip"),
    (b"7z\xbc\xaf", "a 7-Zip file: unpack it, or pack it as .gz or .zip"),
)
_MARKUP: tuple[tuple[bytes, str], ...] = (
    (b"<!doctype", "a web page, perhaps an error page of a download: fetch the file again"),
    (b"<html", "a web page, perhaps an error page of a download: fetch the file again"),
    (b"<?xml", "an XML document: export the table as CSV"),
    (b"{\n", "a JSON document: export the table as CSV"),
    (b'{"', "a JSON document: export the table as CSV"),
    (b"[{", "a JSON document: export the table as CSV"),
)


def refusal(head: bytes) -> str | None:
    """Say what a file that is no CSV is, by its first bytes, as a predicate with the remedy ("is empty:
    choose a file with rows."); None where it may be CSV."""
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        return "is empty: choose a file with rows."
    for magic, words in _MAGIC:
        if head.startswith(magic):
            return f"is not a CSV file but {words}."
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for markup, words in _MARKUP:
        if start.startswith(markup):
            return f"is not a CSV file but {words}."
    if b"\0" in head:
        return "is not a CSV file but binary data: export the table as CSV."
    return None
