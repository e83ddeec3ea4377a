"""One house of the finished example: what today's rule tells of it, and what the release does."""

from __future__ import annotations

import streamlit as st

from hexcursion import words
from hexcursion.bundle.statement.guarantee import surest_of
from pages.shared.plain_text import Markdown, plain
from pages.shared.shipped import HOUSE, STEP
from pages.shared.steps import TOUR
from pages.tour.view import Tour, tour


def offer_todays_rule() -> None:
    """A folded line with what the rule would have shown, and the way to both maps."""
    with st.expander("What today's rule would have shown about one house", icon=TOUR.icon):
        st.markdown(told_of_house(tour()))
        if st.button("See both maps", icon=TOUR.icon, key="one_house"):
            st.session_state[STEP] = HOUSE
            st.switch_page(TOUR.path)


def told_of_house(tour: Tour) -> Markdown:
    """What two editions of the table tell of the house, and what the release does, as a list."""
    guarantee = tour.viewer.bundle.statement["guarantee"]
    guess = plain(words.guess_words(surest_of(guarantee), guarantee["unit_word"]))
    return (
        f"**{plain(tour.house.address)}** (invented) is one sale in the ringed hexagon.\n"
        f"* Two editions of the table tell {_arithmetic(tour)} So do they for {100 * tour.exact:.0f} of 100 "
        "sales.\n"
        f"* The private release tells nothing of use. {guess}."
    )


def _arithmetic(tour: Tour) -> Markdown:
    """The price by two editions of the table, or that it hides the hexagon."""
    house = tour.house
    if house.found is None:
        return "nothing: the table hides its hexagon."
    (count_before, old), (count_after, new) = (edition or (0, 0.0) for edition in house.editions)
    return (
        f"its price: {count_after:d} sales at a mean of {plain(tour.money(new, 2))}, less {count_before:d} "
        f"at {plain(tour.money(old, 2))}, leave **{plain(tour.money(house.found))}**."
    )
