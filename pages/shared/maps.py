"""Maps on a screen: panes under one camera from the built component, or plain charts without it."""

from __future__ import annotations

import html
import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from geo import Domain, GeoError
from geo.basemap import Basemap, read_basemap
from geo.colours import Theme
from geo.context.own_layers import OwnLayer
from geo.domains.view import Box, region_box
from geo.maps.layers import Look, pane_deck
from geo.maps.linked import Mode, Pane, box_of_places, linked_scene, places_scene
from geo.maps.painting import LegendEntry
from hexcursion.words import plural
from pages.shared.plain_text import plain
from pages.shared.server.middleware import BASEMAP_VARIABLE, basemap_address
from pages.shared.session import workspace

HEIGHT = 460


def theme() -> Theme:
    """The theme the reader's browser shows."""
    return "dark" if st.context.theme.type == "dark" else "light"


def look(height: int = HEIGHT, width: int = 520, basemap: bool = False) -> Look:
    """How decks are drawn on this screen now."""
    return Look(theme=theme(), width=width, height=height, basemap=basemap)


def show_deck(
    deck: Any,
    *,
    key: str,
    alt: str,
    legend: Sequence[LegendEntry] = (),
    private: bool = False,
    height: int = HEIGHT,
    on_pick: Callable[[], None] | None = None,
) -> None:
    """Draw a deck; `private` puts a watermark over it: such a map is for the curator's eyes only."""
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
    """Return a legend as a row of swatches; `of` names the map that it belongs to."""
    items = "".join(
        f'<li><span class="swatch" style="background:{entry.colour}"></span>'
        f"<span>{html.escape(entry.label).replace(' %', '&nbsp;%')}{_count(entry.cells)}</span></li>"
        for entry in entries
    )
    heading = f"<li><strong>{html.escape(of)}:</strong></li>" if of else ""
    return f'<ul class="legend">{heading}{items}</ul>'


def _count(cells: int | None) -> str:
    return "" if cells is None else f" <small>{html.escape(plural(cells, 'hexagon'))}</small>"


PACKAGE, ENTRY = "hexcursion_maps", "assets/index.js"
WHEEL = "hexcursion"  # the distribution that carries the component where there is no checkout


@cache
def built() -> bool:
    """Whether the component was built and installed at set-up (`make environment`)."""
    spec = importlib.util.find_spec(PACKAGE)
    return spec is not None and spec.origin is not None and (Path(spec.origin).parent / ENTRY).is_file()


def modes(*options: Mode) -> tuple[Mode, ...]:
    """Those of the wanted modes that can be drawn here: a swipe needs the component."""
    return options if built() else tuple(mode for mode in options if mode != "swipe")


def show(
    domain: Domain,
    panes: Sequence[Pane],
    *,
    mode: Mode,
    key: str,
    alt: str,
    legend: Sequence[LegendEntry] = (),
    height: int = HEIGHT,
    streets: bool = False,
    layers: Sequence[OwnLayer] = (),
    on_drawn: Callable[[Any], None] | None = None,
    legends: Mapping[str, Sequence[LegendEntry]] | None = None,
) -> None:
    """Draw panes under one camera, which stays when panes, mode or colours change.

    `streets` makes the reader's browser ask the host of the street map. `on_drawn` lets a person draw an
    outline, and takes what the browser sends of it: anything, as from any stranger. `legends` gives panes
    that show different things one each by name."""
    with st.container(key=f"linked-map-{key}", gap="small"):
        if built():
            scene = linked_scene(
                domain,
                panes,
                mode=mode,
                alt=alt,
                theme=theme(),
                height=height,
                legend=legend,
                streets=streets,
                layers=layers,
                drawing=on_drawn is not None,
                basemap=beneath(region_box(domain)),
            )
            if on_drawn is None:
                _mount(key, scene, height)
            else:
                _mount(key, scene, height, on_drawn_change=lambda: on_drawn(_drawn(key)))
        else:
            _plain(domain, panes, mode, key, alt, height, streets)
        for of, entries in (legends or {}).items():
            st.html(legend_html(entries, of))
        if legend and not legends:
            st.html(legend_html(legend))


def show_places(
    places: Sequence[tuple[float, float]],
    *,
    key: str,
    alt: str,
    classes: Sequence[int] = (),
    legend: Sequence[LegendEntry] = (),
) -> None:
    """Draw private places alone, coloured by `classes` as `legend` says; needs the built component."""
    with st.container(key=f"linked-map-{key}", gap="small"):
        under = beneath(box_of_places(places))
        scene = places_scene(places, classes=classes, alt=alt, theme=theme(), height=HEIGHT, basemap=under)
        _mount(key, scene, HEIGHT)
        if legend:
            st.html(legend_html(legend))


def _mount(key: str, scene: dict[str, Any], height: int, **callbacks: Callable[[], None]) -> None:
    """Draw a scene; where it tells of another theme of the reader, the run that follows colours it anew."""
    _component()(key=key, data=scene, height=height, on_theme_change=lambda: None, **callbacks)


def _drawn(key: str) -> Any:
    """What the component sent last."""
    return getattr(st.session_state.get(key), "drawn", None)


def owner() -> str:
    """The distribution that brought the component: Streamlit registers it under that name."""
    try:
        importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return WHEEL
    return PACKAGE


@cache
def _component() -> Any:
    return st.components.v2.component(f"{owner()}.linked", js="index.js", css="style.css")


def _plain(
    domain: Domain, panes: Sequence[Pane], mode: Mode, key: str, alt: str, height: int, streets: bool
) -> None:
    """The same panes as separate charts; a toggle becomes a choice above one chart."""
    if mode == "toggle":
        names = [pane.title for pane in panes]
        front = st.segmented_control(
            "Map shown", names, format_func=plain, default=names[0], required=True, key=f"{key}_front"
        )
        panes = [panes[names.index(str(front))]]
    for column, pane, number in zip(st.columns(len(panes)), panes, range(len(panes)), strict=True):
        with column:
            if pane.title:
                st.markdown(f"**{plain(pane.title)}**")
            show_deck(
                pane_deck(domain, pane, **look(height, 900 // len(panes), streets)),
                key=f"{key}_{number}",
                alt=alt,
                private=pane.private,
                height=height,
            )
    if len(panes) > 1:
        st.caption("These maps move separately: the linked maps were not built when this app was set up.")


def beneath(box: Box) -> tuple[Basemap, str] | None:
    """Return the basemap for a map of a box and its address, the session's own first, then the operator's."""
    work: workspace.Workspace | None = st.session_state.get(workspace.KEY)
    for path in (work and work.choices.get("basemap"), os.environ.get(BASEMAP_VARIABLE)):
        if not path:
            continue
        try:
            basemap = read_basemap(path)
        except GeoError:  # said where it is chosen; the file may have gone since
            continue
        if basemap.covers(box):
            return basemap, basemap_address(basemap.path)
    return None
