"""What a reader meets first: title, question, answer, place and the three facts of a release."""

from __future__ import annotations

import logging
from html import escape

import streamlit as st

from geo.context.surroundings import around
from hexcursion import words
from hexcursion.bundle.areas import BoroughTable
from hexcursion.bundle.page.facts import (
    added_title,
    answer,
    belief_of,
    heading_of,
    in_brief,
    largest_regions,
    place,
    three_facts,
    where,
)
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.signature import operators_signers
from hexcursion.errors import WorkflowError
from pages.shared.plain_text import plain

_LOG = logging.getLogger(__name__)


def heading(viewer: Viewer, areas: BoroughTable | None) -> None:
    """The question as the page's heading, the curator's title, the answer, and what and where all this is."""
    statement = viewer.bundle.statement
    with st.container(key="reading", gap="xxsmall"):
        st.title(plain(heading_of(statement)), anchor=False)
        if added := added_title(statement):
            with st.container(key="asked"):
                st.markdown(plain(added))
        places, shown = around(viewer.domain).places, viewer.bundle.published
        lies = (areas.lead if areas else "") or where(viewer.domain, shown.classes == 0, places)
        st.markdown(plain(answer(shown, lies)))
        with st.container(key="brief"):
            st.markdown(plain(in_brief(statement, shown)))
        st.caption(plain(f"{words.covered(statement)} {place(viewer.domain, places)}"))
        signed(viewer)
        st.caption(plain(f"The title and the name of the value are {words.PUBLISHERS}."))


def signed(viewer: Viewer) -> None:
    """Who signed the bundle, by the operator's own list of names; what the bundle says counts for nothing."""
    signature = viewer.bundle.signature
    try:
        signers = operators_signers()
    except WorkflowError:
        _LOG.exception("The list of signers cannot be used")
        st.caption(":material/warning: This viewer's list of known signers cannot be read: ask its operator.")
        return
    icon = "verified" if signers.knows(signature) else "gpp_maybe"
    st.caption(f":material/{icon}: {plain(signers.says(signature))}")


def facts(viewer: Viewer) -> None:
    """How sure, who is protected and how much, what it is not; the second with its picture."""
    statement = viewer.bundle.statement
    surest = belief_of(statement)
    with st.container(key="facts", gap="small"):
        for number, fact in enumerate(three_facts(statement, viewer.bundle.published)):
            with st.container(key=f"fact-{number}", border=True, gap="xxsmall"):
                st.caption(plain(fact.about))
                icon = ":material/warning: " if fact.warning else ""
                st.header(f"{icon}{plain(fact.lead)}", anchor=False)
                if number == 1 and surest is not None:
                    st.html(belief_html(surest))
                st.markdown(plain(fact.text))


def belief_html(surest: float) -> str:
    """A bar from impossible to certain: a guess at even odds before, and the best one after the release.

    Of plain boxes: `st.html` leaves drawings (SVG) out.
    """
    said = f"at most {escape(words.share(surest))}"
    wide = min(50.0, 100.0 * surest - 50.0)
    return (
        f'<div class="belief" role="img" aria-label="50 % before, {said} after">'
        f'<div class="track"><div class="before"></div><div class="after" style="width: {wide:.1f}%">'
        f'</div></div><div class="words"><div>before: 50 %</div><div>{said}</div></div></div>'
    )


def largest(viewer: Viewer) -> None:
    """The largest regions of the first class, as a table."""
    shown = viewer.bundle.published
    regions = largest_regions(viewer.domain, shown.classes == 0, places=around(viewer.domain).places)
    if not regions:
        return
    side = f"{'likely ' if shown.graded else ''}{words.side_words(shown.direction)}"
    st.header(plain(f"Largest regions {side} the threshold"), anchor=False)
    st.table(
        {
            "Where on the map": [plain(region.where) for region in regions],
            "Hexagons": [f"{region.cells:,}" for region in regions],
            "Area": [plain(region.size) for region in regions],
        },
        hide_index=True,
        border="horizontal",
    )
