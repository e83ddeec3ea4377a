"""Exploring a release: a free threshold, the products it supports, and the map; nothing here costs budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import streamlit as st

from geo.maps.linked import STREETS_HOST, Pane
from geo.maps.painting import LegendEntry, Painting, legend
from hexcursion.bundle import Products
from hexcursion.bundle.published.view import MAX_ROUNDS, Viewer
from hexcursion.words import limits, plural, quantity
from pages.shared import linked_maps, maps
from pages.shared.glossary import tip
from pages.shared.plain_text import plain
from pages.shared.released.exploring import ShownProduct, paint, products_of, threshold_stops
from pages.shared.shipped import generated_badge

Line = tuple[str, str, bool]
SPECIALISTS = frozenset({"Bound", "Orders"})  # which theorem, and where its proof stands


def receipt_lines(lines: Sequence[Line]) -> None:
    """Draw (topic, text, is a warning) lines; a warning is never folded away."""
    folded = [line for line in lines if line[0] in SPECIALISTS and not line[2]]
    with st.container(key="receipt", border=True):
        _draw(line for line in lines if line not in folded)
        if folded:
            with st.expander("For specialists: the proof behind the numbers"):
                _draw(folded)


def _draw(lines: Iterable[Line]) -> None:
    for topic, text, warning in lines:
        left, right = st.columns([1, 4], gap="small")
        left.markdown(f"**{plain(topic)}**")
        if warning:
            right.markdown(f":red[:material/warning: {plain(text)}]")
        else:
            right.markdown(plain(text))


def controls(
    viewer: Viewer, key: str, *, shareable: bool = False
) -> tuple[ShownProduct, float, int, Products]:
    """The reader's choices: product, threshold in the data's unit, smoothing rounds; and what they give.

    `shareable` keeps them in the address, for views that show published things only: a threshold chosen
    beside the baseline may itself tell something of the private data. Each release has choices of its own:
    the next one that is opened begins as it was published.
    """
    own = viewer.bundle.statement["release"]["id"]
    kept: Any = {"bind": "query-params"} if shareable else {}
    names = products_of(viewer)
    first, second, third = st.columns([2, 4, 2], gap="medium")
    product = first.selectbox(
        "Show",
        list(names),
        format_func=names.__getitem__,
        help=tip("vote"),
        key=f"{key}_product_{own}",
        **kept,
    )
    threshold = second.select_slider(
        f"Threshold ({plain(viewer.unit)})" if viewer.unit else "Threshold",
        threshold_stops(viewer),
        value=viewer.bundle.threshold,
        format_func=lambda value: plain(quantity(value, viewer.unit)),
        help="Moving it is free: every threshold is read off the same released paths.",
        key=f"{key}_threshold_{own}",
        **kept,
    )
    published = int(viewer.bundle.statement["products"]["smoothing"])
    rounds = third.slider(
        "Smoothing (times)",
        0,
        MAX_ROUNDS,
        value=published,
        help="How many times every hexagon is averaged with its neighbours. This costs nothing.",
        key=f"{key}_smoothing_{own}",
        **kept,
    )
    products = viewer.at(threshold=float(threshold), smoothing=int(rounds))
    return product, float(threshold), int(rounds), products


def released_map(
    viewer: Viewer,
    product: ShownProduct,
    threshold: float,
    rounds: int,
    products: Products,
    key: str,
) -> None:
    """The map of the chosen product, with its legend and its words, over streets where the reader asks."""
    basemap = st.toggle(
        "Streets beneath the map",
        help=f"Your browser then asks {STREETS_HOST} for map pictures. It learns your internet address and "
        "which area you look at, and nothing else. Without it nobody is asked.",
        key=f"{key}_streets",
    )
    painting = paint(viewer, products, product, threshold, rounds)
    entries = legend(painting, maps.theme())
    linked_maps.show(
        viewer.domain,
        [Pane("", painting)],
        mode="single",
        key=key,
        alt=in_words(painting, entries),
        legend=entries,
        streets=basemap,
        layers=viewer.bundle.layers,
    )


def in_words(painting: Painting, entries: Sequence[LegendEntry]) -> str:
    """A map for those who cannot see it: its title and how many hexagons each class has."""
    counted = "; ".join(f"{entry.label}: {plural(entry.cells, 'hexagon')}" for entry in entries)
    return f"{painting.title}. {counted}."


def sentences(viewer: Viewer, products: Products) -> None:
    """What the products say; cutoffs, confidence and the limits of so few paths are for specialists."""
    _listed(viewer.in_short(products))
    with st.expander("For specialists: the set at one cutoff, and what is sure", icon=":material/functions:"):
        _listed(viewer.for_specialists(products))


def _listed(said: Sequence[str]) -> None:
    st.markdown("\n".join(f"- {plain(sentence)}" for sentence in said))


def statement_facts(viewer: Viewer) -> None:
    """What is protected and what is not, from the bundle's own statement."""
    statement = viewer.bundle.statement
    protection = statement["guarantee"]
    release = statement["release"]
    st.markdown(f"**{plain(release['title'] or release['id'])}**, released {plain(release['created'][:10])}")
    if release["generated"]:
        generated_badge()
    st.markdown(f":material/shield: {plain(protection['protected'])} {plain(protection['in_words'])}")
    for sentence in limits(statement):
        st.markdown(f":material/remove_moderator: {plain(sentence)}")
