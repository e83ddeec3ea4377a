"""The page behind a link: a folder for any web server, the same as a zip, and the code to embed it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import streamlit as st

from hexcursion.bundle.published.bundle_store import slug
from hexcursion.bundle.published.site import (
    EMBED,
    EMBED_HEIGHT,
    INDEX,
    write_site,
    zip_of_site,
)
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.signature import operators_signers
from hexcursion.errors import WorkflowError
from hexcursion.ledger.places import bundles_folder, sites_folder
from pages.shared.plain_text import plain
from pages.shared.shipped import is_shipped, shelved


def show(name: str, viewer: Viewer) -> None:
    """Ask where the page will stand, write it, and offer it as a zip with the code to embed it."""
    st.header("A page with a link", anchor=False)
    with st.form("site", border=True, enter_to_submit=False):
        address = st.text_input(
            "Address where it will stand",
            placeholder="https://maps.example.org/prices",
            help="For the picture that messages show of a link, and for the code to embed the map. Leave it "
            "empty where it is not known yet: the page works anywhere.",
        ).strip()
        if st.form_submit_button("Make the page", icon=":material/public:"):
            st.session_state[f"site_{name}"] = address
    made = st.session_state.get(f"site_{name}")
    if made is None:
        return
    try:
        folder = written(name, viewer, made)
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
        return
    release = slug(viewer.bundle)
    st.download_button(
        "Page for any web server (ZIP)", lambda: zip_of_site(folder), f"{folder.name}.zip",
        "application/zip", icon=":material/folder_zip:", on_click="ignore", width="stretch",
    )  # fmt: skip
    st.caption(
        plain(
            f"Unpack it on a web server, at any path: {INDEX} is the way in, {release}/map.html the map. "
            f"The same folder lies in this installation's home as sites/{folder.name}."
        )
    )
    st.markdown(f"To show the map in another page, {EMBED_HEIGHT} pixels high:")
    st.code((folder / release / EMBED).read_text(encoding="utf-8"), language="html", wrap_lines=True)


def written(name: str, viewer: Viewer, address: str) -> Path:
    """Return the folder of a release's page for an address, written unless that was done before.

    `WorkflowError` if the address is no web address, or the folder cannot be written.
    """
    source = shelved().path if is_shipped(name) else bundles_folder() / f"{name}.zip"
    made_of = hashlib.sha256(source.read_bytes() + address.encode()).hexdigest()[:8]
    folder = sites_folder() / f"{slug(viewer.bundle)}-{made_of}"
    if not folder.is_dir():
        write_site([source], folder, address, operators_signers())
    return folder
