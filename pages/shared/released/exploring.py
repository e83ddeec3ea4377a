"""Exploring a release: the stops of the threshold slider and the products a reader can choose."""

from __future__ import annotations

from typing import Literal

import numpy as np

from geo.maps.painting import (
    Painting,
    field_breaks,
    paint_field,
    paint_set,
    paint_three_way,
    paint_votes,
)
from geo.maps.shares import paint_shares
from hexcursion.bundle import Products
from hexcursion.bundle.products.at_threshold import Bools
from hexcursion.bundle.products.classes import paint_classes
from hexcursion.bundle.published.view import Viewer
from hexcursion.words import quantity, side_words

STOPS = 96
ShownProduct = Literal[
    "classes", "vote-set", "votes", "probability", "surely", "three-way", "vorobev", "inner", "outer", "field"
]
PRODUCTS: dict[ShownProduct, str] = {
    "classes": "Likely, open, likely not",
    "vote-set": "Released region",
    "votes": "Share of paths",
    "probability": "Probability",
    "surely": "Confidence (all surer hexagons together)",
    "three-way": "Surely above or below at once",
    "vorobev": "Region of the expected area",
    "inner": "Inner region (surely inside)",
    "outer": "Outer region (possibly inside)",
    "field": "Released values",
}


def threshold_stops(viewer: Viewer) -> tuple[float, ...]:
    """Increasing thresholds for a slider, in the data's unit, with the published one among them.

    They are even in response units and have three significant digits.
    """
    low, high = viewer.thresholds
    response = viewer.bundle.response
    ends = response.forward(np.array([low, high]))
    values = response.value(np.linspace(ends[0], ends[1], STOPS))
    rounded = {float(f"{value:.3g}") for value in values.tolist()}
    return tuple(sorted({*(value for value in rounded if low <= value <= high), viewer.bundle.threshold}))


def products_of(viewer: Viewer) -> dict[ShownProduct, str]:
    """The products that this number of paths supports, with their names on a screen."""
    names = dict(PRODUCTS)
    few: tuple[ShownProduct, ...] = ("votes", "vorobev") if viewer.count == 1 else ()
    unsure: tuple[ShownProduct, ...] = () if viewer.confidences else ("three-way", "inner", "outer")
    for name in (*few, *unsure):
        del names[name]
    if viewer.bundle.field is None:
        del names["probability"]
    if viewer.bundle.published.surely is None:
        del names["surely"]
    return names


def paint(viewer: Viewer, products: Products, name: ShownProduct, threshold: float, rounds: int) -> Painting:
    """One product as a painting, with the words of its unit."""
    said = quantity(threshold, viewer.unit)
    what = f"{side_words(products.direction)} {said}"
    title = PRODUCTS[name]
    if name == "classes":
        return paint_classes(products, said, title)
    if name == "votes":
        return paint_votes(products.votes, viewer.count, what=what, title=title)
    if name == "probability" and products.probability is not None:
        return paint_shares(products.probability, what=what, title=title, word="a probability of")
    if name == "surely" and products.surely is not None:
        all_of = f"all surer hexagons {what}"  # of a set of hexagons: no mean of it says anything
        return paint_shares(products.surely, what=all_of, title=title, word="confidence", averaged=False)
    if name == "three-way" and products.three_way is not None:
        return paint_three_way(products.three_way, threshold=said, title=title, empty=products.empty)
    if name == "field":
        values = viewer.bundle.response.value(viewer.smoothed(rounds).mean(axis=0))
        return paint_field(
            values, viewer.unit, title=title, breaks=field_breaks(values, threshold), threshold=threshold
        )
    sets: dict[str, Bools] = dict(products.sets().items())
    cells = sets.get(name, products.vote_set)
    return paint_set(cells, inside=what, outside=f"not {what}", title=title, empty=products.empty)
