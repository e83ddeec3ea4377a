"""Reads GPX and TCX, which are XML: without entities, document types or anything outside of the file."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any

from data_loaders.errors import DataError
from hexcursion_traces.loading.model import Fix

_DECLARED = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_DEEPEST = 64


def markup_fixes(name: str, data: bytes) -> Iterator[tuple[str, list[Fix]]]:
    """Yield title, "" for none, and records, of all segments, of the tracks of a GPX file or the activities
    of a TCX file.

    `data` is UTF-8, or what its declaration says; blanks before it, as some programs write them, are
    left out. Raise `DataError` for a document type or entities (which could unpack without end or read
    other files), broken XML, or XML of another kind."""
    if _DECLARED.search(data):
        raise DataError(
            f"{name} declares entities, which a trace has no need of: export it again as plain GPX."
        )
    try:
        root = _tree(data.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n"))
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError):
        root = None
    if root is None:
        raise DataError(f"{name} is broken XML: export it again as GPX or TCX.")
    kind = _tag(root)
    if kind == "gpx":
        yield from _gpx(root)
    elif kind == "TrainingCenterDatabase":
        yield from _tcx(root)
    else:
        raise DataError(f"{name} is XML but neither GPX nor TCX: export the trace as GPX.")


def _tree(data: bytes) -> ElementTree.Element:
    """Parse with a limit on depth."""
    parser: Any = ElementTree.XMLPullParser(["start", "end"])
    depth = 0
    root: ElementTree.Element | None = None
    for at in range(0, len(data), 1 << 16):
        parser.feed(data[at : at + (1 << 16)])
        for event, element in parser.read_events():
            if root is None:
                root = element
            depth += 1 if event == "start" else -1
            if depth > _DEEPEST:
                raise ValueError("too deep")
    parser.close()
    if root is None or depth != 0:
        raise ValueError("cut short")
    return root


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rsplit("}", 1)[-1]


def _child(element: ElementTree.Element, tag: str) -> str:
    match = next((child for child in element if _tag(child) == tag), None)
    return "" if match is None else (match.text or "").strip()


def _gpx(root: ElementTree.Element) -> Iterator[tuple[str, list[Fix]]]:
    for track in root:
        if _tag(track) == "trk":
            points = [point for part in track if _tag(part) == "trkseg" for point in part]
        elif _tag(track) == "rte":
            points = list(track)
        else:
            continue
        fixes = [
            Fix(_child(point, "time"), point.get("lon", ""), point.get("lat", ""))
            for point in points
            if _tag(point) in {"trkpt", "rtept"}
        ]
        yield _child(track, "name"), fixes


def _tcx(root: ElementTree.Element) -> Iterator[tuple[str, list[Fix]]]:
    for activity in root.iter():
        if _tag(activity) not in {"Activity", "Course"}:
            continue
        fixes = []
        for point in activity.iter():
            if _tag(point) != "Trackpoint":
                continue
            place = next((child for child in point if _tag(child) == "Position"), None)
            if place is None:  # a point of heart rate alone is no place
                fixes.append(Fix(_child(point, "Time"), "", ""))
            else:
                longitude, latitude = _child(place, "LongitudeDegrees"), _child(place, "LatitudeDegrees")
                fixes.append(Fix(_child(point, "Time"), longitude, latitude))
        yield _child(activity, "Id") or _child(activity, "Name"), fixes
