"""The bundle's picture: the released map on paper, with legend, scale and attribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpgp_core.numbers import upper
from geo import Domain
from geo.context.own_layers import OwnLayer
from geo.context.surroundings import around
from geo.maps.painting import Painting
from hexcursion import words
from hexcursion.bundle.page.facts import added_title, heading_of, three_facts
from hexcursion.bundle.products.at_threshold import Products
from hexcursion.bundle.products.classes import paint_classes, threshold_words


def map_png(
    statement: Mapping[str, Any], domain: Domain, products: Products, layers: Sequence[OwnLayer] = ()
) -> bytes:
    """PNG of the published map: the classes of the release."""
    from geo.maps.static_map import (
        draw_map,  # with matplotlib, which a search in a process of its own never needs
    )

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
    """One page to print: the same map as shapes, with the three facts of the release above it."""
    from geo.maps.static_map import draw_map

    facts = [f"{fact.about}: {fact.lead}. {fact.text}" for fact in three_facts(statement, products)]
    return draw_map(
        domain,
        painted(statement, products),
        subtitle="\n".join([_subtitle(statement), *facts]),
        attribution=statement["attribution"],
        around=around(domain, layers),
        kind="pdf",
    )


def painted(statement: Mapping[str, Any], products: Products) -> Painting:
    """The painting of the published classes under the question that they answer."""
    return paint_classes(products, threshold_words(statement), heading_of(statement))


def _subtitle(statement: Mapping[str, Any]) -> str:
    guarantee, release = statement["guarantee"], statement["release"]
    lines = [
        " ".join(filter(None, [added_title(statement), words.covered(statement)])),
        f"Protects one {guarantee['unit_word']}: epsilon {upper(guarantee['epsilon'])} at delta "
        f"{upper(guarantee['delta'], 3)} ({guarantee['bound']}, proved). Release {release['id']}.",
    ]
    if release["simulation"]:
        lines.append("SIMULATION with a fixed seed: not a private release.")
    if release["generated"]:
        lines.append("GENERATED demo data: no real person is described.")
    if not statement["tuning"]["accounted"]:
        lines.append("TUNING NOT ACCOUNTED: the true privacy loss is larger than stated.")
    return "\n".join(lines)
