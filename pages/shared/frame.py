"""The frame around every screen: navigation, steps, decisions, and losses by a reload."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import streamlit as st

from dpgp_core.errors import PluginError
from pages.shared import panels, steps
from pages.shared.plain_text import plain
from pages.shared.server import access
from pages.shared.session import saving, side_jobs, workspace
from pages.shared.session.workspace import Workspace
from pages.shared.shipped import generated_badge, published_badge
from pages.shared.steps import MAIN_PATH, Screen

RELEASED = "The released map, free to explore, beside the map without privacy, which only you see."
SIDEBAR_PIXELS = 270
ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "static"
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
    home = steps.START if curator else steps.VIEWER
    try:
        menu = steps.all_sections()
    except PluginError as error:
        menu = steps.SECTIONS
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
            if (curator or not screen.curator) and (ROOT / screen.path).is_file()  # `studies` may be left out
        ]
        for section, screens in menu.items()
    }
    # The first screen also answers at its own address, as it does where another screen is the first.
    sections[""].append(st.Page(home.path, title=home.title, url_path=home.address, visibility="hidden"))
    if curator:
        page = st.navigation({name: pages for name, pages in sections.items() if pages}, expanded=True)
    else:  # three screens, named in one line above, leave the width to the map
        page = st.navigation([page for pages in sections.values() for page in pages], position="top")
    return page, next(
        (screen for screens in menu.values() for screen in screens if screen.title == page.title), steps.HELP
    )


def header(screen: Screen) -> None:
    """Above the screen: its title and question, the badge of generated data, and the steps of the path."""
    curator = access.may_curate()
    if not screen.heads_itself:
        about_the_data = curator and screen in (*MAIN_PATH, steps.COMPARE)
        _titled(screen, badge=about_the_data and workspace.current().kind == "example")
    if screen in MAIN_PATH:
        _stepper(screen)
    if screen != steps.DATA and screen in (*MAIN_PATH, steps.COMPARE):
        panels.remind_places_public(workspace.current())
    with st.sidebar:
        if curator:
            _decided()
            say_other_tab(workspace.current())
        access.sign_in_panel()
    if curator:
        say_what_was_lost(workspace.current(), screen)


def _titled(screen: Screen, *, badge: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.title(plain(screen.title), anchor=False, width="content")
        if badge and not workspace.current().generated:
            published_badge()
        elif badge:
            generated_badge("Made by this program in the format of real sales. No real person is described.")
    released = screen == steps.RELEASE and access.may_curate() and workspace.current().release_id is not None
    st.caption(plain(RELEASED if released else screen.question))


def footer(screen: Screen) -> None:
    """Below the screen: the way back and the way on; in the side bar, the choices to save."""
    if access.may_curate():
        work = workspace.current()
        with st.sidebar:
            saving.offer_choices(work)
            _tell_browser(work)
    if screen not in MAIN_PATH:
        return
    earlier, later = steps.neighbours(screen)
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
    position = MAIN_PATH.index(screen)
    with st.container(horizontal=True, gap="small", key="stepper"):
        for number, step in enumerate(MAIN_PATH):
            decided = work.decided(step) is not None
            icon = ":material/check_circle:" if decided else ":material/radio_button_unchecked:"
            name = f"{number + 1} {step.title}"
            st.page_link(
                step.path,
                label=f"**{plain(name)}**" if number == position else plain(name),
                icon=":material/radio_button_checked:" if number == position and not decided else icon,
                disabled=number != position and work.missing_for(step) is not None,
            )


def _decided() -> None:
    """The decisions so far, one line per step, and what the ledger says."""
    work = workspace.current()
    st.header("Decided so far", anchor=False)
    lines = [(step, work.decided(step)) for step in MAIN_PATH]
    if not any(text for _, text in lines):
        st.caption("Nothing yet. Open the finished example, or begin with your data.")
    for step, text in lines:
        if text:
            st.markdown(f"**{plain(step.title)}**  \n{plain(text)}")
    if work.budget_text:
        st.markdown(f":material/receipt_long: {plain(work.budget_text)}")


EVERY = 1.0  # seconds between two looks at a release that is under way
LATE = 10.0  # seconds after which a click of before the page was loaded anew comes no more

# What lives in the browser's tab says that there was something, and the public choices made for it. The
# question before leaving is the browser's own: https://html.spec.whatwg.org, "beforeunload".
_SCRIPT = """
const MARK = "hexcursion-visit", TOKEN = "hexcursion-token";
const ask = (event) => { event.preventDefault(); event.returnValue = true; };

