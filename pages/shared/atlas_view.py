"""The maps of an atlas: which of them is looked at, and several under one camera."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from geo.maps.linked import MOST_BESIDE, Pane
from geo.maps.painting import LegendEntry, Painting, legend
from hexcursion.bundle.products import paint_classes
from hexcursion.bundle.published.view import Viewer
from hexcursion.words import quantity, side_words
from pages.shared import maps, panels
from pages.shared.plain_text import Markdown, plain

FEW, MANY = 4, MOST_BESIDE
"""Number of maps on one camera at a time."""


def ask_layer(viewer: Viewer, key: str, *, shareable: bool = False) -> Viewer:
    """The layer of an atlas that is looked at, asked for below what all layers promise together; a map of one
    column is its own."""
    layers = viewer.layers
    if viewer.atlas is None:
        return viewer
    joint_statement = viewer.whole
    st.markdown(
        f"**{plain(joint_statement['release']['title'])}**  \n{plain(joint_statement['atlas']['in_words'])}"
    )
    key, names = f"{key}_layer_{joint_statement['release']['id']}", list(layers)
    bound: Any = {"bind": "query-params"} if shareable else {}
    name = panels.ask_column(
        "Map of", names, lambda column: value_of(layers[column], column), key=key, **bound
    )
    return layers[name]


def value_of(viewer: Viewer, column: str) -> str:
    """What a layer is a map of, in words, or the name of its column."""
    return str(viewer.bundle.statement["subject"]["value"] or column)


def side_by_side(viewer: Viewer, key: str, private: Mapping[str, Painting] | None = None) -> None:
    """The layers of an atlas as published, under one camera, four or nine at a time. `private`: the curator's
    own maps by column, which take their places when asked for."""
    names = list(viewer.layers)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        names_shown = _some(names, key) if len(names) > FEW else names
        as_private = private is not None and st.toggle(
            "Without privacy",
            help="The curator's own maps in the same places, for you alone: do not publish.",
            key=f"{key}_private",
        )
    panes: list[Pane] = []
    entries: dict[str, LegendEntry] = {}
    for name in names_shown:
        layer = viewer.layers[name]
        threshold_words = f"{side_words(layer.direction)} {quantity(layer.bundle.threshold, layer.unit)}"
        painting = (
            private[name]
            if private is not None and as_private
            else paint_classes(layer.bundle.published, threshold_words, value_of(layer, name))
        )
        panes.append(Pane(f"{value_of(layer, name)} {threshold_words}", painting, private=bool(as_private)))
        for entry in legend(painting, maps.theme()):
            entries.setdefault(entry.label, LegendEntry(entry.label, entry.colour))
    maps.show(
        viewer.domain,
        panes,
        mode="beside" if len(panes) > 1 else "single",
        key=f"{key}_map",
        alt="Maps of one release: " + "; ".join(pane.title for pane in panes) + ".",
        legend=tuple(entries.values()),
        height=maps.HEIGHT if len(panes) <= FEW else 2 * maps.HEIGHT,
        layers=viewer.bundle.layers,
    )


def _some(names: Sequence[str], key: str) -> Sequence[str]:
    """Some of many columns, as many as a person wants to see at a time."""
    count = st.segmented_control(
        "Maps at a time", (FEW, MANY), default=FEW, required=True, key=f"{key}_count"
    )
    starts = range(0, len(names), count)
    if len(starts) == 1:
        return names
    start = st.segmented_control(
        "Which of them",
        starts,
        format_func=lambda at: range_words(at + 1, min(at + count, len(names))),
        default=0,
        required=True,
        key=f"{key}_start_{count}",
    )
    return names[start : start + count]


def range_words(first: int, last: int) -> Markdown:
    """From which map to which, counted from 1."""
    return f"{first:d}" if first == last else f"{first:d} to {last:d}"
