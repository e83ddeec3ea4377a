"""Help: the idea in three pictures, the guarantee in plain words, what the words mean."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import streamlit as st

from dpgp_core.accounting.gaussian import gaussian_mu
from hexcursion import words
from pages.shared.glossary import GLOSSARY, TERMS
from pages.shared.panels import explain_ways
from pages.shared.plain_text import plain

STATIC = Path(__file__).resolve().parents[2] / "static"
PICTURES = (
    (
        "help-data.svg",
        "1 · Private values on public hexagons",
        "Each dot is a sale or a sensor. The ringed one must make no visible difference.",
    ),
    (
        "help-draw.svg",
        "2 · One random draw instead of the truth",
        "Of all plausible maps, the band, one is drawn at random.",
    ),
    (
        "help-region.svg",
        "3 · Where the draw exceeds the threshold",
        "Any other threshold reveals nothing further: the draw is public.",
    ),
)
EXAMPLES = (0.1, 0.5, 1.0, 3.0, 10.0)
DELTA = 1e-5


def _odds(epsilon: float) -> str:
    """What a release with Gaussian noise, as of spectral statistics, makes of a guess."""
    return words.even_odds(words.surest(epsilon, DELTA, "replace-one", gaussian_mu(epsilon, DELTA)))


def table(names: Iterable[str]) -> None:
    """Words, symbols and what they mean."""
    terms = [TERMS[name] for name in names]
    st.table(
        {
            "word": [plain(term.word) for term in terms],
            "symbol": [plain(term.symbol) for term in terms],
            "meaning": [plain(term.meaning) for term in terms],
        },
        hide_index=True,
        border="horizontal",
    )


for column, (picture, title, text) in zip(st.columns(3, gap="large"), PICTURES, strict=True):
    with column:
        st.image(STATIC / picture, width="stretch", alt=f"Drawing: {title[4:]}.")
        st.markdown(f"**{plain(title)}**")
        st.markdown(plain(text))

with st.expander("The guarantee in plain words", icon=":material/verified_user:"):
    st.markdown(
        "Take two sets of private records that differ in one record, in its value, its place or both. The "
        "theorem bounds how much likelier any released map can be under the one than under the other: at "
        "most by the factor e to the ε, apart from a slack δ. Whatever anybody knows beforehand, and "
        "whatever they compute from the release, they cannot tell the two apart better than that."
    )
with st.expander("What is protected, and what is not", icon=":material/shield:"):
    st.markdown(
        "**What is protected.** One record, as the release says: one sale, one sensor or one hexagon."
    )
    st.markdown(
        "**What is not.** It does not hide what is true of the area as a whole, nor the number of records. A "
        "person with many records is protected less: the release says how much less."
    )
    st.markdown(
        "**What costs nothing.** Everything done with released maps. **What costs.** Every further release "
        "of the same data: the ledger adds it up and refuses what would exceed the budget."
    )
with st.expander("What ε means", icon=":material/balance:"):
    st.table(
        {
            "Privacy budget ε": [f"{epsilon:g}" for epsilon in EXAMPLES],
            "any result becomes at most": [f"{plain(words.times(epsilon))} likelier" for epsilon in EXAMPLES],
            "a 50:50 guess becomes at most": [plain(_odds(epsilon)) for epsilon in EXAMPLES],
        },
        hide_index=True,
        border="horizontal",
    )

with st.expander("Two ways to draw", icon=":material/gesture:"):
    explain_ways()

with st.expander("The five steps", icon=":material/route:"):
    st.markdown(
        "1. **Data**: name the private values, and reference data that are public or set aside.\n"
        "2. **Hexagons**: name the public area and how fine the map is.\n"
        "3. **Privacy and utility**: say who is protected and how strongly; the search finds the best map "
        "that this allows, on the reference data.\n"
        "4. **Release**: read what will be published, then release once. The ledger is charged first.\n"
        "5. **Publish**: hand out the files. They hold nothing private and say what they cost."
    )

with st.expander("What the words mean", icon=":material/dictionary:"):
    table(GLOSSARY)
with st.expander("Numbers of a design, for specialists"):
    table(name for name in TERMS if name not in GLOSSARY)
with st.expander("Where the proofs are", icon=":material/menu_book:"):
    st.markdown(
        "The formulas, with their proofs and sources, are in docs/mathematics.md of this program; its "
        "section 0 is the notation table. The method: T. Maciazek, Differential Privacy of Gaussian Process "
        "Posterior Sampling, arXiv:2606.17995 (2026)."
    )
