"""Opening a bundle: from the shelf of this installation, or from a file a person brings."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from hexcursion.bundle.published.shelf import ShelvedBundle, open_bundle, shelf
from hexcursion.bundle.published.view import Viewer
from hexcursion.errors import WorkflowError
from pages.shared.session import workspace
from pages.shared.shipped import is_shipped, shelved

LARGEST_MB = 95  # a little less than a viewer takes of one session
KEY = "opened-bundle"
BROUGHT = "brought-bundle"
CHOSEN = "shelved"
FOLLOWED = "followed-address"


@dataclass(frozen=True)
class Opened:
    """An opened bundle, and its zip where it stands on the shelf."""

    viewer: Viewer
    whole: Callable[[], bytes] | None = None


def offered() -> tuple[ShelvedBundle, ...]:
    """The shelf, and before it the shipped example where the visit or the address is about that."""
    about = st.query_params.get("release"), workspace.current().release_id
    return (shelved(), *shelf()) if any(map(is_shipped, about)) else shelf()


def anything_chosen() -> bool:
    """Whether there is a bundle to choose, of which one is opened, or a file was brought."""
    return bool(offered()) or st.session_state.get(BROUGHT) is not None


def ask_bundle() -> Opened | str | None:
    """The bundle that a person opened, the sentence that says what is wrong with it, or None."""
    known = offered()
    wanted = None
    _follow_address(known)
    if known:
        wanted = st.selectbox(
            "Published maps",
            known,
            format_func=lambda bundle: bundle.title,
            placeholder="choose one",
            key=CHOSEN,
        )
    upload = st.file_uploader(
        "Or open a bundle file (.zip)" if known else "Open a bundle file (.zip)",
        "zip",
        help="It is checked before anything of it is shown: names, sizes, checksums, its statement, and that "
        "its maps follow from its paths. Nothing in it is ever executed.",
        key=BROUGHT,
        max_upload_size=LARGEST_MB,
    )
    try:
        if upload is not None:
            st.query_params.pop("release", None)
            return Opened(_opened(f"upload {upload.file_id}", upload.getvalue()))
        if wanted is not None:
            st.query_params["release"] = st.session_state[FOLLOWED] = wanted.name
            return Opened(_opened(f"{wanted.name} {_size(wanted.path)}", wanted.path), wanted.zipped)
    except (WorkflowError, ValueError) as error:
        return str(error)
    if st.query_params.get("release") is not None:
        others = " or choose one of the published maps" if known else ""
        return f"There is no release of this address on this machine: open its bundle file{others}."
    return None


def _follow_address(known: tuple[ShelvedBundle, ...]) -> None:
    """Choose the bundle that a new address names, or none where it is not there; without one, the newest."""
    name = st.query_params.get("release")
    if name is not None and name != st.session_state.get(FOLLOWED):
        st.session_state[FOLLOWED] = name
        st.session_state[CHOSEN] = next((bundle for bundle in known if bundle.name == name), None)


def _size(path: Path) -> int:
    """Bytes of a bundle's zip, which grows when it is signed; of a folder how many files it has."""
    return len(list(path.iterdir())) if path.is_dir() else path.stat().st_size


def _opened(name: str, source: bytes | Path) -> Viewer:
    """The same bundle is read once per session."""
    held = st.session_state.get(KEY)
    if held is None or held[0] != name:
        held = (name, open_bundle(source))
        st.session_state[KEY] = held
    viewer: Viewer = held[1]
    return viewer


def embedded_label(viewer: Viewer) -> None:
    """The label, made anew from the checked statement, in a frame that shares nothing with this page.

    So the page cannot measure it: `static/frame.css` gives the frame what a label needs at each width.
    """
    page = base64.b64encode(viewer.bundle.label_html.encode()).decode()
    with st.container(key="label"):
        st.iframe(
            f"data:text/html;charset=utf-8;base64,{page}",
            height=1240,
            alt="The one-page label of the release",
        )
