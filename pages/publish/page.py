"""Publish: the page with its link, the files, and the label their reader will see first."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from hexcursion.bundle.layout import contents_of
from hexcursion.bundle.published.bundle_store import slug
from hexcursion.bundle.published.office_key import KEY_VARIABLE, PASSWORD_VARIABLE, open_key, sign_bundle
from hexcursion.bundle.published.site import EMBED, EMBED_HEIGHT, INDEX, zip_of_site
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.signature import signature_of
from hexcursion.errors import WorkflowError
from hexcursion.ledger.places import bundles_folder
from pages.shared import panels, released_view
from pages.shared.plain_text import plain
from pages.shared.released_view import Opened, embedded_label
from pages.shared.session import saving, workspace
from pages.shared.shipped import is_shipped, shelved, site_folder, viewer_of
from pages.shared.steps import VIEWER
from pages.tour.house import offer_todays_rule

work = workspace.current()
release_id = st.query_params.get("release") or work.release_id
here = release_id is not None and release_id == work.release_id
TYPED, REFUSED = "signing_password", "signing_refused"


def link(name: str, viewer: Viewer) -> None:
    """Ask for the page's address, write it, and offer it as a zip with the code to embed it."""
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
    site_address = st.session_state.get(f"site_{name}")
    if site_address is None:
        return
    try:
        folder = site_folder(name, viewer, site_address)
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
        return
    release = slug(viewer.bundle)
    st.download_button(
        "Page for any web server (ZIP)",
        lambda: zip_of_site(folder),
        f"{folder.name}.zip",
        "application/zip",
        icon=":material/folder_zip:",
        on_click="ignore",
        width="stretch",
    )
    st.caption(
        plain(
            f"Unpack it on a web server, at any path: {INDEX} is the way in, {release}/map.html the map. "
            f"The same folder lies in this installation's home as sites/{folder.name}."
        )
    )
    st.markdown(f"To show the map in another page, {EMBED_HEIGHT} pixels high:")
    st.code((folder / release / EMBED).read_text(encoding="utf-8"), language="html", wrap_lines=True)


def downloads(name: str, viewer: Viewer) -> None:
    """Buttons for the whole bundle and for the files most readers ask for."""
    if is_shipped(name):
        st.info(
            "This is the finished example: a release of published sales that ships with the program, in no "
            "account of yours. Your own releases are published the same way.",
            icon=":material/science:",
        )
        offer_todays_rule()
    archive = shelved().path if is_shipped(name) else bundles_folder() / f"{name}.zip"
    released_view.downloads(Opened(viewer, archive.read_bytes), columns=1)


def signing(name: str) -> None:
    """Who signed the release, and a form to sign it where the operator named a key."""
    archive = bundles_folder() / f"{name}.zip"
    signature = signature_of(contents_of(archive))
    key = os.environ.get(KEY_VARIABLE)
    if signature is not None:
        st.caption(f":material/verified: Signed (key {plain(signature.fingerprint)}).")
    elif key is None:
        st.caption(
            "Not signed. To sign what is published here, the operator makes a key (`key new`) and names its "
            f"file in {KEY_VARIABLE}; or run `sign` on the downloaded bundle."
        )
    else:
        with st.form("sign", border=True, clear_on_submit=True):
            if not os.environ.get(PASSWORD_VARIABLE):
                st.text_input("Password of the signing key", type="password", key=TYPED)
            st.form_submit_button(
                "Sign the bundle", icon=":material/verified:", on_click=_sign, args=(archive, Path(key))
            )
        if refused := st.session_state.get(f"{REFUSED}_{archive.stem}"):
            st.error(plain(refused), icon=":material/error:")


def _sign(archive: Path, key: Path) -> None:
    """Sign as the run begins, which a second click cannot stop; that one comes with an empty password."""
    typed = os.environ.get(PASSWORD_VARIABLE) or st.session_state.get(TYPED)
    if not typed:
        return
    refused = f"{REFUSED}_{archive.stem}"
    st.session_state[TYPED], st.session_state[refused] = "", ""
    try:
        sign_bundle(archive, open_key(key, lambda: typed))
    except WorkflowError as error:
        st.session_state[refused] = str(error)


if not release_id:
    st.info(
        "Nothing is chosen: release a map, or open a finished release below.", icon=":material/arrow_back:"
    )
else:
    st.query_params["release"] = release_id
    try:
        viewer = work.explored.viewer if here and work.explored else viewer_of(release_id)
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
    else:
        left, right = st.columns([2, 3], gap="large")
        with left:
            released_view.statement_facts(viewer)
            link(release_id, viewer)
            st.header("Files", anchor=False)
            downloads(release_id, viewer)
            if not is_shipped(release_id):
                signing(release_id)
            if here and work.outcome is not None:
                saving.offer(work, work.outcome.settings, "Settings for the command line")
            st.page_link(
                VIEWER.path,
                label="See it as a reader would",
                icon=VIEWER.icon,
                query_params={"release": release_id},
            )
        with right:
            embedded_label(viewer, of_release=True)
panels.list_finished(release_id)
