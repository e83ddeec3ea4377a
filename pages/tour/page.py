"""Guided tour: in five steps of few words, what a private release shows that a public map cannot."""

from __future__ import annotations

from dataclasses import replace

import altair as alt
import streamlit as st

from geo.colours import colour
from geo.maps.linked import Mode
from geo.maps.painting import legend
from hexcursion.errors import WorkflowError
from hexcursion.words import agreement_words, belief, ratio_words
from pages.shared import linked_maps, maps
from pages.shared.generated import generated_badge
from pages.shared.glossary import tip
from pages.shared.plain_text import plain
from pages.shared.released.released_view import in_words
from pages.shared.server import access
from pages.shared.steps import DATA, VIEWER
from pages.tour.view import Shown, Tour, tour

STEPS = ("What is public", "What is new", "Who is protected", "Is it right?", "What does it cost?")
STEP, HEIGHT = "tour_step", 430


def go(step: int) -> None:
    """Turn to a step."""
    st.session_state[STEP] = STEPS[step]


def what_is_public(seen: Tour) -> None:
    """Last year's map, which anybody can draw."""
    first = plain(seen.years[0])
    last = plain(seen.years[1])
    st.markdown(
        f"This city is invented. Its flat sales of **{first} are published**, so anybody can draw where "
        f"flats sell for more than {plain(seen.threshold)}: the orange hexagons.  \n"
        f"The **{plain(f'{seen.sales:,}')} sales of {last} within it are private**. May the city's planners "
        "still learn from them?"
    )
    show(seen, "public")


def what_is_new(seen: Tour) -> None:
    """The swipe from last year's map to the release, and its differences as a table."""
    first = plain(seen.years[0])
    last = plain(seen.years[1])
    st.markdown(
        f"Drag the handle. On the left lies the public map of {first}, on the right the **private release "
        f"of {last}**: {plain(seen.gained())} has become expensive, {plain(seen.lost())} no longer is. The "
        "public map cannot know either."
    )
    show(seen, "public", "released")
    changes(seen, truth=False)


def who_is_protected(seen: Tour) -> None:
    """The guarantee, in the words of the bundle."""
    guarantee = seen.viewer.bundle.statement["guarantee"]
    st.markdown(
        "The release is **differentially private**: a random draw, made so that the map would come out "
        "nearly as likely if any one sale had been another one."
    )
    st.markdown(f":material/shield: {plain(guarantee['protected'])} {plain(guarantee['in_words'])}")
    surest = belief(seen.epsilon, float(guarantee["delta"]))
    st.metric("Best chance to guess right about one sale, from even odds (50 %)", plain(surest))
    show(seen, "released")


def is_it_right(seen: Tour) -> None:
    """The swipe from the release to the truth, known for an invented city only, with measured figures."""
    last = plain(seen.years[1])
    st.markdown(
        f"For an invented city the truth is known. Drag the handle between the private release of {last} and "
        "the truth: the outline is a little rough, the quarters are right."
    )
    first, second, third = st.columns(3)
    for column, name, label in (
        (first, "public", "Public map of last year"),
        (second, "released", "Private release"),
        (third, "unprotected", "Without any protection"),
    ):
        column.metric(f"{plain(label)}", plain(agreement_words(seen.measured[name])))
    st.caption("Agreement with the truth: 1 is the same region, 0 nothing in common.", help=tip("iou"))
    show(seen, "released", "truth")
    changes(seen, truth=True)


def what_it_costs(seen: Tour) -> None:
    """What other budgets would have bought, and where to go next."""
    low, high = seen.frontier[0], seen.frontier[-1]
    st.markdown(
        "Protection costs accuracy. The **privacy budget ε** says how much one sale may show: smaller "
        f"is safer. From ε {low.epsilon:g} to ε {high.epsilon:g} the agreement with the truth rises from "
        f"{plain(ratio_words(low.agreement))} to {plain(ratio_words(high.agreement))}; the public map stays "
        f"at {plain(ratio_words(seen.measured['public']))}. Each release is charged once to an account of "
        "its data; looking at it again is free."
    )
    frontier(seen)
    with st.container(horizontal=True):
        st.page_link(VIEWER.path, label=f"Open a published map: {VIEWER.title}", icon=VIEWER.icon)
        if access.may_curate():
            st.page_link(DATA.path, label="Begin with your own data", icon=DATA.icon)


