"""The pages of an atlas: one map with a switch between layers, its label, and its README."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import fill
from typing import Any

from dpgp_core.numbers import upper
from geo.context.surroundings import Surroundings, around
from hexcursion import promises, words
from hexcursion.bundle import layout
from hexcursion.bundle.atlas.derived import derived_drawing, name_of
from hexcursion.bundle.atlas.read import AtlasBundle
from hexcursion.bundle.atlas.statement import layer_names
from hexcursion.bundle.page.drawn import STOPS, Released, drawing, told_of
from hexcursion.bundle.page.facts import heading_of, place, three_facts, where
from hexcursion.bundle.page.html import (
    MODES,
    PageHead,
    fact_html,
    foot_html,
    json_text,
    live_map,
    more_html,
    moving,
    script_text,
    style_text,
    whole_page,
)
from hexcursion.bundle.page.html import flags_of as page_flags
from hexcursion.bundle.page.label import amounts_html, label_page, rows_html
from hexcursion.bundle.page.papers import attribution_text, picture_frame
from hexcursion.bundle.products import Products, counted, threshold_words
from hexcursion.bundle.read import Bundle
from hexcursion.bundle.statement.expected import how_right

MOST_BYTES = 450_000
"""Bytes before base64 that the shares of all layers may take: the whole page stays below 1 MB."""


def _drawn(layers: Sequence[Bundle], near: Surroundings) -> list[Released]:
    """What the page draws of each layer, with as many thresholds as there is room for."""
    most_stops = max(3, min(STOPS, MOST_BYTES // (layers[0].domain.size * len(layers))))
    return [
        Released(layer.statement, layer.domain, layer.paths, layer.field, near, most_stops=most_stops)
        for layer in layers
    ]


def atlas_map_html(atlas: AtlasBundle, near: Surroundings, picture: str) -> bytes:
    """The page of all layers: the same release always gives the same page."""
    joint_statement, layers, derived = atlas.statement, atlas.layers, atlas.derived
    released = _drawn(layers, near)
    first, *other_layers = released
    products = [layer.published for layer in layers]
    data = drawing(first, products[0])
    data["layers"] = [
        told_of(layer, layer_products)
        for layer, layer_products in zip(other_layers, products[1:], strict=True)
    ]
    data["layers"] += [derived_drawing(atlas.by_name, layer) for layer in derived]
    title, promise = joint_statement["release"]["title"], joint_statement["atlas"]["in_words"]
    covered = f"{_covered(layers)} {place(first.domain, near.places)} {joint_statement['atlas']['read']}"
    statement = layers[0].statement
    facts = "".join(_facts(key, layer, near) for key, layer in zip(_keys(len(layers)), layers, strict=True))
    keys = _keys(len(layers) + len(derived))[len(layers) :]
    facts += "".join(
        f'<div data-layer="{key}"><p class="text">{escape(block["in_words"])}</p></div>\n'
        for key, block in zip(keys, joint_statement.get("derived", ()), strict=True)
    )
    body = f"""<header>
<h1>{escape(title)}</h1>
<p class="answer">{escape(promise)}</p>
<p class="place">{escape(covered)}</p>
{page_flags(statement)}
</header>
<main>
<div class="first">
{live_map("Map of one layer", picture, _switch(atlas) + MODES, moving("As published"))}
<div class="facts">
{facts}
</div>
</div>
{more_html(statement)}
</main>
<footer>
{foot_html(statement, near.source)}
</footer>
<script type="application/json" id="data">{json_text(data)}</script>
<script>{script_text()}</script>"""
    return whole_page(PageHead(title, f"{title} {promise}"), body, style_text(), script_text())


def _covered(layers: Sequence[Bundle]) -> str:
    """What all layers are of, in words: the values of all, and what they share."""
    statement = layers[0].statement
    value_names = words.listed([str(layer.statement["subject"]["value"]) for layer in layers])
    return words.covered({**statement, "subject": {**statement["subject"], "value": value_names, "unit": ""}})


def _keys(count: int) -> list[str]:
    """How the script calls the layers."""
    return ["value", *(f"layer{number}" for number in range(2, count + 1))]


def _switch(atlas: AtlasBundle) -> str:
    """The choice between layers, those that follow from others last, which the script reads."""
    names = [
        layer.statement["subject"]["value"] or name
        for name, layer in zip(atlas.names, atlas.layers, strict=True)
    ]
    names += [name_of(atlas.by_name, layer_derived) for layer_derived in atlas.derived]
    radios = "".join(
        f'<label><input type="radio" name="about" value="{key}"{"" if at else " checked"}> '
        f"{escape(name)}</label>"
        for at, (key, name) in enumerate(zip(_keys(len(names)), names, strict=True))
    )
    return f'<fieldset id="layers"><legend>Map of</legend>{radios}</fieldset>\n'


def _facts(key: str, layer: Bundle, near: Surroundings) -> str:
    """The question of a layer, what its map says, and its facts; a page without a script shows all."""
    statement, products = layer.statement, layer.published
    lies = where(layer.domain, products.classes == 0, near.places)
    facts = "".join(
        fact_html(fact, None, with_text=True)
        for index, fact in enumerate(three_facts(statement, products))
        if index != 1  # all maps share one promise
    )
    sentences = " ".join(filter(None, [counted(products), lies]))
    return (
        f'<div data-layer="{key}"><h2>{escape(heading_of(statement))}</h2>\n'
        f'<p class="text">{escape(sentences)}</p>\n{facts}</div>\n'
    )


def atlas_label_html(joint_statement: Mapping[str, Any], layers: Sequence[Bundle]) -> str:
    """One A4 page on all layers: what they promise together, and what each map shows."""
    statement = layers[0].statement
    rows = "".join(
        f"<tr><th>{escape(bundle.statement['subject']['value'] or name)}</th>"
        f"<td>{escape(_side(bundle.statement))}. "
        f"{escape(' '.join(how_right(bundle.statement, bundle.published)))}"
        "</td></tr>\n"
        for name, bundle in zip(layer_names(joint_statement), layers, strict=True)
    )
    cutoffs = {layer["name"]: layer["cutoff"] for layer in joint_statement["layers"]}
    body = f"""<h1>Privacy facts</h1>
