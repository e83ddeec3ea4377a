"""cells.kml: the cells as KML 2.2, for Google Earth and the programs that came after it."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape as escaped

from geo import MAX_CELLS, decimals_for
from geo.colours import Role, colour
from geo.domains.hexagons import boundary
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.exports.base import Export, Exported
from hexcursion.bundle.products.classes import LOOKS, class_values

NAME = "cells.kml"
_SPACE = "http://www.opengis.net/kml/2.2"
_DECLARED = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2
_TYPES = {bool: "bool", str: "string", float: "double"}
_DEEPEST = 12
_LARGEST = 100  # elements of a placemark
_PLACEMARK = f"{{{_SPACE}}}Placemark"


def escape(text: str) -> str:
    """Text as XML holds it, in an attribute too; what XML cannot hold becomes a replacement character."""
    return escaped(_NO_XML.sub("\N{REPLACEMENT CHARACTER}", text), {'"': "&quot;"})


def write(exported: Exported) -> bytes:
    """One placemark a cell with its data and its outline, coloured by its class."""
    columns, facts = exported.columns, exported.facts
    fields = "".join(
        f'<SimpleField type="{_TYPES[type(values[0])]}" name="{escape(name)}"/>'
        for name, values in columns.items()
    )
    said = escape("; ".join(f"{name}: {value}" for name, value in facts.items() if value != ""))
    named, known = class_values(exported.products), range(len(LOOKS))
    styles = "\n".join(_style(f"class-{k}", LOOKS[k][0], faint=k == 3) for k in known)
    style_of = {name: f"class-{k}" for k, name in enumerate(named)}
    head = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="{_SPACE}"><Document>'
        f"<name>{escape(str(facts['title']))}</name><description>{said}</description>\n"
        f"{styles}\n"
        f'<Schema name="cells" id="cells">{fields}</Schema>\n'
    )
    decimals = decimals_for(exported.domain.resolution)
    names, rows = list(columns), zip(*columns.values(), strict=True)
    told = (dict(zip(names, row, strict=True)) for row in rows)
    body = "\n".join(_placemark(row, style_of[row["class"]], decimals) for row in told)
    return f"{head}{body}\n</Document></kml>\n".encode()


def _style(name: str, role: Role, *, faint: bool) -> str:
    """A KML style; its colours are written alpha, blue, green, red. KML knows no dots: the last is faint."""
    text, clear = colour(role), "50" if faint else "b0"
    reverse = text[5:7] + text[3:5] + text[1:3]
    line = "<LineStyle><color>60ffffff</color><width>1</width></LineStyle>"
    return f'<Style id="{name}">{line}<PolyStyle><color>{clear}{reverse}</color></PolyStyle></Style>'


def _placemark(row: Mapping[str, Any], style: str, decimals: int) -> str:
    data = "".join(
        f'<SimpleData name="{escape(name)}">{_said(value)}</SimpleData>' for name, value in row.items()
    )
    ring = " ".join(f"{lon:.{decimals}f},{lat:.{decimals}f}" for lon, lat in boundary(row["h3"]).tolist())
    return (
        f"<Placemark><styleUrl>#{style}</styleUrl><ExtendedData>"
        f'<SchemaData schemaUrl="#cells">{data}</SchemaData></ExtendedData><Polygon><outerBoundaryIs>'
        f"<LinearRing><coordinates>{ring}</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>"
    )


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return escape(value) if isinstance(value, str) else repr(value)


def read(content: bytes) -> Mapping[str, Sequence[Any]]:
    """The data of the placemarks: N values for each name.

    Raises
    ------
    BundleError
        For a document type, entities or deep nesting, and for what is damaged or not one row a cell.
    """
    if _DECLARED.search(content):
        raise BundleError(f"{NAME} declares entities: it is not a bundle's.")
    found: dict[str, list[Any]] = {}
    try:
        for number, row in enumerate(_rows(content)):
            if number >= MAX_CELLS or (number and row.keys() != found.keys()):
                raise BundleError("Rows of different columns, or too many.")
            for name, value in row.items():
                found.setdefault(name, []).append(value)
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as error:
        raise BundleError(f"{NAME} is damaged: it cannot be read as KML.") from error
    return found


def _rows(content: bytes) -> Iterator[dict[str, Any]]:
    above: list[ElementTree.Element] = []
    within = 0  # elements of the placemark that is being read, 0 outside of one
    for event, element in ElementTree.iterparse(io.BytesIO(content), ("start", "end")):
        if event == "start":
            above.append(element)
            within += bool(within) or element.tag == _PLACEMARK
            if len(above) > _DEEPEST or within > _LARGEST:
                raise BundleError("Nested too deeply, or a placemark without end.")
            continue
        above.pop()
        if element.tag != _PLACEMARK and not within and above:
            above[-1].clear()  # what is read must not pile up
        if element.tag == _PLACEMARK:
            within = 0
            data = element.iter(f"{{{_SPACE}}}SimpleData")
            yield {one.attrib["name"]: _meant(one.attrib["name"], one.text or "") for one in data}
            if above:
                above[-1].clear()


def _meant(name: str, text: str) -> Any:
    if name in ("h3", "class"):
        return text
    return text == "true" if text in ("true", "false") else float(text)


KML = Export(NAME, "the cells as KML, for Google Earth", 200_000_000, write, read)
