"""The frame around every screen: navigation, title, what was decided, the ledger line, what comes next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from dpgp_core.errors import PluginError
from pages.shared import public_places
from pages.shared.plain_text import plain
from pages.shared.server import access
from pages.shared.session import saving, visit, workspace
from pages.shared.shipped import generated_badge, published_badge
from pages.shared.steps import (
    COMPARE,
    DATA,
    HELP,
    MAIN_PATH,
    RELEASE,
    SECTIONS,
    START,
    VIEWER,
    Screen,
    after,
    all_sections,
    before,
)

RELEASED = "The released map, free to explore, beside the map without privacy, which only you see."
SIDEBAR_PIXELS = 270
STATIC = Path(__file__).resolve().parents[2] / "static"
LOGO, STYLE = STATIC / "logo.svg", STATIC / "frame.css"


def configure() -> None:
    """Page configuration, the same for all screens."""
    st.set_page_config(
        page_title="Hexcursion", page_icon=LOGO, layout="wide", initial_sidebar_state=SIDEBAR_PIXELS
    )
    st.logo(LOGO, size="large")
    st.html(STYLE)


def navigate() -> tuple[Any, Screen]:
    """Route to the screen of the address; only screens this person may see exist at all."""
    curator = access.may_curate()
    home = START if curator else VIEWER
    try:
        found = all_sections()
    except PluginError as error:
        found = SECTIONS
        if curator:
            st.error(plain(error), icon=":material/error:")
    sections = {
        section: [
            st.Page(
                screen.path,
                title=screen.title,
                icon=screen.icon,
                url_path="home"
                if screen == home
                else screen.address,  # Streamlit serves the first page at "/"
                default=screen == home,
            )
            for screen in screens
            if curator or not screen.curator
        ]
        for section, screens in found.items()
    }
    # The first screen also answers at its own address, as it does where another screen is the first.
    sections[""].append(st.Page(home.path, title=home.title, url_path=home.address, visibility="hidden"))
    if curator:
        page = st.navigation({name: pages for name, pages in sections.items() if pages}, expanded=True)
    else:  # three screens, named in one line above, leave the width to the map
        page = st.navigation([page for pages in sections.values() for page in pages], position="top")
    return page, next((one for each in found.values() for one in each if one.title == page.title), HELP)


def header(screen: Screen) -> None:
    """Above the screen: its title and question, the badge of generated data, and the steps of the path."""
    curator = access.may_curate()
    if not screen.heads_itself:
        about_the_data = curator and screen in (*MAIN_PATH, COMPARE)
        _titled(screen, badge=about_the_data and workspace.current().kind == "example")
    if screen in MAIN_PATH:
        _stepper(screen)
    if screen != DATA and screen in (*MAIN_PATH, COMPARE):
        public_places.remind(workspace.current())
    with st.sidebar:
        if curator:
            _decided()
            visit.say_other_tab(workspace.current())
        access.sign_in_panel()
    if curator:
        visit.say_what_was_lost(workspace.current(), screen)


def _titled(screen: Screen, *, badge: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.title(plain(screen.title), anchor=False, width="content")
        if badge and not workspace.current().generated:
            published_badge()
        elif badge:
            generated_badge("Made by this program in the format of real sales. No real person is described.")
    released = screen == RELEASE and access.may_curate() and workspace.current().release_id is not None
    st.caption(plain(RELEASED if released else screen.question))


def footer(screen: Screen) -> None:
    """Below the screen: the way back and the way on; in the side bar, the choices to save."""
    if access.may_curate():
        work = workspace.current()
        with st.sidebar:
            saving.offer_choices(work)
            visit.watch(work)
    if screen not in MAIN_PATH:
        return
    earlier, later = before(screen), after(screen)
    st.divider()
    with st.container(horizontal=True, horizontal_alignment="distribute", key="way-on"):
        if earlier:
            st.page_link(earlier.path, label=f"Back to {plain(earlier.title)}", icon=":material/arrow_back:")
        if later:
            missing = workspace.current().missing_for(later)
            st.page_link(
                later.path,
                label=f"Next: {plain(later.title)}",
                icon=":material/arrow_forward:",
                icon_position="right",
                disabled=missing is not None,
                help=plain(missing) if missing else None,
            )


def _stepper(screen: Screen) -> None:
    work = workspace.current()
    here = MAIN_PATH.index(screen)
    with st.container(horizontal=True, gap="small", key="stepper"):
        for number, step in enumerate(MAIN_PATH):
            done = work.decided(step) is not None
            icon = ":material/check_circle:" if done else ":material/radio_button_unchecked:"
            name = f"{number + 1} {step.title}"
            st.page_link(
                step.path,
                label=f"**{plain(name)}**" if number == here else plain(name),
                icon=":material/radio_button_checked:" if number == here and not done else icon,
                disabled=number != here and work.missing_for(step) is not None,
            )


def _decided() -> None:
    """What was decided so far, one line per step, and what the ledger says."""
    work = workspace.current()
    st.header("Decided so far", anchor=False)
    lines = [(step, work.decided(step)) for step in MAIN_PATH]
    if not any(text for _, text in lines):
        st.caption("Nothing yet. Open the finished example, or begin with your data.")
    for step, text in lines:
        if text:
            st.markdown(f"**{plain(step.title)}**  \n{plain(text)}")
    budget = work.budget_line()
    if budget:
        st.markdown(f":material/receipt_long: {plain(budget)}")
