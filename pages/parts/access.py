"""Access: which screens this process and this person may see."""

from __future__ import annotations

import os
import sys

import streamlit as st

from workflow.desk import PrivateFolder, Reach, reach

VIEWER_MODE = "viewer"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def viewer_only() -> bool:
    """Whether this process shows published bundles only (`HEXCURSION_MODE=viewer` or `app.py --viewer`).

    A process that never offers a curator's screen needs no access to private data at all.
    """
    return os.environ.get("HEXCURSION_MODE", "").strip().lower() == VIEWER_MODE or "--viewer" in sys.argv[1:]


def sign_in_configured() -> bool:
    """Whether the operator wrote an `[auth]` section into `.streamlit/secrets.toml`."""
    return st.secrets.load_if_toml_exists() and "auth" in st.secrets


def signed_in() -> bool:
    """Whether the identity provider vouches for the person at the other end."""
    return bool(st.user.is_logged_in)


def may_curate() -> bool:
    """Whether curator screens are open: not in a viewer's process, and only to curators where sign-in is on.

    `curators` in a `[hexcursion]` section of the secrets, a list of e-mail addresses, narrows it down from
    everybody whom the identity provider knows.
    """
    if viewer_only():
        return False
    if not sign_in_configured():
        return True
    return signed_in() and _listed()


def _listed() -> bool:
    listed = st.secrets.get("hexcursion", {}).get("curators")
    if listed is None:
        return True
    wanted = {str(address).strip().lower() for address in listed}
    return str(st.user.get("email", "")).strip().lower() in wanted


def reach_of(uploads: PrivateFolder) -> Reach:
    """Which files of this machine the session may name.

    One folder or a list of them under `data` in the `[hexcursion]` section of the secrets, or in
    HEXCURSION_DATA, limit it to what lies below them; without either, any path may be named while the app
    listens on this machine only.
    """
    section = st.secrets.get("hexcursion", {}) if st.secrets.load_if_toml_exists() else {}
    listed = section.get("data")
    if isinstance(listed, str):
        listed = [listed]
    return reach(
        None if listed is None else [str(folder) for folder in listed],
        loopback=st.get_option("server.address") in LOOPBACK,
        uploads=uploads.path,
    )


def sign_in_panel() -> None:
    """What a person sees in the side bar when sign-in is configured: the way in, or the way out."""
    if viewer_only() or not sign_in_configured():
        return
    if not signed_in():
        st.caption("The screens that read private data are for curators.")
        st.button("Sign in as a curator", on_click=st.login, icon=":material/login:", width="stretch")
        return
    name = str(st.user.get("name") or st.user.get("email") or "a curator")
    if not _listed():
        st.caption(f"Signed in as {name}, who is not on the list of curators.")
    else:
        st.caption(f"Signed in as {name}.")
    st.button("Sign out", on_click=st.logout, icon=":material/logout:", width="stretch")