<p class="title">{escape(joint_statement["release"]["title"])}</p>
<p class="answer">{escape(joint_statement["atlas"]["in_words"])}</p>
<p class="question">{escape(_covered(layers))} {escape(joint_statement["atlas"]["read"])}</p>
<p class="small own">Titles, names of values, what is measured and what is marked *: {words.PUBLISHERS}.</p>
<div class="bar"></div>
<section>
<h2>Protects</h2>
<p class="protects">{escape(statement["guarantee"]["protected"])}</p>
{amounts_html(statement)}
</section>
<section class="rows">
<h2>Maps</h2>
<table>
{rows}</table>
</section>
<div class="bar"></div>
<section class="rows">
<h2>For specialists</h2>
<table>
{rows_html({**statement, "receipt": joint_statement["receipt"]}, cutoffs)}
</table>
</section>"""
    return label_page(f"Privacy facts: {joint_statement['release']['title']}", body, " dense tiny")


def _side(statement: Mapping[str, Any]) -> str:
    subject = statement["subject"]
    return f"{words.side_words(subject['direction'])} {threshold_words(statement)}"


FILES = {
    layout.PAGE: "all maps as one page that works from disk: layer, threshold, legend",
    "cells-1.geojson": "every hexagon of layer 1: its class, chance, in or out; one file for each layer",
    "regions-1.geojson": "dissolved regions of layer 1; one file for each layer",
    "paths-1.parquet": "released paths, mean and deviation of layer 1, response units; for each layer",
    "map-1.png": "the map of layer 1 as a picture; one for each layer",
    "label-1.html": "layer 1 on one page, to read or print (A4); one for each layer",
    layout.GEOPACKAGE: "hexagons and regions of every layer as one GeoPackage, styled for QGIS",
    layout.RELEASED_SUMS: "the released sums of all layers: all maps are computed from them",
    layout.BOUNDARY: "the public region the hexagons were taken from",
    layout.STATEMENT: "the privacy statement of all layers",
    layout.ATLAS_SCHEMA: "its JSON Schema",
    layout.LABEL: "the same on one page, to read or print (A4)",
    layout.ATTRIBUTION: "credits and licences of the data",
    layout.SUMS: "checksums: run `sha256sum -c SHA256SUMS`",
}


def atlas_readme(joint_statement: Mapping[str, Any], products: Sequence[Products]) -> str:
    """What the atlas is, what its files are, and what may be done with it."""
    release, guarantee, title = (
        joint_statement["release"],
        joint_statement["guarantee"],
        joint_statement["release"]["title"],
    )
    maps = [
        fill(f"{number}. {name}: {layer['title']}. {counted(layer_products)}", 90, subsequent_indent="   ")
        for number, (name, layer, layer_products) in enumerate(
            zip(layer_names(joint_statement), joint_statement["layers"], products, strict=True), 1
        )
    ]
    limits = [fill(f"- {text}", 90, subsequent_indent="  ") for text in promises.limits(joint_statement)]
    paragraphs = [
        f"{title}\n{'=' * min(len(title), 90)}",
        f"Release {release['id']}, {release['created']}",
        fill(joint_statement["atlas"]["in_words"], 90),
        fill(
            f"Cost of all layers together: epsilon {upper(guarantee['epsilon'])} at delta "
            f"{upper(guarantee['delta'], 3)}. {guarantee['in_words']}",
            90,
        ),
        fill(joint_statement["atlas"]["read"], 90),
        "Layers\n" + "\n".join(maps),
        *(fill(f"{block['in_words']}", 90) for block in joint_statement.get("derived", ())),
        "What is protected\n" + fill(guarantee["protected"], 90),
        "What is not protected\n" + "\n".join(limits),
        "Files\n"
        + "\n".join(
            fill(f"{name:<24}{text}", 90, subsequent_indent=" " * 24) for name, text in FILES.items()
        ),
        "What you may do\n"
        + fill(
            "Every threshold of every layer, and every relation between layers, costs no further privacy: "
            "everything in this bundle is computed from the released sums and from public facts.",
            90,
        ),
    ]
    return "\n\n".join(paragraphs) + "\n"


def atlas_papers(atlas: AtlasBundle, picture: str = "") -> dict[str, bytes]:
    """The papers of all layers, by their file names: page, label, README and credits. `picture`: of the first
    layer, as HTML; without one for pages that are compared by `without_picture`."""
    joint_statement, layers = atlas.statement, atlas.layers
    near = around(atlas.domain, layers[0].layers)
    still = picture or picture_frame(layers[0].published)
    return {
        layout.PAGE: atlas_map_html(atlas, near, still),
        layout.LABEL: atlas_label_html(joint_statement, layers).encode(),
        layout.README: atlas_readme(joint_statement, [layer.published for layer in layers]).encode(),
        layout.ATTRIBUTION: attribution_text(layers[0].statement).encode(),
    }
