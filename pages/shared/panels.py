"""Panels of several screens: own basemap, public places, finished releases, the second question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from dpgp_core.errors import HexcursionError
from geo.basemap import SUFFIX, read_basemap
from hexcursion.bundle.published.bundle_store import stored_bundles
from pages.shared.glossary import PATHS, STATISTICS
from pages.shared.plain_text import Markdown, plain
from pages.shared.server import access
from pages.shared.session.saving import remembered
from pages.shared.session.workspace import Workspace
from pages.shared.steps import PUBLISH, VIEWER

STATIC = Path(__file__).resolve().parents[2] / "static"


def explain_ways() -> None:
    """What a posterior path is, as a moving picture and in words, and what spectral statistics does."""
    explain_paths()
    st.markdown(STATISTICS)


def explain_paths() -> None:
    """What a posterior path is: a moving picture and two sentences."""
    st.image(
        STATIC / "path.svg",
        width=260,
        alt="Five posterior paths, one after the other: each a whole map, drawn at random from public sales.",
    )
    st.markdown(PATHS)


_BASEMAP_SAID, _BASEMAP = "basemap_said", "basemap"


def ask_basemap(work: Workspace) -> None:
    """A closed panel that takes a PMTiles file, by upload or by path, and says what it is."""
    current = work.choices.get("basemap")
    with st.expander("Map beneath the hexagons", icon=":material/map:", expanded=bool(current)):
        st.caption(
            "Streets, water and buildings from a PMTiles file that anybody may see, with vector tiles "
            "(schemas of Protomaps, OpenMapTiles or Shortbread) or pictures (PNG, JPEG, WebP). It is read "
            "from this app alone: nobody else is asked. It stays in the app: the published map.html shows "
            "place names, coast and borders."
        )
        uploaded = remembered("Basemap (.pmtiles)", [SUFFIX], _BASEMAP, work)
        typed_path = st.text_input(
            "Or its path on the machine that runs this app, for files above 300 MB",
            value="" if current is None or work.folder.holds(current) else str(current),
            key=f"basemap_path_{work.mark}",
            disabled=uploaded is not None,
        ).strip()
        path = uploaded or typed_path or None
        if path != current:
            _choose_basemap(work, path)
        _describe_basemap(work)


def check_basemap_again(work: Workspace) -> None:
    """Leave a basemap out that has no tiles of the area, and keep why to be said."""
    if work.choices.get("basemap") is not None:
        _choose_basemap(work, work.choices["basemap"])


def say_basemap() -> None:
    """Why a basemap was left out, where it was."""
    if reason := st.session_state.pop(_BASEMAP_SAID, None):
        st.error(plain(f"The basemap was left out: {reason}"), icon=":material/error:")


def _choose_basemap(work: Workspace, path: str | None) -> None:
    try:
        if path is not None:
            access.reach_of(work.folder).check(path)
            basemap = read_basemap(path)
            if work.domain is not None:
                basemap.refuse_elsewhere(work.domain)
    except HexcursionError as error:
        st.session_state[_BASEMAP_SAID] = str(error)
        path = None
    if path is None:
        work.uploads.pop(_BASEMAP, None)
    work.show_basemap(path)


def _describe_basemap(work: Workspace) -> None:
    say_basemap()
    path = work.choices.get("basemap")
    if path is None:
        return
    basemap = read_basemap(path)
    kind = "vector tiles" if basemap.kind == "vector" else "pictures"
    source = f" Source: {basemap.source}." if basemap.source else ""
    st.caption(plain(f"{basemap.path.name}: {kind}, zoom {basemap.zooms[0]} to {basemap.zooms[1]}.{source}"))


HIDDEN, PUBLIC = "hidden", "public"
PLACES = {
    HIDDEN: "No, or not sure: hide places and values",
    PUBLIC: "Yes, anybody may know them: hide values only",
}
WARNING: Markdown = (
    "**Places are not protected**: whoever reads the release may learn where every record is. Only the "
    "value of one record is hidden."
)


def ask_places_public(work: Workspace) -> None:
    """The question, its consequence, and the choice in the workspace; the examples may try it as well."""
    current = PUBLIC if work.choices.get("places_public") else HIDDEN
    answer = st.radio(
        "Are the places public?",
        list(PLACES),
        index=list(PLACES).index(current),
        format_func=PLACES.__getitem__,
        key=f"places_{work.mark}",
        help="Monitoring stations are listed with their coordinates; homes and people are not. If the places "
        "are public, more mechanisms can be used, and every map is better at the same budget.",
    )
    if answer == PUBLIC:
        st.warning(WARNING, icon=":material/location_on:")
    if (answer == PUBLIC) != bool(work.choices.get("places_public")):
        work.choose(places_public=answer == PUBLIC)


def remind_places_public(work: Workspace) -> None:
    """On every further screen: the declaration made here."""
    if work.private is not None and work.choices.get("places_public"):
        st.caption(f":material/location_on: {WARNING}")


MOST_BUTTONS = 7  # columns that are shown as buttons; more are a list


def ask_column(label: Markdown, names: list[str], words: Callable[[str], str], **arguments: Any) -> str:
    """Ask for one of several columns; `words` are what a person calls it."""
    if len(names) > MOST_BUTTONS:
        return str(st.selectbox(label, names, format_func=words, **arguments))
    return str(
        st.segmented_control(
            label,
            names,
            default=names[0],
            required=True,
            wrap=True,
            format_func=lambda column: plain(words(column)),
            **arguments,
        )
    )


MOST_LISTED = 20


def list_finished(current: str | None = None) -> None:
    """Links to what this installation has released, newest first; `current` is on the screen already."""
    other_bundles = [bundle for bundle in stored_bundles() if bundle.name != current][:MOST_LISTED]
    if not other_bundles:
        return
    st.header("Finished releases", anchor=False)
    for bundle in other_bundles:
        screen = PUBLISH if bundle.made_here else VIEWER
        st.page_link(
            screen.path, label=plain(bundle.title), icon=screen.icon, query_params={"release": bundle.name}
        )


_ICON = ":material/shield_lock:"


def begin_question(key: str, question_about: object) -> None:
    """Ask from now on, until it is answered. `about` names the question, so that nothing else is answered."""
    st.session_state[key] = question_about


def question_about(key: str) -> Any:
    """The question that `begin` opened, or None."""
    return st.session_state.get(key)


def end_question(key: str) -> None:
    """It is answered, or closed."""
    st.session_state.pop(key, None)


def ask_twice(key: str, title: Markdown, body: Callable[..., None], *values: Any) -> None:
    """The dialog with `body(*values)` in it; closing it is an answer too."""
    st.dialog(title, icon=_ICON, on_dismiss=lambda: end_question(key))(body)(*values)


def answered(key: str, token: str) -> bool:
    """The two buttons at its end: whether this is the request. `token` is the request's own."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Go back", key=f"back_{token}"):
            end_question(key)
            st.rerun()
        return st.button("Release now", type="primary", icon=_ICON, key=f"now_{token}")
