"""Today's practice: what usual rules would publish of the same records, beside the release; curator only."""

from __future__ import annotations

import streamlit as st

from geo.maps.linked import Pane
from geo.maps.painting import legend
from hexcursion.bundle.published.view import Viewer
from hexcursion.comparing.attacks import one_more
from hexcursion.comparing.practice import Records, Table
from hexcursion.words import quantity, side_words
from pages.compare.practice import (
    EDITIONS,
    LEAST,
    WORDS,
    Practice,
    edition_sentences,
    paint_table,
    random_record,
    record_sentences,
    record_word,
    release_sentence,
    sentences_of,
)
from pages.release.releasing import baseline_at
from pages.shared import maps
from pages.shared.plain_text import plain
from pages.shared.released_view import paint
from pages.shared.session.workspace import Explored, Found, Workspace
from pages.shared.steps import RELEASE, TOUR


def show(work: Workspace) -> None:
    """The maps, the table, one record more, and editions a year; only after a release."""
    found, explored = work.found, work.explored
    if found is None or explored is None:
        st.info(
            "This screen shows the private records as today's rules would publish them: it tells as "
            "much as the map without privacy, so it opens after a release, on the screen "
            f"{RELEASE.title}. The screen {TOUR.title} shows it for published sales.",
            icon=":material/lock:",
        )
        return
    work.saw_baseline()
    viewer = explored.viewer
    st.markdown(
        "What today's rules would publish of the same records. **Only you see this**: it is made from "
        "the private records, and no bundle, link or log holds any of it."
    )
    least = int(
        st.segmented_control(
            "Hide hexagons with fewer records than", LEAST, default=5, required=True, key="practice_least"
        )
    )
    made = _practice(found, explored, least)
    _maps(explored, made)
    st.dataframe([line.cells() for line in made.lines], hide_index=True)
    st.caption(
        "*Shown*: hexagons that are not blank. *Agreement*: intersection over union with the map "
        "without privacy, as published, where blank hexagons count as outside; *filled*: as a careful "
        "reader fills them. *Exact value*: records whose value follows from tables without and with "
        "them, their hexagon known. *Changes*: records without which the map would be another one. *Was "
        "it in?*: how often somebody who knows all other records tells which of two tables holds it, or "
        "which of two releases like this one; guessing gives 50 %."
    )
    for sentence in sentences_of(least, made.lines, viewer):
        st.markdown(f"* {plain(sentence)}")
    left, right = st.columns(2, gap="large")
    with left:
        _one_record_more(made.records, least, viewer)
    with right:
        _editions(made.records, least, viewer)


def _practice(found: Found, explored: Explored, least: int) -> Practice:
    """What the rules give, made once for a release in this session; nothing of it is shared."""
    known = explored.practice.get(least)
    if not isinstance(known, Practice) or known.project is not found.project:
        truth = baseline_at(found.project, explored.baseline, explored.viewer.bundle.threshold)
        known = explored.practice[least] = Practice.of(found, explored.viewer, least, truth)
    return known


def _maps(explored: Explored, made: Practice) -> None:
    """No privacy, the rules, and the release: one camera, one colour scale."""
    viewer = explored.viewer
    what = f"{side_words(viewer.direction)} {quantity(viewer.bundle.threshold, viewer.unit)}"
    full = Table(made.truth | ~made.truth, made.truth)
    panes, said, drawn = [], [], []
    shown = {"Without privacy": full} | {
        name.capitalize(): table for name, table in made.tables.items() if table.count is not None
    }
    for name, table in shown.items():
        title = f"{name}: {100.0 * float(table.shown.mean()):.0f} % shown"
        drawn.append(paint_table(table, what, title))
        panes.append(Pane(title, drawn[-1], private=True, word=name))
        said.append(f"{name}: {int(table.inside.sum()):,} hexagons {what}")
    released = paint(viewer, viewer.bundle.published, "classes", viewer.bundle.threshold, 0)
    panes.append(Pane("Released: may be published", released))
    maps.show(
        viewer.domain, panes, mode="beside", key="practice_maps",
        alt=f"{'; '.join(said)}, of {made.records.size:,}.",
        legends={
            f"{[*shown][1]} (the others in the same colours)": legend(drawn[1], maps.theme()),
            "Released": legend(released, maps.theme()),
        },
        layers=viewer.bundle.layers,
    )  # fmt: skip


def _one_record_more(records: Records, least: int, viewer: Viewer) -> None:
    """The arithmetic of two editions for one record that is drawn at random, and of two releases."""
    word = record_word(viewer)
    st.header("One record more", anchor=False)
    key = f"practice_record_{viewer.bundle.statement['release']['id']}"
    if st.button(f"Take a {plain(word)} at random", icon=":material/casino:", key="practice_draw"):
        st.session_state[key] = random_record(records)
    if key not in st.session_state:
        st.caption("Two editions of the table, without and with one record, and what they say of it.")
        return
    for sentence in record_sentences(one_more(records, least, st.session_state[key]), viewer.unit, word):
        st.markdown(f"* {plain(sentence)}")
    if told := release_sentence(viewer):
        st.markdown(f"* {plain(told)}")


def _editions(records: Records, least: int, viewer: Viewer) -> None:
    """A growing table renewed through the year, beside what as many releases cost together."""
    st.header("Editions a year", anchor=False)
    often = st.select_slider(
        "The map is published", EDITIONS, value=4, format_func=WORDS.__getitem__, key="practice_editions"
    )
    for sentence in edition_sentences(records, least, often, viewer):
        st.markdown(f"* {plain(sentence)}")
