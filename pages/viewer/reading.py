"""What a reader meets first: title, question, answer, place and the three facts of a release."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from geo.surroundings import around
from pages.shared.plain_text import Markdown, plain
from workflow import words
from workflow.bundle.own_layers import named_areas_of
from workflow.bundle.page.facts import answer, belief_of, place, three_facts, title_of
from workflow.bundle.page.largest import largest_regions
from workflow.bundle.view import Viewer

MOST_AREAS = 4  # named in one sentence


def heading(viewer: Viewer) -> None:
    """The title as the page's heading, the question as a sentence, its answer and where all this is."""
    statement = viewer.bundle.statement
    with st.container(key="reading", gap="xxsmall"):
        st.title(plain(title_of(statement)), anchor=False)
        with st.container(key="asked"):
            st.markdown(plain(words.asked(statement["subject"], statement["guarantee"]["unit_word"])))
        st.markdown(plain(f"{answer(viewer.bundle.published)} {where(viewer)}"))
        st.caption(plain(place(viewer.domain, around(viewer.domain).places)))


def where(viewer: Viewer) -> str:
    """Where the published set lies: the named areas that are mostly inside it, or its largest region."""
    members = viewer.bundle.published.vote_set
    regions = largest_regions(viewer.domain, members, 1, around(viewer.domain).places)
    if not regions or members.all():
        return ""
    areas = named_areas_of(viewer.bundle.layers, viewer.domain)
    if areas is not None:
        shares = areas.weights @ members.astype(float) / areas.weights.sum(axis=1)
        mostly = [areas.names[k] for k in np.argsort(-shares, kind="stable") if shares[k] > 0.5]
        if mostly:
            more = len(mostly) - MOST_AREAS
            said = [*mostly[:MOST_AREAS], *([f"{more} more"] if more > 0 else [])]
            return f"Mostly inside: {', '.join(said)}."
    return f"Its largest region, {regions[0].size}, lies here: {regions[0].where}."


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


def belief_html(surest: float) -> Markdown:
    """A bar from impossible to certain: even odds before, and the most that the release makes of them."""
    most = min(100.0, math.ceil(1000.0 * surest) / 10.0)
    return (
        '<svg class="belief" viewBox="0 0 300 30" role="img">'
        f"<title>50 % before, at most {most:.1f} % after</title>"
        '<rect class="before" x="0" y="0" width="150" height="13"/>'
        f'<rect class="after" x="150" y="0" width="{3.0 * most - 150.0:.1f}" height="13"/>'
        '<rect class="track" x="0.5" y="0.5" width="299" height="12"/>'
        '<text x="146" y="26" text-anchor="end">before: 50 %</text>'
        f'<text x="{min(3.0 * most, 208.0):.0f}" y="26">at most {most:.1f} %</text></svg>'
    )


def largest(viewer: Viewer) -> None:
    """The largest regions of the published set, as a table."""
    regions = largest_regions(
        viewer.domain, viewer.bundle.published.vote_set, places=around(viewer.domain).places
    )
    if not regions:
        return
    st.header("Largest regions of the published set", anchor=False)
    st.table(
        {
            "Where on the map": [plain(region.where) for region in regions],
            "Hexagons": [f"{region.cells:,}" for region in regions],
            "Area": [plain(region.size) for region in regions],
        },
        hide_index=True,
        border="horizontal",
    )
