"""Public places: whether the places of the records are known anyway, and what that means for the promise."""

from __future__ import annotations

import streamlit as st

from pages.shared.plain_text import Markdown
from pages.shared.session.workspace import Workspace

HIDDEN, PUBLIC = "hidden", "public"
ANSWERS = {
    HIDDEN: "No, or not sure: hide places and values",
    PUBLIC: "Yes, anybody may know them: hide values only",
}
WARNING: Markdown = (
    "**Places are not protected**: whoever reads the release may learn where every record is. Only the "
    "value of one record is hidden."
)


def ask(work: Workspace) -> None:
    """The question, its consequence, and the choice in the workspace; the examples may try it as well."""
    known = PUBLIC if work.choices.get("places_public") else HIDDEN
    answer = st.radio(
        "Are the places of the stations public?" if work.kind == "sensors" else "Are the places public?",
        list(ANSWERS),
        index=list(ANSWERS).index(known),
        format_func=ANSWERS.__getitem__,
        key=f"places_{work.mark}",
        help="Monitoring stations are listed with their coordinates; homes and people are not. If the places "
        "are public, more mechanisms can be used, and every map is better at the same budget.",
    )
    if answer == PUBLIC:
        st.warning(WARNING, icon=":material/location_on:")
    if (answer == PUBLIC) != bool(work.choices.get("places_public")):
        work.choose(places_public=answer == PUBLIC)


def remind(work: Workspace) -> None:
    """On every further screen: what was declared here."""
    if work.private is not None and work.choices.get("places_public"):
        st.caption(f":material/location_on: {WARNING}")
