"""README.txt, ATTRIBUTION.txt and map.png of a bundle, and the picture of its pages."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from textwrap import fill
from typing import Any

from dpgp_core.numbers import upper
from geo import Domain
from geo.context.own_layers import OwnLayer
from geo.context.surroundings import around
from geo.maps.painting import Painting
from geo.maps.static_map import draw_map
from hexcursion import promises, words
from hexcursion.bundle import layout
from hexcursion.bundle.exports import EXPORTS
from hexcursion.bundle.page.facts import added_title, heading_of, three_facts
from hexcursion.bundle.products import Products, counted, paint_classes, threshold_words
from hexcursion.bundle.statement.build import STATED
from hexcursion.bundle.statement.designs import design_line
from hexcursion.bundle.statement.expected import how_right

CONTENTS = {
    layout.CELLS: "every hexagon: its class, share of the paths (vote_fraction), in or out (in_set)",
    layout.REGIONS: "dissolved regions: one per path, and one per summary of all paths",
    layout.BOUNDARY: "the public region the hexagons were taken from",
    layout.PATHS: "the released paths themselves, response units (formula in statement.json)",
    layout.DRAWS: "joint draws of the field given the paths, where the paths are none; response units",
    layout.RELEASED_SUMS: "the released sums, where there are: all chances are computed from them",
    layout.PUBLIC_FIELD: "the public value of every hexagon, where the question is relative to such values",
    layout.LAYERS: "public layers that the curator added: boroughs, roads, stations",
    layout.STATEMENT: "the privacy statement",
    layout.SCHEMA: "its JSON Schema, version 2",
    layout.LABEL: "the same on one page, to read or print (A4)",
    layout.MAP: "the same as a picture",
    layout.PAGE: "the map as one page that works from disk: threshold, legend, largest regions",
    layout.REDRAW: "draws all regions anew from the paths and checks them; needs geopandas and h3",
    layout.ATTRIBUTION: "credits and licences of the data",
    layout.SUMS: "checksums: run `sha256sum -c SHA256SUMS`",
}


def contents_lines() -> dict[str, str]:
    """What each file is, the exports before the papers."""
    exports = {name: export.says for name, export in EXPORTS.items()}
    return {layout.CELLS: CONTENTS[layout.CELLS], **exports, **CONTENTS}


def readme_text(statement: Mapping[str, Any], products: Products) -> str:
    """What the bundle is, what its files are, what may be done with it; of the published products."""
    release, guarantee = statement["release"], statement["guarantee"]
    title = release["title"] or words.named(statement["subject"])
    summary = (
        f"A private map. {words.asked(statement['subject'], guarantee['unit_word'])} "
        f"{counted(products)} {words.covered(statement)} "
        f"Cost: epsilon {upper(guarantee['epsilon'])} at delta {upper(guarantee['delta'], 3)}."
    )
    files = [
        fill(f"{name:<24}{text}", 90, subsequent_indent=" " * 24) for name, text in contents_lines().items()
    ]
    meanings = [
        fill(f"{name:<20}{text}", 90, subsequent_indent=" " * 20)
        for name, text in statement["products"]["meanings"].items()
    ]
    paragraphs = [
        f"{title}\n{'=' * min(len(title), 90)}",
        f"Release {release['id']}, {release['created']}",
        *(fill(flag, 90) for flag in flags_of(statement)),
        fill(
            "The title, the name of the value, notes, credits and what the curator states below are "
            f"{words.PUBLISHERS}.",
            90,
        ),
        fill(summary, 90),
        fill(guarantee["in_words"], 90),
        *(fill(text, 90) for text in how_right(statement, products)),
        "What is protected\n" + fill(guarantee["protected"], 90),
        *(
            "What earlier releases add\n" + fill(line["text"], 90)
            for line in statement["receipt"]
            if line["topic"] == "Earlier releases"
        ),
        "What is not protected\n"
        + "\n".join(fill(f"- {text}", 90, subsequent_indent="  ") for text in promises.limits(statement)),
        "Files\n" + "\n".join(files),
        "Products in regions.geojson\n" + "\n".join(meanings),
        *(fill(text, 90) for text in statement["products"]["left_out"]),
        "What you may do\n"
        + fill(
            "Thresholding, smoothing, dissolving or averaging the released paths costs no further privacy: "
            "everything in this bundle is computed from them and from public facts.",
            90,
        ),
        _curators_part(statement["evaluation"]),
        "Design\n" + fill(f"{statement['design']['mechanism']}: {design_line(statement['design'])}.", 90),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _curators_part(evaluation: Mapping[str, str]) -> str:
    lines = (f"{name.replace('_', ' ')}: {evaluation[name]}" for name in STATED)
    return "What the curator states\n" + "\n".join(fill(line, 90, subsequent_indent="  ") for line in lines)


def attribution_text(statement: Mapping[str, Any]) -> str:
    """Credits of the data, as their licences ask, and of the software."""
    source = statement["subject"].get("scope", {}).get("source", "").rstrip(".")
    source_line = f"Source of the data: {source}." if source else "No attribution was stated for the data."
    lines = list(statement["attribution"]) or [source_line]
    software = statement["software"]
    lines.append(f"Made with {software['name']} {software['version']}. Hexagons: H3, Apache License 2.0.")
    return "\n\n".join(fill(line, 90) for line in lines) + "\n"


def map_png(
    statement: Mapping[str, Any], domain: Domain, products: Products, layers: Sequence[OwnLayer] = ()
) -> bytes:
    """PNG of the published map: the classes of the release."""
    return draw_map(
        domain,
        painted(statement, products),
        subtitle=_subtitle(statement),
        attribution=statement["attribution"],
        around=around(domain, layers),
    )


def map_pdf(
    statement: Mapping[str, Any], domain: Domain, products: Products, layers: Sequence[OwnLayer] = ()
) -> bytes:
    """One page to print: the same map, finer, with the three facts of the release above it."""
    facts = [f"{fact.about}: {fact.lead}. {fact.text}" for fact in three_facts(statement, products)]
    return draw_map(
        domain,
        painted(statement, products),
        subtitle="\n".join([_subtitle(statement), *facts]),
        attribution=statement["attribution"],
        around=around(domain, layers),
        kind="pdf",
        dpi=200,
    )


# Inches and dots an inch of the picture in label and page, narrow so that its legend can be read in a column;
# few colours keep it small: a page holds it whole.
PICTURE_WIDTH, PICTURE_DPI, PICTURE_COLOURS = 4.46, 140, 32
_PICTURE = re.compile(r"(?<=data:image/png;base64,)[A-Za-z0-9+/=]+")


def picture_html(
    statement: Mapping[str, Any], domain: Domain, products: Products, layers: Sequence[OwnLayer] = ()
) -> str:
    """Return the map with its legend as an `img` element that holds a whole PNG and loads nothing."""
    picture = draw_map(
        domain,
        paint_classes(products, threshold_words(statement), ""),
        around=around(domain, layers, world=False),
        width=PICTURE_WIDTH,
        dpi=PICTURE_DPI,
        colours=PICTURE_COLOURS,
    )
    return picture_frame(products, b64encode(picture).decode())


def picture_frame(products: Products, data: str = "") -> str:
    """Return the element of `picture_html` around a PNG in base64; without one for a page that is compared
    by `without_picture`."""
    return (
        f'<img src="data:image/png;base64,{data}" alt="{escape(f"Map of the release. {counted(products)}")}">'
    )


def without_picture(page: bytes) -> str:
    """A page without the bytes of its picture, which differ between versions of the drawing library."""
    return _PICTURE.sub("", page.decode("utf-8", "replace"))


def painted(statement: Mapping[str, Any], products: Products) -> Painting:
    """The painting of the published classes under the question that they answer."""
    return paint_classes(products, threshold_words(statement), heading_of(statement))


def _subtitle(statement: Mapping[str, Any]) -> str:
    guarantee, release = statement["guarantee"], statement["release"]
    lines = [
        " ".join(filter(None, [added_title(statement), words.covered(statement)])),
        f"Protects one {promises.protected_word(guarantee)}: epsilon {upper(guarantee['epsilon'])} at delta "
        f"{upper(guarantee['delta'], 3)} ({guarantee['bound']}, proved). Release {release['id']}.",
    ]
    return "\n".join([*lines, *flags_of(statement)])


def flags_of(statement: Mapping[str, Any]) -> dict[str, bool]:
    """Return the warnings that a reader must see first, in order, and whether each is a grave one.

    An ordinary release has no such lines.
    """
    release = statement["release"]
    flags = {
        "SIMULATION with a fixed seed: not a private release.": (release["simulation"], True),
        "GENERATED demo data: no real person is described.": (release["generated"], False),
        "TUNING NOT ACCOUNTED: the true privacy loss is larger than stated.": (
            not statement["tuning"]["accounted"],
            True,
        ),
    }
    return {text: grave for text, (holds, grave) in flags.items() if holds}
