"""Writes GPX 1.1 with one track: the form in which generated and released trips leave the program."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

_SPACE = "http://www.topografix.com/GPX/1/1"


def track_gpx(creator: str, name: str, records: Iterable[tuple[str, float, float]]) -> str:
    """A GPX document with one track `name` by the program `creator`: XML in UTF-8, with its declaration
    and a line feed at the end. `records` are the time in ISO 8601, and longitude and latitude in
    degrees, written with six decimals."""
    ElementTree.register_namespace("", _SPACE)
    root = ElementTree.Element(f"{{{_SPACE}}}gpx", {"version": "1.1", "creator": creator})
    track = ElementTree.SubElement(root, f"{{{_SPACE}}}trk")
    ElementTree.SubElement(track, f"{{{_SPACE}}}name").text = name
    segment = ElementTree.SubElement(track, f"{{{_SPACE}}}trkseg")
    for instant, lon, lat in records:
        place = {"lat": f"{lat:.6f}", "lon": f"{lon:.6f}"}
        point = ElementTree.SubElement(segment, f"{{{_SPACE}}}trkpt", place)
        ElementTree.SubElement(point, f"{{{_SPACE}}}time").text = instant
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
