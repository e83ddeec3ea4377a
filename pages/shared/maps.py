"""Maps on a screen: a deck with its legend, its words for those who cannot see it, and its watermark."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from geo.colours import Theme
from geo.maps.layers import Look
from geo.maps.painting import LegendEntry
from hexcursion.words import plural

HEIGHT = 460


def theme() -> Theme:
    """The theme the reader's browser shows."""
    return "dark" if st.context.theme.type == "dark" else "light"


def look(height: int = HEIGHT, width: int = 520, basemap: bool = False) -> Look:
    """How decks are drawn on this screen now."""
    return Look(theme=theme(), width=width, height=height, basemap=basemap)


def show(
    deck: Any,
    *,
    key: str,
    alt: str,
    legend: Sequence[LegendEntry] = (),
    private: bool = False,
    height: int = HEIGHT,
    on_pick: Callable[[], None] | None = None,
) -> None:
    """Draw a deck. `private` puts a watermark over it: such a map is for the curator's eyes only.

    `on_pick` is called when something on it is clicked; what was picked is the state of the map's key.
    """
    with st.container(key=f"{'private' if private else 'public'}-map-{key}", gap="small"):
        if on_pick is None:
            st.pydeck_chart(deck, key=key, alt=alt, height=height)
        else:
            st.pydeck_chart(
                deck, key=key, alt=alt, height=height, on_select=on_pick, selection_mode="multi-object"
            )
        if legend:
            st.html(legend_html(legend))


def legend_html(entries: Sequence[LegendEntry], of: str = "") -> str:
    """A legend as a row of swatches; the second channel of a class is drawn into its swatch.

    `of`: which of several maps it belongs to.
    """
    items = "".join(
        f'<li><span class="swatch {entry.mark}" style="background:{entry.colour};color:{entry.ink}"></span>'
        f"{html.escape(entry.label)}{_count(entry.cells)}</li>"
        for entry in entries
    )
    named = f"<li><strong>{html.escape(of)}:</strong></li>" if of else ""
    return f'<ul class="legend">{named}{items}</ul>'


def _count(cells: int) -> str:
    return f" <small>{html.escape(plural(cells, 'hexagon'))}</small>" if cells else ""
