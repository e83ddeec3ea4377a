"""Releases by their id: the example that ships with the program, its badges, and those made here."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import streamlit as st

from hexcursion.bundle.published.bundle_store import StoredBundle, find_bundle, open_bundle, slug
from hexcursion.bundle.published.site import write_site
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.signature import operators_signers
from hexcursion.ledger.places import bundles_folder, sites_folder
from pages.shared.plain_text import Markdown


def generated_badge(help: Markdown | None = None) -> None:
    """Say that this program made the shown release; `help` says how, for who points at it."""
    st.badge("generated data", icon=":material/science:", color="violet", help=help)


def published_badge() -> None:
    """Say that the private data of the example were published long ago, and only play their part."""
    st.badge(
        "example data",
        icon=":material/public:",
        color="violet",
        help="Real sales, published long ago. Those of 1998 play the private data here, so that anybody can "
        "check what a release shows of them.",
    )


FILES = Path(__file__).resolve().parents[2] / "static" / "tour"
BUNDLE, SEARCH = FILES / "bundle.zip", FILES / "search.json"


@cache
def shipped() -> Viewer:
    """The release, the same for everybody; `WorkflowError` where its file is damaged."""
    return open_bundle(BUNDLE)


def shelved() -> StoredBundle:
    """The release as one to choose; no stored bundle and no ledger here has it."""
    release = shipped().bundle.statement["release"]
    return StoredBundle(str(release["id"]), f"{release['title']} (shipped with the program)", BUNDLE)


def is_shipped(name: str | None) -> bool:
    """Whether a release is the example that ships with the program."""
    return name is not None and name == shelved().name


def viewer_of(name: str) -> Viewer:
    """The shipped example's release, or one of this installation, by its id; `WorkflowError` if neither."""
    return shipped() if is_shipped(name) else find_bundle(name)


def site_folder(name: str, viewer: Viewer, address: str) -> Path:
    """Return the folder of a release's page for an address, written unless that was done before.

    `WorkflowError` if the address is no web address, or the folder cannot be written."""
    source = shelved().path if is_shipped(name) else bundles_folder() / f"{name}.zip"
    made_of = hashlib.sha256(source.read_bytes() + address.encode()).hexdigest()[:8]
    folder = sites_folder() / f"{slug(viewer.bundle)}-{made_of}"
    if not folder.is_dir():
        write_site([source], folder, address, operators_signers())
    return folder


STEP, HOUSE = "tour_step", "What an attacker learns"
"""Where the session keeps the step of the tour, and its step about one house."""