def show(seen: Tour, *shown: Shown) -> None:
    """One of the maps, or two under a handle; side by side where the linked maps were not built."""
    mode: Mode = "single" if len(shown) == 1 else linked_maps.modes("swipe", "beside")[0]
    paintings = [seen.painting(name) for name in shown]
    entries = [legend(painting, maps.theme()) for painting in paintings]
    linked_maps.show(
        seen.viewer.domain,
        [seen.pane(name) for name in shown],
        mode=mode,
        key="tour_map",
        alt=" ".join(in_words(painting, entry) for painting, entry in zip(paintings, entries, strict=True)),
        legend=[replace(entry, cells=0) for entry in entries[-1]],
        height=HEIGHT,
        layers=seen.viewer.bundle.layers,
    )


def changes(seen: Tour, truth: bool) -> None:
    """The districts that differ, as a table: the map for those who cannot see it."""
    st.caption(f"Hexagons above {plain(seen.threshold)}, in the districts that differ most:")
    told = seen.changes()
    st.table(
        {
            "District": [plain(one.name) for one in told],
            "Public map": [f"{one.public:,}" for one in told],
            "Private release": [f"{one.released:,}" for one in told],
            **({"Truth": [f"{one.truth:,}" for one in told]} if truth else {}),
        },
        hide_index=True,
        border="horizontal",
    )


def frontier(seen: Tour) -> None:
    """Agreement with the truth against the budget, and the public map as a line."""
    rows = [
        {
            "epsilon": one.epsilon,
            "agreement": one.agreement,
            "low": one.agreement - one.spread,
            "high": one.agreement + one.spread,
        }
        for one in seen.frontier
    ]
    scale = alt.Scale(domain=[0.4, 1.0])
    colours = {name: colour(name, maps.theme()) for name in ("inside", "line")}
    budget = alt.X(
        "epsilon:Q",
        title="privacy budget ε",
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=alt.Axis(values=[one.epsilon for one in seen.frontier], format=".3~g"),
    )
    base = alt.Chart(alt.Data(values=rows)).encode(x=budget)
    height = alt.Y("agreement:Q", title="agreement with the truth", scale=scale)
    public = alt.Chart(alt.Data(values=[{"public": seen.measured["public"]}]))
    level = alt.Y("public:Q", scale=scale)
    st.altair_chart(
        alt.layer(
            base.mark_line(color=colours["inside"]).encode(y=height),
            base.mark_rule(color=colours["inside"]).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
            base.mark_point(filled=True, size=90, color=colours["inside"], opacity=1.0).encode(
                y=height, tooltip=[alt.Tooltip("epsilon:Q"), alt.Tooltip("agreement:Q", format=".2f")]
            ),
            public.mark_rule(strokeDash=[5, 4], color=colours["line"]).encode(y=level),
            public.mark_text(
                align="left", dy=-9, dx=4, color=colours["line"], text="public map of last year"
            ).encode(y=level, x=alt.value(0)),
        ).properties(height=300),
        alt="Agreement of private releases with the truth rises with the privacy budget; that of last year's "
        "public map is a level line below.",
    )
    st.caption(
        f"Mean of {seen.draws:d} simulated releases for each budget, and their standard deviation. "
        f"The release of this tour is a single draw, at ε {seen.epsilon:.3g}."
    )


SHOW = (what_is_public, what_is_new, who_is_protected, is_it_right, what_it_costs)
try:
    told = tour()
except WorkflowError as error:
    st.error(plain(error), icon=":material/error:")
else:
    generated_badge()
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
                f"Next: {plain(STEPS[number + 1])}",
                type="primary",
                icon=":material/arrow_forward:",
                icon_position="right",
                on_click=go,
                args=(number + 1,),
            )
