"""Basemaps on the screens: which file lies beneath the maps of this session."""

from __future__ import annotations

import os

import streamlit as st

from geo import GeoError
from geo.basemap import Basemap, read_basemap
from geo.domains.framing import Box
from pages.shared.server.basemap_files import VARIABLE, offered
from pages.shared.session import workspace


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
