"""Guided tour: in five steps of few words, what a private release of real sales shows, and what it hides."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from geo.maps.linked import Mode
from geo.maps.painting import LegendEntry, legend
from hexcursion.bundle.statement.expected import shown_words
from hexcursion.errors import WorkflowError
from hexcursion.words import agreement_words, ratio_words
from pages.shared import maps
from pages.shared.glossary import tip
from pages.shared.panels import explain_ways
from pages.shared.plain_text import plain
from pages.shared.released_view import in_words
from pages.shared.server import access
from pages.shared.shipped import HOUSE, STEP, published_badge
from pages.shared.steps import DATA, VIEWER
from pages.tour.house import told_of_house
from pages.tour.view import Painted, Tour, tour

STEPS = ("What is public", "What changed", "How sure is it?", "Today's rule", HOUSE)
HEIGHT = 430


def go(step: int) -> None:
    """Turn to a step."""
    st.session_state[STEP] = STEPS[step]


def what_is_public(tour: Tour) -> None:
    """The map of the public year, drawn from public data."""
    (first, last), (public, private) = tour.years, tour.sales
    st.markdown(
        f"Around Toledo, Ohio, the **{public:,} house sales of {first:d} are public**: anybody can draw "
        f"where houses sold for more than {plain(tour.threshold)}. The **{private:,} sales of {last:d} are "
        "private**. May the county still show where houses have become that dear?"
    )
    show(tour, "public")
    with st.expander("More", icon=":material/info:"):
        st.markdown(
            f"The sales of {last:d} were published long ago too. Here they play private ones, so that "
            "anybody can check what follows."
        )


def what_changed(tour: Tour) -> None:
    """The swipe from the public map to the release, and its differences as a table."""
    first, last = tour.years
    st.markdown(
        f"Drag the handle from the public map of {first:d} to the **private release of {last:d}**: not "
        f"{tour.above('public'):,} but {tour.above('released'):,} hexagons are above, most of the new ones "
        f"around {plain(tour.changes()[0].name)}. The public map cannot know that."
    )
    show(tour, "public", "released")
    with st.expander("More", icon=":material/table_chart:"):
        changes(tour)
        explain_ways()


def how_sure(tour: Tour) -> None:
    """The classes of the release and the map of all sales, with measured figures."""
    last, published = tour.years[1], tour.viewer.bundle.published
    statement = tour.viewer.bundle.statement
    above, unsure, below, empty = tour.classes
    st.markdown(
        f"{plain(shown_words(published, statement))} Drag the handle to **all sales of {last:d}**, which "
        f"nobody would see if they were private: {100 * tour.right:.0f} % of the orange hexagons are above "
        "there."
    )
    year, alone, from_it = tour.later
    low, high, lowest, highest = tour.bought
    show(tour, "classes", "truth")
    with st.expander("More", icon=":material/table_chart:"):
        st.markdown(
            f"{above:,} hexagons are likely above {plain(tour.threshold)}, {unsure:,} it cannot tell, "
            f"{below:,} likely not; {empty:,} hold few sales or none. Of the {tour.above('released'):,} "
            "above in step 2, each with a chance of at least 50 %, only the surer ones are called likely "
            "above."
        )
        figures(
            ("Public map", tour.measured["public"]),
            ("Private release", tour.measured["released"]),
            help="Agreement with the map of all sales: 1 is the same region, 0 nothing in common.",
        )
        st.caption(
            f"One draw at ε {tour.epsilon:.3g}. In {tour.draws:d} simulated releases of each budget from ε "
            f"{low:g} to {high:g} the mean agreement lay between {plain(ratio_words(lowest))} and "
            f"{plain(ratio_words(highest))}. With the sales of {year:d} public instead, their map alone "
            f"reaches {plain(ratio_words(alone))}, and releases {plain(ratio_words(from_it))}."
        )


def todays_rule(tour: Tour) -> None:
    """The table of least counts and the release."""
    st.markdown(
        f"Most offices would publish the mean price of every hexagon **with at least {tour.least:d} "
        f"sales**. That is exact, and leaves {100 * tour.blank:.0f} % of the hexagons blank."
    )
    show(tour, "table", "classes")
    with st.expander("More", icon=":material/table_chart:"):
        figures(
            ("The table as published", tour.measured["table"]),
            ("Its blanks filled with care", tour.measured["filled"]),
            ("Smoothed, the best usual rule", tour.measured["smoothed"]),
            ("Private release", tour.measured["released"]),
            help="Agreement with the map of all sales. With care: the better of two ways to fill the "
            "blanks, by the nearest shown hexagon or by a model of the published numbers.",
        )


def what_an_attacker_learns(tour: Tour) -> None:
    """What the table, its classes alone and the release tell of one house."""
    house, guarantee = tour.house, tour.viewer.bundle.statement["guarantee"]
    low, high = (tour.money(price) for price in tour.prices)
    st.markdown(told_of_house(tour))
    show(tour, "table", "classes", ringed=house.cell)
    with st.expander("More", icon=":material/policy:"):
        same = (
            "nothing: the classes are the same with and without it"
            if house.same_class
            else "that it was sold: without it the classes are others"
        )
        st.markdown(
            f"* **The table.** It gives a price away to anybody with two editions that differ by one sale "
            "in that hexagon.\n"
            f"* **Only the classes of that table** tell {same}. For {100 * (1 - tour.changed):.0f} of 100 "
            "sales they tell nothing. The others are revealed for certain, and nobody knows beforehand which "
            "they are.\n"
            f"* **The private release, ε {tour.epsilon:.3g}.** Two releases, without and with the sale, "
            f"leave a 95 % interval {house.times:d} times as wide as all prices that they tell apart, "
            f"{plain(low)} to {plain(high)}.\n"
            f"* **Protected:** {plain(guarantee['protected'])} {plain(guarantee['in_words'])} No map hides "
            "that a house among dear ones is probably dear."
        )
    with st.container(horizontal=True):
        st.page_link(VIEWER.path, label=f"Open a published map: {VIEWER.title}", icon=VIEWER.icon)
        if access.may_curate():
            st.page_link(DATA.path, label="Begin with your own data", icon=DATA.icon)


def figures(*labelled: tuple[str, float], help: str) -> None:
    """Agreements in large type, and what they are."""
    with st.container(horizontal=True, gap="medium"):
        for label, value in labelled:
            st.metric(plain(label), plain(agreement_words(value)), width="content", help=tip("iou"))
    st.caption(plain(help))


def show(tour: Tour, *map_names: Painted, ringed: int | None = None) -> None:
    """One of the maps, or two under a handle; side by side where the linked maps were not built."""
    mode: Mode = "single" if len(map_names) == 1 else maps.modes("swipe", "beside")[0]
    paintings = [tour.painting(name) for name in map_names]
    entries = [tuple(uncounted(legend(painting, maps.theme()))) for painting in paintings]
    legends = {tour.called(name): rows for name, rows in zip(map_names, entries, strict=True)}
    same = len({tuple(line.label for line in rows) for rows in entries}) == 1
    maps.show(
        tour.viewer.domain,
        [tour.pane(name, ringed) for name in map_names],
        mode=mode,
        key="tour_map",
        alt=" ".join(in_words(painting, entry) for painting, entry in zip(paintings, entries, strict=True)),
        legend=entries[-1] if same else [line for rows in entries for line in rows],
        legends=None if same else legends,
        height=HEIGHT,
        layers=tour.viewer.bundle.layers,
    )


def uncounted(entries: tuple[LegendEntry, ...]) -> list[LegendEntry]:
    """A legend without numbers of hexagons, which are said where they matter."""
    return [replace(entry, cells=None) for entry in entries]


def changes(tour: Tour) -> None:
    """The towns that differ, as a table: the map for those who cannot see it."""
    towns, (first, last) = tour.changes(), tour.years
    st.caption(f"Hexagons above {plain(tour.threshold)}, by the nearest town, where the maps differ most:")
    st.table(
        {
            "Around": [plain(town.name) for town in towns],
            f"Public map of {first:d}": [f"{town.public:,}" for town in towns],
            f"Private release of {last:d}": [f"{town.released:,}" for town in towns],
            "All sales, without privacy": [f"{town.truth:,}" for town in towns],
        },
        hide_index=True,
        border="horizontal",
    )


SHOW = (what_is_public, what_changed, how_sure, todays_rule, what_an_attacker_learns)
try:
    told = tour()
except WorkflowError as error:
    st.error(plain(error), icon=":material/error:")
else:
    published_badge()
    chosen = st.segmented_control(
        "Step of the tour",
        STEPS,
        format_func=lambda name: f"{STEPS.index(name) + 1:d} {plain(name)}",
        default=STEPS[0],
        required=True,
        label_visibility="collapsed",
        key=STEP,
    )
    number = STEPS.index(str(chosen))
    SHOW[number](told)
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        if number:
            st.button("Back", icon=":material/arrow_back:", on_click=go, args=(number - 1,))
        if number + 1 < len(STEPS):
            st.button(
                "Next",
                type="primary",
                icon=":material/arrow_forward:",
                icon_position="right",
                on_click=go,
                args=(number + 1,),
            )
