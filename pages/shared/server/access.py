"""Access: which screens this process and this person may see."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitSecretNotFoundError

from hexcursion.releasing.allowed_paths import AllowedPaths, reach
from pages.shared.plain_text import plain
from pages.shared.server.access_rules import Access, Locked, Secrets, decide, unloosened, verified_email
from pages.shared.uploads import PrivateFolder

_LOG = logging.getLogger(__name__)


class _Process:
    """What this process was started with; None under a test harness, which starts no server. `without`: the
    secrets for which Streamlit last found no file."""

    started: Access | None = None
    without: object = None


def granted() -> Access:
    """Return what the operator's environment, arguments, secrets and address allow now; `Locked` where in
    doubt."""
    now = decide(
        os.environ,
        sys.argv[1:],
        _secrets(),
        st.get_option("server.address"),
        st.get_option("server.allowedHosts"),
    )
    return unloosened(_Process.started, now)


def granted_at_start() -> Access:
    """The same for a server that is about to start: later, nothing may be opened that was closed now."""
    _Process.started = granted()
    return _Process.started


def locked() -> bool:
    """Draw the page of a locked app, where it is one; nothing else may be drawn then."""
    try:
        granted()
    except Locked as error:
        _LOG.error("Locked: %s", error)
        st.title("Locked", anchor=False)
        st.error(
            "This app was not set up safely, so it shows nothing. Its operator finds the reason in the "
            "server's log.",
            icon=":material/lock:",
        )
        return True
    return False


def turned_away() -> bool:
    """Draw the page for a person who may not curate in a curators' process, and say whether it was drawn.

    Nothing else is drawn then. Strangers read published maps in a viewer, which is another process: here no
    file of theirs is taken, and nothing is computed for them."""
    if granted().mode == "viewer" or may_curate():
        return False
    st.title("For curators", anchor=False)
    st.markdown(
        "The screens of this app read private data and are open to its curators. Published maps are shown by "
        "a viewer: ask whoever published them for its address."
    )
    sign_in_panel()
    return True


def may_curate() -> bool:
    """Whether curator screens are open: never in a viewer, and only to curators where sign-in is on.

    `curators`, the e-mail addresses in the secrets, narrow these down from all whom the provider knows."""
    return granted().admits(_person())


def curator_address() -> str:
    """The verified e-mail address of the person signed in, or ""."""
    return verified_email(_person()) or ""


def _person() -> dict[str, Any]:
    """What the identity provider says about the person at the other end; nothing without sign-in."""
    if not granted().sign_in:
        return {}
    facts = {name: st.user.get(name) for name in ("email", "email_verified", "name")}
    return {**facts, "is_logged_in": st.user.is_logged_in is True}


def _secrets() -> Secrets:
    """The operator's secrets as Streamlit read them; files that exist but cannot be read are a fault.

    While no file exists Streamlit is not asked again: it looks for them below one lock, on which the threads
    of all readers wait, and a screen asks a dozen times."""
    existing = [path for path in st.get_option("secrets.files") if os.path.lexists(path)]
    if not existing and st.secrets is _Process.without:
        return Secrets()
    try:
        return Secrets(st.secrets.to_dict())
    except StreamlitSecretNotFoundError as error:
        if not existing:
            _Process.without = st.secrets
            return Secrets()
        parsed = error.__cause__ or "it is neither a .toml file nor a folder of secrets."
        return Secrets(fault=f"{Path(existing[0]).name}: {parsed}")
    except (OSError, ValueError) as error:
        return Secrets(fault=f"{type(error).__name__}.")


def reach_of(uploads: PrivateFolder) -> AllowedPaths:
    """Return which files of this machine the session may name: below the folders that the operator lists in
    the secrets or in HEXCURSION_DATA; without a list, any path while only this machine reaches the app."""
    grant = granted()
    return reach(
        None if grant.data is None else list(grant.data),
        loopback=grant.alone and grant.mode == "curator",
        uploads=uploads.path,
    )


def sign_in_panel() -> None:
    """What a person sees when sign-in is configured: the way in, or the way out."""
    if granted().mode == "viewer" or not granted().sign_in:
        return
    if not st.user.is_logged_in:
        st.caption("The screens that read private data are for curators.")
        st.button("Sign in as a curator", on_click=st.login, icon=":material/login:", width="stretch")
        return
    person = _person()
    name = plain(person.get("name") or person.get("email") or "a curator")
    if granted().admits(person):
        st.caption(f"Signed in as {name}.")
    elif verified_email(person) is None:
        st.caption(f"Signed in as {name}, whose e-mail address the identity provider did not verify.")
    else:
        st.caption(f"Signed in as {name}, who is not on the list of curators.")
    st.button("Sign out", on_click=st.logout, icon=":material/logout:", width="stretch")