// Tabs of one browser hear of each other: who comes says so, who is there answers, who goes says so.
const tabs = (globalThis.hexcursionTabs ??= (() => {
  const self = Math.random().toString(36).slice(2), others = new Set();
  const known = { others, changed: () => {} };
  if (!("BroadcastChannel" in globalThis)) return known;
  const channel = new BroadcastChannel("hexcursion-tabs");
  const say = (what) => channel.postMessage({ what, self });
  channel.onmessage = ({ data }) => {
    if (data.what === "gone") others.delete(data.self); else others.add(data.self);
    if (data.what === "here?") say("here");
    known.changed();
  };
  window.addEventListener("pagehide", () => say("gone"));
  window.addEventListener("pageshow", (event) => { if (event.persisted) say("here?"); });
  say("here?");
  return known;
})());

// A screen puts its release into the address once it is drawn: that is no step for Back.
history.pushState = globalThis.hexcursionPush ??= (push => (state, title, address) =>
  (new URL(address, location).pathname === location.pathname ? history.replaceState : push)
    .call(history, state, title, address))(history.pushState);

export default function ({ data, setStateValue }) {
  tabs.changed = () => {
    const others = tabs.others.size > 0;
    if (others !== data.others) setStateValue("others", others);
  };
  tabs.changed();
  if (data.unsaved) window.addEventListener("beforeunload", ask);
  else window.removeEventListener("beforeunload", ask);
  if (data.loaded) {
    sessionStorage.setItem(MARK, data.kept || "data");
    sessionStorage.setItem(TOKEN, data.token);
  } else if (sessionStorage.getItem(MARK) && !data.lost) {  // it stays there: a page may be reloaded twice
    setStateValue("before", sessionStorage.getItem(TOKEN));
    setStateValue("lost", sessionStorage.getItem(MARK));
  }
  return () => window.removeEventListener("beforeunload", ask);
}
"""
_watch = st.components.v2.component("hexcursion_visit", js=_SCRIPT)


def _tell_browser(work: Workspace) -> None:
    """Tell the browser whether there is something to lose, and hear from it whether something was lost."""
    with st.container(key="visit"):
        visit = _watch(
            key="visit_watch",
            data={
                "loaded": work.private is not None,
                "unsaved": work.at_risk,
                "kept": saving.text_of(work),
                "token": work.session,
                "others": work.other_tab,
                "lost": work.lost,
            },
            on_lost_change=lambda: None,
            on_before_change=lambda: None,
            on_others_change=lambda: None,
        )
    if visit.others is not None and bool(visit.others) != work.other_tab:
        work.other_tab = bool(visit.others)
        st.rerun()
    if visit.lost and not work.lost:
        work.lost, work.kept, work.before = True, saving.read_kept(str(visit.lost)), str(visit.before or "")
        work.lost_since = time.monotonic()
        st.rerun()


def say_other_tab(work: Workspace) -> None:
    """That the app is open in another tab too, and what that means."""
    if work.other_tab:
        st.caption(
            ":material/tab: This app is open in another tab as well. Each tab has its own data and choices; "
            "releases of both are charged to the same account."
        )


def say_what_was_lost(work: Workspace, screen: Screen) -> None:
    """After a reload: the losses and how to go on; nothing without losses."""
    if not work.lost or work.private is not None or screen not in MAIN_PATH or st.query_params.get("release"):
        return
    choices_words = saving.words_of(work.kept)
    area = "" if "bbox" in work.kept else " Name an area file again."
    _say_what_was_asked(work)
    st.info(
        "This page was loaded anew, and private data are kept for one visit only, so the data "
        f"of before are gone: read them again{'' if screen == steps.DATA else ' on the Data screen'}, or "
        "import the settings file (TOML) if you saved one."
        + " A release that had begun still finishes: the step Publish lists it."
        + (f" Kept for data of the same kind: {plain(choices_words)}.{area}" if choices_words else ""),
        icon=":material/history:",
    )


def _say_what_was_asked(work: Workspace) -> None:
    """What becomes of the release that was asked for before the page was loaded anew."""
    release = side_jobs.release_asked(work.before)
    follows = release.running if release is not None else _may_begin(work)
    st.fragment(_follow, run_every=EVERY if follows else None)(work, follows)


def _may_begin(work: Workspace) -> bool:
    """Whether the page was loaded anew so lately that the click before it may still be on its way."""
    return bool(work.before) and time.monotonic() - work.lost_since < LATE


def _follow(work: Workspace, follows: bool) -> None:
    """Say how far it is; once there is nothing more to follow the screen is drawn again."""
    release = side_jobs.release_asked(work.before)
    if follows and not (release.running if release is not None else _may_begin(work)):
        st.rerun()
    if release is None:
        return
    if release.running:
        st.info(
            "**The release that you asked for is under way**: it is charged once, drawn once, and written. "
            "Nothing has to be asked for again.",
            icon=":material/hourglass_top:",
        )
    elif release.release_id is None:
        st.error(plain(release.text), icon=":material/error:")
    else:
        st.success("**The release that you asked for is done.**", icon=":material/check_circle:")
        st.page_link(
            steps.PUBLISH.path,
            label="Open it",
            icon=steps.PUBLISH.icon,
            query_params={"release": release.release_id},
        )
