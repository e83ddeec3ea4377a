"""Linked maps on a screen: panes under one camera, from the built component, or plain charts without it."""

from __future__ import annotations

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
from geo.context.own_layers import OwnLayer
from geo.domains.framing import Box, region_box
from geo.maps.layers import pane_deck
from geo.maps.linked import Mode, Pane, box_of_places, linked_scene, places_scene
from geo.maps.painting import LegendEntry
from pages.shared import maps
from pages.shared.plain_text import plain
from pages.shared.server.basemap_files import VARIABLE, offered
from pages.shared.session import workspace

PACKAGE, ENTRY = "hexcursion_maps", "assets/index.js"
WHEEL = "hexcursion"  # the distribution that carries the component where there is no checkout


@cache
def built() -> bool:
    """Whether the component was built and installed at set-up (`make environment`)."""
    spec = importlib.util.find_spec(PACKAGE)
    return spec is not None and spec.origin is not None and (Path(spec.origin).parent / ENTRY).is_file()


def modes(*wanted: Mode) -> tuple[Mode, ...]:
    """Those of the wanted modes that can be drawn here: a swipe needs the component."""
    return wanted if built() else tuple(mode for mode in wanted if mode != "swipe")


def show(
    domain: Domain,
    panes: Sequence[Pane],
    *,
    mode: Mode,
    key: str,
    alt: str,
    legend: Sequence[LegendEntry] = (),
    height: int = maps.HEIGHT,
    streets: bool = False,
    layers: Sequence[OwnLayer] = (),
    on_drawn: Callable[[Any], None] | None = None,
    legends: Mapping[str, Sequence[LegendEntry]] | None = None,
) -> None:
    """Draw panes. The camera is shared, and stays when panes, mode or colours change.

    `streets` makes the reader's browser ask the host of the street map. `on_drawn` lets a person draw an
    outline, and takes what the browser sends of it: anything at all, as from any stranger. `legends`: where
    the panes show different things, one for each by its name, instead of `legend` below them.
    """
    with st.container(key=f"linked-map-{key}", gap="small"):
        if built():
            scene = linked_scene(
                domain,
                panes,
                mode=mode,
                alt=alt,
                theme=maps.theme(),
                height=height,
                legend=legend,
                streets=streets,
                layers=layers,
                drawing=on_drawn is not None,
                basemap=beneath(region_box(domain)),
            )
            if on_drawn is None:
                _component()(key=key, data=scene, height=height)
            else:
                _component()(
                    key=key, data=scene, height=height, on_drawn_change=lambda: on_drawn(_drawn(key))
                )
        else:
            _plain(domain, panes, mode, key, alt, height, streets)
        for of, entries in (legends or {}).items():
            st.html(maps.legend_html(entries, of))
        if legend and not legends:
            st.html(maps.legend_html(legend))


def show_places(
    places: Sequence[tuple[float, float]], *, key: str, alt: str, classes: Sequence[int] = (),
    legend: Sequence[LegendEntry] = (),
) -> None:  # fmt: skip
    """Draw private places alone, before there is an area; only where the component is built.

    `classes`: the colour of each by its value, as `legend` says.
    """
    with st.container(key=f"linked-map-{key}", gap="small"):
        under = beneath(box_of_places(places))
        scene = places_scene(
            places, classes=classes, alt=alt, theme=maps.theme(), height=maps.HEIGHT, basemap=under
        )
        _component()(key=key, data=scene, height=maps.HEIGHT)
        if legend:
            st.html(maps.legend_html(legend))


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
    """The same panes as charts of their own; a toggle becomes a choice above one chart."""
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
            maps.show(
                pane_deck(domain, pane, **maps.look(height, 900 // len(panes), streets)),
                key=f"{key}_{number}",
                alt=alt,
                private=pane.private,
                height=height,
            )
    if len(panes) > 1:
        st.caption("These maps move separately: the linked maps were not built when this app was set up.")


def beneath(box: Box) -> tuple[Basemap, str] | None:
    """The basemap for a map of a box and its address; None where there is none of that area.

    The session's own one first, then the one that the operator names in HEXCURSION_BASEMAP.
    """
    work: workspace.Workspace | None = st.session_state.get(workspace.KEY)
    for path in (work and work.choices.get("basemap"), os.environ.get(VARIABLE)):
        if not path:
            continue
        try:
            found = read_basemap(path)
        except GeoError:  # said where it is chosen; the file may have gone since
            continue
        if found.covers(box):
            return found, offered(found.path)
    return None
