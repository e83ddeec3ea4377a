"""The curator's own basemap: a file of map tiles that is drawn beneath the hexagons on every map."""

from __future__ import annotations

import streamlit as st

from geo import GeoError
from geo.basemap import SUFFIX, read_basemap
from hexcursion.errors import WorkflowError
from pages.shared.plain_text import plain
from pages.shared.server import access
from pages.shared.session.uploading import remembered
from pages.shared.session.workspace import Workspace

_SAID, _UPLOAD = "basemap_said", "basemap"


def ask(work: Workspace) -> None:
    """A closed panel that takes a PMTiles file, by upload or by path, and says what it is."""
    chosen = work.choices.get("basemap")
    with st.expander("Map beneath the hexagons", icon=":material/map:", expanded=bool(chosen)):
        st.caption(
            "Streets, water and buildings from a PMTiles file that anybody may see, with vector tiles "
            "(schemas of Protomaps, OpenMapTiles or Shortbread) or pictures (PNG, JPEG, WebP). It is read "
            "from this app alone: nobody else is asked. It stays in the app: the published map.html shows "
            "place names, coast and borders."
        )
        uploaded = remembered("Basemap (.pmtiles)", [SUFFIX], _UPLOAD, work)
        named = st.text_input(
            "Or its path on the machine that runs this app, for files above 300 MB",
            value="" if chosen is None or work.folder.holds(chosen) else str(chosen),
            key=f"basemap_path_{work.mark}",
            disabled=uploaded is not None,
        ).strip()
        wanted = uploaded or named or None
        if wanted != chosen:
            _choose(work, wanted)
        _describe(work)


def check_again(work: Workspace) -> None:
    """Leave a basemap out that has no tiles of the area, and keep why to be said."""
    if work.choices.get("basemap") is not None:
        _choose(work, work.choices["basemap"])


def say() -> None:
    """Why a basemap was left out, where it was."""
    if said := st.session_state.pop(_SAID, None):
        st.error(plain(f"The basemap was left out: {said}"), icon=":material/error:")


def _choose(work: Workspace, path: str | None) -> None:
    try:
        if path is not None:
            access.reach_of(work.folder).check(path)
            found = read_basemap(path)
            if work.domain is not None:
                found.refuse_elsewhere(work.domain)
    except (GeoError, WorkflowError) as error:
        st.session_state[_SAID] = str(error)
        path = None
    if path is None:
        work.uploads.pop(_UPLOAD, None)
    work.show_basemap(path)


def _describe(work: Workspace) -> None:
    say()
    path = work.choices.get("basemap")
    if path is None:
        return
    found = read_basemap(path)
    kind = "vector tiles" if found.kind == "vector" else "pictures"
    source = f" Source: {found.source}." if found.source else ""
    st.caption(plain(f"{found.path.name}: {kind}, zoom {found.zooms[0]} to {found.zooms[1]}.{source}"))
